/* sql.c - the functions of driver.h that read, for SQL databases; see sql.h. */
#include "history/sql.h"

#include <stdlib.h>
#include <string.h>

static enum status sql_query(struct driver *driver, const struct sql *sql, sql_row_fn *fn, void *arg,
                             struct problem *problem)
{
    return ((struct sql_driver *)driver)->sql->query(driver, sql, fn, arg, problem);
}

/* Runs the statement of a window, and frees it. */
static enum status run_window(struct driver *driver, struct window_sql *sql, sql_row_fn *fn, void *arg,
                              struct problem *problem)
{
    const struct sql text = window_sql_of(sql);
    enum status status = sql_query(driver, &text, fn, arg, problem);
    window_sql_fini(sql);
    return status;
}

/* ---- rows ---- */

#define COLUMNS "SELECT " SCHEMA_COLUMNS " FROM "

/* The columns with NULL instead of the body. */
#define COLUMNS_WITHOUT_BODY                                                                                 \
    "SELECT topic,job_id,outcome,created_at,due_at,ended_at,reason,status,error,duration_ms,attempts,"       \
    "rounds,lost_consumers,method,url,labels,headers,NULL,body_base64,body_left_out,rest,attempt_log,"       \
    "bytes FROM "

static bool add_row(void *arg, const struct column_value *values, size_t count)
{
    struct history_columns columns;
    assert(count >= SCHEMA_COLUMN_COUNT);
    schema_read(values, &columns);
    read_rows_add(arg, &columns);
    return true;
}

enum status sql_find(struct driver *driver, struct slice topic, struct slice job_id, struct read_rows *rows,
                     struct problem *problem)
{
    /* The job that ended last was also created last, because an id can be used again only when its job has
     * ended. But a dead job may run again, so the jobs that were created last are compared. */
    const struct column_value values[] = {COLUMN_TEXT_OF(job_id), COLUMN_TEXT_OF(topic),
                                          COLUMN_NUMBER_OF(SAME_ID_MAX)};
    const struct sql sql = {COLUMNS "(SELECT * FROM duepost_jobs WHERE job_id=$1 AND topic=$2"
                                    " ORDER BY created_at DESC LIMIT $3) s ORDER BY ended_at DESC LIMIT 1",
                            values, 3};
    return sql_query(driver, &sql, add_row, rows, problem);
}

enum status sql_count_prefix(struct driver *driver, struct slice prefix, int64_t *count,
                             struct problem *problem)
{
    struct window_sql sql;
    window_sql_init(&sql);
    window_write_prefix(&sql, prefix);
    return run_window(driver, &sql, sql_take_number, count, problem);
}

static bool on_position(void *arg, const struct column_value *columns, size_t count)
{
    (void)count;
    return positions_add(arg, columns[1].number, columns[0].number, columns[2].number, columns[3].number);
}

enum status sql_look(struct driver *driver, const struct window *window, struct positions *at,
                     struct problem *problem)
{
    struct window_sql sql;
    window_sql_init(&sql);
    window_write_rows(&sql, window);
    return run_window(driver, &sql, on_position, at, problem);
}

enum status sql_fetch(struct driver *driver, const struct history_list *list, const struct positions *at,
                      struct read_rows *rows, struct problem *problem)
{
    const struct sql_kind *kind = ((struct sql_driver *)driver)->sql;
    struct buffer text, ids;
    const char *way = list->is_newest_first ? " DESC" : "";
    buffer_init(&text, 4096);
    buffer_init(&ids, 24 * at->count + 2);
    kind->write_ids(&ids, at->ids, at->count);
    buffer_printf(&text, "%s duepost_jobs WHERE %s ORDER BY ended_at%s,id%s",
                  list->has_bodies ? COLUMNS : COLUMNS_WITHOUT_BODY, kind->is_one_of_ids, way, way);
    const struct column_value values[] = {COLUMN_TEXT_OF(buffer_slice(&ids))};
    const struct sql sql = {buffer_text(&text), values, 1};
    enum status status = sql_query(driver, &sql, add_row, rows, problem);
    buffer_fini(&ids);
    buffer_fini(&text);
    return status;
}

enum status sql_has_rows(struct driver *driver, bool *has_rows, struct problem *problem)
{
    static const struct sql sql = {.text =
                                       "SELECT count(*) FROM (SELECT 1 FROM duepost_jobs LIMIT 1) AS first"};
    int64_t rows = 0;
    enum status status = sql_query(driver, &sql, sql_take_number, &rows, problem);
    *has_rows = rows > 0;
    return status;
}

/* ---- counts ---- */

struct counting {
    struct outcome_counts *counts;
    int64_t seen, most; /* numbers of rows: of all outcomes together, and of the most frequent outcome */
};

static bool on_outcome(void *arg, const struct column_value *columns, size_t count)
{
    struct counting *counting = arg;
    (void)count;
    *outcome_count(counting->counts, schema_outcome(columns[0].text)) += columns[1].number;
    counting->seen += columns[2].number;
    if (columns[2].number > counting->most)
        counting->most = columns[2].number;
    return true;
}

