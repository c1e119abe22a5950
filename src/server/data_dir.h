/* data_dir.h - the private directory of the embedded Redis, which only one duepost may use at a time. */
#ifndef DUEPOST_SERVER_DATA_DIR_H
#define DUEPOST_SERVER_DATA_DIR_H

#include <stdbool.h>

#include "base/status.h"

struct data_dir {
    char *path; /* absolute, without symbolic links */
    int fd;
    int lock_fd;
};

/* Opens the data directory and takes duepost.lock. Creates path and missing parents with mode 0700. If other
 * users may read the directory, it gets mode 0700, provided that it is empty or already a data directory. Any
 * other such directory is refused. */
enum status data_dir_open(const char *path, struct data_dir *, struct problem *) MUST_USE;

/* Checks whether data_dir_open could use path. Changes and locks nothing. Sets *exists to whether the
 * directory already exists. */
enum status data_dir_try(const char *path, bool *exists, struct problem *) MUST_USE;

/* Writes the path of a socket in the directory. If the path is too long for a socket's address, it begins
 * with /proc/self/fd. */
enum { DATA_DIR_SOCKET_SIZE = 108 };
void data_dir_socket(const char *path, int fd, const char *name, char text[DATA_DIR_SOCKET_SIZE]);

/* Returns whether the disk has room for DATA_DIR_ROOM_BYTES more. After any error of the disk other than a
 * full disk, returns true, because redis-server reports that error. */
enum { DATA_DIR_ROOM_BYTES = 1 << 20 };
bool data_dir_has_room(int dir_fd);

/* Releases the lock. */
void data_dir_close(struct data_dir *);

/* Locks a file of the directory. The file contains the owner's pid, for people. Returns a descriptor, or -1
 * with errno. EWOULDBLOCK means that another process has the lock; *holder is then its pid, or 0 if the pid
 * is unknown. */
int data_dir_lock(int dir_fd, const char *name, int *holder);

/* Writes the pid of the lock's owner. */
void data_dir_name_holder(int lock_fd, int pid);

#endif
