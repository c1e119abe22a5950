#include "cli/call.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "cli/output.h"
#include "job/job_id.h"
#include "job/text/json.h"
#include "job/topic/topic_patterns.h"

/* ---- the arguments, and targets from them ---- */

enum { ANSWER_MEMBERS_MAX = 100000 };

/* The server limits an answer, and the command a list; the indentation adds to that. */
#define JSON_TEXT_MAX (SIZE_MAX / 2)

void call_add_encoded(struct buffer *target, const char *text)
{
    for (; *text; text++) {
        bool is_plain = isalnum((unsigned char)*text) || strchr("-._~", *text);
        buffer_printf(target, is_plain ? "%c" : "%%%02X", (unsigned char)*text);
    }
}

static void add_parameter(struct buffer *target, char *separator, const char *name, const char *value)
{
    buffer_printf(target, "%c%s=", *separator, name);
    call_add_encoded(target, value);
    *separator = '&';
}

static bool is_sound(struct call *call, enum argument argument)
{
    char time[TIMESTAMP_SIZE];
    int64_t ms;
    const char *value = call->arguments.values[argument];
    enum argument_kind kind = argument_kind(argument);
    if (kind == ARGUMENT_PAST) {
        if (!value || when_parse_past(value, call->since))
            return true;
        problem_set(&call->problem, "%s is %s: expected a duration such as 1h, or a time as RFC 3339",
                    argument_flag(argument), value);
        return false;
    }
    if (argument == ARGUMENT_DUE_AT && call->arguments.values[ARGUMENT_TIMEZONE])
        return true; /* a local time, which the server reads */
    if (!value || kind == ARGUMENT_TEXT || (kind == ARGUMENT_TIME && when_parse(value, time)) ||
        (kind == ARGUMENT_DURATION && duration_parse(slice_of(value), TIMESTAMP_MAX_MS, &ms)))
        return true;
    problem_set(&call->problem, "%s is %s: expected %s", argument_flag(argument), value,
                kind == ARGUMENT_TIME ? "RFC 3339 (2030-01-01T00:00:00Z), now, -1h or +15m"
                                      : "a duration such as 90s, 15m or 1h");
    return false;
}

bool call_begin(struct call *call)
{
    const char *limit = call->arguments.values[ARGUMENT_LIMIT];
    char *end = NULL;
    call->left = limit ? strtoll(limit, &end, 10) : LLONG_MAX;
    if (limit && (*end || end == limit || call->left < 1)) {
        problem_set(&call->problem, "--limit is %s: expected a whole number from 1", limit);
        return false;
    }
    for (int i = 0; i < ARGUMENT_COUNT; i++)
        if (!is_sound(call, (enum argument)i))
            return false;
    return true;
}

void call_use_since(struct call *call, enum argument argument)
{
    if (call->since[0])
        call->arguments.values[argument] = call->since;
}

void call_make_target(const struct call *call, struct buffer *target, const char *path, const char *cursor)
{
    const struct arguments *arguments = &call->arguments;
    char separator = '?', text[TIMESTAMP_SIZE];
    buffer_clear(target);
    buffer_printf(target, "%s", path);
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        const char *value = arguments->values[i];
        if (!argument_parameter((enum argument)i) || !value)
            continue;
        if (argument_kind((enum argument)i) == ARGUMENT_TIME && when_parse(value, text))
            value = text;
        add_parameter(target, &separator, argument_parameter((enum argument)i), value);
    }
    for (int i = 0; i < arguments->label_count; i++)
        add_parameter(target, &separator, "label", arguments->labels[i]);
    if (call->left != LLONG_MAX) {
        bool is_whole = call->is_bulk || call->left < CALL_PAGE_MAX;
        snprintf(text, sizeof text, "%lld", is_whole ? call->left : CALL_PAGE_MAX);
        add_parameter(target, &separator, "limit", text);
    }
    if (call->is_bulk && arguments->is_all)
        add_parameter(target, &separator, "all", "true");
    if (arguments->is_dry_run)
        add_parameter(target, &separator, "dryRun", "true");
    if (arguments->is_paused)
        add_parameter(target, &separator, "paused", "true");
    if (cursor)
        add_parameter(target, &separator, "cursor", cursor);
}

void call_took(struct call *call, long long number)
{
    if (call->left != LLONG_MAX)
        call->left -= number < call->left ? number : call->left;
}

const char *call_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

long long call_number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

