#include "store/places.h"

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/local_address.h"
#include "io/resolver.h"
#include "job/target.h"

enum { PLACES_MAX = 4096 }; /* a Cluster of the largest size, several times over */

struct place {
    struct list link;
    struct places *places;
    struct redis_place redis;
    struct resolver *resolver; /* NULL: its address is known, or cannot be */
};

struct places {
    struct loop *loop;
    struct list all;
    size_t count;
    struct target_policy *refused;
};

static void refuse(struct place *place, const char *text)
{
    struct address address;
    if (!address_parse(slice_of(text), &address))
        return;
    target_policy_refuse(place->places->refused, &address, place->redis.port);
    if (address_is_local(address.is_v6, address.bytes))
        target_policy_refuse(place->places->refused, NULL, place->redis.port);
}

static void on_resolved(void *arg, const struct resolved *resolved)
{
    struct place *place = arg;
    place->resolver = NULL;
    for (size_t i = 0; i < resolved->count; i++)
        refuse(place, resolved->addresses[i]);
    if (resolved->count == 0)
        log_warning("redis_name_not_found", LOG_TEXT("host", place->redis.host),
                    LOG_TEXT("why", resolved->why));
}

static bool is_noted(const struct places *places, const struct redis_place *redis)
{
    for (struct list *link = places->all.next; link != &places->all; link = link->next)
        if (redis_place_equal(&LIST_ENTRY(link, struct place, link)->redis, redis))
            return true;
    return false;
}

void places_note(struct places *places, const struct redis_place *redis)
{
    struct address address;
    if (places->count == PLACES_MAX || is_noted(places, redis))
        return;
    struct place *place = NEW(struct place);
    place->places = places;
    place->redis = *redis;
    list_append(&places->all, &place->link);
    places->count++;
    if (address_parse(slice_of(redis->host), &address))
        refuse(place, redis->host);
    else
        place->resolver = resolver_start(places->loop, redis->host, on_resolved, place);
}

bool places_have(const struct places *places, const struct address *address, uint16_t port)
{
    bool is_local =
        target_policy_asks_local(places->refused, port) && address_is_local(address->is_v6, address->bytes);
    return target_policy_refuses(places->refused, address, port, is_local);
}

struct places *places_new(struct loop *loop)
{
    struct places *places = NEW(struct places);
    places->loop = loop;
    places->refused = target_policy_new();
    list_init(&places->all);
    return places;
}

void places_free(struct places *places)
{
    for (struct list *link; (link = list_take(&places->all));) {
        struct place *place = LIST_ENTRY(link, struct place, link);
        if (place->resolver)
            resolver_cancel(place->resolver);
        free(place);
    }
    target_policy_free(places->refused);
    free(places);
}
