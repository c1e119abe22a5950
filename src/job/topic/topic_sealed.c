#include "job/topic/topic_sealed.h"

#include <string.h>

#include "job/job_id.h"
#include "job/text/json.h"
#include "job/text/sealed.h"
#include "job/topic/topic_settings.h"

enum { OWNER_MAX = sizeof "topic  " + JOB_TOPIC_MAX + 1 + JOB_URL_MAX };

/* ---- members ---- */

static struct slice setting_inside(struct slice quoted)
{
    return quoted.size < 2 ? SLICE("") : slice_from(quoted.data + 1, quoted.size - 2);
}

static const struct member *row_of(struct slice key)
{
    const struct members *table = &topic_settings_members;
    for (size_t i = 0; i < table->count; i++)
        if (slice_equal(table->rows[i].name, setting_inside(key)))
            return &table->rows[i];
    return NULL;
}

static bool is_secret(const struct member *member, struct slice value)
{
    return member && (member->flags & MEMBER_SEALED ||
                      (member->kind == MEMBER_URL && memchr(value.data, '?', value.size)));
}

static void put_member(struct json_writer *json, struct slice key, struct slice value)
{
    json_put_raw(json, key);
    buffer_append_byte(json->out, ':');
    buffer_append(json->out, value);
}

/* Writes what scripts see of a secret member. */
static void put_shell(struct json_writer *json, const struct member *member, struct slice key,
                      struct slice value)
{
    struct slice base;
    if (member->kind == MEMBER_URL) {
        slice_cut(setting_inside(value), '?', &base, &(struct slice){NULL, 0});
        json_put_raw(json, key);
        buffer_append_byte(json->out, ':');
        buffer_append_byte(json->out, '"');
        buffer_append(json->out, base);
        buffer_append_byte(json->out, '"');
    } else if (member->kind == MEMBER_CALLBACK) {
        put_member(json, key, SLICE("\"\""));
    } else if (slice_equal(member->name, SLICE("alerts"))) {
        put_member(json, key, SLICE("[]"));
    }
}

/* Returns the owner of the secrets. The url has no query. */
static struct slice write_owner(struct slice name, struct slice url, char text[OWNER_MAX])
{
    struct buffer owner = buffer_of(text, OWNER_MAX);
    buffer_append(&owner, SLICE("topic "));
    buffer_append(&owner, name);
    buffer_append_byte(&owner, ' ');
    buffer_append(&owner, url);
    return owner.failed ? SLICE("") : buffer_slice(&owner);
}

/* ---- sealing ---- */

static bool find_secrets(struct slice text, struct json_writer *secrets)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = json_open(text, &cursor) && cursor.close == '}';
    json_put_object(secrets);
    while (is_open && json_next_member(&cursor, &key, &value))
        if (is_secret(row_of(key), value))
            put_member(secrets, key, value);
    json_end_object(secrets);
    return secrets->out->size > sizeof "{}" - 1;
}

static void put_sealed(struct slice name, struct slice text, struct slice secrets, struct buffer *out)
{
    char room[OWNER_MAX];
    struct json_writer json = json_writer_to(out);
    struct json_cursor cursor;
    struct slice key, value, needs = {NULL, 0}, url = SLICE("");
    json_open(text, &cursor);
    json_put_object(&json);
    while (json_next_member(&cursor, &key, &value)) {
        const struct member *member = row_of(key);
        if (member && member->kind == MEMBER_URL)
            slice_cut(setting_inside(value), '?', &url, &(struct slice){NULL, 0});
        if (slice_equal(key, SLICE("\"needs\"")))
            needs = value;
        else if (is_secret(member, value))
            put_shell(&json, member, key, value);
        else
            put_member(&json, key, value);
    }
    sealed_put_needs(&json, needs);
    json_add_text(&json, "of", name);
    sealed_put(&json, write_owner(name, url, room), secrets);
    json_end_object(&json);
}

void topic_settings_seal(struct slice name, struct slice text, struct buffer *out)
{
    struct buffer secrets;
    if (!seal_is_on() || topic_settings_are_sealed(text)) {
        buffer_append(out, text);
        return;
    }
    buffer_init(&secrets, TOPIC_STORED_BYTES_MAX);
    struct json_writer json = json_writer_to(&secrets);
    if (!find_secrets(text, &json))
        buffer_append(out, text);
    else if (secrets.failed)
        out->failed = true;
    else
        put_sealed(name, text, buffer_slice(&secrets), out);
    buffer_fini(&secrets);
}

/* ---- opening ---- */

/* Returns the texts of the layers in a text. */
static size_t layers_of(struct slice text, struct slice layers[2])
{
    struct json_cursor cursor;
    size_t count = 0;
    if (text.size == 0 || text.data[0] != '[') {
        layers[0] = text;
        return 1;
    }
    if (json_open(text, &cursor))
        while (count < 2 && json_next_item(&cursor, &layers[count]))
            count++;
    return count;
}

bool topic_settings_are_sealed(struct slice text)
{
    struct slice layers[2], ignored;
    size_t count = layers_of(text, layers);
    for (size_t i = 0; i < count; i++)
        if (sealed_find(layers[i], &ignored))
            return true;
    return false;
}

static bool is_layer_of(struct slice topic, struct slice name)
{
    if (topic.size == 0 || slice_equal(name, topic) || slice_equal(name, topic_owner(topic)))
        return true;
    return topic_pattern_is_open(name) && topic_patterns_match(name, topic);
}

static void find_owner(struct slice layer, struct slice *name, struct slice *url)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = json_open(layer, &cursor);
    *name = *url = SLICE("");
    while (is_open && json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"of\"")))
            *name = setting_inside(value);
        else if (slice_equal(key, SLICE("\"url\"")))
            *url = setting_inside(value);
    }
}

static enum seal_answer open_layer(struct slice topic, struct slice layer, struct buffer *out,
                                   struct buffer *lacks)
{
    char room[OWNER_MAX];
    struct slice sealed, name, url;
    struct buffer secrets;
    if (!sealed_find(layer, &sealed)) {
        buffer_append(out, layer);
        return SEAL_OPENED;
    }
    find_owner(layer, &name, &url);
    if (!is_layer_of(topic, name))
        return SEAL_DAMAGED;
    buffer_init(&secrets, sealed.size);
    enum seal_answer answer = seal_open(sealed, write_owner(name, url, room), &secrets);
    if (answer == SEAL_NO_KEY)
        sealed_lacks(sealed, lacks);
    if (answer == SEAL_OPENED) {
        struct json_writer json = json_writer_to(out);
        json_put_object(&json);
        sealed_unite(&json, layer, buffer_slice(&secrets));
        json_end_object(&json);
    }
    buffer_fini(&secrets);
    return answer;
}

enum seal_answer topic_settings_open(struct slice topic, struct slice text, struct buffer *out,
                                     struct buffer *lacks)
{
    struct slice layers[2];
    bool are_layers = text.size && text.data[0] == '[';
    size_t count = layers_of(text, layers);
    if (are_layers && count != 2)
        return SEAL_DAMAGED;
    if (are_layers)
        buffer_append_byte(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i)
            buffer_append_byte(out, ',');
        enum seal_answer answer = open_layer(topic, layers[i], out, lacks);
        if (answer != SEAL_OPENED)
            return answer;
    }
    if (are_layers)
        buffer_append_byte(out, ']');
    return out->failed ? SEAL_DAMAGED : SEAL_OPENED;
}
