/* resolver.h - a host name's addresses, looked up beside the loop.
 *
 * getaddrinfo blocks, so each look-up has a thread of its own for as long as it takes. */
#ifndef DUEPOST_IO_RESOLVER_H
#define DUEPOST_IO_RESOLVER_H

#include <netinet/in.h>
#include <stddef.h>

#include "io/loop.h"

struct resolver;

enum { RESOLVED_MAX = 16 };

/* The numeric addresses of a name in the order of getaddrinfo; those beyond RESOLVED_MAX are left out. */
struct resolved {
    char addresses[RESOLVED_MAX][INET6_ADDRSTRLEN];
    size_t count;    /* 0: none was found */
    const char *why; /* none was found */
};

/* Borrowed. */
typedef void resolver_fn(void *arg, const struct resolved *);

/* Copies host. fn comes once, in the loop's thread, unless it is cancelled first. */
struct resolver *resolver_start(struct loop *, const char *host, resolver_fn *, void *arg);

/* fn will not come; the resolver is gone. */
void resolver_cancel(struct resolver *);

#endif
