#include "job/text/json.h"

#include <assert.h>

#include "base/encoding.h"
#include "base/utf8.h"

/* ---- the functions that visit the values of an object or array ---- */

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

/* Bytes with a special meaning outside of strings. */
static const bool is_bracket[256] = {['"'] = true, ['{'] = true, ['}'] = true, ['['] = true, [']'] = true};

/* Returns the end of the string that begins at "at", or NULL if the string has no end. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; (at = json_plain_end(at, end)) < end; at++) {
        if (*at == '"')
            return at + 1;
        if (*at == '\\' && ++at == end)
            break;
    }
    return NULL;
}

static const char *skip_container(const char *at, const char *end)
{
    size_t depth = 0;
    while (at && at < end) {
        char byte = *at;
        if (!is_bracket[(uint8_t)byte]) {
            at++;
            continue;
        }
        if (byte == '"') {
            at = skip_string(at, end);
            continue;
        }
        at++;
        if (byte == '{' || byte == '[')
            depth++;
        else if (--depth == 0)
            return at;
    }
    return NULL;
}

static const char *skip_value(const char *at, const char *end)
{
    if (*at == '"')
        return skip_string(at, end);
    if (*at == '{' || *at == '[')
        return skip_container(at, end);
    const char *first = at;
    while (at < end && !is_space(*at) && *at != ',' && *at != '}' && *at != ']')
        at++;
    return at > first ? at : NULL;
}

bool json_open(struct slice value, struct json_cursor *cursor)
{
    const char *end = slice_end(value);
    const char *at = skip_space(value.data, end);
    if (at == end || (*at != '{' && *at != '['))
        return false;
    *cursor = (struct json_cursor){at + 1, end, *at == '{' ? '}' : ']', true, false};
    return true;
}

/* Moves to the beginning of the next key or value. Returns false at the closing bracket, or if a comma is
 * missing. */
static bool step(struct json_cursor *cursor)
{
    const char *at = skip_space(cursor->at, cursor->end);
    if (at < cursor->end && *at == cursor->close) {
        cursor->at = at;
        cursor->is_ended = true;
        return false;
    }
    if (!cursor->is_first) {
        if (at == cursor->end || *at != ',')
            return false;
        at = skip_space(at + 1, cursor->end);
    }
    cursor->is_first = false;
    cursor->at = at;
    return at < cursor->end;
}

bool json_take_value(struct json_cursor *cursor, struct slice *value)
{
    const char *end = skip_value(cursor->at, cursor->end);
    if (!end)
        return false;
    *value = slice_from(cursor->at, (size_t)(end - cursor->at));
    cursor->at = end;
    return true;
}

bool json_next_item(struct json_cursor *cursor, struct slice *value)
{
    return step(cursor) && json_take_value(cursor, value);
}

bool json_next_key(struct json_cursor *cursor, struct slice *key)
{
    if (!step(cursor) || *cursor->at != '"' || !json_take_value(cursor, key))
        return false;
    cursor->at = skip_space(cursor->at, cursor->end);
    if (cursor->at == cursor->end || *cursor->at != ':')
        return false;
    cursor->at = skip_space(cursor->at + 1, cursor->end);
    return cursor->at < cursor->end;
}

bool json_next_member(struct json_cursor *cursor, struct slice *key, struct slice *value)
{
    return json_next_key(cursor, key) && json_take_value(cursor, value);
}

size_t json_count_members(struct slice object)
{
    struct json_cursor cursor;
    struct slice key, value;
    size_t count = 0;
    bool is_object = json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value))
        count++;
    return count;
}

/* ---- strings ---- */

bool json_is_text(struct slice value)
{
    return value.size >= 2 && value.data[0] == '"' && value.data[value.size - 1] == '"';
}

bool json_has_escapes(struct slice string)
{
    return string.size && memchr(string.data, '\\', string.size) != NULL;
}

static bool take_unit(struct slice *rest, unsigned *unit)
{
    if (rest->size < 6 || rest->data[0] != '\\' || rest->data[1] != 'u')
        return false;
    unsigned sum = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_value(rest->data[i]);
        if (digit < 0)
            return false;
        sum = sum * 16 + (unsigned)digit;
    }
    *unit = sum;
    *rest = slice_skip(*rest, 6);
    return true;
}

bool json_take_code(struct slice *rest, unsigned *code)
{
    unsigned high, low;
    struct slice behind = *rest;
    if (!take_unit(&behind, &high) || (high >= 0xdc00 && high <= 0xdfff))
        return false;
    *code = high;
    if (high >= 0xd800 && high <= 0xdbff) {
        if (!take_unit(&behind, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        *code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }
    *rest = behind;
    return true;
}

/* Decodes the escape at the front of rest, which begins with a backslash. */
static bool append_escape(struct buffer *out, struct slice *rest)
{
    static const char letters[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                      ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    unsigned code;
    if (rest->size < 2)
        return false;
    char letter = letters[(unsigned char)rest->data[1]];
    if (letter) {
        buffer_append_byte(out, letter);
        *rest = slice_skip(*rest, 2);
        return true;
    }
    if (!json_take_code(rest, &code))
        return false;
    char bytes[4]; /* the character in UTF-8 */
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(leads[size] | code);
    buffer_append(out, slice_from(bytes, size));
    return true;
}

struct slice json_text(struct slice value, struct buffer *scratch)
{
    assert(json_is_text(value));
    struct slice rest = slice_from(value.data + 1, value.size - 2);
    if (!json_has_escapes(rest))
        return rest;
    size_t first = scratch->size;
    while (rest.size && !scratch->failed) {
        const char *escape = memchr(rest.data, '\\', rest.size);
        size_t plain = escape ? (size_t)(escape - rest.data) : rest.size;
        buffer_append(scratch, slice_from(rest.data, plain));
        rest = slice_skip(rest, plain);
        if (rest.size && !append_escape(scratch, &rest))
            scratch->failed = true;
    }
    if (scratch->failed)
        return (struct slice){NULL, 0};
    return slice_from(scratch->data + first, scratch->size - first);
}

struct slice json_name(struct slice key, struct buffer *room)
{
    if (!json_has_escapes(key))
        return slice_from(key.data + 1, key.size - 2);
    buffer_clear(room);
    (void)json_text(key, room); /* a name that is too long for room is cut */
    return buffer_slice(room);
}

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
