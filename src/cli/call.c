#include "cli/call.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void call_add_encoded(struct buffer *target, const char *text)
{
    for (; *text; text++) {
        bool is_plain = isalnum((unsigned char)*text) || strchr("-._~", *text);
        buffer_printf(target, is_plain ? "%c" : "%%%02X", (unsigned char)*text);
    }
}

void call_make_target(const struct call *call, struct buffer *target, const char *path, const char *cursor)
{
    const struct arguments *arguments = &call->arguments;
    char separator = '?';
    buffer_clear(target);
    buffer_printf(target, "%s", path);
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        if (!argument_parameter((enum argument)i) || !arguments->values[i])
            continue;
        buffer_printf(target, "%c%s=", separator, argument_parameter((enum argument)i));
        call_add_encoded(target, arguments->values[i]);
        separator = '&';
    }
    if (cursor) {
        buffer_printf(target, "%ccursor=", separator);
        call_add_encoded(target, cursor);
    }
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
    puts(text);
    free(text);
}
