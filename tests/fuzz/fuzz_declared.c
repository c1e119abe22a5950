#include "cli/declared.h"
#include "fuzz.h"
#include "job/text/json.h"

/* Asserts that the value, and each value in it, has a line of the file. */
static void walk(const struct declared_file *file, struct slice value, size_t lines)
{
    struct json_cursor cursor;
    struct slice key, item;
    size_t line = declared_file_line(file, value.data);
    assert(line >= 1 && line <= lines);
    if (!json_open(value, &cursor))
        return;
    if (cursor.close == ']') {
        while (json_next_item(&cursor, &item))
            walk(file, item, lines);
        return;
    }
    while (json_next_member(&cursor, &key, &item))
        walk(file, item, lines);
}

/* The text of an accepted file is JSON, and a refused file has a reason. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct json_limits limits = {.depth = JSON_DEPTH_MAX, .members = 100000};
    struct declared_file file;
    struct problem problem = {""};
    struct json_fault fault;
    size_t lines = 2; /* libyaml counts one more at the end */
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r' || data[i] >= 0x80; /* and other breaks of lines */
    if (declared_text_read(&file, "f", input_of(data, size), &problem)) {
        assert(json_check(buffer_slice(&file.text), &limits, &fault) == STATUS_OK);
        walk(&file, buffer_slice(&file.text), lines);
    } else {
        assert(strlen(problem.text) > 0);
    }
    declared_file_fini(&file);
    return 0;
}
