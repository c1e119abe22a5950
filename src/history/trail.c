#include "history/trail.h"

#include <stdlib.h>

#include "base/memory.h"
#include "job/text/json.h"

enum { PAGE_BYTES = 4 * 1024 * 1024 };

static bool parse_time(struct slice text, int64_t *at_ms)
{
    *at_ms = 0;
    if (text.size == 0 || text.size > 15)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        *at_ms = 10 * *at_ms + (text.data[i] - '0');
    }
    return true;
}

bool trail_line_parse(struct slice text, struct trail_line *line)
{
    static const struct json_limits limits = {.depth = JSON_DEPTH_MAX, .members = 4096};
    struct json_fault fault;
    struct slice at, rest;
    bool is_whole = slice_cut(text, ' ', &line->id, &rest) && slice_cut(rest, ' ', &at, &rest) &&
                    slice_cut(rest, ' ', &line->who, &rest) && slice_cut(rest, ' ', &line->action, &rest) &&
                    slice_cut(rest, ' ', &line->topic, &line->json);
    if (!is_whole || line->id.size != TRAIL_ID || !parse_time(at, &line->at_ms))
        return false;
    if (slice_equal(line->topic, SLICE("-")))
        line->topic = SLICE("");
    return line->json.size && line->json.data[0] == '{' &&
           json_check(line->json, &limits, &fault) == STATUS_OK;
}

void trail_rows_fini(struct trail_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        buffer_fini(&rows->items[i].json);
    free(rows->items);
    *rows = (struct trail_rows){.count = 0};
}

bool trail_rows_add(struct trail_rows *rows, int64_t at_ms, struct slice id, struct slice json)
{
    if (id.size != TRAIL_ID)
        return true; /* another program has written this row */
    if (rows->count && rows->bytes + json.size > PAGE_BYTES) {
        rows->is_full = true;
        return false;
    }
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity ? 2 * rows->capacity : 16;
        rows->items = memory_resize(rows->items, rows->capacity * sizeof *rows->items);
    }
    struct trail_row *row = &rows->items[rows->count++];
    row->at_ms = at_ms;
    memcpy(row->id, id.data, TRAIL_ID);
    row->id[TRAIL_ID] = '\0';
    buffer_init(&row->json, json.size + 1);
    buffer_append(&row->json, json);
    rows->bytes += json.size;
    rows->is_full = rows->count == rows->max;
    return true;
}
