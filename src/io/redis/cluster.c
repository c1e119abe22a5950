#include "io/redis/discovery.h"

#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "io/redis/redis_private.h"

#define DEADLINE_US INT64_C(1000000)
#define NEXT_US     INT64_C(100000) /* wait before the next node is tried */

enum {
    NODES_MAX = 64, /* maximum number of nodes kept from the last slot map; they are tried when the connection
                       is lost */
    FIRST_NODE = 2, /* index of the primary in a range of the slot map; the replicas follow */
};

struct cluster_slot {
    uint16_t number;
    bool is_known;
    struct redis_node primary;
};

struct cluster {
    struct loop *loop;
    const struct redis_address *address;
    struct cluster_events events;
    struct cluster_slot *slots;
    size_t slot_count;
    struct redis_node nodes[NODES_MAX]; /* nodes of the last slot map */
    size_t node_count;
    size_t turn;              /* index of the next node to try */
    struct redis_node asked;  /* the node that is queried now */
    struct redis_address own; /* like address, but with the host and port of asked; borrows all strings */
    struct redis_link *link;
    struct query_timer *queries;
    struct timer *next;
    bool is_believed; /* the queried node reports that the Cluster works */
};

/* ---- the slots' primaries ---- */

static void set_primary(struct cluster *cluster, size_t index, const struct redis_node *node)
{
    struct cluster_slot *slot = &cluster->slots[index];
    bool was_known = slot->is_known;
    if (was_known && redis_node_equal(&slot->primary, node))
        return;
    slot->primary = *node;
    slot->is_known = true;
    if (!was_known)
        return;
    log_info("redis_primary", LOG_NUMBER("slot", slot->number), LOG_TEXT("host", node->host),
             LOG_NUMBER("port", node->port));
    cluster->events.on_switch(cluster->events.arg, index);
}

/* Reads a node of the slot map: an array that begins with host and port. An empty host means the node that
 * sent the map. Returns false if the node is invalid, or its host is "?": a node sends "?" if it does not
 * know its own name. */
static bool read_node(const struct cluster *cluster, const struct redis_reply *reply, struct redis_node *node)
{
    struct slice host = redis_reply_text(redis_reply_at(reply, 0));
    int64_t port = redis_reply_integer(redis_reply_at(reply, 1));
    if (host.size >= sizeof node->host || port < 1 || port > UINT16_MAX || slice_equal(host, SLICE("?")))
        return false;
    *node = (struct redis_node){.port = (uint16_t)port};
    snprintf(node->host, sizeof node->host, "%.*s", SLICE_ARG(host));
    if (host.size == 0)
        memcpy(node->host, cluster->asked.host, sizeof node->host);
    return true;
}

static void note_node(struct cluster *cluster, const struct redis_node *node)
{
    cluster->events.on_node(cluster->events.arg, node);
    for (size_t i = 0; i < cluster->node_count; i++)
        if (redis_node_equal(&cluster->nodes[i], node))
            return;
    if (cluster->node_count < NODES_MAX)
        cluster->nodes[cluster->node_count++] = *node;
}

/* Reads a range of the slot map: first slot, last slot, primary, then any number of replicas. */
static void take_range(struct cluster *cluster, const struct redis_reply *range)
{
    int64_t first = redis_reply_integer(redis_reply_at(range, 0));
    int64_t last = redis_reply_integer(redis_reply_at(range, 1));
    struct redis_node node;
    for (size_t i = FIRST_NODE; i < redis_reply_size(range); i++)
        if (read_node(cluster, redis_reply_at(range, i), &node))
            note_node(cluster, &node);
    if (!read_node(cluster, redis_reply_at(range, FIRST_NODE), &node))
        return;
    for (size_t i = 0; i < cluster->slot_count; i++) {
        const struct cluster_slot *slot = &cluster->slots[i];
        if (slot->number >= first && slot->number <= last && (cluster->is_believed || !slot->is_known))
            set_primary(cluster, i, &node);
    }
}

/* ---- queries ---- */

static void try_next(struct cluster *cluster)
{
    query_timer_stop(cluster->queries);
    timer_start(cluster->next, NEXT_US);
}

static void on_info(void *arg, const struct redis_reply *reply)
{
    struct cluster *cluster = arg;
    const struct slice ok = SLICE("cluster_state:ok");
    struct slice info = redis_reply_text(reply);
    cluster->is_believed = info.size && memmem(info.data, info.size, ok.data, ok.size);
}

static void on_map(void *arg, const struct redis_reply *reply)
{
    struct cluster *cluster = arg;
    if (redis_reply_kind(reply) == REDIS_KIND_ERROR)
        log_warning("cluster_has_no_map", LOG_TEXT("host", cluster->asked.host),
                    LOG_NUMBER("port", cluster->asked.port), LOG_SLICE("error", redis_reply_text(reply)));
    if (redis_reply_size(reply) > 0)
        cluster->node_count = 0;
    for (size_t i = 0; i < redis_reply_size(reply); i++)
        take_range(cluster, redis_reply_at(reply, i));
    if (reply && (redis_reply_size(reply) == 0 || !cluster->is_believed))
        try_next(cluster);
}

