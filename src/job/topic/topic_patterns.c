#include "job/topic/topic_patterns.h"

#include "job/job.h"
#include "job/job_id.h"
#include "job/target/url.h"
#include "job/text/json.h"

/* ---- patterns ---- */

/* Removes a '*' at the end. Returns whether the pattern had a '*'. */
static bool take_star(struct slice *pattern)
{
    bool is_open = pattern->size > 0 && pattern->data[pattern->size - 1] == '*';
    pattern->size -= is_open;
    return is_open;
}

/* Returns whether a pattern is valid. "." and ".." are not topics, but they are valid before a '*', because
 * names of topics may begin with them. */
static bool is_pattern(struct slice pattern)
{
    bool is_open = take_star(&pattern);
    bool is_dots = slice_equal(pattern, SLICE(".")) || slice_equal(pattern, SLICE(".."));
    return (topic_is_valid(pattern) && !topic_is_sibling(pattern)) ||
           (is_open && (pattern.size == 0 || is_dots));
}

bool topic_pattern_is_open(struct slice pattern)
{
    struct slice beginning = pattern;
    return take_star(&beginning) && is_pattern(pattern);
}

bool topic_pattern_contains(struct slice wide, struct slice narrow)
{
    take_star(&wide);
    return slice_starts_with(narrow, wide);
}

enum status topic_patterns_check(struct slice patterns, struct problem *problem)
{
    struct slice pattern, rest = patterns;
    bool has_more = true;
    if (patterns.size > TOPIC_PATTERNS_BYTES_MAX) {
        problem_set(problem, "are over %d bytes", TOPIC_PATTERNS_BYTES_MAX);
        return STATUS_INVALID;
    }
    for (int count = 0; has_more; count++) {
        has_more = slice_cut(rest, ',', &pattern, &rest);
        if (count == TOPIC_PATTERNS_MAX) {
            problem_set(problem, "are more than %d", TOPIC_PATTERNS_MAX);
            return STATUS_INVALID;
        }
        if (!is_pattern(pattern)) {
            problem_set(problem, "'%.*s' is neither a topic nor a pattern such as orders-*",
                        SLICE_ARG(pattern));
            return STATUS_INVALID;
        }
    }
    return STATUS_OK;
}

static bool matches(struct slice pattern, struct slice topic)
{
    bool is_open = take_star(&pattern);
    return is_open ? slice_starts_with(topic, pattern) : slice_equal(topic_owner(topic), pattern);
}

bool topic_patterns_match(struct slice patterns, struct slice topic)
{
    struct slice pattern, rest = patterns;
    bool has_more = true;
    while (has_more) {
        has_more = slice_cut(rest, ',', &pattern, &rest);
        if (matches(pattern, topic))
            return true;
    }
    return false;
}

/* Compares names by their bytes, like Redis's scripts. */
static bool precedes(struct slice a, struct slice b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size ? memcmp(a.data, b.data, size) : 0;
    return order < 0 || (order == 0 && a.size < b.size);
}

enum { START_MAX = JOB_TOPIC_MAX + 1 };

/* A search for the first name after "after", in the order of names, that one of the patterns may match. */
struct start {
    struct slice after;
    char text[START_MAX];
    size_t size; /* size of the name; 0: no name was found yet */
};

static void note_start(struct start *start, struct slice name)
{
    if (!precedes(start->after, name) ||
        (start->size && !precedes(name, slice_from(start->text, start->size))))
        return;
    memcpy(start->text, name.data, name.size);
    start->size = name.size;
}

/* Returns whether "after" is inside a range of names that the pattern matches. A pattern without '*' has two
 * ranges: the topic itself, and its siblings. Other names come between these two, such as a-b between a and
 * a~c. */
static bool note_pattern(struct start *start, struct slice pattern)
{
    char text[START_MAX];
    bool is_open = take_star(&pattern);
    note_start(start, pattern);
    if (is_open)
        return slice_starts_with(start->after, pattern);
    memcpy(text, pattern.data, pattern.size);
    text[pattern.size] = JOB_SIBLING_MARK;
    struct slice siblings = slice_from(text, pattern.size + 1);
    note_start(start, siblings);
    return slice_starts_with(start->after, siblings);
}

bool topic_patterns_seek(struct slice patterns, struct slice after, struct buffer *from)
{
    struct slice pattern, rest = patterns;
    struct start start = {.after = after};
    bool has_more = true;
    buffer_clear(from);
    while (has_more) {
        has_more = slice_cut(rest, ',', &pattern, &rest);
        if (note_pattern(&start, pattern)) {
            buffer_append(from, after);
            return true;
        }
    }
    /* "from" becomes a text that comes before the start, so that no topic is between them: the start with its
     * last byte reduced by one, followed by a byte that is greater than all bytes of topics. */
    if (start.size) {
        buffer_append(from, slice_from(start.text, start.size - 1));
        buffer_append_byte(from, (char)(start.text[start.size - 1] - 1));
        buffer_append_byte(from, '\x7f');
    }
    return start.size > 0;
}

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

bool topic_layers_own(struct slice text, struct buffer *out)
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

void topic_layers_show_from(const struct topic_layers *layers, const struct members *table,
                            struct buffer *out)
{
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
}