enum status sql_count(struct driver *driver, const struct window *window, struct outcome_counts *counts,
                      struct problem *problem)
{
    struct counting counting = {.counts = counts};
    bool is_by_outcome = !window->is_by_prefix && !window->filter.labels.size;
    struct window_sql sql;
    window_sql_init(&sql);
    window_write_counts(&sql, window);
    enum status status = run_window(driver, &sql, on_outcome, &counting, problem);
    counts->is_partial = (is_by_outcome ? counting.most : counting.seen) >= window->rows_max;
    return status;
}

struct plotting {
    struct outcome_counts *steps;
    size_t count;
};

static bool on_step(void *arg, const struct column_value *columns, size_t count)
{
    struct plotting *plotting = arg;
    int64_t step = columns[1].number;
    (void)count;
    if (step >= 0 && (size_t)step < plotting->count)
        *outcome_count(&plotting->steps[step], schema_outcome(columns[0].text)) += columns[2].number;
    return true;
}

enum status sql_plot(struct driver *driver, const struct outcome_steps *stats, struct outcome_counts *steps,
                     size_t count, struct problem *problem)
{
    struct plotting plotting = {steps, count};
    struct window_sql sql;
    window_sql_init(&sql);
    window_write_stats(&sql, stats);
    return run_window(driver, &sql, on_step, &plotting, problem);
}

/* ---- versions ---- */

static enum status run_text(struct driver *driver, struct slice text, struct problem *problem)
{
    enum status status = STATUS_OK;
    while (text.size && status == STATUS_OK) {
        const char *end = memmem(text.data, text.size, ";\n", 2);
        size_t size = end ? (size_t)(end - text.data) : text.size;
        char *one = slice_dup(slice_from(text.data, size));
        const struct sql sql = {one, NULL, 0};
        status = sql_query(driver, &sql, NULL, NULL, problem);
        free(one);
        text = slice_skip(text, end ? size + 2 : size);
    }
    return status;
}

static enum status set_version(struct driver *driver, struct problem *problem)
{
    const struct column_value values[] = {COLUMN_NUMBER_OF(SCHEMA_VERSION)};
    const struct sql sql = {"UPDATE duepost_meta SET value = $1 WHERE name = 'version'", values, 1};
    return sql_query(driver, &sql, NULL, NULL, problem);
}

enum status sql_version(struct driver *driver, int64_t *version, struct problem *problem)
{
    static const struct sql read = {"SELECT value FROM duepost_meta WHERE name = 'version'", NULL, 0};
    *version = -1;
    return sql_query(driver, &read, sql_take_number, version, problem);
}

enum status sql_is_current(struct driver *driver, bool *is_current, struct problem *problem)
{
    const struct column_value values[] = {COLUMN_NUMBER_OF(SCHEMA_VERSION),
                                          COLUMN_NUMBER_OF(SCHEMA_TRAIL_VERSION)};
    const struct sql sql = {"SELECT count(*) FROM duepost_meta WHERE (name = 'version' AND value = $1)"
                            " OR (name = 'audit' AND value = $2)",
                            values, 2};
    int64_t count = 0;
    enum status status = sql_query(driver, &sql, sql_take_number, &count, problem);
    *is_current = count == 2;
    return status;
}

/* Creates the table of the audit log, unless it exists. */
static enum status migrate_trail(struct driver *driver, struct problem *problem)
{
    const struct column_value values[] = {COLUMN_NUMBER_OF(SCHEMA_TRAIL_VERSION)};
    const struct sql set = {"INSERT INTO duepost_meta (name, value) VALUES ('audit', $1)", values, 1};
    static const struct sql read = {"SELECT count(*) FROM duepost_meta WHERE name = 'audit'", NULL, 0};
    int64_t count = 0;
    enum status status = sql_query(driver, &read, sql_take_number, &count, problem);
    if (status != STATUS_OK || count)
        return status;
    status = run_text(driver, slice_of(sql_trail_tables), problem);
    return status == STATUS_OK ? sql_query(driver, &set, NULL, NULL, problem) : status;
}

enum status sql_migrate(struct driver *driver, const char *const steps[SCHEMA_VERSION],
                        struct problem *problem)
{
    static const char make[] =
        "CREATE TABLE IF NOT EXISTS duepost_meta (name TEXT PRIMARY KEY, value BIGINT NOT NULL);\n"
        "INSERT INTO duepost_meta (name, value) VALUES ('version', 0) ON CONFLICT DO NOTHING;\n";
    int64_t version = -1;
    enum status status = run_text(driver, slice_of(make), problem);
    if (status == STATUS_OK)
        status = sql_version(driver, &version, problem);
    if (status == STATUS_OK)
        status = schema_check(version, problem);
    if (status != STATUS_OK)
        return status;
    bool is_old = version < SCHEMA_VERSION;
    for (; version < SCHEMA_VERSION && status == STATUS_OK; version++)
        status = run_text(driver, slice_of(steps[version]), problem);
    if (status == STATUS_OK && is_old)
        status = set_version(driver, problem);
    return status == STATUS_OK ? migrate_trail(driver, problem) : status;
}
