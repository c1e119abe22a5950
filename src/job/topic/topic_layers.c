#include "job/topic/topic_layers.h"

#include "job/job.h"
#include "job/target/url.h"
#include "job/text/json.h"
#include "job/topic/topic_patterns.h"
#include "job/topic/topic_sealed.h"

#define NEEDS SLICE("\"needs\"")
#define FROM  SLICE("\"from\"")

/* ---- members of JSON texts; names are compared with their quotes ---- */

static bool find(struct slice object, struct slice wanted, struct slice *value)
{
    struct json_cursor cursor;
    struct slice key;
    bool is_open = json_open(object, &cursor) && cursor.close == '}';
    while (is_open && json_next_member(&cursor, &key, value))
        if (slice_equal(key, wanted))
            return true;
    *value = SLICE("");
    return false;
}

static bool is_object(struct slice text)
{
    struct json_cursor cursor;
    return json_open(text, &cursor) && cursor.close == '}';
}

static struct slice without_quotes(struct slice quoted)
{
    return quoted.size < 2 ? SLICE("") : slice_from(quoted.data + 1, quoted.size - 2);
}

static void put_member(struct json_writer *json, struct slice key, struct slice value)
{
    json_put_raw(json, key);
    buffer_append_byte(json->out, ':');
    buffer_append(json->out, value);
}

/* ---- merging two layers ---- */

/* Returns whether the urls of both layers have the same scheme, host and port, or at least one layer has no
 * url. Urls are stored without escapes. */
static bool may_take_headers(struct slice own, struct slice common)
{
    struct slice texts[2];
    struct url urls[2];
    const char *ignored;
    if (!find(own, SLICE("\"url\""), &texts[0]) || !find(common, SLICE("\"url\""), &texts[1]))
        return true;
    return url_parse(without_quotes(texts[0]), &urls[0], &ignored) == STATUS_OK &&
           url_parse(without_quotes(texts[1]), &urls[1], &ignored) == STATUS_OK &&
           url_is_same_origin(&urls[0], &urls[1]);
}

static bool is_inherited(struct slice own, struct slice common, struct slice key)
{
    struct slice ignored;
    return !slice_equal(key, NEEDS) && !slice_equal(key, FROM) && !find(own, key, &ignored) &&
           (!slice_equal(key, SLICE("\"headers\"")) || may_take_headers(own, common));
}

/* Writes the names in "needs" (unknown_members.h) of both layers, because a process must know all of them. */
static void put_needs(struct slice own, struct slice common, struct json_writer *json)
{
    struct slice needs[2], item;
    bool has_own = find(own, NEEDS, &needs[0]), has_common = find(common, NEEDS, &needs[1]);
    if (!has_own && !has_common)
        return;
    json_add_array(json, "needs");
    for (size_t i = 0; i < 2; i++) {
        struct json_cursor cursor;
        bool is_open = needs[i].size && json_open(needs[i], &cursor);
        while (is_open && json_next_item(&cursor, &item))
            json_put_raw(json, item);
        if (needs[i].size && !is_open)
            json_put_raw(
                json,
                needs[i]); /* the value is not an array; the function that reads the result refuses it */
    }
    json_end_array(json);
}

/* Writes "from": for each setting that comes from "common", the pattern that set it. pattern is the pattern
 * to which the text "common" belongs. */
static void put_from(struct slice own, struct slice common, struct slice pattern, struct json_writer *json)
{
    struct json_cursor cursor;
    struct slice key, value, from, origin;
    bool is_first = true;
    find(common, FROM, &from);
    json_open(common, &cursor);
    while (json_next_member(&cursor, &key, &value)) {
        if (!is_inherited(own, common, key))
            continue;
        if (is_first)
            json_add_object(json, "from");
        is_first = false;
        json_put_raw(json, key);
        buffer_append_byte(json->out, ':');
        if (from.size && find(from, key, &origin)) {
            buffer_append(json->out, origin);
        } else {
            struct json_writer name = json_writer_to(json->out);
            json_put_text(&name, pattern);
        }
    }
    if (!is_first)
        json_end_object(json);
}

