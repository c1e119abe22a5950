/* receive.h - a receiver of jobs in a thread of this process, for the commands receive, dev and bench. */
#ifndef DUEPOST_CLI_RECEIVE_H
#define DUEPOST_CLI_RECEIVE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "cli/call.h"
#include "io/http/request.h"

struct local_receiver;

enum { LOCAL_RECEIVER_HOST_SIZE = 64 };

struct local_receiver_place {
    char host[LOCAL_RECEIVER_HOST_SIZE]; /* an address of this host */
    uint16_t port;                       /* 0: any free port */
};

/* Reads HOST:PORT or PORT; without HOST, the host stays as it is. Returns false if text is neither. */
bool local_receiver_read_place(const char *text, struct local_receiver_place *);

struct local_receiver_options {
    struct local_receiver_place place;
    size_t max_body_bytes;
    const char *advice; /* what to do if the place is in use; borrowed during the start */
    /* Called in the receiver's thread for each complete request. Must answer. */
    void (*on_request)(void *arg, struct http_request *);
    void *arg;
};

/* Starts the receiver. The caller must block signals first, so that the receiver's thread does not get them.
 * Returns NULL after an error; problem then says why. */
struct local_receiver *local_receiver_start(const struct local_receiver_options *, struct problem *);

void local_receiver_stop(struct local_receiver *); /* NULL is ignored */

/* Writes the receiver's origin, such as http://127.0.0.1:9000. */
void local_receiver_write_origin(const struct local_receiver *, struct buffer *);

/* Starts such a receiver at value, or at 127.0.0.1:9000 if value is NULL. It answers with --status. Prints
 * where it listens. flag names value in errors. Returns NULL after an error; the call's problem then says
 * why. The caller must block signals first. The call must exist until the receiver is stopped with
 * local_receiver_stop. */
struct local_receiver *receive_start(struct call *, const char *flag, const char *value);

#endif
