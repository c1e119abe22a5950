/* http_limits.h - what all HTTP servers of a process have together: places for connections, and memory for
 * bodies of requests and answers.
 *
 * Each reactor has a listening socket of its own, and the kernel deals connections out as it likes; so nobody
 * gets a share of a limit. Any thread may call. */
#ifndef DUEPOST_IO_HTTP_LIMITS_H
#define DUEPOST_IO_HTTP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct http_limits;

struct http_limits_options {
    size_t connections;
    size_t per_address;   /* of these; 0: no bound. The addresses of an IPv6 /64 are one. */
    bool spares_loopback; /* per_address is for others only */
    size_t body_bytes;    /* of bodies that are over HTTP_BODY_FREE_BYTES */
};

/* So much of a body has room whatever others hold: the usual size of jobs. */
enum { HTTP_BODY_FREE_BYTES = 16 * 1024 };

struct http_limits *http_limits_new(const struct http_limits_options *);
void http_limits_free(struct http_limits *); /* NULL is fine */

enum http_room { HTTP_ROOM, HTTP_ROOM_NONE, HTTP_ROOM_NONE_FOR_ADDRESS };

/* A connection's; zeroed, it holds nothing. */
struct http_place {
    bool is_taken;
    bool is_counted; /* among those of its address */
    uint64_t address;
};

/* HTTP_ROOM: the place is taken until http_limits_leave. */
enum http_room http_limits_enter(struct http_limits *, const struct sockaddr *from, struct http_place *);
void http_limits_leave(struct http_limits *, struct http_place *); /* twice is fine */

struct http_limits_counts {
    size_t connections; /* now */
    uint64_t refused;   /* since the start: had no place */
};
struct http_limits_counts http_limits_count(struct http_limits *);

/* False: there is no room for so many bytes more, and nothing was taken. */
bool http_limits_take_bytes(struct http_limits *, size_t bytes);
void http_limits_add_bytes(struct http_limits *, size_t bytes); /* takes them, room or not */
void http_limits_give_bytes(struct http_limits *, size_t bytes);

#endif
