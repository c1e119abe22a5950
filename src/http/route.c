#include "http/route.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>

#include "base/encoding.h"
#include "job/job_id.h"
#include "job/schedule/recurring.h"
#include "job/target/receiver.h"
#include "job/text/job_errors.h"
#include "job/topic/topic_patterns.h"

void route_check_table(const struct dialect *dialect)
{
    for (size_t i = 0; i < dialect->route_count; i++)
        for (const struct method *method = dialect->routes[i].methods;
             method < dialect->routes[i].methods + ROUTE_METHODS_MAX; method++)
            assert(!method->name ||
                   (method->label && method->reach != REACH_UNDECIDED &&
                    (method->scopes == 0) == (method->reach == REACH_FREE || method->reach == REACH_CALLER)));
}

/* Decodes one segment of a path, and writes a slash before it unless it is the first one. The first one, a
 * topic, may not contain an encoded slash. */
static bool take_segment(struct buffer *path, struct slice segment, size_t index)
{
    size_t before = path->size;
    if (index > 0)
        buffer_append_byte(path, '/');
    return percent_decode(segment, index == 0 ? '/' : '\0', path) && path->size > before + (index > 0);
}

static bool path_matches(struct slice pattern, struct slice target, struct buffer *path)
{
    size_t names = 0;
    struct slice rest_of_pattern = slice_skip(pattern, 1), rest = slice_skip(target, 1);
    buffer_clear(path);
    for (;;) {
        struct slice wanted, segment;
        bool more_wanted = slice_cut(rest_of_pattern, '/', &wanted, &rest_of_pattern);
        bool more = slice_cut(rest, '/', &segment, &rest);
        if (more != more_wanted)
            return false;
        if (slice_equal(wanted, SLICE(":"))) {
            if (!take_segment(path, segment, names++))
                return false;
        } else if (!slice_equal(wanted, segment)) {
            return false;
        }
        if (!more)
            return true;
    }
}

/* ---- names ---- */

bool route_names_topic(struct buffer *text, struct route_names *names)
{
    names->key = names->topic = buffer_slice(text);
    return topic_is_valid(names->topic);
}

bool route_names_topics(struct buffer *text, struct route_names *names)
{
    return route_names_topic(text, names) || topic_pattern_is_open(names->topic);
}

bool route_names_job(struct buffer *text, struct route_names *names)
{
    names->key = buffer_slice(text);
    return job_key_parse(names->key, &names->topic, &names->job_id);
}

bool route_names_limit(struct buffer *text, struct route_names *names)
{
    names->key = buffer_slice(text);
    return limit_name_is_valid(names->key);
}

bool route_names_lane(struct buffer *text, struct route_names *names)
{
    names->key = buffer_slice(text);
    return slice_cut(names->key, '/', &names->topic, &names->job_id) && topic_is_valid(names->topic) &&
           names->job_id.size > 0 && lane_key_is_valid(names->job_id);
}

bool route_names_group(struct buffer *text, struct route_names *names)
{
    names->key = buffer_slice(text);
    return group_name_is_valid(names->key);
}

bool route_names_schedule(struct buffer *text, struct route_names *names)
{
    return route_names_job(text, names) && recurring_id_is_valid(names->job_id);
}

bool route_names_workflow(struct buffer *text, struct route_names *names)
{
    return route_names_job(text, names) && !memchr(names->job_id.data, '/', names->job_id.size);
}

bool route_names_receiver(struct buffer *text, struct route_names *names)
{
    char name[RECEIVER_HOST_SIZE];
    if (!receiver_name_parse(buffer_slice(text), name))
        return false;
    buffer_clear(text);
    buffer_append(text, slice_of(name));
    names->key = buffer_slice(text);
    return true;
}

/* ---- */

/* Returns the target of a request without scheme and authority. Clients send the absolute form to proxies,
 * and a server must accept it, too (RFC 9112, section 3.2.2). The routes are the same under every host
 * name. */
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

static size_t count_slashes(struct slice text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += text.data[i] == '/';
    return count;
}

/* Splits the target of an open path into raw, the part that pattern describes, and rest, the part after the
 * next slash. raw gets as many slashes as pattern has. If the target has no further slash, raw and rest stay
 * unchanged. */
static void cut_rest(struct slice pattern, struct slice target, struct slice *raw, struct slice *rest)
{
    size_t slashes = count_slashes(pattern), end = 0;
    while (end < target.size && (target.data[end] != '/' || slashes-- > 0))
        end++;
    if (end == target.size)
        return;
    *raw = slice_from(target.data, end);
    *rest = slice_skip(target, end + 1);
}

/* Returns whether a target matches the path of a route. raw: the target without its query. */
static bool route_matches(const struct route *route, struct slice target, struct slice raw,
                          struct buffer *path, struct slice *rest)
{
    struct slice pattern = slice_of(route->path);
    *rest = (struct slice){NULL, 0};
    if (slice_ends_with(pattern, SLICE("/*"))) {
        pattern.size -= strlen("/*");
        cut_rest(pattern, target, &raw, rest);
    }
    return raw.size <= ROUTE_PATH_MAX && path_matches(pattern, raw, path);
}

const struct route *route_find(const struct dialect *dialect, struct slice target, struct buffer *path,
                               struct route_names *names, struct slice *query)
{
    struct slice raw, rest;
    target = without_origin(target);
    slice_cut(target, '?', &raw, query);
    if (raw.size == 0 || raw.data[0] != '/')
        return NULL;
    if (raw.size > 1 && raw.data[raw.size - 1] == '/')
        raw.size--;
    for (size_t i = 0; i < dialect->route_count; i++) {
        const struct route *route = &dialect->routes[i];
        *names = (struct route_names){.topic = {NULL, 0}};
        if (route_matches(route, target, raw, path, &rest)) {
            names->rest = rest;
            return !route->names || route->names(path, names) ? route : NULL;
        }
    }
    return NULL;
}

/* Returns the first segment of a path. */
static struct slice first_segment(struct slice path)
{
    struct slice segment, rest;
    slice_cut(slice_skip(path, path.size > 0), '/', &segment, &rest);
    return segment;
}

void route_suggest(const struct dialect *dialect, struct slice target, char meant[ROUTE_SUGGESTION_SIZE])
{
    struct slice path, query;
    slice_cut(without_origin(target), '?', &path, &query);
    struct suggestion suggestion = {.name = first_segment(path)};
    char known[ROUTE_SUGGESTION_SIZE];
    meant[0] = '\0';
    for (size_t i = 0; i < dialect->route_count; i++) {
        struct slice segment = first_segment(slice_of(dialect->routes[i].path));
        /* The first segment is right, so another part of the path is wrong: no suggestion. */
        if (slice_equal(segment, suggestion.name)) {
            meant[0] = '\0';
            return;
        }
        snprintf(known, sizeof known, "/%.*s", SLICE_ARG(segment));
        unsigned before = suggestion.best ? suggestion.distance : UINT_MAX;
        suggestion_weigh(&suggestion, known + 1);
        if (suggestion.best && suggestion.distance < before)
            memcpy(meant, known, sizeof known);
    }
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