static void cluster_ask(void *arg)
{
    struct cluster *cluster = arg;
    redis_send(cluster->link, 2, (struct slice[]){SLICE("CLUSTER"), SLICE("INFO")}, on_info, cluster);
    redis_send(cluster->link, 2, (struct slice[]){SLICE("CLUSTER"), SLICE("SLOTS")}, on_map, cluster);
    query_timer_sent(cluster->queries);
}

static void on_down(void *arg, const char *why)
{
    struct cluster *cluster = arg;
    log_warning("cluster_node_lost", LOG_TEXT("host", cluster->asked.host),
                LOG_NUMBER("port", cluster->asked.port), LOG_TEXT("why", why));
    try_next(cluster);
}

static const struct redis_node *next_node(struct cluster *cluster)
{
    size_t seeds = cluster->address->seed_count;
    size_t index = cluster->turn++ % (seeds + cluster->node_count);
    return index < seeds ? &cluster->address->seeds[index] : &cluster->nodes[index - seeds];
}

/* Connects to the next node. Called when the current node has been unreachable for a while; until then, the
 * link reconnects to the current node. */
static void connect_next(void *arg)
{
    struct cluster *cluster = arg;
    if (cluster->link && redis_link_is_up(cluster->link) && query_timer_is_running(cluster->queries))
        return;
    redis_link_free(cluster->link);
    cluster->asked = *next_node(cluster);
    cluster->own = (struct redis_address){
        .host = cluster->asked.host,
        .port = cluster->asked.port,
        .user = cluster->address->user,
        .password = cluster->address->password,
        .tls = cluster->address->tls,
    };
    cluster->link =
        redis_link_new(cluster->loop, &cluster->own, DEADLINE_US,
                       (struct redis_link_events){.on_up = cluster_ask, .on_down = on_down, .arg = cluster});
    timer_start(cluster->next, DEADLINE_US);
}

void cluster_recheck(struct cluster *cluster)
{
    query_timer_hurry(cluster->queries);
}

/* ---- MOVED ---- */

bool cluster_moved_parse(struct slice error, uint16_t *slot, struct redis_node *node)
{
    const struct slice word = SLICE("MOVED ");
    struct slice number, endpoint;
    uint64_t whole, port;
    if (!slice_starts_with(error, word) || !slice_cut(slice_skip(error, word.size), ' ', &number, &endpoint))
        return false;
    const char *colon = endpoint.size ? memrchr(endpoint.data, ':', endpoint.size) : NULL;
    if (!colon || !slice_to_number(number, CLUSTER_SLOTS - 1, &whole))
        return false;
    size_t host_size = (size_t)(colon - endpoint.data); /* the last colon: an IPv6 address contains colons */
    if (host_size >= sizeof node->host ||
        !slice_to_number(slice_skip(endpoint, host_size + 1), UINT16_MAX, &port) || port == 0)
        return false;
    *slot = (uint16_t)whole;
    *node = (struct redis_node){.port = (uint16_t)port};
    memcpy(node->host, endpoint.data, host_size);
    return true;
}

void cluster_note_moved(struct cluster *cluster, size_t index, struct slice moved)
{
    uint16_t number;
    struct redis_node node;
    if (cluster_moved_parse(moved, &number, &node) && number == cluster->slots[index].number) {
        if (!node.host[0])
            memcpy(node.host, cluster->slots[index].primary.host, sizeof node.host);
        cluster->events.on_node(cluster->events.arg, &node);
        if (redis_node_equal(&node, &cluster->slots[index].primary))
            cluster->events.on_switch(cluster->events.arg, index);
        else
            set_primary(cluster, index, &node);
    }
    cluster_recheck(cluster);
}

/* ---- new, free ---- */

struct cluster *cluster_new(struct loop *loop, const struct redis_address *address, const uint16_t *slots,
                            size_t count, struct cluster_events events)
{
    struct cluster *cluster = NEW(struct cluster);
    cluster->loop = loop;
    cluster->address = address;
    cluster->events = events;
    cluster->slots = NEW_ARRAY(struct cluster_slot, count);
    cluster->slot_count = count;
    for (size_t i = 0; i < count; i++)
        cluster->slots[i].number = slots[i];
    cluster->queries = query_timer_new(loop, cluster_ask, cluster);
    cluster->next = timer_new(loop, connect_next, cluster);
    timer_start(cluster->next, 0);
    return cluster;
}

void cluster_free(struct cluster *cluster)
{
    if (!cluster)
        return;
    redis_link_free(cluster->link);
    query_timer_free(cluster->queries);
    timer_free(cluster->next);
    free(cluster->slots);
    free(cluster);
}

void *cluster_slot(struct cluster *cluster, size_t index)
{
    return &cluster->slots[index];
}

bool cluster_find(void *arg, struct redis_node *node, struct problem *why)
{
    const struct cluster_slot *slot = arg;
    *node = slot->primary;
    if (!slot->is_known)
        problem_set(why, "no node of the Cluster has named the primary yet");
    return slot->is_known;
}
