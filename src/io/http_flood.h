/* http_flood.h - inside the HTTP client: notices that a connection receives far more data than an answer may
 * have. */
#ifndef DUEPOST_IO_HTTP_FLOOD_H
#define DUEPOST_IO_HTTP_FLOOD_H

#include <stdbool.h>
#include <stdint.h>

/* Zero at the beginning of each answer. */
struct http_flood {
    unsigned reads;
    uint64_t received; /* bytes received at the first check */
};

/* Counts a read. Returns whether the connection fd has received too much since the first check. */
bool http_flood_has_come(struct http_flood *, int fd);

#endif
