/* facts_check.c - judges the properties of a Redis: can duepost use it at all? */
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

enum { REDIS_MAJOR_MIN = 7 }; /* supports script flags */

enum status store_check_version(const struct store_facts *facts, struct problem *problem)
{
    if (strtol(facts->version, NULL, 10) >= REDIS_MAJOR_MIN)
        return STATUS_OK;
    if (facts->version[0])
        problem_set(problem, "Redis is version %s; duepost needs 7.0 or newer", facts->version);
    else
        problem_set(problem,
                    "Redis does not say its version (redis_version in INFO); duepost needs 7.0 or newer");
    return STATUS_INVALID;
}

/* Refuses a Redis that evicts keys, because it would lose jobs. */
enum status store_check_eviction(const struct store_facts *facts, struct problem *problem)
{
    if (!facts->eviction[0] || strcmp(facts->eviction, "noeviction") == 0)
        return STATUS_OK;
    problem_set(problem,
                "Redis has maxmemory-policy %s, which may evict jobs; duepost needs noeviction: CONFIG SET "
                "maxmemory-policy noeviction, and the same in redis.conf",
                facts->eviction);
    return STATUS_INVALID;
}

enum status store_check_layout(const struct store_facts *facts, size_t shards, struct problem *problem)
{
    if (facts->format == 0)
        return STATUS_OK;
    if (facts->format > STORE_FORMAT_MAX)
        problem_set(problem,
                    "the data in Redis has format %lld, newer than this duepost's %d; run a newer duepost",
                    (long long)facts->format, STORE_FORMAT_MAX);
    else if (facts->shards != (int64_t)shards)
        problem_set(problem, "the data in Redis has %lld shards, this duepost is set up for %zu",
                    (long long)facts->shards, shards);
    else
        return STATUS_OK;
    return STATUS_INVALID;
}
