#include "qstash/answer_headers.h"

#include "qstash/message_view.h"

static bool take_line(struct slice *lines, struct slice *name, struct slice *value)
{
    struct slice line;
    if (lines->size == 0)
        return false;
    slice_cut(*lines, '\n', &line, lines);
    slice_cut(line, ':', name, value);
    *value = slice_trim(*value);
    return true;
}

/* rest: the lines after the current line. Returns whether the header wanted occurs in a line before the
 * current line. */
static bool has_before(struct slice lines, struct slice rest, struct slice wanted)
{
    struct slice name, value;
    size_t lines_behind = 0;
    for (struct slice at = rest; take_line(&at, &name, &value);)
        lines_behind++;
    size_t all = 0;
    for (struct slice at = lines; take_line(&at, &name, &value);)
        all++;
    for (size_t i = 0; i + lines_behind + 1 < all && take_line(&lines, &name, &value); i++)
        if (slice_equal_nocase(name, wanted))
            return true;
    return false;
}

static void put_values(struct json_writer *json, struct slice lines, struct slice wanted)
{
    struct slice name, value;
    json_put_array(json);
    while (take_line(&lines, &name, &value))
        if (slice_equal_nocase(name, wanted))
            json_put_text(json, value);
    json_end_array(json);
}

bool answer_headers_find(struct slice lines, struct slice wanted, struct slice *value)
{
    struct slice name;
    while (take_line(&lines, &name, value))
        if (slice_equal_nocase(name, wanted))
            return true;
    return false;
}

void answer_headers_add(struct json_writer *json, const char *member, struct slice lines)
{
    struct slice name, value, rest = lines;
    json_add_object(json, member);
    while (take_line(&rest, &name, &value)) {
        if (has_before(lines, rest, name))
            continue;
        message_view_put_name(json, name);
        put_values(json, lines, name);
    }
    json_end_object(json);
}
