/* message.h - a minimal reader of HTTP/1.1 messages, for the programs of the benchmarks. The reader supports
 * only bodies with a Content-Length; a message without this header has no body. */
#ifndef DUEPOST_BENCH_MESSAGE_H
#define DUEPOST_BENCH_MESSAGE_H

#include "base/slice.h"

struct message {
    struct slice head; /* first line and headers, with the empty line */
    struct slice body;
    size_t size; /* size of head and body together */
};

/* Returns false if bytes does not begin with a whole message yet. */
bool message_read(struct slice bytes, struct message *);

/* Returns the number after key in text, or -1 if there are no digits. key must be in text. */
int64_t message_number(struct slice text, const char *key);

#endif
