/* reach.h - whether a request may connect to an address: the rule of target.h, applied in the socket callback
 * of the HTTP client, for each connection. */
#ifndef DUEPOST_WORKER_REACH_H
#define DUEPOST_WORKER_REACH_H

#include <sys/socket.h>

#include "job/target/target.h"
#include "job/target/url.h"
#include "store/store.h"

/* A request, all borrowed. */
struct reach {
    const struct target_policy *targets;
    struct store *store;
    const struct url *url;
    bool has_proxy;
    const struct url *proxy; /* a proxy that a client has chosen, which is a target, too; NULL: none, or the
                                operator has chosen it */
};

/* Returns whether the address is allowed. If not, writes why, except for an address of another kind. */
bool reach_permits(const struct reach *, const struct sockaddr *, char why[TARGET_WHY_SIZE]);

#endif
