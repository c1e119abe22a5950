/* health.h - reports whether this reactor can confirm changes, and the version, role and durability of
 * Redis. */
#ifndef DUEPOST_APP_HEALTH_H
#define DUEPOST_APP_HEALTH_H

#include "app/app.h"

enum { APP_DURABILITY_SIZE = 32 };

struct app_health {
    bool is_ready;
    struct problem why; /* if the reactor is not ready: the reason */
    bool is_redis_known;
    const char *version, *role,
        *eviction; /* settings of Redis, if known; valid until the next turn of the loop */
    char durability[APP_DURABILITY_SIZE]; /* the configured durability */
    char in_force[APP_DURABILITY_SIZE];   /* the durability that Redis provides now, if known */
    bool is_trusted; /* the durability in in_force was not checked, see the option --trust-durability */
};

void app_health(const struct app *, struct app_health *);

#endif
