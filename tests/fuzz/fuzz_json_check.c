#include <jansson.h>

#include "fuzz.h"
#include "job/job.h"
#include "job/text/json.h"

enum opinion { UNSURE, SOUND, UNSOUND };

/* jansson's verdict on the grammar. jansson stops at a number that is too large for it. */
static enum opinion jansson_says(struct slice text)
{
    json_error_t error;
    json_t *tree =
        json_loadb(text.data, text.size, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    bool is_cut = !tree && json_error_code(&error) == json_error_numeric_overflow;
    enum opinion opinion = is_cut ? UNSURE : tree ? SOUND : UNSOUND;
    json_decref(tree);
    return opinion;
}

/* Visits each value of a valid text. */
static void walk(struct slice value)
{
    struct json_cursor cursor;
    struct slice key, inner;
    if (!json_open(value, &cursor))
        return;
    if (cursor.close == '}')
        while (json_next_member(&cursor, &key, &inner)) {
            assert(json_is_text(key) && lies_in(key, value) && lies_in(inner, value));
            walk(inner);
        }
    else
        while (json_next_item(&cursor, &inner)) {
            assert(lies_in(inner, value));
            walk(inner);
        }
    assert(cursor.is_ended);
}

/* json_check and jansson must agree about the text. A valid text must be walked to its end. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct slice text = input_of(data, size);
    struct json_fault fault;
    bool has_nul = memchr(data, '\0', size) != NULL; /* jansson accepts a NUL after a number */
    if (json_check(text, &limits, &fault) == STATUS_OK) {
        assert(jansson_says(text) != UNSOUND && !has_nul);
        walk(text);
    } else {
        assert(fault.offset <= size && fault.detail);
        assert(fault.is_json || has_nul || jansson_says(text) != SOUND);
    }
    return 0;
}