struct slice call_member(struct slice object, const char *name)
{
    struct json_cursor cursor;
    struct slice key, value;
    if (json_open(object, &cursor))
        while (json_next_member(&cursor, &key, &value))
            if (key.size == strlen(name) + 2 && memcmp(key.data + 1, name, key.size - 2) == 0)
                return value;
    return (struct slice){NULL, 0};
}

bool call_is_json(struct slice text)
{
    static const struct json_limits limits = {.depth = JSON_DEPTH_MAX, .members = ANSWER_MEMBERS_MAX};
    struct json_fault fault;
    return json_check(text, &limits, &fault) == STATUS_OK;
}

static void begin_line(struct buffer *out, size_t depth)
{
    buffer_printf(out, "\n%*s", (int)(2 * depth), "");
}

/* Returns the size of the token at the beginning of the text, which has no white space there. */
static size_t token_size(struct slice text)
{
    size_t size = 1;
    if (text.data[0] == '"') {
        while (size < text.size && text.data[size] != '"')
            size += text.data[size] == '\\' ? 2 : 1;
        size++;
    } else if (!strchr("{}[],:", text.data[0])) {
        while (size < text.size && !strchr("{}[],: \t\r\n", text.data[size]))
            size++;
    }
    return size < text.size ? size : text.size;
}

static struct slice skip_blanks(struct slice text)
{
    while (text.size && strchr(" \t\r\n", text.data[0]))
        text = slice_skip(text, 1);
    return text;
}

void call_print_json(struct slice text)
{
    struct buffer out;
    buffer_init(&out, JSON_TEXT_MAX);
    size_t depth = 0;
    for (text = skip_blanks(text); text.size;) {
        struct slice token = slice_from(text.data, token_size(text));
        char first = token.data[0];
        bool is_opened = first == '{' || first == '[', is_closed = first == '}' || first == ']';
        text = skip_blanks(slice_skip(text, token.size));
        if (is_closed && depth)
            begin_line(&out, --depth);
        buffer_append(&out, token);
        if (is_opened && text.size && strchr("}]", text.data[0])) {
            buffer_append_byte(&out, text.data[0]);
            text = skip_blanks(slice_skip(text, 1));
        } else if (is_opened || first == ',') {
            depth += is_opened;
            begin_line(&out, depth);
        } else if (first == ':') {
            buffer_append_byte(&out, ' ');
        }
    }
    table_print_json(buffer_text(&out));
    buffer_fini(&out);
}

void call_print_answer(const struct call *call)
{
    call_print_json(remote_text(call->remote));
}

char *call_setting(const json_t *value)
{
    /* Settings have at most 15 digits, for which "%.15g" gives back the digits that the server sent. */
    return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
}

/* ---- names ---- */

/* Names that commands take: TOPIC, TOPIC/ID and GROUP.
 *
 * Other text is refused here. In the path of a request, other text could lead to another resource: "a/.."
 * would be the list of all jobs. */

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

bool name_is_limit(struct call *call, const char *text)
{
    return (text && limit_name_is_valid(slice_of(text))) ||
           name_refuse(call, text, "a limit", "its name has 1 to 128 characters of A-Z a-z 0-9 . _ -");
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

/* ---- requests whose answer is printed ---- */

bool ask_make_job_target(struct buffer *target, struct call *call, const char *suffix)
{
    buffer_printf(target, "/jobs/");
    if (!name_add_id(target, call, call->arguments.word, "job"))
        return false;
    buffer_printf(target, "%s", suffix);
    return true;
}

bool ask_make_topic_target(struct buffer *target, struct call *call)
{
    if (!name_is_topic_or_pattern(call, call->arguments.word))
        return false;
    buffer_printf(target, "/topics/");
    call_add_encoded(target, call->arguments.word);
    return true;
}

void call_print_job(const json_t *job, const char *more)
{
    char span[WHEN_SPAN_SIZE];
    const char *topic = call_text(job, "topic"), *id = call_text(job, "jobId"),
               *state = call_text(job, "state"), *due = call_text(job, "dueAt");
    if (due && when_span(due, span))
        table_print_line(stdout, "%s/%s is %s, due %s, at %s%s\n", topic, id, state, span, due, more);
    else
        table_print_line(stdout, "%s/%s is %s%s\n", topic, id, state, more);
}

bool ask(struct call *call, const char *method, const char *target, const char *body, const char *member)
{
    json_t *answer = remote_ask_json(call->remote, method, target, body, &call->problem);
    const char *text = member ? call_text(answer, member) : NULL;
    if (!answer)
        return false;
    if (text && !call->arguments.is_json)
        table_print_line(stdout, "%s\n", text);
    else
        call_print_answer(call);
    json_decref(answer);
    return true;
}
