#include "cli/call.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "cli/table.h"
#include "cli/when.h"

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

void call_print_json(const json_t *json)
{
    char *text = json_dumps(json, JSON_INDENT(2));
    table_print_json(text);
    free(text);
}
