/* health.c - whether this reactor can confirm changes, and the version, role and durability of its Redis. */
#include <assert.h>

#include "app/overview.h"
#include "store/store.h"

static_assert((int)APP_DURABILITY_SIZE >= (int)DURABILITY_TEXT_MAX, "the store's word for a durability fits");

void app_health(const struct app *app, struct app_health *health)
{
    const struct store_facts *facts = store_facts(app->store);
    *health = (struct app_health){.is_redis_known = facts->is_known};
    health->is_ready = store_is_ready(app->store, &health->why);
    store_durability_configured(app->store, health->durability);
    if (!facts->is_known)
        return;
    health->version = facts->version;
    health->role = facts->role;
    health->eviction = facts->eviction;
    store_facts_durability(facts, health->in_force);
    health->is_trusted = facts->is_trusted;
}
