/* Prints the tables of the members of jobs and settings as JSON, for tests/members. */
#include <stdio.h>

#include "job/job_members.h"
#include "job/schedule/recurring.h"
#include "job/topic/topic_settings.h"

static const char *const kind_words[] = {
    [MEMBER_TEXT] = "text",         [MEMBER_URL] = "url",         [MEMBER_JSON] = "json",
    [MEMBER_BOOL] = "bool",         [MEMBER_INTEGER] = "integer", [MEMBER_SECONDS] = "seconds",
    [MEMBER_TIME] = "time",         [MEMBER_SHARE] = "share",     [MEMBER_WAITS] = "waits",
    [MEMBER_HEADERS] = "headers",   [MEMBER_KEYS] = "keys",       [MEMBER_SECRET] = "secret",
    [MEMBER_PROXY] = "proxy",       [MEMBER_ATTEMPT] = "attempt", [MEMBER_OBJECT] = "object",
    [MEMBER_METHOD] = "method",     [MEMBER_BASE64] = "base64",   [MEMBER_LABELS] = "labels",
    [MEMBER_CALLBACK] = "callback",
};

static void describe_bounds(const struct member *member, struct json_writer *json)
{
    switch (member->kind) {
    case MEMBER_SECONDS:
    case MEMBER_WAITS:
        json_add_seconds(json, "min", member->min);
        json_add_seconds(json, "max", member->max);
        if (member->fallback)
            json_add_seconds(json, "default", member->fallback);
        break;
    case MEMBER_SHARE:
        json_add_number(json, "min", 0);
        json_add_number(json, "max", 1);
        break;
    default:
        if (member->max) {
            json_add_number(json, "min", member->min);
            json_add_number(json, "max", member->max);
        }
        if (member->fallback)
            json_add_number(json, "default", member->fallback);
    }
}

static void members_describe(const struct members *table, struct json_writer *json);

static void describe(const struct members *table, const struct member *member, struct json_writer *json)
{
    json_put_object(json);
    json_add_text(json, "name", member->name);
    json_add_text(json, "kind", slice_of(kind_words[member->kind]));
    describe_bounds(member, json);
    if (member->rival)
        json_add_text(json, "rival", table->rows[member->rival].name);
    json_add_bool(json, "required", member->flags & MEMBER_REQUIRED);
    json_add_bool(json, "sent", member->flags & MEMBER_SENT);
    json_add_bool(json, "patched", member->flags & MEMBER_PATCHED);
    json_add_bool(json, "stored", member->flags & MEMBER_STORED);
    json_add_bool(json, "shown", member->flags & (MEMBER_SHOWN | MEMBER_RESOLVED));
    if (member->kind == MEMBER_OBJECT) {
        json_put_name(json, "members");
        members_describe(member->object, json);
    }
    json_end_object(json);
}

static void members_describe(const struct members *table, struct json_writer *json)
{
    json_put_array(json);
    for (size_t i = 0; i < table->count; i++)
        describe(table, &table->rows[i], json);
    json_end_array(json);
}

int main(void)
{
    struct buffer out;
    buffer_init(&out, 1 << 20);
    struct json_writer json = json_writer_to(&out);
    json_put_object(&json);
    json_put_name(&json, "job");
    members_describe(&job_members, &json);
    json_put_name(&json, "settings");
    members_describe(&topic_settings_members, &json);
    json_put_name(&json, "schedule");
    members_describe(&recurring_members, &json);
    json_end_object(&json);
    puts(buffer_text(&out));
    buffer_fini(&out);
    return 0;
}
