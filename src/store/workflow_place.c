/* workflow_place.c - splits the place of a workflow, the text owner/workflowId/time, into its parts. It is
 * a file of its own, so that tests with a fake store can link it. */
#include <string.h>

#include "store/workflow.h"

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
