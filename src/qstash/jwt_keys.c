#include "qstash/qstash_private.h"

#include <stdio.h>

#include "app/topics.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/text/json.h"
#include "qstash/messages/message.h"

enum { KEY_BYTES = 28, KEY_SIZE = sizeof "sig_" + KEY_BYTES, MEMBER_SIZE = 2 * KEY_SIZE + 16 };

/* How long a process assumes that keys that it has read still exist. This time is short, because an operator
 * may remove the keys together with the settings of the topic. */
#define KEYS_TRUSTED_US INT64_C(2000000)

/* The public keys of the development mode of QStash's clients. */
static const struct jwt_keys development_keys = {SLICE_INIT("sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r"),
                                                 SLICE_INIT("sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs")};

struct jwt_keys_change {
    struct exchange *exchange;
    bool is_rotation;
    bool has_others; /* in development mode: the topic has keys that are not the public ones */
    char current[KEY_SIZE], next[KEY_SIZE], fresh[2][KEY_SIZE];
    char member[MEMBER_SIZE];
    app_verdict_fn *fn;
    void *arg;
};

static bool take_key(struct json_cursor *cursor, struct slice *key)
{
    struct slice value;
    if (!json_next_item(cursor, &value) || !json_is_text(value) || json_has_escapes(value) ||
        value.size > KEY_SIZE + 1)
        return false;
    *key = slice_from(value.data + 1, value.size - 2);
    return true;
}

bool jwt_keys_read(struct slice member, struct jwt_keys *keys)
{
    struct json_cursor cursor;
    return member.size && json_open(member, &cursor) && cursor.close == ']' &&
           take_key(&cursor, &keys->current) && take_key(&cursor, &keys->next);
}

/* Creates a key of letters and digits. */
static void make_key(char key[KEY_SIZE])
{
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t size = strlen("sig_"), letters = sizeof alphabet - 1;
    memcpy(key, "sig_", size);
    while (size < KEY_SIZE - 1) {
        uint8_t byte;
        random_fill(&byte, 1);
        /* The largest bytes are skipped, because they would make some letters more frequent. */
        if (byte < 256 / letters * letters)
            key[size++] = alphabet[byte % letters];
    }
    key[size] = '\0';
}

static void copy_key(char to[KEY_SIZE], struct slice key)
{
    snprintf(to, KEY_SIZE, "%.*s", SLICE_ARG(key));
}

static bool is_public(struct slice key)
{
    return slice_equal(key, development_keys.current) || slice_equal(key, development_keys.next);
}

/* ---- the change ---- */

static enum app_sibling_change keys_make(void *arg, struct topic_settings *settings, bool has_settings,
                                         int64_t now_ms)
{
    struct jwt_keys_change *change = arg;
    struct jwt_keys keys;
    bool is_development = qstash_of(change->exchange)->is_development;
    bool has_any = jwt_keys_read(settings->form_keys, &keys);
    bool are_public = has_any && (is_public(keys.current) || is_public(keys.next));
    bool has_keys = has_any && are_public == is_development;
    (void)has_settings, (void)now_ms;
    change->has_others = has_any && !has_keys && is_development;
    if (change->has_others)
        return APP_SIBLING_KEEP;
    copy_key(change->current, has_keys ? keys.current : slice_of(change->fresh[0]));
    copy_key(change->next, has_keys ? keys.next : slice_of(change->fresh[1]));
    if (has_keys && !change->is_rotation)
        return APP_SIBLING_KEEP;
    if (has_keys) {
        copy_key(change->current, keys.next);
        copy_key(change->next, slice_of(change->fresh[0]));
    }
    snprintf(change->member, sizeof change->member, "[\"%s\",\"%s\"]", change->current, change->next);
    settings->form_keys = slice_of(change->member);
    return APP_SIBLING_WRITE;
}

static void keys_on_changed(void *arg, const struct app_verdict *verdict)
{
    static const struct app_verdict has_others = {
        .end = STATUS_UNAVAILABLE,
        .why = SLICE_INIT("qstash-dev is on, but there are signing keys already; use another data directory "
                          "or prefix, or remove "
                          "these keys for good with DELETE /topics/qstash")};
    struct jwt_keys_change *change = arg;
    if (verdict->end == STATUS_OK && change->has_others)
        verdict = &has_others;
    if (verdict->end == STATUS_OK)
        qstash_of(change->exchange)->keys_seen_us = clock_boot_us();
    change->fn(change->arg, verdict);
}

static struct jwt_keys_change *keys_change_new(struct exchange *exchange, bool is_rotation)
{
    struct jwt_keys_change *change = NEW(struct jwt_keys_change);
    change->exchange = exchange;
    change->is_rotation = is_rotation;
    if (qstash_of(exchange)->is_development) {
        copy_key(change->fresh[0], development_keys.current);
        copy_key(change->fresh[1], development_keys.next);
    } else {
        make_key(change->fresh[0]);
        make_key(change->fresh[1]);
    }
    return change;
}

static void keys_change(struct jwt_keys_change *change, app_verdict_fn *fn, void *arg)
{
    struct exchange *exchange = change->exchange;
    change->fn = fn;
    change->arg = arg;
    app_sibling_change(app_of(exchange), &exchange->caller, SLICE(QSTASH_TOPIC), keys_make, keys_on_changed,
                       change);
}

/* ---- for publications ---- */

struct ensuring {
    struct jwt_keys_change *change;
    app_verdict_fn *fn;
    void *arg;
};

static void on_ensured(void *arg, const struct app_verdict *verdict)
{
    struct ensuring *ensuring = arg;
    struct ensuring copy = *ensuring;
    free(ensuring);
    copy.fn(copy.arg, verdict);
    free(copy.change);
}

void jwt_keys_ensure(struct exchange *exchange, app_verdict_fn *fn, void *arg)
{
    int64_t seen_us = qstash_of(exchange)->keys_seen_us;
    if (seen_us && clock_boot_us() - seen_us < KEYS_TRUSTED_US) {
        fn(arg, &(struct app_verdict){.end = STATUS_OK});
        return;
    }
    struct ensuring *ensuring = NEW(struct ensuring);
    *ensuring = (struct ensuring){keys_change_new(exchange, false), fn, arg};
    keys_change(ensuring->change, on_ensured, ensuring);
}

/* ---- /v2/keys ---- */

static void answer_keys(void *arg, const struct app_verdict *verdict)
{
    const struct jwt_keys_change *change = arg;
    struct exchange *exchange = change->exchange;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    if (verdict->end != STATUS_OK) {
        answer_refuse_verdict(exchange, verdict);
        return;
    }
    json_put_object(&json);
    json_add_text(&json, "current", slice_of(change->current));
    json_add_text(&json, "next", slice_of(change->next));
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void keys_begin(struct exchange *exchange, bool is_rotation)
{
    struct jwt_keys_change *change = keys_change_new(exchange, is_rotation);
    exchange_keep(exchange, change, free);
    keys_change(change, answer_keys, change);
}

HANDLER(keys_handle)
{
    keys_begin(exchange, false);
}

HANDLER(keys_rotate_handle)
{
    if (qstash_of(exchange)->is_development)
        exchange_refuse(exchange, 400, "the signing keys of qstash-dev are fixed");
    else
        keys_begin(exchange, true);
}
