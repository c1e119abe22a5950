/* resolver.h - a host name's first address, looked up beside the loop.
 *
 * getaddrinfo blocks, so each look-up has a thread of its own for as long as it takes. */
#ifndef DUEPOST_IO_RESOLVER_H
#define DUEPOST_IO_RESOLVER_H

#include "io/loop.h"

struct resolver;

/* address: numeric text, or NULL with why it could not be found. Borrowed. */
typedef void resolver_fn(void *arg, const char *address, const char *why);

/* Copies host. fn comes once, in the loop's thread, unless it is cancelled first. */
struct resolver *resolver_start(struct loop *, const char *host, resolver_fn *, void *arg);

/* fn will not come; the resolver is gone. */
void resolver_cancel(struct resolver *);

#endif
