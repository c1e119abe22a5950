#include "app/target_check.h"

#include "io/local_address.h"
#include "job/delivery/callback.h"
#include "job/target/url.h"
#include "store/store.h"

static bool is_allowed(const struct app *app, const struct url *url, const struct address *address,
                       char why[TARGET_WHY_SIZE])
{
    const struct target_policy *targets = app->targets;
    bool is_local =
        target_policy_asks_local(targets, url->port) && address_is_local(address->is_v6, address->bytes);
    bool is_own = target_policy_refuses(targets, address, url->port, is_local) ||
                  store_is_redis(app->store, address, url->port);
    if (!is_own && target_policy_permits(targets, url->host, address, url->port, is_local))
        return true;
    if (is_own)
        target_explain_ours(address, url->port, why);
    else
        target_explain(address, why);
    return false;
}

/* Returns whether localhost is allowed. localhost always means this host, and no name server is asked (RFC
 * 6761, 6.3). It is allowed if its IPv4 address or its IPv6 address is allowed. */
static bool is_localhost_allowed(const struct app *app, const struct url *url, char why[TARGET_WHY_SIZE])
{
    static const struct address v4 = {false, {127, 0, 0, 1}}, v6 = {true, {[15] = 1}};
    return is_allowed(app, url, &v6, why) || is_allowed(app, url, &v4, why);
}

bool target_is_allowed(const struct app *app, struct slice text, char why[TARGET_WHY_SIZE])
{
    struct url url;
    const char *detail;
    if (url_parse(text, &url, &detail) != STATUS_OK)
        return true; /* a job without a url is allowed, because the topic's url was checked when it was set */
    if (url.host_is_address)
        return is_allowed(app, &url, &url.address, why);
    return !url_host_is_localhost(url.host) || is_localhost_allowed(app, &url, why);
}

bool target_is_callback_allowed(const struct app *app, struct slice value, char why[TARGET_WHY_SIZE])
{
    struct callback callback;
    if (value.size == 0 || !callback_read(value, &callback))
        return true;
    bool is_allowed = target_is_allowed(app, callback.url, why);
    callback_fini(&callback);
    return is_allowed;
}

const char *target_refused_member(const struct app *app, const struct job *job, char why[TARGET_WHY_SIZE])
{
    if (!target_is_allowed(app, job->url, why))
        return "url";
    if (!target_is_callback_allowed(app, job->on_delivered, why))
        return "onDelivered";
    if (!target_is_callback_allowed(app, job->on_dead, why))
        return "onDead";
    return target_is_callback_allowed(app, job->on_attempt, why) ? NULL : "onAttempt";
}
