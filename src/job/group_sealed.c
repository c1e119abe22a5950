#include "job/group_sealed.h"

#include <string.h>

#include "job/group.h"
#include "job/text/sealed.h"

#define ENDPOINTS SLICE("\"endpoints\"")

static struct slice text_inside(struct slice quoted)
{
    return quoted.size < 2 ? SLICE("") : slice_from(quoted.data + 1, quoted.size - 2);
}

static struct slice value_of(struct slice object, struct slice wanted)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = json_open(object, &cursor) && cursor.close == '}';
    while (is_open && json_next_member(&cursor, &key, &value))
        if (slice_equal(key, wanted))
            return value;
    return SLICE("");
}

static void put_pair(struct json_writer *json, struct slice key, struct slice value)
{
    json_put_raw(json, key);
    buffer_append_byte(json->out, ':');
    buffer_append(json->out, value);
}

/* ---- sealing ---- */

static bool is_url_with_query(struct slice key, struct slice value)
{
    return slice_equal(key, SLICE("\"url\"")) && memchr(value.data, '?', value.size);
}

static bool is_secret_of_endpoint(struct slice key, struct slice value)
{
    const struct members *table = &group_endpoint_members;
    if (is_url_with_query(key, value))
        return true;
    for (size_t i = 0; i < table->count; i++)
        if (slice_equal(table->rows[i].name, text_inside(key)))
            return table->rows[i].flags & MEMBER_SEALED;
    return false;
}

/* Writes an endpoint: its secret members, or the others. Returns whether it has such members. */
static bool put_part(struct json_writer *json, struct slice endpoint, bool of_secrets)
{
    struct json_cursor cursor;
    struct slice key, value, base;
    bool is_open = json_open(endpoint, &cursor) && cursor.close == '}', has_part = false;
    json_put_object(json);
    while (is_open && json_next_member(&cursor, &key, &value))
        if (is_secret_of_endpoint(key, value) == of_secrets) {
            put_pair(json, key, value);
            has_part = true;
        } else if (!of_secrets && is_url_with_query(key, value)) {
            slice_cut(text_inside(value), '?', &base, &(struct slice){NULL, 0});
            json_add_text(json, "url", base);
        }
    json_end_object(json);
    return has_part;
}

/* Writes the secret members of all endpoints, or the others. Returns whether there are such members. */
static bool put_parts(struct json_writer *json, struct slice endpoints, bool of_secrets)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = json_open(endpoints, &cursor) && cursor.close == '}', has_part = false;
    json_put_object(json);
    while (is_open && json_next_member(&cursor, &key, &value)) {
        json_put_raw(json, key);
        buffer_append_byte(json->out, ':');
        struct json_writer inner = json_writer_to(json->out);
        has_part |= put_part(&inner, value, of_secrets);
    }
    json_end_object(json);
    return has_part;
}

/* Writes the owner of the secrets. */
static void write_group_owner(struct slice name, struct slice readable, struct buffer *owner)
{
    buffer_init(owner, (size_t)2 * GROUP_BYTES_MAX);
    buffer_append(owner, SLICE("group "));
    buffer_append(owner, name);
    buffer_append_byte(owner, ' ');
    buffer_append(owner, readable);
}

static void put_sealed_group(struct slice name, struct slice text, struct slice secrets, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    struct json_cursor cursor;
    struct slice key, value, needs = SLICE("");
    struct buffer readable, owner;
    buffer_init(&readable, GROUP_BYTES_MAX);
    struct json_writer parts = json_writer_to(&readable);
    put_parts(&parts, value_of(text, ENDPOINTS), false);
    json_open(text, &cursor);
    json_put_object(&json);
    while (json_next_member(&cursor, &key, &value))
        if (slice_equal(key, ENDPOINTS))
            put_pair(&json, key, buffer_slice(&readable));
        else if (slice_equal(key, SLICE("\"needs\"")))
            needs = value;
        else
            put_pair(&json, key, value);
    sealed_put_needs(&json, needs);
    json_add_text(&json, "of", name);
    write_group_owner(name, buffer_slice(&readable), &owner);
    sealed_put(&json, buffer_slice(&owner), secrets);
    json_end_object(&json);
    buffer_fini(&owner);
    buffer_fini(&readable);
}

void group_seal(struct slice name, struct slice text, struct buffer *out)
{
    struct buffer secrets;
    if (!seal_is_on()) {
        buffer_append(out, text);
        return;
    }
    buffer_init(&secrets, GROUP_BYTES_MAX);
    struct json_writer json = json_writer_to(&secrets);
    if (put_parts(&json, value_of(text, ENDPOINTS), true))
        put_sealed_group(name, text, buffer_slice(&secrets), out);
    else
        buffer_append(out, text);
    buffer_fini(&secrets);
}

/* ---- opening ---- */

/* Writes the members of an endpoint: secrets take the place of readable ones with the same name, and the
 * others follow. */
static void unite_endpoint(struct slice readable, struct slice secrets, struct json_writer *json)
{
    struct json_cursor cursor;
    struct slice key, value, secret;
    bool is_open = json_open(readable, &cursor) && cursor.close == '}';
    while (is_open && json_next_member(&cursor, &key, &value)) {
        secret = value_of(secrets, key);
        put_pair(json, key, secret.size ? secret : value);
    }
    is_open = json_open(secrets, &cursor) && cursor.close == '}';
    while (is_open && json_next_member(&cursor, &key, &value))
        if (value_of(readable, key).size == 0)
            put_pair(json, key, value);
}

/* Writes the endpoints with their secrets. */
static void unite_endpoints(struct slice readable, struct slice secrets, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = json_open(readable, &cursor) && cursor.close == '}';
    json_put_object(&json);
    while (is_open && json_next_member(&cursor, &key, &value)) {
        json_put_raw(&json, key);
        buffer_append_byte(out, ':');
        struct json_writer inner = json_writer_to(out);
        json_put_object(&inner);
        unite_endpoint(value, value_of(secrets, key), &inner);
        json_end_object(&inner);
    }
    json_end_object(&json);
}

static void put_opened(struct slice text, struct slice readable, struct slice secrets, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    struct buffer endpoints;
    buffer_init(&endpoints, GROUP_BYTES_MAX);
    buffer_append(&endpoints, SLICE("{\"endpoints\":"));
    unite_endpoints(readable, secrets, &endpoints);
    buffer_append_byte(&endpoints, '}');
    if (endpoints.failed)
        out->failed = true;
    json_put_object(&json);
    sealed_unite(&json, text, buffer_slice(&endpoints));
    json_end_object(&json);
    buffer_fini(&endpoints);
}

enum seal_answer group_open(struct slice text, struct buffer *out, struct buffer *lacks)
{
    struct slice sealed, readable = value_of(text, ENDPOINTS);
    struct buffer secrets, owner;
    if (!sealed_find(text, &sealed)) {
        buffer_append(out, text);
        return SEAL_OPENED;
    }
    write_group_owner(text_inside(value_of(text, SLICE("\"of\""))), readable, &owner);
    buffer_init(&secrets, sealed.size);
    enum seal_answer answer = owner.failed ? SEAL_DAMAGED : seal_open(sealed, buffer_slice(&owner), &secrets);
    if (answer == SEAL_OPENED)
        put_opened(text, readable, buffer_slice(&secrets), out);
    else if (answer == SEAL_NO_KEY)
        sealed_lacks(sealed, lacks);
    buffer_fini(&secrets);
    buffer_fini(&owner);
    return answer;
}
