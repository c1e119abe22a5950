#include "store/durability.h"

#include <stdio.h>

static bool parse_replicas(struct slice text, struct durability *durability)
{
    uint64_t number;
    const struct slice name = SLICE("replicated:");
    if (!slice_starts_with(text, name))
        return false;
    if (!slice_to_number(slice_skip(text, name.size), DURABILITY_REPLICAS_MAX, &number) || number == 0)
        return false;
    durability->replicas = (unsigned)number;
    return true;
}

bool durability_parse(struct slice text, struct durability *durability)
{
    struct slice first, rest;
    *durability = (struct durability){.is_synced = false};
    if (slice_equal(text, SLICE("memory")))
        return true;
    slice_cut(text, '+', &first, &rest);
    if (slice_equal(first, SLICE("fsync"))) {
        durability->is_synced = true;
        return text.size == first.size || parse_replicas(rest, durability);
    }
    return parse_replicas(text, durability);
}

void durability_format(struct durability durability, char text[DURABILITY_TEXT_MAX])
{
    const char *synced = durability.is_synced ? "fsync" : "memory";
    if (durability.replicas == 0)
        snprintf(text, DURABILITY_TEXT_MAX, "%s", synced);
    else
        snprintf(text, DURABILITY_TEXT_MAX, "%sreplicated:%u", durability.is_synced ? "fsync+" : "",
                 durability.replicas);
}

bool durability_covers(struct durability given, struct durability wanted)
{
    return given.is_synced >= wanted.is_synced && given.replicas >= wanted.replicas;
}
