#include "job/workflow.h"

#include <string.h>

bool workflow_place_parse(struct slice place, struct slice *id, int64_t *made_ms)
{
    size_t end = place.size;
    uint64_t number;
    while (end > 0 && place.data[end - 1] != '/')
        end--;
    if (end == 0 || !slice_to_number(slice_skip(place, end), INT64_MAX, &number))
        return false;
    *id = slice_from(place.data, end - 1);
    *made_ms = (int64_t)number;
    return memchr(id->data, '/', id->size) != NULL;
}
