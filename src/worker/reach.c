#include "worker/reach.h"

#include <netinet/in.h>
#include <string.h>

#include "io/local_address.h"

static bool is_allowed(const struct reach *reach, struct slice host, const struct address *address,
                       uint16_t port, char why[TARGET_WHY_SIZE])
{
    const struct target_policy *targets = reach->targets;
    bool is_local =
        target_policy_asks_local(targets, port) && address_is_local(address->is_v6, address->bytes);
    bool is_ours = target_policy_refuses(targets, address, port, is_local) ||
                   store_is_redis(reach->store, address, port);
    if (!is_ours && target_policy_permits(targets, host, address, port, is_local))
        return true;
    if (is_ours)
        target_explain_ours(address, port, why);
    else
        target_explain(address, why);
    return false;
}

/* Returns whether a proxy may be used for the url. The proxy resolves names and checks their addresses. So
 * this function checks only addresses that the url itself contains, and names that always mean this host (RFC
 * 6761, 6.3). */
static bool may_ask_proxy(const struct reach *reach, char why[TARGET_WHY_SIZE])
{
    static const struct address loopback = {false, {127, 0, 0, 1}};
    const struct url *url = reach->url;
    if (url->host_is_address)
        return is_allowed(reach, url->host, &url->address, url->port, why);
    return !url_host_is_localhost(url->host) || is_allowed(reach, url->host, &loopback, url->port, why);
}

bool reach_permits(const struct reach *reach, const struct sockaddr *sockaddr, char why[TARGET_WHY_SIZE])
{
    struct address address = {.is_v6 = sockaddr->sa_family == AF_INET6};
    struct slice host = reach->proxy ? reach->proxy->host : reach->url->host;
    if (reach->has_proxy && !may_ask_proxy(reach, why))
        return false;
    if (reach->has_proxy && !reach->proxy)
        return true;
    if (sockaddr->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)sockaddr;
        memcpy(address.bytes, &v4->sin_addr, 4);
        return is_allowed(reach, host, &address, ntohs(v4->sin_port), why);
    }
    if (sockaddr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)sockaddr;
        memcpy(address.bytes, &v6->sin6_addr, 16);
        return v6->sin6_scope_id == 0 && is_allowed(reach, host, &address, ntohs(v6->sin6_port), why);
    }
    return false;
}
