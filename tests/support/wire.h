/* wire.h - raw bytes of a connection, for tests that write and read HTTP themselves.
 *
 * Blocking sockets on 127.0.0.1. Every wait ends after WIRE_DEADLINE_MS with a failed test. */
#ifndef DUEPOST_TESTS_WIRE_H
#define DUEPOST_TESTS_WIRE_H

#include "base/slice.h"

#ifdef DUEPOST_SANITIZED
enum { WIRE_DEADLINE_MS = 50 * 1000 };
#else
enum { WIRE_DEADLINE_MS = 10 * 1000 };
#endif

/* Bytes read from a connection, followed by a NUL. */
struct wire_text {
    char data[256 * 1024];
    size_t size;
};

/* Opens a listening socket on a port that the kernel chooses. */
int wire_listen(uint16_t *port);
int wire_accept(int listen_fd);
int wire_connect(uint16_t port);

/* Sends bytes. It is not an error if the peer has closed the connection, because the test can still read the
 * peer's answer. */
void wire_send(int fd, struct slice bytes);

/* Reads until the peer closes or resets the connection. */
void wire_read_to_end(int fd, struct wire_text *);

/* Reads until the bytes read so far contain text. Returns false if the peer closes the connection first. */
bool wire_read_for(int fd, struct wire_text *, const char *text);

/* Reads a whole request or answer. A message without Content-Length must have no body. Returns false if
 * the peer closes the connection first. */
bool wire_read_message(int fd, struct wire_text *);

/* Returns how often text occurs. */
size_t wire_count(const struct wire_text *, const char *text);

#endif
