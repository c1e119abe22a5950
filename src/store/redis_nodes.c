#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/local_address.h"
#include "io/resolver.h"
#include "job/target/target.h"
#include "store/store_private.h"

enum { NODES_MAX = 4096 }; /* several times the number of nodes of the largest Cluster */

struct node {
    struct list link;
    struct redis_nodes *nodes;
    struct redis_node redis;
    struct resolver
        *resolver; /* lookup of the node's host; NULL: its address is known, or cannot be resolved */
};

struct redis_nodes {
    struct loop *loop;
    struct list all;
    size_t count;
    struct target_policy *refused;
};

static void node_refuse(struct node *node, const char *text)
{
    struct address address;
    if (!address_parse(slice_of(text), &address))
        return;
    target_policy_refuse(node->nodes->refused, &address, node->redis.port);
    if (address_is_local(address.is_v6, address.bytes))
        target_policy_refuse(node->nodes->refused, NULL, node->redis.port);
}

static void on_resolved(void *arg, const struct resolved *resolved)
{
    struct node *node = arg;
    node->resolver = NULL;
    for (size_t i = 0; i < resolved->count; i++)
        node_refuse(node, resolved->addresses[i]);
    if (resolved->count == 0)
        log_warning("redis_name_not_found", LOG_TEXT("host", node->redis.host),
                    LOG_TEXT("why", resolved->why));
}

static bool is_noted(const struct redis_nodes *nodes, const struct redis_node *redis)
{
    for (struct list *link = nodes->all.next; link != &nodes->all; link = link->next)
        if (redis_node_equal(&LIST_ENTRY(link, struct node, link)->redis, redis))
            return true;
    return false;
}

void redis_nodes_note(struct redis_nodes *nodes, const struct redis_node *redis)
{
    struct address address;
    if (nodes->count == NODES_MAX || is_noted(nodes, redis))
        return;
    struct node *node = NEW(struct node);
    node->nodes = nodes;
    node->redis = *redis;
    list_append(&nodes->all, &node->link);
    nodes->count++;
    if (address_parse(slice_of(redis->host), &address))
        node_refuse(node, redis->host);
    else
        node->resolver = resolver_start(nodes->loop, redis->host, on_resolved, node);
}

bool redis_nodes_have(const struct redis_nodes *nodes, const struct address *address, uint16_t port)
{
    bool is_local =
        target_policy_asks_local(nodes->refused, port) && address_is_local(address->is_v6, address->bytes);
    return target_policy_refuses(nodes->refused, address, port, is_local);
}

struct redis_nodes *redis_nodes_new(struct loop *loop)
{
    struct redis_nodes *nodes = NEW(struct redis_nodes);
    nodes->loop = loop;
    nodes->refused = target_policy_new();
    list_init(&nodes->all);
    return nodes;
}

void redis_nodes_free(struct redis_nodes *nodes)
{
    for (struct list *link; (link = list_take(&nodes->all));) {
        struct node *node = LIST_ENTRY(link, struct node, link);
        if (node->resolver)
            resolver_cancel(node->resolver);
        free(node);
    }
    target_policy_free(nodes->refused);
    free(nodes);
}
