#include "cli/name.h"

#include "job/job_id.h"
#include "job/topic/topic_patterns.h"

#define TOPIC_RULE "a topic has 1 to 128 characters of A-Z a-z 0-9 . _ -"

/* Sets the problem. rule may be NULL. Returns false. */
static bool name_refuse(struct call *call, const char *text, const char *expected, const char *rule)
{
    problem_set(&call->problem, "%.300s%sexpected %s%s%s", text ? text : "", text ? ": " : "", expected,
                text && rule ? "; " : "", text && rule ? rule : "");
    return false;
}

bool name_is_topic(struct call *call, const char *text)
{
    return (text && topic_is_valid(slice_of(text))) || name_refuse(call, text, "a topic", TOPIC_RULE);
}

bool name_is_topic_or_pattern(struct call *call, const char *text)
{
    return (text && (topic_is_valid(slice_of(text)) || topic_pattern_is_open(slice_of(text)))) ||
           name_refuse(call, text, "a topic, or a pattern such as orders-*", TOPIC_RULE);
}

bool name_is_group(struct call *call, const char *text)
{
    return (text && group_name_is_valid(slice_of(text))) ||
           name_refuse(call, text, "a group", "its name has 1 to 128 characters of A-Z a-z 0-9 . _ -");
}

bool name_add_id(struct buffer *target, struct call *call, const char *text, const char *what)
{
    struct slice topic, id;
    char expected[64];
    if (!text || !job_key_parse(slice_of(text), &topic, &id)) {
        snprintf(expected, sizeof expected, "a %s as TOPIC/ID", what);
        return name_refuse(call, text, expected, TOPIC_RULE);
    }
    buffer_printf(target, "%.*s/", SLICE_ARG(topic));
    call_add_encoded(target, id.data);
    return true;
}
