/* remote_calls.h - sends a command's requests to a server, several at once, while the command waits for other
 * events.
 *
 * Each call that is not cancelled calls back exactly once, within remote_calls_wait. */
#ifndef DUEPOST_CLI_REMOTE_CALLS_H
#define DUEPOST_CLI_REMOTE_CALLS_H

#include <poll.h>

#include "base/slice.h"
#include "cli/remote.h"

struct remote_calls;
struct remote_call;

struct remote_calls *remote_calls_new(struct remote *); /* borrows the strings of its options */
void remote_calls_free(struct remote_calls *);          /* cancels all calls; NULL is ignored */

struct remote_request {
    const char *target; /* copied, like body and key */
    struct slice body;  /* JSON; empty: the request is a GET */
    const char *key;    /* idempotency key; NULL: none */
    long timeout_ms;    /* time until the answer must be complete */
};

/* status is 0 if no answer came, and text is then the reason. Otherwise text is the body of the answer. Text
 * is valid until the callback returns. */
typedef void remote_call_fn(void *arg, long status, struct slice text);

/* Sends a POST, or a GET. The result is valid until its callback. */
struct remote_call *remote_call_start(struct remote_calls *, const struct remote_request *, remote_call_fn *,
                                      void *arg);

/* Ends a call without its callback and closes its connection. */
void remote_call_cancel(struct remote_call *);

/* Sends and receives without waiting, and runs the callbacks of complete calls. */
void remote_calls_step(struct remote_calls *);

enum { REMOTE_CALLS_WAIT_MAX = 256 }; /* maximum number of descriptors of remote_calls_wait */

/* Waits until one of the descriptors is readable, a call can continue, or the time is over. Returns at once
 * if count is more than REMOTE_CALLS_WAIT_MAX. */
void remote_calls_wait(struct remote_calls *, const int *descriptors, size_t count, int timeout_ms);

#endif
