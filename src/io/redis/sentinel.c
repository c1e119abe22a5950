#include "io/redis/discovery.h"

#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "io/redis/redis_private.h"

#define DEADLINE_US INT64_C(1000000)

enum { WHY_SIZE = 160 };

/* One of the Sentinels, and its last answer. */
struct witness {
    struct sentinel *sentinel;
    struct redis_address own; /* own copy of the address; borrows the strings */
    struct redis_link *link;
    struct query_timer *queries;
    bool knows;             /* this Sentinel has named a primary */
    char refusal[WHY_SIZE]; /* the last error that this Sentinel answered; "" after each new connection */
    struct redis_node primary;
    int64_t epoch, next_epoch; /* config-epoch of primary, and of the answer that is being read */
};

struct sentinel {
    struct sentinel_events events;
    const struct redis_address *address;
    struct witness *witnesses;
    size_t count;
    bool is_known;
    struct redis_node primary;
};

static struct redis_node node_of(struct slice host, int64_t port)
{
    struct redis_node node = {.port = (uint16_t)port};
    snprintf(node.host, sizeof node.host, "%.*s", SLICE_ARG(host));
    return node;
}

/* ---- choosing the answer ---- */

static bool is_believed_over(const struct sentinel *sentinel, const struct witness *one,
                             const struct witness *other)
{
    if (!other || one->epoch != other->epoch)
        return !other || one->epoch > other->epoch;
    return redis_node_equal(&one->primary, &sentinel->primary) &&
           !redis_node_equal(&other->primary, &sentinel->primary);
}

static void judge(struct sentinel *sentinel)
{
    const struct witness *best = NULL;
    for (size_t i = 0; i < sentinel->count; i++) {
        const struct witness *witness = &sentinel->witnesses[i];
        if (witness->knows && is_believed_over(sentinel, witness, best))
            best = witness;
    }
    bool was_known = sentinel->is_known;
    if (!best || (was_known && redis_node_equal(&best->primary, &sentinel->primary)))
        return;
    sentinel->primary = best->primary;
    sentinel->is_known = true;
    log_info("redis_primary", LOG_TEXT("host", best->primary.host), LOG_NUMBER("port", best->primary.port));
    if (was_known)
        sentinel->events.on_switch(sentinel->events.arg);
}

/* ---- queries ---- */

/* Returns the value of a name in a flat list of names and values. */
static const struct redis_reply *member(const struct redis_reply *list, struct slice name)
{
    for (size_t i = 0; i + 1 < redis_reply_size(list); i += 2)
        if (slice_equal(redis_reply_text(redis_reply_at(list, i)), name))
            return redis_reply_at(list, i + 1);
    return NULL;
}

static void on_state(void *arg, const struct redis_reply *reply)
{
    struct witness *witness = arg;
    witness->next_epoch = redis_reply_integer(member(reply, SLICE("config-epoch")));
}

static void on_primary(void *arg, const struct redis_reply *reply)
{
    struct witness *witness = arg;
    const struct sentinel_events *events = &witness->sentinel->events;
    if (!reply || redis_reply_kind(reply) == REDIS_KIND_ERROR)
        return;
    witness->knows = redis_reply_size(reply) == 2; /* a Sentinel that does not know the service returns nil */
    if (!witness->knows)
        return;
    witness->primary =
        node_of(redis_reply_text(redis_reply_at(reply, 0)), redis_reply_integer(redis_reply_at(reply, 1)));
    witness->epoch = witness->next_epoch;
    events->on_node(events->arg, &witness->primary);
    judge(witness->sentinel);
}

static void on_replicas(void *arg, const struct redis_reply *reply)
{
    const struct witness *witness = arg;
    const struct sentinel_events *events = &witness->sentinel->events;
    for (size_t i = 0; i < redis_reply_size(reply); i++) {
        const struct redis_reply *replica = redis_reply_at(reply, i);
        struct redis_node node = node_of(redis_reply_text(member(replica, SLICE("ip"))),
                                         redis_reply_integer(member(replica, SLICE("port"))));
        if (node.host[0])
            events->on_node(events->arg, &node);
    }
}

static void sentinel_send(struct witness *witness, struct slice question, redis_reply_fn *fn)
{
    struct slice service = slice_of(witness->sentinel->address->service);
    redis_send(witness->link, 3, (struct slice[]){SLICE("SENTINEL"), question, service}, fn, witness);
}

/* Asks for the config-epoch first, and then for the address of the primary. If a failover happens between the
 * two answers, the new primary has the old config-epoch until the next query, a second later. In the other
 * order, the old primary would have the new config-epoch. */
