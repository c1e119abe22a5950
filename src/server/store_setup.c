#include "server/store_setup.h"

static const char *const history_bodies[] = {
    [HISTORY_BODIES_ON] = "on", [HISTORY_BODIES_ERRORS] = "errors", [HISTORY_BODIES_OFF] = "off"};

struct store_options store_setup(const struct options *options, const struct redis_address *redis,
                                 const char *prefix)
{
    struct store_options store = {
        .redis = redis,
        .prefix = prefix,
        .shards = (size_t)options->shards,
        .max_in_flight_topic = options->max_in_flight_topic,
        .max_jobs = options->max_jobs,
        .dead_max = options->dead_max,
        .dead_max_age_ms = options->dead_max_age_ms,
        .idempotency_window_ms = options->idempotency_window_ms,
        .breaker_wait_ms = options->breaker_wait_ms,
        .history_backlog_bytes = options_have_history(options) ? options->history_backlog_bytes : 0,
        .history_bodies = history_bodies[options->history_bodies],
        .durability = options->durability,
        .is_durability_set = options->is_durability_set,
        .trusts_durability = options->trusts_durability,
    };
    if (options->is_embedded) {
        if (!store.is_durability_set)
            store.durability.is_synced = true;
        store.is_durability_set = true;
    }
    return store;
}
