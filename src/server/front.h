/* front.h - the listening sockets, and the limits that all connections of clients share. */
#ifndef DUEPOST_SERVER_FRONT_H
#define DUEPOST_SERVER_FRONT_H

#include "io/http_limits.h"
#include "server/options.h"

struct front;

/* Text of a warning: the risk of listening without TLS at an address that other hosts can reach. */
#define FRONT_RISK                                                                                           \
    "tokens and jobs can be read on the network; set --tls-cert and --tls-key, or put a TLS proxy in front"

/* Opens the listening sockets of the options; blocks for name lookups. Returns STATUS_FAILED if a socket
 * cannot be opened; problem then says what to do. */
enum status front_open(const struct options *, struct front **, struct problem *) MUST_USE;
void front_free(struct front *); /* NULL is ignored */

/* Returns STATUS_INVALID if other hosts could use the API without a token under these options. */
enum status front_check(const struct front *, const struct options *, struct problem *) MUST_USE;

/* Returns STATUS_INVALID if other hosts could use the API without a token at this address. */
enum status front_check_reach(const struct options *, const char *url, bool is_loopback,
                              struct problem *) MUST_USE;

/* Adds the addresses on which duepost listens to the addresses to which no job may be sent. */
void front_refuse(const struct front *, struct target_policy *);

/* Returns http://HOST:PORT of the API, which is valid until the front is freed. */
const char *front_url(const struct front *);

/* Returns whether another process also listens on the API's port. That process serves the clients when this
 * process stops listening. */
bool front_has_partner(const struct front *);

/* Return the sockets of one reactor: front_take for the API, front_take_health for health. Without
 * --health-listen front_take_health returns -1. Each socket may be taken once. */
int front_take(struct front *, size_t reactor);
int front_take_health(struct front *, size_t reactor);

/* Returns the limits, which are valid until the front is freed. */
struct http_limits *front_limits(const struct front *);

#endif
