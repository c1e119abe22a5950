#include "job/schedule/occurrences.h"

enum {
    EVERY_TIMES = 8, /* as many times of an interval take as long as one of a cron expression */
    CELL_TIMES = 4,  /* counting the times of a cell takes less than computing as many of a cron expression */
    SPAN_TIMES_MAX = 20000, /* computing them takes some ms, in which the loop does nothing else */
};

void occurrences_add(struct occurrences *found, size_t cell, int64_t jobs)
{
    struct forecast_cell *last = found->count ? &found->cells[found->count - 1] : NULL;
    if (jobs <= 0)
        return;
    found->sum += jobs;
    if (last && last->cell >= cell)
        last->jobs += (uint32_t)jobs;
    else if (found->count < FORECAST_CELLS_MAX)
        found->cells[found->count++] = (struct forecast_cell){(uint32_t)cell, (uint32_t)jobs};
}

struct search {
    const struct forecast_grid *grid;
    const struct occurrences_call *call;
    struct recurrence plain; /* without windows: only spans in which they are open are searched */
    int64_t end_ms;          /* end of the last cell */
    int64_t free_ms;         /* with apart_ms: earlier times create no job */
    struct occurrences *found;
};

static void note_time(struct search *search, int64_t time_ms)
{
    const struct occurrences_call *call = search->call;
    int64_t due_ms = time_ms + call->delay_ms + recurrence_jitter_ms(call->recurrence, time_ms);
    if (call->apart_ms >= 0 && time_ms < search->free_ms)
        return;
    search->free_ms = due_ms + call->apart_ms;
    if (due_ms < search->end_ms)
        occurrences_add(search->found, forecast_cell_of(search->grid, due_ms), 1);
}

static void count_cells(struct search *search, int64_t from_ms, int64_t until_ms)
{
    const struct forecast_grid *grid = search->grid;
    int64_t delay_ms = search->call->delay_ms;
    for (size_t cell = forecast_cell_of(grid, from_ms + delay_ms); cell < grid->cells; cell++) {
        int64_t begin_ms = grid->origin_ms + (int64_t)cell * grid->cell_ms - delay_ms;
        int64_t end_ms = begin_ms + grid->cell_ms;
        int64_t first_ms = cell > 0 && begin_ms > from_ms ? begin_ms : from_ms;
        int64_t last_ms = end_ms < until_ms ? end_ms : until_ms;
        if (first_ms >= until_ms)
            return;
        occurrences_add(search->found, cell, recurrence_count(&search->plain, first_ms - 1, last_ms - 1));
    }
}

/* Counts the times from from_ms on that are earlier than until_ms, a span in which the windows are open. */
static void search_span(struct search *search, int64_t from_ms, int64_t until_ms)
{
    const struct occurrences_call *call = search->call;
    int64_t times = recurrence_count(&search->plain, from_ms - 1, until_ms - 1);
    bool is_exact = call->recurrence->jitter_ms > 0 || call->apart_ms >= 0;
    bool is_every = call->recurrence->every_ms > 0;
    int64_t cells = (until_ms - from_ms) / search->grid->cell_ms + 1;
    int64_t cost = is_every ? times / EVERY_TIMES : times;
    bool is_dense = (is_every ? 1 : CELL_TIMES) * times > cells;
    if (cost > *call->times_left)
        *call->times_left = 0; /* the schedules behind are counted by cell, too */
    if (*call->times_left <= 0 || times > SPAN_TIMES_MAX || (is_dense && !is_exact)) {
        count_cells(search, from_ms, until_ms);
        return;
    }
    *call->times_left -= cost;
    for (int64_t at_ms = from_ms - 1; times > 0; times--) {
        at_ms = recurrence_next_ms(&search->plain, at_ms);
        if (at_ms >= until_ms)
            return;
        note_time(search, at_ms);
    }
}

static const struct time_zone *zone_of_all(void *arg, struct slice name)
{
    const struct recurrence *recurrence = arg;
    (void)name;
    return recurrence->zone;
}

void occurrences_find(const struct forecast_grid *grid, const struct occurrences_call *call,
                      struct occurrences *found)
{
    struct search search = {.grid = grid, .call = call, .plain = *call->recurrence, .found = found};
    struct window_span spans[WINDOW_SPANS_MAX];
    search.end_ms = grid->origin_ms + (int64_t)grid->cells * grid->cell_ms;
    search.plain.windows.count = 0;
    int64_t from_ms = call->after_ms + 1, until_ms = search.end_ms - call->delay_ms;
    if (call->recurrence->windows.count == 0 && from_ms < until_ms)
        search_span(&search, from_ms, until_ms);
    while (call->recurrence->windows.count > 0 && from_ms < until_ms) {
        size_t count = windows_spans(&call->recurrence->windows, from_ms, zone_of_all, &search.plain, spans);
        size_t known = count > 1 ? count - 1 : count; /* the last of several spans may continue */
        if (count == 0)
            return;
        for (size_t i = 0; i < known; i++) {
            int64_t opens_ms = spans[i].opens_ms > from_ms ? spans[i].opens_ms : from_ms;
            int64_t closes_ms = spans[i].closes_ms < until_ms ? spans[i].closes_ms : until_ms;
            if (opens_ms < closes_ms)
                search_span(&search, opens_ms, closes_ms);
        }
        from_ms = spans[known - 1].closes_ms;
    }
}
