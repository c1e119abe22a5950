/* sql_trail.c - the table duepost_audit in SQL databases, see trail.h. */
#include <stdio.h>

#include "history/sql.h"
#include "history/trail.h"

enum { LINE_VALUES = 6, LINES_AT_ONCE = 20, TEXT_MAX = 4096, CONDITIONS_MAX = 8 };

const char sql_trail_tables[] =
    "CREATE TABLE IF NOT EXISTS duepost_audit (at BIGINT NOT NULL, id TEXT NOT NULL, who TEXT NOT NULL,"
    " action TEXT NOT NULL, topic TEXT, line TEXT NOT NULL, PRIMARY KEY (at, id));\n"
    "CREATE INDEX IF NOT EXISTS duepost_audit_who ON duepost_audit (who, at, id);\n"
    "CREATE INDEX IF NOT EXISTS duepost_audit_action ON duepost_audit (action, at, id);\n"
    "CREATE INDEX IF NOT EXISTS duepost_audit_topic ON duepost_audit (topic, at, id);\n";

static enum status trail_query(struct driver *driver, const struct sql *sql, sql_row_fn *fn, void *arg,
                               struct problem *problem)
{
    return ((struct sql_driver *)driver)->sql->query(driver, sql, fn, arg, problem);
}

static struct column_value text_or_null(struct slice text)
{
    return text.size ? COLUMN_TEXT_OF(text) : (struct column_value){.kind = COLUMN_NULL};
}

enum status sql_note(struct driver *driver, const struct trail_line *lines, size_t count,
                     struct problem *problem)
{
    enum status status = STATUS_OK;
    for (size_t first = 0; first < count && status == STATUS_OK; first += LINES_AT_ONCE) {
        char room[TEXT_MAX];
        struct buffer text = buffer_of(room, sizeof room);
        struct column_value values[LINE_VALUES * LINES_AT_ONCE];
        size_t size = 0;
        buffer_append(&text, SLICE("INSERT INTO duepost_audit (at, id, who, action, topic, line) VALUES "));
        for (size_t i = first; i < count && i < first + LINES_AT_ONCE; i++) {
            const struct trail_line *line = &lines[i];
            int at = (int)size;
            buffer_printf(&text, "%s(CAST($%d AS BIGINT),$%d,$%d,$%d,$%d,$%d)", i > first ? "," : "", at + 1,
                          at + 2, at + 3, at + 4, at + 5, at + 6);
            values[size++] = COLUMN_NUMBER_OF(line->at_ms);
            values[size++] = COLUMN_TEXT_OF(line->id);
            values[size++] = COLUMN_TEXT_OF(line->who);
            values[size++] = COLUMN_TEXT_OF(line->action);
            values[size++] = text_or_null(line->topic);
            values[size++] = COLUMN_TEXT_OF(line->json);
        }
        buffer_append(&text, SLICE(" ON CONFLICT DO NOTHING"));
        const struct sql sql = {buffer_text(&text), values, size};
        status = trail_query(driver, &sql, NULL, NULL, problem);
    }
    return status;
}

static bool on_line(void *arg, const struct column_value *columns, size_t count)
{
    (void)count;
    return trail_rows_add(arg, columns[0].number, columns[1].text, columns[2].text);
}

enum status sql_trail(struct driver *driver, const struct trail_query *trail, struct trail_rows *rows,
                      struct problem *problem)
{
    char room[TEXT_MAX];
    struct buffer text = buffer_of(room, sizeof room);
    struct column_value values[CONDITIONS_MAX];
    const struct {
        const char *column;
        struct slice value;
    } conditions[] = {{"who", trail->who}, {"action", trail->action}, {"topic", trail->topic}};
    int count = 2;
    values[0] = COLUMN_NUMBER_OF(trail->from_ms);
    values[1] = COLUMN_NUMBER_OF(trail->to_ms ? trail->to_ms : INT64_MAX);
    buffer_append(&text, SLICE("SELECT at, id, line FROM duepost_audit WHERE at >= $1 AND at < $2"));
    if (trail->after.is_set) {
        buffer_append(&text, SLICE(" AND (at, id) < ($3, $4)"));
        values[count++] = COLUMN_NUMBER_OF(trail->after.at_ms);
        values[count++] = COLUMN_TEXT_OF(slice_of(trail->after.id));
    }
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        if (!conditions[i].value.size)
            continue;
        values[count++] = COLUMN_TEXT_OF(conditions[i].value);
        buffer_printf(&text, " AND %s = $%d", conditions[i].column, count);
    }
    values[count++] = COLUMN_NUMBER_OF((int64_t)trail->max);
    buffer_printf(&text, " ORDER BY at DESC, id DESC LIMIT $%d", count);
    const struct sql sql = {buffer_text(&text), values, (size_t)count};
    return trail_query(driver, &sql, on_line, rows, problem);
}

enum status sql_forget(struct driver *driver, int64_t before_ms, bool *has_more, struct problem *problem)
{
    const struct column_value most[] = {COLUMN_NUMBER_OF(HISTORY_LINES_MAX)};
    const struct sql find = {"SELECT at FROM duepost_audit ORDER BY at DESC, id DESC LIMIT 1 OFFSET $1", most,
                             1};
    int64_t beyond_ms = 0, count = 0;
    enum status status = trail_query(driver, &find, sql_take_number, &beyond_ms, problem);
    const struct column_value values[] = {
        COLUMN_NUMBER_OF(beyond_ms + 1 > before_ms ? beyond_ms + 1 : before_ms),
        COLUMN_NUMBER_OF(HISTORY_DELETE_MAX)};
    const struct sql look = {
        "SELECT count(*) FROM (SELECT at FROM duepost_audit WHERE at < $1 ORDER BY at LIMIT $2) AS old",
        values, 2};
    const struct sql remove = {"DELETE FROM duepost_audit WHERE (at, id) IN"
                               " (SELECT at, id FROM duepost_audit WHERE at < $1 ORDER BY at, id LIMIT $2)",
                               values, 2};
    if (status == STATUS_OK && values[0].number > 1)
        status = trail_query(driver, &look, sql_take_number, &count, problem);
    *has_more = count == HISTORY_DELETE_MAX;
    return status == STATUS_OK && count ? trail_query(driver, &remove, NULL, NULL, problem) : status;
}
