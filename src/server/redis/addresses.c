#include "server/redis/redis_private.h"

#include <netdb.h>
#include <netinet/in.h>

#include "base/log.h"
#include "base/memory.h"
#include "io/local_address.h"

enum {
    FOUND_MAX = 1024
}; /* maximum number of addresses, which otherwise could grow with each reload: a name may resolve to new ones
      each time */

struct found {
    struct address address;
    uint16_t port;
};

struct redis_addresses {
    struct found found[FOUND_MAX];
    size_t count;
};

struct redis_addresses *redis_addresses_new(void)
{
    return NEW(struct redis_addresses);
}

void redis_addresses_free(struct redis_addresses *addresses)
{
    free(addresses);
}

static void addresses_add(struct redis_addresses *addresses, const struct address *address, uint16_t port)
{
    for (size_t i = 0; i < addresses->count; i++)
        if (addresses->found[i].port == port && address_equal(&addresses->found[i].address, address))
            return;
    if (addresses->count < FOUND_MAX)
        addresses->found[addresses->count++] = (struct found){*address, port};
}

static void look_up(struct redis_addresses *addresses, const char *host, uint16_t port)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int error = getaddrinfo(host, NULL, &hints, &found);
    if (error != 0) {
        log_warning("redis_name_not_found", LOG_TEXT("host", host), LOG_TEXT("why", gai_strerror(error)));
        return;
    }
    for (const struct addrinfo *item = found; item; item = item->ai_next) {
        struct address address = {.is_v6 = item->ai_family == AF_INET6};
        if (address.is_v6)
            memcpy(address.bytes, &((const struct sockaddr_in6 *)(const void *)item->ai_addr)->sin6_addr, 16);
        else
            memcpy(address.bytes, &((const struct sockaddr_in *)(const void *)item->ai_addr)->sin_addr, 4);
        addresses_add(addresses, &address, port);
    }
    freeaddrinfo(found);
}

void redis_addresses_refuse(struct redis_addresses *addresses, const struct redis_address *redis,
                            struct target_policy *targets)
{
    if (redis->host)
        look_up(addresses, redis->host, redis->port);
    for (size_t i = 0; i < redis->seed_count; i++)
        look_up(addresses, redis->seeds[i].host, redis->seeds[i].port);
    for (size_t i = 0; i < addresses->count; i++) {
        const struct found *found = &addresses->found[i];
        target_policy_refuse(targets, &found->address, found->port);
        if (address_is_local(found->address.is_v6, found->address.bytes))
            target_policy_refuse(targets, NULL, found->port);
    }
}