static void sentinel_ask(void *arg)
{
    struct witness *witness = arg;
    sentinel_send(witness, SLICE("master"), on_state);
    sentinel_send(witness, SLICE("get-master-addr-by-name"), on_primary);
    sentinel_send(witness, SLICE("replicas"), on_replicas);
    query_timer_sent(witness->queries);
}

static void on_up(void *arg)
{
    struct witness *witness = arg;
    witness->refusal[0] = '\0';
    sentinel_ask(witness);
}

/* Logs each refusal only once. A Sentinel that refuses AUTH is queried again and again, and would fill the
 * log. */
static void on_error(void *arg, struct slice error)
{
    struct witness *witness = arg;
    if (slice_starts_with(error, slice_of(witness->refusal)) && witness->refusal[0])
        return;
    snprintf(witness->refusal, WHY_SIZE, "%.*s", SLICE_ARG(error));
    log_warning("sentinel_refuses", LOG_TEXT("host", witness->own.host),
                LOG_NUMBER("port", witness->own.port), LOG_TEXT("why", witness->refusal));
}

static void on_down(void *arg, const char *why)
{
    struct witness *witness = arg;
    log_warning("sentinel_lost", LOG_TEXT("host", witness->own.host), LOG_NUMBER("port", witness->own.port),
                LOG_TEXT("why", why));
    query_timer_stop(witness->queries);
}

void sentinel_recheck(struct sentinel *sentinel)
{
    for (size_t i = 0; i < sentinel->count; i++)
        query_timer_hurry(sentinel->witnesses[i].queries);
}

/* ---- new, free ---- */

static void start_witness(struct sentinel *sentinel, struct loop *loop, struct witness *witness,
                          const struct redis_node *node)
{
    witness->sentinel = sentinel;
    witness->own = (struct redis_address){
        .host = (char *)(uintptr_t)node->host,
        .port = node->port,
        .user = sentinel->address->sentinel_user,
        .password = sentinel->address->sentinel_password,
        .tls = sentinel->address->tls,
    };
    witness->queries = query_timer_new(loop, sentinel_ask, witness);
    struct redis_link_events events = {
        .on_up = on_up, .on_down = on_down, .on_error = on_error, .arg = witness};
    witness->link = redis_link_new(loop, &witness->own, DEADLINE_US, events);
}

struct sentinel *sentinel_new(struct loop *loop, const struct redis_address *address,
                              struct sentinel_events events)
{
    struct sentinel *sentinel = NEW(struct sentinel);
    sentinel->events = events;
    sentinel->address = address;
    sentinel->count = address->seed_count;
    sentinel->witnesses = NEW_ARRAY(struct witness, sentinel->count);
    for (size_t i = 0; i < sentinel->count; i++)
        start_witness(sentinel, loop, &sentinel->witnesses[i], &address->seeds[i]);
    return sentinel;
}

void sentinel_free(struct sentinel *sentinel)
{
    if (!sentinel)
        return;
    for (size_t i = 0; i < sentinel->count; i++) {
        redis_link_free(sentinel->witnesses[i].link);
        query_timer_free(sentinel->witnesses[i].queries);
    }
    free(sentinel->witnesses);
    free(sentinel);
}

/* Returns why this Sentinel has not named the primary. */
static void witness_explain(const struct witness *witness, struct problem *why)
{
    const char *service = witness->sentinel->address->service;
    const char *lost = redis_link_is_up(witness->link) ? "" : redis_link_why(witness->link);
    const char *reason = witness->refusal[0] ? witness->refusal : lost;
    bool is_auth = strncmp(reason, "NOAUTH", strlen("NOAUTH")) == 0 ||
                   strncmp(reason, "WRONGPASS", strlen("WRONGPASS")) == 0;
    if (!reason[0])
        problem_set(why, "no Sentinel has named the primary of the service %.100s yet", service);
    else
        problem_set(why, "no Sentinel has named the primary yet; %.200s:%u: %s%s", witness->own.host,
                    witness->own.port, reason,
                    is_auth ? " See sentinel-password-file and sentinel-user." : "");
}

bool sentinel_find(void *arg, struct redis_node *node, struct problem *why)
{
    const struct sentinel *sentinel = arg;
    const struct witness *speaker = &sentinel->witnesses[0];
    *node = sentinel->primary;
    for (size_t i = 0; i < sentinel->count && !speaker->refusal[0]; i++)
        if (sentinel->witnesses[i].refusal[0])
            speaker = &sentinel->witnesses[i];
    if (!sentinel->is_known)
        witness_explain(speaker, why);
    return sentinel->is_known;
}