static bool merge_layers(struct slice own, struct slice common, const struct slice *pattern,
                         struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    struct json_cursor cursor;
    struct slice key, value;
    if (own.size == 0)
        own = SLICE("{}");
    if (!is_object(own) || !is_object(common))
        return false;
    json_put_object(&json);
    json_open(own, &cursor);
    while (json_next_member(&cursor, &key, &value))
        if (!slice_equal(key, NEEDS) && !slice_equal(key, FROM))
            put_member(&json, key, value);
    json_open(common, &cursor);
    while (json_next_member(&cursor, &key, &value))
        if (is_inherited(own, common, key))
            put_member(&json, key, value);
    put_needs(own, common, &json);
    if (pattern)
        put_from(own, common, *pattern, &json);
    json_end_object(&json);
    return !out->failed;
}

bool topic_layers_merge(struct slice own, struct slice common, struct slice pattern, struct buffer *out)
{
    return merge_layers(own, common, &pattern, out);
}

bool topic_layers_unite(struct slice text, struct buffer *out)
{
    struct json_cursor cursor;
    struct slice own, common, more;
    return json_open(text, &cursor) && cursor.close == ']' && json_next_item(&cursor, &own) &&
           json_next_item(&cursor, &common) && !json_next_item(&cursor, &more) && cursor.is_ended &&
           merge_layers(own, common, NULL, out);
}

/* Returns the text as it was before it was sealed, which may be in "opened". A text that does not open is
 * returned as it is. */
static struct slice open_text(struct slice text, struct buffer *opened)
{
    struct buffer lacks;
    buffer_init(opened, TOPIC_STORED_BYTES_MAX);
    if (!topic_settings_are_sealed(text))
        return text;
    buffer_init(&lacks, TOPIC_STORED_BYTES_MAX);
    bool is_open = topic_settings_open(SLICE(""), text, opened, &lacks) == SEAL_OPENED;
    buffer_fini(&lacks);
    return is_open ? buffer_slice(opened) : text;
}

static bool put_own(struct slice text, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    struct json_cursor cursor;
    struct slice key, value, from, ignored;
    if (!is_object(text))
        return false;
    find(text, FROM, &from);
    json_put_object(&json);
    json_open(text, &cursor);
    while (json_next_member(&cursor, &key, &value))
        if (!slice_equal(key, NEEDS) && !slice_equal(key, FROM) && !find(from, key, &ignored))
            put_member(&json, key, value);
    json_end_object(&json);
    return !out->failed;
}

bool topic_layers_own(struct slice text, struct buffer *out)
{
    struct buffer opened;
    struct slice open = open_text(text, &opened);
    bool is_written = !topic_settings_are_sealed(open) && put_own(open, out);
    buffer_fini(&opened);
    return is_written;
}

/* ---- where settings come from ---- */

static struct slice origin_of(const struct topic_layers *layers, struct slice common, struct slice key,
                              struct buffer *room)
{
    struct slice ignored, from, origin;
    if (find(layers->own, key, &ignored))
        return SLICE("topic");
    if (!find(common, key, &ignored) || !is_inherited(layers->own, common, key))
        return SLICE("default");
    buffer_clear(room);
    origin = find(common, FROM, &from) && find(from, key, &origin) && json_is_text(origin)
                 ? json_text(origin, room)
                 : layers->pattern;
    return topic_pattern_is_open(origin) ? origin : layers->pattern; /* the latter if the origin is damaged */
}

void topic_layers_show_from(const struct topic_layers *stored, const struct members *table,
                            struct buffer *out)
{
    struct buffer opened, opened_own;
    const struct topic_layers opened_layers = {open_text(stored->text, &opened),
                                               open_text(stored->own, &opened_own), stored->pattern},
                              *layers = &opened_layers;
    struct json_writer json = json_writer_to(out);
    struct json_cursor cursor;
    struct slice common = layers->pattern.size ? layers->text : SLICE(""), ignored;
    char key[64], name[JOB_TOPIC_MAX + 1];
    if (common.size && common.data[0] == '[' && json_open(layers->text, &cursor) &&
        json_next_item(&cursor, &ignored))
        json_next_item(&cursor, &common);
    json_put_object(&json);
    for (size_t i = 0; i < table->count; i++) {
        struct slice member = table->rows[i].name;
        struct buffer quoted = buffer_of(key, sizeof key);
        struct buffer room = buffer_of(name, sizeof name);
        struct json_writer writer = json_writer_to(&quoted);
        json_put_text(&writer, member);
        json_put_plain_name(&json, member);
        json_put_text(&json, origin_of(layers, common, buffer_slice(&quoted), &room));
    }
    json_end_object(&json);
    buffer_fini(&opened);
    buffer_fini(&opened_own);
}
