#include "job/carried.h"

/* Between two members that are neighbours there is a comma, and maybe white space. */
static bool is_gap(const char *at, const char *end)
{
    for (; at < end; at++)
        if (*at != ',' && *at != ' ' && *at != '\n' && *at != '\r' && *at != '\t')
            return false;
    return true;
}

bool carried_add(struct carried *carried, struct slice key, struct slice value)
{
    struct slice *last = carried->count ? &carried->runs[carried->count - 1] : NULL;
    if (last && is_gap(slice_end(*last), key.data)) {
        last->size = (size_t)(slice_end(value) - last->data);
        return true;
    }
    if (carried->count == CARRIED_RUNS_MAX)
        return false;
    carried->runs[carried->count++] = slice_from(key.data, (size_t)(slice_end(value) - key.data));
    return true;
}

void carried_write(const struct carried *carried, struct json_writer *json)
{
    for (size_t i = 0; i < carried->count; i++)
        json_put_raw(json, carried->runs[i]);
}
