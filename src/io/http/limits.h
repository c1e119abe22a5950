/* limits.h - limits that all HTTP servers of a process share: the number of connections, and memory for
 * the bodies of requests and answers.
 *
 * Each reactor has its own listening socket, and the kernel distributes connections among them as it likes.
 * Therefore the limits apply to the process as a whole, and not to each reactor. Any thread may call these
 * functions. */
#ifndef DUEPOST_IO_HTTP_LIMITS_H
#define DUEPOST_IO_HTTP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct http_limits;

struct http_limits_options {
    size_t connections;
    size_t per_address; /* maximum number of connections from one address; 0: no limit. An IPv6 /64 counts as
                           one address. */
    bool spares_loopback; /* per_address does not apply to loopback addresses */
    size_t body_bytes;    /* maximum memory in bytes of all bodies that exceed HTTP_BODY_FREE_BYTES */
    size_t lingering;     /* maximum number of requests that may wait long for their answers */
};

enum {
    HTTP_GUEST_PART = 8,           /* bodies of requests without a token may take 1/8 of body_bytes */
    HTTP_GUESTS_PER_SECOND = 1000, /* maximum number of these requests */
};

/* A body up to this size does not count for body_bytes. Most jobs are smaller. */
enum { HTTP_BODY_FREE_BYTES = 16 * 1024 };

struct http_limits *http_limits_new(const struct http_limits_options *);
void http_limits_free(struct http_limits *); /* NULL is ignored */

enum http_room { HTTP_ROOM, HTTP_ROOM_NONE, HTTP_ROOM_NONE_FOR_ADDRESS };

/* One connection, as the limits count it. A zeroed struct does not count. */
struct http_share {
    bool is_taken;
    bool is_counted; /* the connection is in the count of its address */
    uint64_t address;
};

/* Returns an address as a number: all bits of an IPv4 address, or the first 64 bits of an IPv6 address,
 * because a host usually has a whole /64. If these 64 bits are zero (::1, embedded IPv4 addresses), the last
 * 32 bits are returned. */
uint64_t http_limits_address(const struct sockaddr *from);

/* Counts a new connection, if the limits allow it: the result is then HTTP_ROOM, and the connection counts
 * until http_limits_leave. */
enum http_room http_limits_enter(struct http_limits *, const struct sockaddr *from, struct http_share *);
void http_limits_leave(struct http_limits *, struct http_share *); /* may be called twice */

/* Counts a request that may wait long for its answer. Returns false if the limit is reached. From then on,
 * the request's connection does not count for per_address, because many workers may share one address. */
bool http_limits_linger(struct http_limits *, struct http_share *);
void http_limits_end_linger(struct http_limits *);

struct http_limits_counts {
    size_t connections; /* number of connections now */
    size_t lingering;   /* number of requests that may wait long, now */
    uint64_t refused;   /* connections refused since the start */
};
struct http_limits_counts http_limits_count(struct http_limits *);

/* Counts a request without a token. Returns false if too many came within a second. */
bool http_limits_take_guest(struct http_limits *, int64_t now_us);

/* Reserves memory for a body. Returns false and reserves nothing if the limit is reached. is_guest: the
 * request has no token. */
bool http_limits_take_bytes(struct http_limits *, size_t bytes, bool is_guest);
void http_limits_add_bytes(struct http_limits *, size_t bytes); /* reserves memory even beyond the limit */
void http_limits_give_bytes(struct http_limits *, size_t bytes, bool is_guest);

#endif
