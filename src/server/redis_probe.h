/* redis_probe.h - checks once whether a Redis answers on a unix socket, and which process it is. */
#ifndef DUEPOST_SERVER_REDIS_PROBE_H
#define DUEPOST_SERVER_REDIS_PROBE_H

#include <sys/types.h>

#include "io/loop.h"

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
