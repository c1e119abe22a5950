#include "api/target_check.h"

#include "api/problem.h"
#include "io/local_address.h"
#include "job/job_errors.h"
#include "job/url.h"

bool target_is_allowed(const struct api *api, struct slice text)
{
    struct url url;
    const char *detail;
    if (url_parse(text, &url, &detail) != STATUS_OK || !url.host_is_address)
        return true; /* also none: it is the topic's */
    const struct target_policy *targets = api->options.targets;
    bool is_local =
        target_policy_asks_local(targets, url.port) && address_is_local(url.address.is_v6, url.address.bytes);
    return target_policy_permits(targets, url.host, &url.address, url.port, is_local) &&
           !store_is_redis(api->options.store, &url.address, url.port);
}

/* Out of the way of all others, because the errors are large. */
void target_write_refused(struct buffer *members)
{
    struct job_errors errors;
    errors.count = 0;
    job_errors_add(&errors, "url", TARGET_REFUSED);
    problem_write_errors(members, "job", &errors);
}

bool target_check(struct exchange *exchange, struct slice url)
{
    if (target_is_allowed(exchange->api, url))
        return true;
    struct buffer *members = api_members(exchange->api);
    target_write_refused(members);
    problem_answer_members(exchange, 400, buffer_slice(members));
    return false;
}
