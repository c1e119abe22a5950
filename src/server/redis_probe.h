/* redis_probe.h - asks once whether a Redis answers on a unix socket, and who it is. */
#ifndef DUEPOST_SERVER_REDIS_PROBE_H
#define DUEPOST_SERVER_REDIS_PROBE_H

#include <sys/types.h>

#include "io/loop.h"

struct redis_probe;

enum redis_answer {
    REDIS_ANSWER_NONE,    /* nobody listens, or is silent for a second */
    REDIS_ANSWER_LOADING, /* it lives, but reads its data yet */
    REDIS_ANSWER_PONG,
};

/* pid and pidfd belong to whoever listens, and were so when it answered; pidfd is -1 where there is no
 * answer or the kernel does not tell. fn takes pidfd. */
typedef void redis_probe_fn(void *arg, enum redis_answer, pid_t pid, int pidfd);

/* Sends PING. fn comes once, unless it is cancelled first. */
struct redis_probe *redis_probe_start(struct loop *, const char *path, redis_probe_fn *, void *arg);

/* fn will not come. NULL is fine. */
void redis_probe_cancel(struct redis_probe *);

/* Sends a command without waiting for its answer; false when nobody listens. */
bool redis_probe_tell(const char *path, const char *command);

#endif
