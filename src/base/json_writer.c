#include "base/json_writer.h"

#include "base/duration.h"
#include "base/timestamp.h"

struct buffer *json_put(struct json_writer *json)
{
    if (json->needs_comma)
        buffer_append_byte(json->out, ',');
    json->needs_comma = true;
    return json->out;
}

static void open_bracket(struct json_writer *json, char bracket)
{
    buffer_append_byte(json_put(json), bracket);
    json->needs_comma = false;
}

static void close_bracket(struct json_writer *json, char bracket)
{
    buffer_append_byte(json->out, bracket);
    json->needs_comma = true;
}

void json_put_object(struct json_writer *json)
{
    open_bracket(json, '{');
}

void json_end_object(struct json_writer *json)
{
    close_bracket(json, '}');
}

void json_put_array(struct json_writer *json)
{
    open_bracket(json, '[');
}

void json_end_array(struct json_writer *json)
{
    close_bracket(json, ']');
}

void json_put_text(struct json_writer *json, struct slice text)
{
    buffer_append_json(json_put(json), text);
}

void json_put_number(struct json_writer *json, int64_t number)
{
    buffer_append_number(json_put(json), number);
}

void json_put_bool(struct json_writer *json, bool is_true)
{
    buffer_append(json_put(json), is_true ? SLICE("true") : SLICE("false"));
}

void json_put_raw(struct json_writer *json, struct slice value)
{
    buffer_append(json_put(json), value);
}

void json_put_seconds(struct json_writer *json, int64_t ms)
{
    seconds_append(json_put(json), ms);
}

void json_put_time(struct json_writer *json, int64_t ms)
{
    char text[TIMESTAMP_SIZE];
    timestamp_format(ms, text);
    json_put_text(json, slice_from(text, TIMESTAMP_SIZE - 1));
}

/* Reserves room for the comma, the quotes, the name and the colon in one call, because a record has many
 * names. */
void json_put_plain_name(struct json_writer *json, struct slice name)
{
    char *at = buffer_extend(json->out, json->needs_comma + name.size + sizeof "\"\":" - 1);
    if (!at)
        return;
    if (json->needs_comma)
        *at++ = ',';
    *at++ = '"';
    memcpy(at, name.data, name.size);
    memcpy(at + name.size, "\":", 2);
    json->needs_comma = false;
}

void json_put_name_text(struct json_writer *json, struct slice name)
{
    json_put_text(json, name);
    buffer_append_byte(json->out, ':');
    json->needs_comma = false;
}
