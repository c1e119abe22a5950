#include "fuzz.h"
#include "job/json.h"

static void read_text(struct slice value, struct slice text)
{
    struct buffer scratch;
    buffer_init(&scratch, text.size);
    if (json_is_text(value)) {
        struct slice plain = json_text(value, &scratch);
        assert(plain.size <= value.size);
        assert(json_has_escapes(value) || lies_in(plain, text));
    }
    buffer_fini(&scratch);
}

static void walk(struct slice value, struct slice text, int depth)
{
    struct json_cursor cursor;
    struct slice key, inner;
    if (depth == 0 || !json_open(value, &cursor))
        return;
    while (cursor.close == '}' ? json_next_member(&cursor, &key, &inner) : json_next_item(&cursor, &inner)) {
        assert(lies_in(inner, text));
        if (cursor.close == '}') {
            assert(lies_in(key, text));
            read_text(key, text);
        }
        read_text(inner, text);
        walk(inner, text, depth - 1);
    }
}

static void walk_names(struct slice text)
{
    char room[9];
    struct buffer name = {.data = room, .capacity = sizeof room, .max = sizeof room - 1};
    struct json_cursor cursor;
    struct slice value;
    if (json_open(text, &cursor) && cursor.close == '}')
        while (json_next_named(&cursor, &name, &value))
            assert(lies_in(value, text) && name.size < sizeof room);
}

/* The cursor never leaves its text, sound or not. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct json_limits limits = {8, 100};
    struct slice text = input_of(data, size), value;
    struct json_fault fault;
    walk(text, text, 8);
    walk_names(text);
    if (json_check(text, &limits, &fault) == STATUS_OK && json_find(text, SLICE("body"), &value))
        assert(lies_in(value, text) && value.size > 0);
    return 0;
}
