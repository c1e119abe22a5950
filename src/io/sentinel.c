#include "io/sentinel.h"

#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"

#define ASK_US      INT64_C(1000000)
#define DEADLINE_US INT64_C(1000000)
#define NEXT_US     INT64_C(100000) /* before the next Sentinel is tried */

struct sentinel {
    struct loop *loop;
    const struct redis_address *address;
    struct sentinel_events events;
    size_t index;             /* of the Sentinel that is asked */
    struct redis_address own; /* its address; borrows */
    struct redis_link *link;
    struct timer *ask, *next;
    bool is_known;
    struct redis_place primary;
};

static struct redis_place place_of(struct slice host, int64_t port)
{
    struct redis_place place = {.port = (uint16_t)port};
    snprintf(place.host, sizeof place.host, "%.*s", SLICE_ARG(host));
    return place;
}

static void try_next(struct sentinel *sentinel)
{
    timer_stop(sentinel->ask);
    timer_start(sentinel->next, NEXT_US);
}

static void take_answer(struct sentinel *sentinel, struct slice host, int64_t port)
{
    struct redis_place place = place_of(host, port);
    bool is_same = redis_place_equal(&place, &sentinel->primary);
    bool was_known = sentinel->is_known;
    sentinel->events.on_node(sentinel->events.arg, &place);
    sentinel->primary = place;
    sentinel->is_known = true;
    if (is_same)
        return;
    log_info("redis_primary", LOG_TEXT("host", place.host), LOG_NUMBER("port", place.port));
    if (was_known)
        sentinel->events.on_switch(sentinel->events.arg);
}

static void on_answer(void *arg, const struct redis_reply *reply)
{
    struct sentinel *sentinel = arg;
    if (redis_reply_size(reply) == 2)
        take_answer(sentinel, redis_reply_text(redis_reply_at(reply, 0)),
                    redis_reply_integer(redis_reply_at(reply, 1)));
    else if (reply)
        try_next(sentinel); /* it does not know the name */
}

/* The value of a name in a flat list of names and values. */
static const struct redis_reply *member(const struct redis_reply *list, struct slice name)
{
    for (size_t i = 0; i + 1 < redis_reply_size(list); i += 2)
        if (slice_equal(redis_reply_text(redis_reply_at(list, i)), name))
            return redis_reply_at(list, i + 1);
    return NULL;
}

static void on_replicas(void *arg, const struct redis_reply *reply)
{
    struct sentinel *sentinel = arg;
    for (size_t i = 0; i < redis_reply_size(reply); i++) {
        const struct redis_reply *replica = redis_reply_at(reply, i);
        struct redis_place place = place_of(redis_reply_text(member(replica, SLICE("ip"))),
                                            redis_reply_integer(member(replica, SLICE("port"))));
        if (place.host[0])
            sentinel->events.on_node(sentinel->events.arg, &place);
    }
}

static void ask(void *arg)
{
    struct sentinel *sentinel = arg;
    struct slice service = slice_of(sentinel->address->service);
    redis_send(sentinel->link, 3,
               (struct slice[]){SLICE("SENTINEL"), SLICE("get-master-addr-by-name"), service}, on_answer,
               sentinel);
    redis_send(sentinel->link, 3, (struct slice[]){SLICE("SENTINEL"), SLICE("REPLICAS"), service},
               on_replicas, sentinel);
    timer_start(sentinel->ask, ASK_US);
}

static void on_down(void *arg, const char *why)
{
    struct sentinel *sentinel = arg;
    log_warning("sentinel_lost", LOG_TEXT("host", sentinel->own.host), LOG_NUMBER("port", sentinel->own.port),
                LOG_TEXT("why", why));
    try_next(sentinel);
}

/* A link keeps itself up; a Sentinel that cannot be reached is left for the next one after a while. */
static void connect_next(void *arg)
{
    struct sentinel *sentinel = arg;
    if (sentinel->link && redis_link_is_up(sentinel->link) && timer_is_running(sentinel->ask))
        return;
    redis_link_free(sentinel->link);
    const struct redis_place *place =
        &sentinel->address->seeds[sentinel->index++ % sentinel->address->seed_count];
    sentinel->own = (struct redis_address){.host = (char *)(uintptr_t)place->host, .port = place->port};
    sentinel->link =
        redis_link_new(sentinel->loop, &sentinel->own, DEADLINE_US,
                       (struct redis_link_events){.on_up = ask, .on_down = on_down, .arg = sentinel});
    timer_start(sentinel->next, DEADLINE_US);
}

struct sentinel *sentinel_new(struct loop *loop, const struct redis_address *address,
                              struct sentinel_events events)
{
    struct sentinel *sentinel = NEW(struct sentinel);
    sentinel->loop = loop;
    sentinel->address = address;
    sentinel->events = events;
    sentinel->ask = timer_new(loop, ask, sentinel);
    sentinel->next = timer_new(loop, connect_next, sentinel);
    timer_start(sentinel->next, 0);
    return sentinel;
}

void sentinel_free(struct sentinel *sentinel)
{
    if (!sentinel)
        return;
    redis_link_free(sentinel->link);
    timer_free(sentinel->ask);
    timer_free(sentinel->next);
    free(sentinel);
}

bool sentinel_find(void *arg, struct redis_place *place)
{
    const struct sentinel *sentinel = arg;
    *place = sentinel->primary;
    return sentinel->is_known;
}
