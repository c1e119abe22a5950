/* listener.h - the port that clients speak to: one listening socket a reactor.
 *
 * SO_REUSEPORT lets all of them share the port, but also lets a second duepost
 * take half of the connections without an error. So the first socket is bound
 * and listens without it, which fails when anybody has the port, unless the
 * operator wants to share it; the option is set on it afterwards (the kernel
 * looks at it only when the others bind), and so the port is never free in
 * between. */
#ifndef DUEPOST_SERVER_LISTENER_H
#define DUEPOST_SERVER_LISTENER_H

#include "job/target.h"

struct listener;

enum { LISTENER_URL_MAX = 300 };

/* Opens count sockets on one address of host (a literal or a name that this host resolves now;
 * blocks for that) that share port; port 0 picks a free one. is_shared: other processes of this user may
 * listen there already. The sockets don't block. STATUS_FAILED with what to do about it. */
enum status listener_open(const char *scheme, const char *host, uint16_t port, size_t count, bool is_shared,
                          struct listener **, struct problem *) MUST_USE;

/* Closes what was not taken; NULL is fine. */
void listener_free(struct listener *);

/* Gives the socket of one reactor; each may be taken once. */
int listener_take(struct listener *, size_t index);

/* Where it really listens: the port that was picked, and SCHEME://HOST:PORT with the host as it was
 * given. Borrowed. */
uint16_t listener_port(const struct listener *);
const char *listener_url(const struct listener *);

/* Whether a socket of another process listens on the port now, so that clients are served when ours are
 * closed. False where the kernel does not tell. To be asked while ours listen. */
bool listener_has_partner(const struct listener *);

/* Only this host can connect. */
bool listener_is_loopback(const struct listener *);

/* No job may lead to us: tells policy our address, or that every address of this host is ours. */
void listener_refuse(const struct listener *, struct target_policy *);

#endif
