/* health.h - whether this reactor can confirm changes, and what it knows about Redis. */
#ifndef DUEPOST_APP_HEALTH_H
#define DUEPOST_APP_HEALTH_H

#include "app/app.h"

enum { APP_DURABILITY_SIZE = 32 };

struct app_health {
    bool is_ready;
    struct problem why; /* unless it is ready */
    bool is_redis_known;
    const char *version, *role,
        *eviction; /* of Redis, once it is known; borrowed until the next turn of the loop */
    char durability[APP_DURABILITY_SIZE]; /* that is configured */
    char in_force[APP_DURABILITY_SIZE];   /* once Redis is known */
};

void app_health(const struct app *, struct app_health *);

#endif
