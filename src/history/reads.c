#include "history/reads.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "history/driver.h"
#include "job/job_id.h"

enum {
    LOOK_MAX = 5000,     /* maximum number of rows that a list examines */
    COUNT_MAX = 1000000, /* maximum number of rows of an outcome that a count reads */
    PAGE_BYTES = 4 * 1024 * 1024,
    SAME_ID_MAX = 20, /* maximum number of rows with the same id that are compared */
};

#define COLUMNS "SELECT " SCHEMA_COLUMNS " FROM "

void read_rows_fini(struct read_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        buffer_fini(&rows->items[i].text);
    free(rows->items);
    *rows = (struct read_rows){.count = 0};
}

static bool add_row(void *arg, const struct sql_value *values, size_t count)
{
    struct read_rows *rows = arg;
    struct history_columns columns;
    assert(count >= SCHEMA_COLUMN_COUNT);
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity ? 2 * rows->capacity : 16;
        rows->items = memory_resize(rows->items, rows->capacity * sizeof *rows->items);
    }
    schema_read(values, &columns);
    history_row_from(&rows->items[rows->count++], &columns);
    return true;
}

enum status read_one(struct driver *driver, struct slice id, struct read_rows *rows, struct problem *problem)
{
    struct sql_value values[3];
    struct slice topic, job_id;
    /* The job that ended last was also created last, because an id can be used again only when its job has
     * ended. But a dead job may run again, so the jobs that were created last are compared. */
    const struct sql sql = {COLUMNS "(SELECT * FROM duepost_jobs WHERE job_id=$1 AND topic=$2"
                                    " ORDER BY created_at DESC LIMIT $3) s ORDER BY ended_at DESC LIMIT 1",
                            values, 3};
    if (!job_key_parse(id, &topic, &job_id))
        return STATUS_OK;
    values[0] = SQL_TEXT_OF(job_id);
    values[1] = SQL_TEXT_OF(topic);
    values[2] = SQL_NUMBER_OF(SAME_ID_MAX);
    return driver->kind->query(driver, &sql, add_row, rows, problem);
}

/* ---- lists ---- */

/* A page before its rows are read. */
struct positions {
    size_t max; /* maximum number of matching rows */
    int64_t max_bytes;
    int64_t *ids; /* ids of the matching rows; has room for max */
    size_t count;
    int64_t bytes;
    int64_t seen; /* number of rows in the window */
    bool is_full;
    struct history_cursor last; /* the last row that counts as examined */
};

static bool on_position(void *arg, const struct sql_value *columns, size_t count)
{
    struct positions *at = arg;
    bool is_match = columns[3].number;
    (void)count;
    at->seen++;
    if (is_match && (at->count == at->max || (at->count && at->bytes + columns[2].number > at->max_bytes)))
        at->is_full = true;
    if (at->is_full)
        return false;
    at->last = (struct history_cursor){true, columns[1].number, columns[0].number};
    if (!is_match)
        return true;
    at->ids[at->count++] = columns[0].number;
    at->bytes += columns[2].number;
    return true;
}

static enum status refuse_filter(struct problem *problem)
{
    problem_set(problem, "a filter has more than %d words, or an id that is too long", WINDOW_WORDS_MAX);
    return STATUS_INVALID;
}

/* Decides whether so few rows match the id prefix that all of them can be examined. */
static enum status decide_by_prefix(struct driver *driver, struct window *window, struct problem *problem)
{
    int64_t count = 0;
    struct window_sql sql;
    if (window->filter.id_prefix.size == 0)
        return STATUS_OK;
    window_sql_init(&sql);
    window_write_prefix(&sql, window->filter.id_prefix);
    struct sql text = window_sql_of(&sql);
    enum status status = sql.has_failed
                             ? refuse_filter(problem)
                             : driver->kind->query(driver, &text, sql_take_number, &count, problem);
    window->is_by_prefix = count <= WINDOW_PREFIX_MAX;
    window_sql_fini(&sql);
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
    struct window_sql sql;
    enum status status = decide_by_prefix(driver, window, problem);
    window->rows_max = rows_to_examine(window, at->max);
    if (status != STATUS_OK || window_states(&window->filter) == 0)
        return status;
    window_sql_init(&sql);
    window_write_rows(&sql, window);
    if (sql.has_failed) {
        status = refuse_filter(problem);
    } else {
        struct sql text = window_sql_of(&sql);
        status = driver->kind->query(driver, &text, on_position, at, problem);
    }
    window_sql_fini(&sql);
    return status;
}

/* The columns with NULL instead of the body. */
#define COLUMNS_WITHOUT_BODY                                                                                 \
    "SELECT topic,job_id,outcome,created_at,due_at,ended_at,reason,status,error,duration_ms,attempts,"       \
    "rounds,lost_consumers,method,url,labels,headers,NULL,body_base64,body_left_out,rest,attempt_log,"       \
    "bytes FROM "

