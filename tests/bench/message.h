/* message.h - just enough HTTP/1.1 for two programs that know each other's messages.
 *
 * Content-Length only; a head without one has no body. */
#ifndef DUEPOST_BENCH_MESSAGE_H
#define DUEPOST_BENCH_MESSAGE_H

#include "base/slice.h"

struct message {
    struct slice head; /* first line and headers, with the empty line */
    struct slice body;
    size_t size; /* both */
};

/* False: bytes does not begin with a whole message yet. */
bool message_read(struct slice bytes, struct message *);

/* The digits behind key, which must be in text; -1 without. */
int64_t message_number(struct slice text, const char *key);

#endif
