#include "job/json_keys.h"

#include <stdlib.h>

#include "job/json.h"

enum {
    FEW = 16
}; /* if an object has more keys than this, they are sorted; otherwise each key is compared with each other
      key */

void json_keys_init(struct json_keys *keys)
{
    keys->items = keys->inline_items;
    keys->count = 0;
    keys->capacity = JSON_KEYS_INLINE;
    buffer_init(&keys->unescaped, 0);
}

void json_keys_fini(struct json_keys *keys)
{
    if (keys->items != keys->inline_items)
        free(keys->items);
    buffer_fini(&keys->unescaped);
}

static bool grow(struct json_keys *keys)
{
    bool is_inline = keys->items == keys->inline_items;
    struct json_key *items =
        realloc(is_inline ? NULL : keys->items, 2 * keys->capacity * sizeof *keys->items);
    if (!items)
        return false;
    if (is_inline)
        memcpy(items, keys->inline_items, sizeof keys->inline_items);
    keys->items = items;
    keys->capacity *= 2;
    return true;
}

static struct slice unescape(struct json_keys *keys, struct slice string, size_t text_left)
{
    if (!keys->unescaped.data) { /* a decoded key is never longer than its text, so all decoded keys fit */
        buffer_init_fallible(&keys->unescaped, text_left);
        buffer_reserve(&keys->unescaped, text_left);
    }
    return json_text(string, &keys->unescaped);
}

bool json_keys_add(struct json_keys *keys, struct slice string, bool has_escapes, size_t text_left)
{
    struct slice text = slice_from(string.data + 1, string.size - 2);
    if (has_escapes)
        text = unescape(keys, string, text_left);
    if (keys->unescaped.failed || (keys->count == keys->capacity && !grow(keys)))
        return false;
    struct json_key key = {text.data, text.size, 0, string.data};
    if (key.size)
        memcpy(&key.head, key.data, key.size < sizeof key.head ? key.size : sizeof key.head);
    keys->items[keys->count++] = key;
    return true;
}

static int order(const struct json_key *a, const struct json_key *b)
{
    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->size <= sizeof a->head ? 0 : memcmp(a->data, b->data, a->size);
}

static int compare(const void *a, const void *b)
{
    return order(a, b);
}

static const char *twin_of_few(const struct json_key *items, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (order(&items[i], &items[j]) == 0)
                return items[i].at;
    return NULL;
}

/* Finds duplicates by sorting the keys. A hash table could be made slow by a client that chooses keys with
 * the same hash. */
static const char *twin_of_many(struct json_key *items, size_t count)
{
    qsort(items, count, sizeof *items, compare);
    for (size_t i = 1; i < count; i++)
        if (order(&items[i - 1], &items[i]) == 0)
            return items[i].at > items[i - 1].at ? items[i].at : items[i - 1].at;
    return NULL;
}

const char *json_keys_take(struct json_keys *keys, size_t first)
{
    struct json_key *items = keys->items + first;
    size_t count = keys->count - first;
    keys->count = first;
    return count <= FEW ? twin_of_few(items, count) : twin_of_many(items, count);
}