static enum status read_page(struct driver *driver, const struct history_list *list,
                             const struct positions *at, struct read_rows *rows, struct problem *problem)
{
    struct buffer text, ids;
    const char *way = list->is_newest_first ? " DESC" : "";
    if (at->count == 0)
        return STATUS_OK;
    buffer_init(&text, 4096);
    buffer_init(&ids, 24 * at->count + 2);
    driver->kind->write_ids(&ids, at->ids, at->count);
    buffer_printf(&text, "%s duepost_jobs WHERE %s ORDER BY ended_at%s,id%s",
                  list->has_bodies ? COLUMNS : COLUMNS_WITHOUT_BODY, driver->kind->is_one_of_ids, way, way);
    const struct sql_value values[] = {SQL_TEXT_OF(buffer_slice(&ids))};
    const struct sql sql = {buffer_text(&text), values, 1};
    enum status status = driver->kind->query(driver, &sql, add_row, rows, problem);
    buffer_fini(&ids);
    buffer_fini(&text);
    return status;
}

enum status read_list(struct driver *driver, const struct history_list *list, struct read_rows *rows,
                      struct history_cursor *next, struct problem *problem)
{
    struct window window = {
        .filter = list->filter, .is_newest_first = list->is_newest_first, .from = list->from};
    struct positions at = {.max = list->max, .max_bytes = list->has_bodies ? PAGE_BYTES : INT64_MAX};
    at.ids = NEW_ARRAY(int64_t, list->max);
    enum status status = read_positions(driver, &window, &at, problem);
    if (status == STATUS_OK)
        status = read_page(driver, list, &at, rows, problem);
    bool has_more = at.is_full || at.seen == window.rows_max;
    *next = has_more ? at.last : (struct history_cursor){.is_set = false};
    free(at.ids);
    return status;
}

enum status read_oldest(struct driver *driver, const struct job_filter *filter, int64_t max_bytes,
                        int64_t *ids, size_t max, size_t *count, struct problem *problem)
{
    struct window window = {.filter = *filter};
    struct positions at = {.max = max, .max_bytes = max_bytes, .ids = ids};
    enum status status = read_positions(driver, &window, &at, problem);
    *count = at.count;
    return status;
}

/* ---- counts ---- */

static int64_t *count_of(struct outcome_counts *counts, struct slice outcome)
{
    if (slice_equal(outcome, SLICE("delivered")))
        return &counts->delivered;
    return slice_equal(outcome, SLICE("cancelled")) ? &counts->cancelled : &counts->dead;
}

struct counting {
    struct outcome_counts *counts;
    int64_t seen, most; /* numbers of rows: of all outcomes together, and of the most frequent outcome */
};

static bool on_outcome(void *arg, const struct sql_value *columns, size_t count)
{
    struct counting *counting = arg;
    (void)count;
    *count_of(counting->counts, columns[0].text) += columns[1].number;
    counting->seen += columns[2].number;
    if (columns[2].number > counting->most)
        counting->most = columns[2].number;
    return true;
}

enum status read_counts(struct driver *driver, const struct job_filter *filter, struct outcome_counts *counts,
                        struct problem *problem)
{
    struct window window = {.filter = *filter, .is_newest_first = true};
    struct counting counting = {.counts = counts};
    struct window_sql sql;
    *counts = (struct outcome_counts){.dead = 0};
    enum status status = decide_by_prefix(driver, &window, problem);
    if (status != STATUS_OK || window_states(filter) == 0)
        return status;
    bool is_by_outcome = !window.is_by_prefix && !filter->labels.size;
    window.rows_max = window_is_covered(&window) ? INT64_MAX : COUNT_MAX;
    window_sql_init(&sql);
    window_write_counts(&sql, &window);
    if (sql.has_failed) {
        status = refuse_filter(problem);
    } else {
        struct sql text = window_sql_of(&sql);
        status = driver->kind->query(driver, &text, on_outcome, &counting, problem);
    }
    counts->is_partial = (is_by_outcome ? counting.most : counting.seen) >= window.rows_max;
    window_sql_fini(&sql);
    return status;
}

struct plotting {
    struct outcome_counts *steps;
    size_t count;
};

static bool on_step(void *arg, const struct sql_value *columns, size_t count)
{
    struct plotting *plotting = arg;
    int64_t step = columns[1].number;
    (void)count;
    if (step >= 0 && (size_t)step < plotting->count)
        *count_of(&plotting->steps[step], columns[0].text) += columns[2].number;
    return true;
}

enum status read_stats(struct driver *driver, const struct outcome_steps *stats, struct outcome_counts *steps,
                       size_t count, struct problem *problem)
{
    struct plotting plotting = {steps, count};
    struct window_sql sql;
    window_sql_init(&sql);
    window_write_stats(&sql, stats);
    struct sql text = window_sql_of(&sql);
    enum status status = driver->kind->query(driver, &text, on_step, &plotting, problem);
    window_sql_fini(&sql);
    return status;
}
