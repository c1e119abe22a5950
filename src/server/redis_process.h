/* redis_process.h - one redis-server on the data directory, started by this process or taken over.
 *
 * The process is named by a pidfd (a descriptor for a process), which stays correct when the kernel reuses
 * the pid, and becomes readable when the process exits. */
#ifndef DUEPOST_SERVER_REDIS_PROCESS_H
#define DUEPOST_SERVER_REDIS_PROCESS_H

#include <sys/types.h>

#include "base/status.h"
#include "io/loop.h"

#define REDIS_SOCKET_NAME "redis.sock"
#define REDIS_LOCK_NAME   "redis.lock"

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

#endif
