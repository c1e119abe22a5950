#include "job/needs.h"

#include "job/json.h"

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
