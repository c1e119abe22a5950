#include "store/list_call.h"

#include <stdio.h>

void list_call_place(struct store_call *call, const struct store_list *list, char score[LIST_SCORE_SIZE])
{
    score[0] = '\0';
    if (list->from.id.size)
        snprintf(score, LIST_SCORE_SIZE, "%.17g", list->from.score);
    store_call_text(call, slice_of(score));
    store_call_text(call, list->from.id);
}

static void add_bound(struct store_call *call, int64_t ms, const char *none)
{
    if (ms)
        store_call_number(call, ms);
    else
        store_call_text(call, slice_of(none));
}

void list_call_bounds(struct store_call *call, const struct store_list *list)
{
    add_bound(call, list->filter.after_ms, "-inf");
    add_bound(call, list->filter.before_ms, "+inf");
}

void list_call_order(struct store_call *call, const struct store_list *list)
{
    store_call_text(call, list->is_newest_first ? SLICE("newest") : SLICE("oldest"));
}
