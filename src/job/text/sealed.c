#include "job/text/sealed.h"

#include <string.h>

#include "base/memory.h"
#include "job/job.h"
#include "job/text/json.h"
#include "job/unknown_members.h"

#define OPENING "\"\\u001e"

static const struct slice shut = SLICE_INIT(SEALED_VALUE_SHUT);

void sealed_value_append(struct buffer *out, struct slice owner, struct slice value)
{
    if (!seal_is_on()) {
        buffer_append(out, value);
        return;
    }
    buffer_append(out, SLICE(OPENING));
    seal_append(out, owner, value);
    buffer_append_byte(out, '"');
}

bool sealed_value_is(struct slice value)
{
    return slice_starts_with(value, SLICE(OPENING)) && value.size > sizeof OPENING &&
           value.data[value.size - 1] == '"';
}

/* Returns the text in a sealed value. */
static struct slice text_in(struct slice value)
{
    return slice_from(value.data + sizeof OPENING - 1, value.size - sizeof OPENING);
}

bool sealed_value_lacks(struct slice value, struct buffer *out)
{
    char name[SEAL_NAME_SIZE];
    bool lacks = sealed_value_is(value) && seal_name(text_in(value), name) && !seal_has_key(text_in(value));
    if (lacks)
        sealed_lacks(text_in(value), out);
    return lacks;
}

struct slice sealed_value_open(struct slice owner, struct slice value, struct buffer *text)
{
    size_t first = text->size;
    if (!sealed_value_is(value))
        return value;
    if (seal_open(text_in(value), owner, text) != SEAL_OPENED || text->failed)
        return shut;
    return slice_from(text->data + first, text->size - first);
}

/* ---- secret members ---- */

#define SEALED SLICE("\"sealed\"")
#define NEEDS  SLICE("\"needs\"")
#define OF     SLICE("\"of\"")

void sealed_put(struct json_writer *json, struct slice owner, struct slice secrets)
{
    json_put_name(json, "sealed");
    struct buffer *out = json_put(json);
    buffer_append_byte(out, '"');
    seal_append(out, owner, secrets);
    buffer_append_byte(out, '"');
}

static bool find_member(struct slice object, struct slice wanted, struct slice *value)
{
    struct json_cursor cursor;
    struct slice key;
    bool is_open = json_open(object, &cursor) && cursor.close == '}';
    while (is_open && json_next_member(&cursor, &key, value))
        if (slice_equal(key, wanted))
            return true;
    return false;
}

bool sealed_find(struct slice object, struct slice *sealed)
{
    static const char beginning[] = "\"sealed\":\"";
    struct slice value;
    /* Most texts have no such member, and are large: they are not parsed. */
    if (!object.size || !memmem(object.data, object.size, beginning, sizeof beginning - 1) ||
        !find_member(object, SEALED, &value) || !json_is_text(value))
        return false;
    *sealed = slice_from(value.data + 1, value.size - 2);
    return true;
}

/* Copies the names in an array, except "sealed". Opens the member before the first one. */
static void copy_needs(struct slice array, struct json_writer *json, bool *is_open)
{
    struct json_cursor cursor;
    struct slice item;
    bool has_items = array.size && json_open(array, &cursor) && cursor.close == ']';
    while (has_items && json_next_item(&cursor, &item)) {
        if (slice_equal(item, SEALED))
            continue;
        if (!*is_open)
            json_add_array(json, "needs");
        *is_open = true;
        json_put_raw(json, item);
    }
}

void sealed_put_needs(struct json_writer *json, struct slice needs)
{
    bool is_open = true;
    json_add_array(json, "needs");
    copy_needs(needs, json, &is_open);
    json_put_raw(json, SEALED);
    json_end_array(json);
}

static void put_member(struct json_writer *json, struct slice key, struct slice value)
{
    json_put_raw(json, key);
    buffer_append_byte(json->out, ':');
    buffer_append(json->out, value);
}

void sealed_unite(struct json_writer *json, struct slice object, struct slice secrets)
{
    struct json_cursor cursor;
    struct slice key, value, secret, needs = {NULL, 0};
    bool is_open = json_open(object, &cursor) && cursor.close == '}', has_needs = false;
    while (is_open && json_next_member(&cursor, &key, &value))
        if (slice_equal(key, NEEDS))
            needs = value;
        else if (!slice_equal(key, SEALED) && !slice_equal(key, OF))
            put_member(json, key, find_member(secrets, key, &secret) ? secret : value);
    is_open = json_open(secrets, &cursor) && cursor.close == '}';
    while (is_open && json_next_member(&cursor, &key, &value))
        if (!find_member(object, key, &secret))
            put_member(json, key, value);
    copy_needs(needs, json, &has_needs);
    if (has_needs)
        json_end_array(json);
}

void sealed_lacks(struct slice sealed, struct buffer *out)
{
    char name[SEAL_NAME_SIZE];
    buffer_printf(out, JOB_LACKS_KEY "%s", seal_name(sealed, name) ? name : "");
}

/* ---- values that live together ---- */

struct sealed_block {
    struct sealed_block *next;
    struct buffer text;
};

static struct buffer *new_block(struct sealed_values *values, size_t bytes)
{
    struct sealed_block *block = NEW(struct sealed_block);
    block->next = values->blocks;
    values->blocks = block;
    buffer_init(&block->text, bytes);
    buffer_reserve(&block->text, bytes);
    return &block->text;
}

struct slice sealed_values_seal(struct sealed_values *values, struct slice owner, struct slice value)
{
    if (!seal_is_on() || value.size == 0)
        return value;
    struct buffer *text = new_block(values, SEAL_SIZE(value.size) + sizeof OPENING + 1);
    sealed_value_append(text, owner, value);
    return buffer_slice(text);
}

struct slice sealed_values_open(struct sealed_values *values, struct slice owner, struct slice value)
{
    char name[SEAL_NAME_SIZE];
    if (!sealed_value_is(value))
        return value;
    struct slice open = sealed_value_open(owner, value, new_block(values, value.size));
    values->has_shut |= open.data == shut.data;
    values->lacks_key |=
        open.data == shut.data && seal_name(text_in(value), name) && !seal_has_key(text_in(value));
    return open;
}

void sealed_values_fini(struct sealed_values *values)
{
    for (struct sealed_block *block; (block = values->blocks);) {
        values->blocks = block->next;
        buffer_fini(&block->text);
        free(block);
    }
}
