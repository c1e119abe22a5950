/* front.h - where clients meet duepost: the listening sockets, and what all connections may take together. */
#ifndef DUEPOST_SERVER_FRONT_H
#define DUEPOST_SERVER_FRONT_H

#include "io/http_limits.h"
#include "server/options.h"

struct front;

/* Listens where options say; blocks for names. STATUS_FAILED with what to do about it. */
enum status front_open(const struct options *, struct front **, struct problem *) MUST_USE;
void front_free(struct front *); /* NULL is fine */

/* STATUS_INVALID: where it listens, options would let everybody in. */
enum status front_check(const struct front *, const struct options *, struct problem *) MUST_USE;

/* No job may lead here. */
void front_refuse(const struct front *, struct target_policy *);

/* http://HOST:PORT of the API; borrowed. */
const char *front_url(const struct front *);

/* Another process listens on the port of the API, too: clients are served when ours stops. */
bool front_has_partner(const struct front *);

/* Gives the sockets of one reactor: of the API, and of health, which is -1 without --health-listen. Each may
 * be taken once. */
int front_take(struct front *, size_t reactor);
int front_take_health(struct front *, size_t reactor);

/* Borrowed. */
struct http_limits *front_limits(const struct front *);

#endif
