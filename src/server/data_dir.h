/* data_dir.h - the directory of the embedded Redis: private, and used by one duepost. */
#ifndef DUEPOST_SERVER_DATA_DIR_H
#define DUEPOST_SERVER_DATA_DIR_H

#include "base/status.h"

struct data_dir {
    char *path; /* absolute, without symbolic links */
    int fd;
    int lock_fd;
};

/* Makes path and its parents with mode 0700 where they are missing; a directory that others may
 * read is tightened if it is empty or was ours before, else refused. Takes duepost.lock. */
enum status data_dir_open(const char *path, struct data_dir *, struct problem *) MUST_USE;

/* Lets go of the lock. */
void data_dir_close(struct data_dir *);

/* Takes the lock in a file of the directory, which holds a pid for people to read. Gives a descriptor, or
 * -1: errno is EWOULDBLOCK when somebody has it, and then *holder is the pid, or 0 if that cannot be told. */
int data_dir_lock(int dir_fd, const char *name, int *holder);

/* Writes the pid of the holder. */
void data_dir_name_holder(int lock_fd, int pid);

#endif
