/* listener.h - the port for clients: one listening socket for each reactor.
 *
 * SO_REUSEPORT lets them share the port, but would also let a second duepost take half of the connections
 * without an error. The first socket is therefore bound and listens without it, which fails when the port is
 * in use, unless the operator allows sharing. The option is set on it afterwards, because the kernel checks
 * it only when the other sockets bind. The port is never free in between. */
#ifndef DUEPOST_SERVER_LISTENER_H
#define DUEPOST_SERVER_LISTENER_H

#include "job/target.h"

struct listener;

enum { LISTENER_URL_MAX = 300 };

/* Opens count sockets that share port on one address of host. host is a literal or a name; a name is resolved
 * now, which blocks. Port 0 picks a free one. is_shared: other processes of this user may already listen
 * there. The sockets are non-blocking. STATUS_FAILED: problem says what to do. */
enum status listener_open(const char *scheme, const char *host, uint16_t port, size_t count, bool is_shared,
                          struct listener **, struct problem *) MUST_USE;

/* Closes the sockets that were not taken. NULL is ignored. */
void listener_free(struct listener *);

/* Gives the socket of one reactor. Each may be taken once. Connections come once listener_begin was called
 * for it. */
int listener_take(struct listener *, size_t index);

/* Listens on a socket that was taken; harmless twice. Returns false with errno. */
bool listener_begin(int fd);

/* Return the actual port, and SCHEME://HOST:PORT with the host as it was given. Borrowed. */
uint16_t listener_port(const struct listener *);
const char *listener_url(const struct listener *);

/* Returns whether a socket of another process listens on the port now, so that clients are served when ours
 * are closed. False where the kernel does not report it. Call while ours still listen. */
bool listener_has_partner(const struct listener *);

/* Returns whether only this host can connect. */
bool listener_is_loopback(const struct listener *);

/* Adds our address to those that no job may lead to. Listening on all addresses adds every address of this
 * host. */
void listener_refuse(const struct listener *, struct target_policy *);

#endif
