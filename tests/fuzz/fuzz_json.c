#include "fuzz.h"
#include "job/text/json.h"

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
    struct slice key, value;
    if (!json_open(text, &cursor) || cursor.close != '}')
        return;
    while (json_next_member(&cursor, &key, &value)) {
        struct slice decoded = json_name(key, &name);
        assert(lies_in(value, text) && name.size < sizeof room);
        assert(json_has_escapes(key) ? decoded.size == name.size : lies_in(decoded, text));
    }
}

/* The cursor must stay inside its text, even if the text is not valid JSON. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = input_of(data, size);
    walk(text, text, 8);
    walk_names(text);
    return 0;
}
