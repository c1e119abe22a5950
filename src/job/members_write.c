/* members_write.c - writes records by a table of members. */
#include "job/callback.h"
#include "job/member_field.h"
#include "job/signature.h"
#include "job/url.h"

static void put_attempt(struct json_writer *json, const struct attempt_result *result)
{
    if (result->text.size) {
        json_put_raw(json, result->text);
        return;
    }
    json_put_object(json);
    json_add_number(json, "at", result->at_ms);
    json_add_number(json, "durationMs", result->duration_ms);
    attempt_result_add(json, result);
    json_end_object(json);
}

static void put_keys(struct json_writer *json, const struct signing_keys *keys, bool is_hidden)
{
    json_put_array(json);
    for (size_t i = 0; i < keys->count; i++) {
        struct buffer *out = json_put(json);
        buffer_append_byte(out, '"');
        if (is_hidden)
            signing_key_show(&keys->items[i], out);
        else
            signing_key_write(&keys->items[i], out);
        buffer_append_byte(out, '"');
    }
    json_end_array(json);
}

static void put_labels(struct json_writer *json, const struct job_labels *labels)
{
    json_put_array(json);
    for (size_t i = 0; i < labels->count; i++)
        json_put_text(json, labels->items[i]);
    json_end_array(json);
}

static void put_share(struct json_writer *json, const struct member *member, int64_t millionths)
{
    buffer_printf(json_put(json), "%g", (double)millionths / (double)member->max);
}

static void put_object(struct json_writer *json, const struct member *member, const void *of,
                       enum members_for whom)
{
    json_put_object(json);
    members_write(member->object, of, whom, json);
    if (whom == MEMBERS_FOR_REDIS)
        carried_write((const struct carried *)((const char *)of + member->carried), json);
    json_end_object(json);
}

static void put_value(const struct member *member, const void *of, enum members_for whom,
                      struct json_writer *json)
{
    bool is_hidden = whom == MEMBERS_FOR_PEOPLE;
    const void *field = member_field(of, member);
    switch (member->kind) {
    case MEMBER_TEXT:
    case MEMBER_BASE64:
        return json_put_text(json, *(const struct slice *)field);
    case MEMBER_URL:
        if (is_hidden)
            return url_show(*(const struct slice *)field, json_put(json));
        return json_put_text(json, *(const struct slice *)field);
    case MEMBER_CALLBACK:
        if (is_hidden)
            return callback_show(*(const struct slice *)field, json_put(json));
        return json_put_raw(json, *(const struct slice *)field);
    case MEMBER_JSON:
        return json_put_raw(json, *(const struct slice *)field);
    case MEMBER_BOOL:
        return json_put_bool(json, *(const bool *)field);
    case MEMBER_INTEGER:
        return json_put_number(json, member_number(member, field));
    case MEMBER_SECONDS:
        return json_put_seconds(json, *(const int64_t *)field);
    case MEMBER_TIME:
        return json_put_time(json, *(const int64_t *)field);
    case MEMBER_SHARE:
        return put_share(json, member, *(const int64_t *)field);
    case MEMBER_WAITS:
        return retry_schedule_write(field, json_put(json));
    case MEMBER_HEADERS:
        return headers_write(json_put(json), field, member_count(of, member->count), is_hidden);
    case MEMBER_METHOD:
        return json_put_text(json, slice_of(job_method_word(*(const enum job_method *)field)));
    case MEMBER_LABELS:
        return put_labels(json, field);
    case MEMBER_KEYS:
        return put_keys(json, field, is_hidden);
    case MEMBER_ATTEMPT:
        return put_attempt(json, field);
    case MEMBER_OBJECT:
        return put_object(json, member, of, whom);
    }
}

static void put_member(const struct member *member, const void *of, enum members_for whom,
                       struct json_writer *json)
{
    json_put_plain_name(json, member->name);
    put_value(member, of, whom, json);
}

void members_put(const struct member *member, const void *of, enum members_for whom, struct json_writer *json)
{
    if (member_is_there(member, of))
        put_member(member, of, whom, json);
}

void members_write(const struct members *table, const void *of, enum members_for whom,
                   struct json_writer *json)
{
    unsigned flag = whom == MEMBERS_FOR_PEOPLE ? MEMBER_SHOWN : MEMBER_STORED;
    const struct member *end = table->rows + table->count;
    for (const struct member *member = table->rows; member < end; member++)
        if (member->flags & flag && member_is_there(member, of))
            put_member(member, of, whom, json);
}
