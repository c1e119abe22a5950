#include "job/unknown_members.h"

#include "job/text/json.h"

/* Returns whether two members are neighbours: the text between them is only a comma and white space. */
static bool is_gap(const char *at, const char *end)
{
    for (; at < end; at++)
        if (*at != ',' && *at != ' ' && *at != '\n' && *at != '\r' && *at != '\t')
            return false;
    return true;
}

bool unknown_members_add(struct unknown_members *unknown, struct slice key, struct slice value)
{
    struct slice *last = unknown->count ? &unknown->spans[unknown->count - 1] : NULL;
    if (last && is_gap(slice_end(*last), key.data)) {
        last->size = (size_t)(slice_end(value) - last->data);
        return true;
    }
    if (unknown->count == UNKNOWN_SPANS_MAX)
        return false;
    unknown->spans[unknown->count++] = slice_from(key.data, (size_t)(slice_end(value) - key.data));
    return true;
}

void unknown_members_write(const struct unknown_members *unknown, struct json_writer *json)
{
    for (size_t i = 0; i < unknown->count; i++)
        json_put_raw(json, unknown->spans[i]);
}

/* ---- needs ---- */

void needs_add(struct needs_writer *needs, const char *name)
{
    if (!needs->is_open)
        json_add_array(needs->json, "needs");
    needs->is_open = true;
    json_put_text(needs->json, slice_of(name));
}

void needs_end(struct needs_writer *needs)
{
    if (needs->is_open)
        json_end_array(needs->json);
}

static bool is_known(struct slice name)
{
    struct slice known, rest = SLICE(DUEPOST_KNOWN_NEEDS);
    while (rest.size) {
        slice_cut(rest, ' ', &known, &rest);
        if (slice_equal(known, name))
            return true;
    }
    return false;
}

bool needs_read(struct slice value, struct slice *unknown)
{
    struct json_cursor cursor;
    struct slice item;
    bool is_array = json_open(value, &cursor) && cursor.close == ']';
    while (is_array && json_next_item(&cursor, &item)) {
        struct slice name = slice_from(item.data + 1, item.size - 2);
        if (!json_is_text(item) || json_has_escapes(item) || name.size == 0)
            return false;
        if (unknown->size == 0 && !is_known(name))
            *unknown = name;
    }
    return is_array && cursor.is_ended;
}

bool needs_find(struct slice record, struct slice *unknown)
{
    struct json_cursor cursor;
    struct slice name, value;
    bool is_object = json_open(record, &cursor) && cursor.close == '}';
    *unknown = (struct slice){NULL, 0};
    while (is_object && json_next_member(&cursor, &name, &value))
        if (slice_equal(name, SLICE("\"needs\"")) && !needs_read(value, unknown))
            return false;
    return is_object && cursor.is_ended && unknown->size > 0;
}
