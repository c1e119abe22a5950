/* resolver.h - resolves a host name outside the loop's thread.
 *
 * getaddrinfo blocks, so each lookup has a thread of its own while it runs. */
#ifndef DUEPOST_IO_RESOLVER_H
#define DUEPOST_IO_RESOLVER_H

#include <netinet/in.h>
#include <stddef.h>

#include "io/loop.h"

struct resolver;

enum { RESOLVED_MAX = 16 };

/* The numeric addresses of a name, in getaddrinfo's order, at most RESOLVED_MAX. */
struct resolved {
    char addresses[RESOLVED_MAX][INET6_ADDRSTRLEN];
    size_t count;    /* 0: the lookup failed */
    const char *why; /* the reason when the lookup failed */
};

/* Called once with the result, which is valid until the callback returns. */
typedef void resolver_fn(void *arg, const struct resolved *);

/* Starts a lookup. Copies host. fn is called once, in the loop's thread, unless the lookup is cancelled
 * first. */
struct resolver *resolver_start(struct loop *, const char *host, resolver_fn *, void *arg);

/* Cancels the lookup and frees the resolver. fn is not called. */
void resolver_cancel(struct resolver *);

#endif
