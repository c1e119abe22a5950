/* redis_stream.h - one connection to Redis as a stream of bytes: a socket, with or without TLS.
 *
 * No call blocks. The owner watches the descriptor for reading, and for writing if the stream wants it, and
 * calls the stream when the descriptor is ready. After a loss the stream can only be closed. */
#ifndef DUEPOST_IO_REDIS_STREAM_H
#define DUEPOST_IO_REDIS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct redis_tls;
struct redis_stream;

/* Begins to connect. address is an IP address. tls is NULL without TLS; host is then not needed. If the call
 * fails, returns NULL, and problem says why. */
struct redis_stream *redis_stream_tcp(const char *address, uint16_t port, struct redis_tls *tls,
                                      const char *host, struct problem *);
struct redis_stream *redis_stream_unix(const char *path, struct problem *);
void redis_stream_close(struct redis_stream *); /* NULL is ignored */

int redis_stream_fd(const struct redis_stream *);

/* Returns whether the next step needs a writable descriptor. All steps may need a readable descriptor, except
 * while the socket connects. */
bool redis_stream_wants_write(const struct redis_stream *);

/* Returns whether the socket is connected and TLS is not ready yet. */
bool redis_stream_is_in_handshake(const struct redis_stream *);

enum redis_stream_state {
    REDIS_STREAM_OPENING, /* call redis_stream_open again when the descriptor is ready */
    REDIS_STREAM_OPEN,
    REDIS_STREAM_LOST,
};

/* Continues to connect and to do the TLS handshake. When LOST, problem says why. */
enum redis_stream_state redis_stream_open(struct redis_stream *, struct problem *);

/* Set *count to the number of bytes read or written; it is 0 if the descriptor is not ready. Returns false
 * when the connection is lost; problem then says why. */
bool redis_stream_read(struct redis_stream *, char *data, size_t size, size_t *count, struct problem *);
bool redis_stream_write(struct redis_stream *, const char *data, size_t size, size_t *count,
                        struct problem *);

#endif
