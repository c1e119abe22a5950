/* front.h - the listening sockets, and the limits that all connections of clients share. */
#ifndef DUEPOST_SERVER_FRONT_H
#define DUEPOST_SERVER_FRONT_H

#include "io/http_limits.h"
#include "server/options.h"

struct front;

/* Opens the listening sockets of the options; blocks for name lookups. STATUS_FAILED: problem says what to
 * do. */
enum status front_open(const struct options *, struct front **, struct problem *) MUST_USE;
void front_free(struct front *); /* NULL is ignored */

/* STATUS_INVALID: with these options the API would be open to other hosts without tokens. */
enum status front_check(const struct front *, const struct options *, struct problem *) MUST_USE;

/* Adds the listening addresses to those that no job may lead to. */
void front_refuse(const struct front *, struct target_policy *);

/* Returns http://HOST:PORT of the API; borrowed. */
const char *front_url(const struct front *);

/* Returns whether another process listens on the API's port, too. It serves the clients when this process
 * stops listening. */
bool front_has_partner(const struct front *);

/* Gives the sockets of one reactor: the API's, and the one for health, which is -1 without --health-listen.
 * Each may be taken once. */
int front_take(struct front *, size_t reactor);
int front_take_health(struct front *, size_t reactor);

/* Borrowed. */
struct http_limits *front_limits(const struct front *);

#endif
