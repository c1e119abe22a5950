/* redis_process.h - one redis-server on the data directory, started by this process or taken over.
 *
 * A pidfd names the process, because a pidfd stays correct when the kernel reuses the pid. The pidfd becomes
 * readable when the process exits. */
#ifndef DUEPOST_SERVER_REDIS_PROCESS_H
#define DUEPOST_SERVER_REDIS_PROCESS_H

#include <sys/types.h>

#include "base/status.h"
#include "io/loop.h"

#define REDIS_SOCKET_NAME "redis.sock"
#define REDIS_LOCK_NAME   "redis.lock"
#define REDIS_LOG_NAME    "redis.log"

struct redis_process {
    pid_t pid; /* 0: none */
    int pidfd;
    bool is_child;
};

enum { REDIS_PROCESS_VERSION_MAX = 32 };

/* Runs redis-server --version and blocks for at most 5 s. Returns STATUS_FAILED if redis-server is missing or
 * older than 7.0. Writes the version otherwise. */
enum status redis_process_check(char version[REDIS_PROCESS_VERSION_MAX], struct problem *) MUST_USE;

/* Starts redis-server in the directory dir_fd. The process inherits lock_fd. */
enum status redis_process_spawn(int dir_fd, int lock_fd, struct redis_process *, struct problem *) MUST_USE;

void redis_process_signal(const struct redis_process *, int signal);

/* Describes how the process exited. Call it when the pidfd is readable. After the call the struct names no
 * process. */
enum { REDIS_PROCESS_WHY_MAX = 64 };
void redis_process_reap(struct redis_process *, char why[REDIS_PROCESS_WHY_MAX]);

/* Drops the reference; the process keeps running. */
void redis_process_forget(struct redis_process *);

#endif
