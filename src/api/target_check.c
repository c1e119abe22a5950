#include "api/target_check.h"

#include "api/problem.h"
#include "io/local_address.h"
#include "job/job_errors.h"
#include "job/url.h"

static bool is_allowed(const struct api *api, const struct url *url, const struct address *address,
                       char why[TARGET_WHY_SIZE])
{
    const struct target_policy *targets = api->options.targets;
    bool is_local =
        target_policy_asks_local(targets, url->port) && address_is_local(address->is_v6, address->bytes);
    bool is_ours = target_policy_refuses(targets, address, url->port, is_local) ||
                   store_is_redis(api->options.store, address, url->port);
    if (!is_ours && target_policy_permits(targets, url->host, address, url->port, is_local))
        return true;
    if (is_ours)
        target_explain_ours(address, url->port, why);
    else
        target_explain(address, why);
    return false;
}

/* This very host, whatever a name server says (RFC 6761, 6.3), by one of its two addresses. */
static bool is_localhost_allowed(const struct api *api, const struct url *url, char why[TARGET_WHY_SIZE])
{
    static const struct address v4 = {false, {127, 0, 0, 1}}, v6 = {true, {[15] = 1}};
    return is_allowed(api, url, &v6, why) || is_allowed(api, url, &v4, why);
}

bool target_is_allowed(const struct api *api, struct slice text, char why[TARGET_WHY_SIZE])
{
    struct url url;
    const char *detail;
    if (url_parse(text, &url, &detail) != STATUS_OK)
        return true; /* also none: it is the topic's */
    if (url.host_is_address)
        return is_allowed(api, &url, &url.address, why);
    return !url_host_is_localhost(url.host) || is_localhost_allowed(api, &url, why);
}

/* Out of the way of all others, because the errors are large. */
void target_write_refused(struct buffer *members, const char *why)
{
    struct job_errors errors;
    errors.count = 0;
    job_errors_add(&errors, "url", why);
    problem_write_errors(members, "job", &errors);
}

bool target_check(struct exchange *exchange, struct slice url)
{
    char why[TARGET_WHY_SIZE];
    if (target_is_allowed(api_of(exchange), url, why))
        return true;
    struct buffer *members = exchange_members(exchange);
    target_write_refused(members, why);
    problem_answer_members(exchange, 400, buffer_slice(members));
    return false;
}
