/* redis_private.h - parts of the private Redis that its files and duepost check share: the data directory,
 * the append-only file, and the process. */
#ifndef DUEPOST_SERVER_REDIS_REDIS_PRIVATE_H
#define DUEPOST_SERVER_REDIS_REDIS_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "io/loop.h"

/* ---- data_dir.c ---- */

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

/* ---- append_log.c ---- */

/* Without its manifest, redis-server ignores all other files of the append-only file: it starts with no jobs,
 * and writes new changes behind the old ones. */
enum append_log_state { APPEND_LOG_NONE, APPEND_LOG_WHOLE, APPEND_LOG_WITHOUT_MANIFEST };
enum append_log_state append_log_find(int dir_fd);

/* Removes the bytes after the last whole change of the append-only file in the directory dir_fd. No
 * redis-server may use the file. Blocks while it reads the file. Returns the number of removed bytes. If the
 * file is missing, cannot be read or is damaged elsewhere, does nothing, because redis-server reports such
 * errors. */
int64_t append_log_cut(int dir_fd);

/* ---- process.c ---- */

#define REDIS_LOG_NAME "redis.log"

/* Copies the warning with which this redis-server ended: the last line of its log, and after it the line
 * before if this line is a warning, too. Leaves out pid, time and level. words is "" if the last line is not
 * a warning, as after SIGKILL. */
enum { REDIS_LOG_WORDS_MAX = 300 };
void redis_log_last_words(int dir_fd, pid_t, char words[REDIS_LOG_WORDS_MAX]);

/* One redis-server on the data directory, started by this process or taken over.
 *
 * The process is named by a pidfd (a descriptor for a process), which stays correct when the kernel reuses
 * the pid, and becomes readable when the process exits. */

#define REDIS_SOCKET_NAME "redis.sock"

struct redis_process {
    pid_t pid; /* 0: none */
    int pidfd;
    bool is_child;
};

/* The program of a private Redis. */
struct redis_program {
    char *path; /* path of the program; a name without a slash was found in PATH */
    char version[32];
};

/* Finds the program and runs it with --version; blocks for at most 5 s for each program that it runs. wanted
 * is a path, or a name that is found in PATH; NULL means redis-server, or else valkey-server. Returns
 * STATUS_FAILED if there is no program, or it is older than 7.0. */
enum status redis_program_find(const char *wanted, struct redis_program *, struct problem *) MUST_USE;
void redis_program_fini(struct redis_program *);

/* Starts the program in the directory dir_fd. The process inherits lock_fd. */
enum status redis_process_spawn(const struct redis_program *, int dir_fd, int lock_fd, struct redis_process *,
                                struct problem *) MUST_USE;

void redis_process_signal(const struct redis_process *, int signal);

/* Describes how the process exited. Call it when the pidfd is readable. After the call, the struct does not
 * name a process. */
enum { REDIS_PROCESS_WHY_MAX = 64 };
void redis_process_reap(struct redis_process *, char why[REDIS_PROCESS_WHY_MAX]);

/* Closes the pidfd; the process keeps running. */
void redis_process_forget(struct redis_process *);

struct redis_probe;

enum redis_answer {
    REDIS_ANSWER_NONE,    /* no process listens, or it does not answer within a second */
    REDIS_ANSWER_LOADING, /* Redis runs, but is still loading its data */
    REDIS_ANSWER_PONG,
};

/* Receives the answer. pid and pidfd name the process that answered. pidfd is -1 if there is no answer or the
 * kernel does not report the process. The function takes pidfd. */
typedef void redis_probe_fn(void *arg, enum redis_answer, pid_t pid, int pidfd);

/* Sends PING and calls fn once, unless the probe is cancelled first. */
struct redis_probe *redis_probe_start(struct loop *, const char *path, redis_probe_fn *, void *arg);

/* Cancels the probe; fn is not called any more. NULL is ignored. */
void redis_probe_cancel(struct redis_probe *);

/* Sends a command without waiting for its answer. Returns false if no process listens. */
bool redis_probe_tell(const char *path, const char *command);

#endif
