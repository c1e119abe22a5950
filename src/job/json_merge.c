#include "job/json_merge.h"

#include "job/json.h"

enum { NAME_MAX_BYTES = 256 };

/* Compares names that have escapes. A name of more than NAME_MAX_BYTES counts as different from all other
 * names. So the result may have this name twice; the function that reads the result then refuses it. */
static bool same_unescaped(struct slice a, struct slice b)
{
    char bytes[2][NAME_MAX_BYTES + 1];
    struct buffer left = buffer_of(bytes[0], sizeof bytes[0]);
    struct buffer right = buffer_of(bytes[1], sizeof bytes[1]);
    struct slice first = json_text(a, &left), second = json_text(b, &right);
    return !left.failed && !right.failed && slice_equal(first, second);
}

/* Compares two keys. Escapes in the names of headers are not decoded, because header names are tokens and
 * need no escapes. */
static bool same_key(struct slice a, struct slice b, enum json_names names)
{
    if (names == JSON_NAMES_NO_CASE)
        return slice_equal_nocase(a, b);
    return slice_equal(a, b) || ((json_has_escapes(a) || json_has_escapes(b)) && same_unescaped(a, b));
}

static bool find_member(struct slice object, struct slice wanted, enum json_names names, struct slice *value)
{
    struct json_cursor cursor;
    struct slice key;
    bool is_open = json_open(object, &cursor) && cursor.close == '}';
    while (is_open && json_next_member(&cursor, &key, value))
        if (same_key(key, wanted, names))
            return true;
    return false;
}

bool json_has_member(struct slice object, struct slice key, enum json_names names)
{
    struct slice ignored;
    return find_member(object, key, names, &ignored);
}

static void put_key(struct json_writer *json, struct slice key)
{
    json_put_raw(json, key);
    buffer_append_byte(json->out, ':');
    json->needs_comma = false;
}

static bool is_object(struct slice value)
{
    return value.size > 0 && value.data[0] == '{';
}

/* The function calls itself for inner objects, at most as often as the patch is deep. */
void json_merge(struct slice old, struct slice patch, enum json_names names, struct json_writer *json)
{
    struct json_cursor cursor;
    struct slice key, value, before;
    if (!is_object(patch)) {
        json_put_raw(json, patch);
        return;
    }
    json_put_object(json);
    bool is_open = is_object(old) && json_open(old, &cursor);
    while (is_open && json_next_member(&cursor, &key, &value)) {
        if (json_has_member(patch, key, names))
            continue;
        put_key(json, key);
        json_put_raw(json, value);
    }
    is_open = json_open(patch, &cursor);
    while (is_open && json_next_member(&cursor, &key, &value)) {
        if (slice_equal(value, SLICE("null")))
            continue;
        put_key(json, key);
        if (!is_object(value) || !find_member(old, key, names, &before))
            before = (struct slice){NULL, 0};
        json_merge(before, value, JSON_NAMES_EXACT, json);
    }
    json_end_object(json);
}
