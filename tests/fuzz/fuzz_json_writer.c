#include "base/json_writer.h"

#include "fuzz.h"
#include "job/text/json.h"

enum { DEPTH_MAX = JSON_DEPTH_MAX - 1 };

struct writing {
    struct json_writer json;
    struct slice input;
    bool is_object[DEPTH_MAX + 1];
    int depth; /* number of open objects and arrays; at least 1 until the end */
    int names;
};

static unsigned take_byte(struct slice *input)
{
    unsigned byte = input->size ? (unsigned char)input->data[0] : 0;
    *input = slice_skip(*input, input->size > 0);
    return byte;
}

static struct slice take_text(struct slice *input)
{
    size_t size = take_byte(input) % 32;
    struct slice text = slice_from(input->data, size < input->size ? size : input->size);
    *input = slice_skip(*input, text.size);
    return text;
}

/* Writes a name that contains a number, so that names are unique. */
static void put_name(struct writing *writing)
{
    char room[64];
    struct buffer name = {.data = room, .capacity = sizeof room, .max = sizeof room - 1};
    struct slice text = take_text(&writing->input);
    buffer_append_number(&name, writing->names++);
    buffer_append_byte(&name, ' '); /* otherwise 2 and the text "0" would be the name 20 */
    if (!memchr(text.size ? text.data : "", '\0', text.size)) /* because json_check forbids NUL in names */
        buffer_append(&name, text);
    json_put_name_text(&writing->json, buffer_slice(&name));
}

static void open_value(struct writing *writing, bool is_object)
{
    if (writing->depth == DEPTH_MAX)
        return json_put_bool(&writing->json, is_object);
    writing->is_object[writing->depth++] = is_object;
    if (is_object)
        json_put_object(&writing->json);
    else
        json_put_array(&writing->json);
}

static void close_value(struct writing *writing)
{
    if (writing->is_object[--writing->depth])
        json_end_object(&writing->json);
    else
        json_end_array(&writing->json);
}

static void put_text(struct writing *writing)
{
    struct slice text = take_text(&writing->input);
    size_t start = json_put(&writing->json)->size;
    buffer_append_json(writing->json.out, text);
    struct slice written = slice_skip(buffer_slice(writing->json.out), start);
    struct buffer scratch;
    buffer_init(&scratch, 4 * text.size + 4);
    assert(json_is_text(written) && json_text(written, &scratch).size >= text.size && !scratch.failed);
    buffer_fini(&scratch);
}

static void put_value(struct writing *writing, unsigned kind)
{
    int64_t number = (int64_t)take_byte(&writing->input) << 40;
    switch (kind % 7) {
    case 0:
    case 1:
        return open_value(writing, kind % 7);
    case 2:
        return put_text(writing);
    case 3:
        return json_put_number(&writing->json, -number);
    case 4:
        return json_put_seconds(&writing->json, number);
    case 5:
        return json_put_time(&writing->json, number);
    default:
        return json_put_bool(&writing->json, number > 0);
    }
}

/* Calls of the writer in any order must write valid JSON. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, 1 << 20};
    struct json_fault fault;
    struct buffer out;
    buffer_init(&out, 64 * size + 1024);
    struct writing writing = {.json = json_writer_to(&out), .input = input_of(data, size)};
    open_value(&writing, take_byte(&writing.input) % 2);
    while (writing.input.size && writing.depth) {
        unsigned what = take_byte(&writing.input);
        if (what % 8 == 7) {
            close_value(&writing);
            continue;
        }
        if (writing.is_object[writing.depth - 1])
            put_name(&writing);
        put_value(&writing, what);
    }
    while (writing.depth)
        close_value(&writing);
    assert(!out.failed && json_check(buffer_slice(&out), &limits, &fault) == STATUS_OK);
    buffer_fini(&out);
    return 0;
}
