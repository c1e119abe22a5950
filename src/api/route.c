#include "api/route.h"

#include <assert.h>

#include "api/handlers.h"
#include "base/percent.h"
#include "job/job_id.h"
#include "job/receiver.h"
#include "job/token.h"

static const struct route routes[] = {
    {
        .path = "/jobs",
        .methods = {{"POST", METRICS_ROUTE_SCHEDULE, schedule_handle, BODY_JOBS, false, REACH_ASKED,
                     SCOPE_SCHEDULE},
                    {"GET", METRICS_ROUTE_LIST, list_handle, BODY_NONE, true, REACH_ASKED, SCOPE_READ},
                    {"DELETE", METRICS_ROUTE_CANCEL_MANY, cancel_many_handle, BODY_NONE, true, REACH_ASKED,
                     SCOPE_CANCEL}},
    },
    {
        .path = "/jobs/count",
        .methods = {{"GET", METRICS_ROUTE_COUNT_JOBS, count_handle, BODY_NONE, true, REACH_ASKED,
                     SCOPE_READ}},
    },
    {
        .path = "/jobs/redrive",
        .methods = {{"POST", METRICS_ROUTE_REDRIVE, redrive_handle, BODY_NONE, true, REACH_ASKED,
                     SCOPE_ADMIN}},
    },
    {
        .path = "/jobs/:/:",
        .methods = {{"GET", METRICS_ROUTE_READ, read_handle, BODY_NONE, false, REACH_JOB, SCOPE_READ},
                    {"PUT", METRICS_ROUTE_REPLACE, replace_handle, BODY_JSON, false, REACH_TOPIC,
                     SCOPE_SCHEDULE},
                    /* Its answer shows the whole job. */
                    {"PATCH", METRICS_ROUTE_PATCH, patch_handle, BODY_PATCH, false, REACH_JOB,
                     SCOPE_SCHEDULE | SCOPE_READ},
                    {"DELETE", METRICS_ROUTE_CANCEL, cancel_handle, BODY_NONE, false, REACH_JOB,
                     SCOPE_CANCEL}},
    },
    {
        .path = "/jobs/:/:/run",
        .methods = {{"POST", METRICS_ROUTE_RUN, run_handle, BODY_NONE, false, REACH_JOB, SCOPE_SCHEDULE}},
    },
    {
        .path = "/jobs/:/:/why",
        .methods = {{"GET", METRICS_ROUTE_WHY, why_handle, BODY_NONE, false, REACH_JOB, SCOPE_READ}},
    },
    {
        .path = "/jobs/:/:/attempts",
        .methods = {{"GET", METRICS_ROUTE_ATTEMPTS, attempts_handle, BODY_NONE, false, REACH_JOB,
                     SCOPE_READ}},
    },
    {
        .path = "/topics",
        .methods = {{"GET", METRICS_ROUTE_TOPICS, topics_handle, BODY_NONE, true, REACH_ASKED, SCOPE_READ}},
    },
    {
        .path = "/topics/:",
        .methods = {{"GET", METRICS_ROUTE_TOPIC_READ, topic_read_handle, BODY_NONE, false, REACH_TOPIC,
                     SCOPE_READ},
                    {"PUT", METRICS_ROUTE_TOPIC_CHANGE, topic_put_handle, BODY_JSON, false, REACH_TOPIC,
                     SCOPE_ADMIN},
                    {"PATCH", METRICS_ROUTE_TOPIC_CHANGE, topic_patch_handle, BODY_PATCH, false, REACH_TOPIC,
                     SCOPE_ADMIN},
                    {"DELETE", METRICS_ROUTE_TOPIC_CHANGE, topic_delete_handle, BODY_NONE, false, REACH_TOPIC,
                     SCOPE_ADMIN}},
    },
    {
        .path = "/receivers",
        .methods = {{"GET", METRICS_ROUTE_RECEIVERS, receivers_handle, BODY_NONE, true, REACH_ALL,
                     SCOPE_READ}},
    },
    {
        .path = "/receivers/:/close",
        .has_receiver = true,
        .methods = {{"POST", METRICS_ROUTE_RECEIVER_CLOSE, receiver_close_handle, BODY_NONE, false, REACH_ALL,
                     SCOPE_ADMIN}},
    },
    {
        .path = "/healthz",
        .is_probe = true,
        .methods = {{"GET", METRICS_ROUTE_HEALTH, health_handle, BODY_NONE, false, REACH_FREE, 0}},
    },
    {
        .path = "/readyz",
        .is_probe = true,
        .methods = {{"GET", METRICS_ROUTE_READY, ready_handle, BODY_NONE, false, REACH_FREE, 0}},
    },
    {
        .path = "/metrics",
        .is_probe = true,
        .methods = {{"GET", METRICS_ROUTE_METRICS, metrics_handle, BODY_NONE, false, REACH_ALL, SCOPE_READ}},
    },
};

