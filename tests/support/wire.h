/* wire.h - the bare bytes of a connection, for tests that speak HTTP by hand.
 *
 * Blocking sockets on 127.0.0.1; every wait ends after WIRE_DEADLINE_MS with a
 * failed test. */
#ifndef DUEPOST_TESTS_WIRE_H
#define DUEPOST_TESTS_WIRE_H

#include "base/slice.h"

#ifdef DUEPOST_SANITIZED
enum { WIRE_DEADLINE_MS = 50 * 1000 };
#else
enum { WIRE_DEADLINE_MS = 10 * 1000 };
#endif

/* What has been read from a connection, with a NUL behind it. */
struct wire_text {
    char data[256 * 1024];
    size_t size;
};

/* A listening socket on a port of the kernel's choice. */
int wire_listen(uint16_t *port);
int wire_accept(int listen_fd);
int wire_connect(uint16_t port);

/* A peer that is gone is no failure: what it answered is read afterwards. */
void wire_send(int fd, struct slice bytes);

/* Until the peer closes (or resets). */
void wire_read_to_end(int fd, struct wire_text *);

/* Until text has come, from the beginning of what was read; false when the peer closed before. */
bool wire_read_for(int fd, struct wire_text *, const char *text);

/* A request or an answer with Content-Length (none: 0) whole; false when the peer closed before. */
bool wire_read_message(int fd, struct wire_text *);

/* How often text is in it. */
size_t wire_count(const struct wire_text *, const char *text);

#endif
