#include "history/reads.h"

#include <stdlib.h>

#include "base/memory.h"
#include "history/driver.h"
#include "job/job_id.h"

enum {
    LOOK_MAX = 5000,     /* maximum number of rows that a list examines */
    COUNT_MAX = 1000000, /* maximum number of rows of an outcome that a count reads */
    PAGE_BYTES = 4 * 1024 * 1024,
};

void read_rows_fini(struct read_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        buffer_fini(&rows->items[i].text);
    free(rows->items);
    *rows = (struct read_rows){.count = 0};
}

static struct history_kept_row *add_row(struct read_rows *rows)
{
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity ? 2 * rows->capacity : 16;
        rows->items = memory_resize(rows->items, rows->capacity * sizeof *rows->items);
    }
    return &rows->items[rows->count++];
}

void read_rows_add(struct read_rows *rows, const struct history_columns *columns)
{
    history_row_from(add_row(rows), columns);
}

void read_rows_take(struct read_rows *rows, struct read_rows *other)
{
    for (size_t i = 0; i < other->count; i++)
        *add_row(rows) = other->items[i];
    free(other->items);
    *other = (struct read_rows){.count = 0};
}

enum status read_one(struct driver *driver, struct slice id, struct read_rows *rows, struct problem *problem)
{
    struct slice topic, job_id;
    return job_key_parse(id, &topic, &job_id) ? driver->kind->find(driver, topic, job_id, rows, problem)
                                              : STATUS_OK;
}

/* ---- lists ---- */

static void positions_init(struct positions *at, size_t max, int64_t max_bytes)
{
    *at = (struct positions){.max = max, .max_bytes = max_bytes};
    at->ids = NEW_ARRAY(int64_t, max);
    buffer_init(&at->keys, max * (JOB_KEY_MAX + 32));
}

static void positions_fini(struct positions *at)
{
    buffer_fini(&at->keys);
    free(at->ids);
}

bool positions_add(struct positions *at, int64_t ended_at, int64_t id, int64_t bytes, bool is_match)
{
    at->seen++;
    if (is_match && (at->count == at->max || (at->count && at->bytes + bytes > at->max_bytes)))
        at->is_full = true;
    if (at->is_full)
        return false;
    at->last = (struct history_cursor){true, ended_at, id};
    if (!is_match)
        return true;
    at->ids[at->count++] = id;
    at->bytes += bytes;
    return true;
}

static size_t count_words(struct slice words)
{
    size_t count = 0;
    for (struct slice word; words.size; count++)
        slice_cut(words, ',', &word, &words);
    return count;
}

static enum status check_filter(const struct job_filter *filter, struct problem *problem)
{
    if (count_words(filter->reasons) <= WINDOW_WORDS_MAX &&
        count_words(filter->statuses) <= WINDOW_WORDS_MAX && filter->id_prefix.size <= JOB_ID_DERIVED_MAX)
        return STATUS_OK;
    problem_set(problem, "a filter has more than %d words, or an id that is too long", WINDOW_WORDS_MAX);
    return STATUS_INVALID;
}

/* Checks the filter, and decides whether so few rows match its id prefix that all of them can be examined. */
static enum status settle_window(struct driver *driver, struct window *window, struct problem *problem)
{
    int64_t count = 0;
    enum status status = check_filter(&window->filter, problem);
    if (window->filter.id_prefix.size == 0 || status != STATUS_OK)
        return status;
    status = driver->kind->count_prefix(driver, window->filter.id_prefix, &count, problem);
    window->is_by_prefix = count <= WINDOW_PREFIX_MAX;
    return status;
}

/* Returns how many rows of the window are examined. If the filter has only a label, nearly all rows of the
 * window match, so slightly more than max rows are enough. */
static int64_t rows_to_examine(const struct window *window, size_t max)
{
    struct job_filter rest = window->filter;
    rest.labels.size = 0;
    const struct window without_label = {.filter = rest, .is_by_prefix = window->is_by_prefix};
    if (window_is_covered(window))
        return (int64_t)max + 1;
    bool is_one_label = !memchr(window->filter.labels.data ? window->filter.labels.data : "", '\n',
                                window->filter.labels.size);
    bool is_label_only =
        is_one_label && window_is_covered(&without_label) && !rest.topic.size && !rest.states;
    return is_label_only ? 2 * (int64_t)max + 1 : LOOK_MAX;
}

static enum status read_positions(struct driver *driver, struct window *window, struct positions *at,
                                  struct problem *problem)
{
    enum status status = settle_window(driver, window, problem);
    window->rows_max = rows_to_examine(window, at->max);
    if (status != STATUS_OK || window_states(&window->filter) == 0)
        return status;
    return driver->kind->look(driver, window, at, problem);
}

enum status read_list(struct driver *driver, const struct history_list *list, struct read_rows *rows,
                      struct history_cursor *next, struct problem *problem)
{
    struct window window = {
        .filter = list->filter, .is_newest_first = list->is_newest_first, .from = list->from};
    struct positions at;
    positions_init(&at, list->max, list->has_bodies ? PAGE_BYTES : INT64_MAX);
    enum status status = read_positions(driver, &window, &at, problem);
    if (status == STATUS_OK && at.count)
        status = driver->kind->fetch(driver, list, &at, rows, problem);
    bool has_more = at.is_full || at.seen == window.rows_max;
    *next = has_more ? at.last : (struct history_cursor){.is_set = false};
    positions_fini(&at);
    return status;
}

enum status read_and_remove(struct driver *driver, const struct job_filter *filter, int64_t max_bytes,
                            size_t max, size_t *removed, struct problem *problem)
{
    struct window window = {.filter = *filter};
    struct positions at;
    positions_init(&at, max, max_bytes);
    enum status status = read_positions(driver, &window, &at, problem);
    if (status == STATUS_OK && at.count)
        status = driver->kind->remove(driver, &at, problem);
    *removed = at.count;
    positions_fini(&at);
    return status;
}

/* ---- counts ---- */

int64_t *outcome_count(struct outcome_counts *counts, enum job_state outcome)
{
    if (outcome == JOB_STATE_DELIVERED)
        return &counts->delivered;
    return outcome == JOB_STATE_CANCELLED ? &counts->cancelled : &counts->dead;
}

enum status read_counts(struct driver *driver, const struct job_filter *filter, struct outcome_counts *counts,
                        struct problem *problem)
{
    struct window window = {.filter = *filter, .is_newest_first = true};
    *counts = (struct outcome_counts){.dead = 0};
    enum status status = settle_window(driver, &window, problem);
    if (status != STATUS_OK || window_states(filter) == 0)
        return status;
    window.rows_max = window_is_covered(&window) ? INT64_MAX : COUNT_MAX;
    return driver->kind->count(driver, &window, counts, problem);
}

enum status read_stats(struct driver *driver, const struct outcome_steps *stats, struct outcome_counts *steps,
                       size_t count, struct problem *problem)
{
    return driver->kind->plot(driver, stats, steps, count, problem);
}