void route_check_table(void)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        for (const struct method *method = routes[i].methods; method < routes[i].methods + ROUTE_METHODS_MAX;
             method++)
            assert(!method->name || (method->reach != REACH_UNDECIDED &&
                                     (method->scopes == 0) == (method->reach == REACH_FREE)));
}

/* Decodes the next ":" of a pattern. Topic and jobId end up as topic/jobId in the exchange's path; a slash
 * may be in the jobId only. */
static bool take_name(struct exchange *exchange, struct slice segment, size_t index)
{
    size_t before = exchange->path.size;
    if (index == 1)
        buffer_append_byte(&exchange->path, '/');
    return percent_decode(segment, index == 0 ? '/' : '\0', &exchange->path) &&
           exchange->path.size > before + index;
}

static bool matches(struct exchange *exchange, const char *pattern, struct slice path)
{
    size_t names = 0;
    struct slice rest_of_pattern = slice_of(pattern + 1), rest = slice_skip(path, 1);
    buffer_clear(&exchange->path);
    for (;;) {
        struct slice wanted, segment;
        bool more_wanted = slice_cut(rest_of_pattern, '/', &wanted, &rest_of_pattern);
        bool more = slice_cut(rest, '/', &segment, &rest);
        if (more != more_wanted)
            return false;
        if (slice_equal(wanted, SLICE(":"))) {
            if (!take_name(exchange, segment, names++))
                return false;
        } else if (!slice_equal(wanted, segment)) {
            return false;
        }
        if (!more)
            return true;
    }
}

/* Its name in one spelling, whichever the path has. */
static bool take_receiver(struct exchange *exchange)
{
    char name[RECEIVER_HOST_SIZE];
    if (!receiver_name_parse(buffer_slice(&exchange->path), name))
        return false;
    buffer_clear(&exchange->path);
    buffer_append(&exchange->path, slice_of(name));
    exchange->key = buffer_slice(&exchange->path);
    return true;
}

static bool take_key(struct exchange *exchange)
{
    if (exchange->path.size == 0)
        return true;
    exchange->key = buffer_slice(&exchange->path);
    if (job_key_parse(exchange->key, &exchange->topic, &exchange->job_id))
        return true;
    exchange->topic = exchange->key; /* the path of a topic */
    return topic_is_valid(exchange->topic) || slice_equal(exchange->topic, SLICE("*"));
}

/* Every server takes the absolute form, which proxies are sent (RFC 9112, section 3.2.2). We have one name
 * for all, so what it names besides the path and the query means nothing. */
static struct slice without_origin(struct slice target)
{
    static const struct slice schemes[] = {SLICE("http://"), SLICE("https://")};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct slice scheme = schemes[i], authority, rest;
        if (target.size <= scheme.size || !slice_equal_nocase(slice_from(target.data, scheme.size), scheme))
            continue;
        slice_cut(slice_skip(target, scheme.size), '/', &authority, &rest);
        return rest.size ? slice_from(rest.data - 1, rest.size + 1) : SLICE("/");
    }
    return target;
}

const struct route *route_find(struct exchange *exchange, struct slice target)
{
    struct slice path;
    slice_cut(without_origin(target), '?', &path, &exchange->query);
    if (path.size == 0 || path.data[0] != '/' || path.size > EXCHANGE_PATH_MAX)
        return NULL;
    if (path.size > 1 && path.data[path.size - 1] == '/')
        path.size--;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (matches(exchange, routes[i].path, path))
            return (routes[i].has_receiver ? take_receiver(exchange) : take_key(exchange)) ? &routes[i]
                                                                                           : NULL;
    return NULL;
}

const struct method *route_method(const struct route *route, struct slice name)
{
    if (slice_equal(name, SLICE("HEAD")))
        name = SLICE("GET");
    for (size_t i = 0; i < ROUTE_METHODS_MAX && route->methods[i].name; i++)
        if (slice_equal(name, slice_of(route->methods[i].name)))
            return &route->methods[i];
    return NULL;
}

void route_allow(const struct route *route, struct buffer *text)
{
    for (size_t i = 0; i < ROUTE_METHODS_MAX && route->methods[i].name; i++) {
        const char *name = route->methods[i].name;
        buffer_printf(text, "%s%s%s", i ? ", " : "", name, strcmp(name, "GET") == 0 ? ", HEAD" : "");
    }
}
