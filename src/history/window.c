#include "history/sql.h"

void window_sql_init(struct window_sql *sql)
{
    *sql = (struct window_sql){.count = 0};
    buffer_init(&sql->text, WINDOW_TEXT_MAX);
}

void window_sql_fini(struct window_sql *sql)
{
    buffer_fini(&sql->text);
}

struct sql window_sql_of(struct window_sql *sql)
{
    assert(!sql->text.failed);
    return (struct sql){buffer_text(&sql->text), sql->values, sql->count};
}

/* ---- parts of a statement ---- */

static void put_sql(struct window_sql *sql, const char *text)
{
    buffer_append(&sql->text, slice_of(text));
}

/* Appends the next parameter. */
static void put_value(struct window_sql *sql, struct column_value value)
{
    assert(sql->count < WINDOW_VALUES_MAX);
    sql->values[sql->count++] = value;
    buffer_printf(&sql->text, "$%zu", sql->count);
}

static void put_number(struct window_sql *sql, int64_t number)
{
    put_value(sql, COLUMN_NUMBER_OF(number));
}

static void put_text(struct window_sql *sql, struct slice text)
{
    put_value(sql, COLUMN_TEXT_OF(text));
}

/* Appends the conditions on ended_at and row. The range ends at the filter's other limit of time. */
static void put_range(struct window_sql *sql, const struct window *window, const char *id)
{
    const struct job_filter *filter = &window->filter;
    const struct history_cursor begin = window_begin(window);
    buffer_printf(&sql->text, "(ended_at,%s)%s(", id, window->is_newest_first ? "<" : ">");
    put_number(sql, begin.ended_ms);
    put_sql(sql, ",");
    put_number(sql, begin.row);
    put_sql(sql, window->is_newest_first ? ") AND ended_at>=" : ") AND ended_at<");
    put_number(sql, window->is_newest_first ? filter->after_ms
                    : filter->before_ms     ? filter->before_ms
                                            : INT64_MAX);
}

static void put_order(struct window_sql *sql, const struct window *window, const char *prefix, const char *id)
{
    const char *way = window->is_newest_first ? " DESC" : "";
    buffer_printf(&sql->text, " ORDER BY %sended_at%s,%s%s%s", prefix, way, prefix, id, way);
}

static void put_rows_max(struct window_sql *sql, const struct window *window)
{
    put_sql(sql, " LIMIT ");
    put_number(sql, window->rows_max);
}

/* Appends a query for the next rows of each outcome, from the index of topic and outcome, or from the index
 * of outcome. */
static void put_by_outcome(struct window_sql *sql, const struct window *window, unsigned states)
{
    bool is_first = true;
    for (enum job_state state = JOB_STATE_DEAD; state <= JOB_STATE_CANCELLED; state++) {
        if (!(states & 1u << state))
            continue;
        put_sql(sql, is_first
                         ? "SELECT * FROM (SELECT id,ended_at,outcome FROM duepost_jobs WHERE "
                         : " UNION ALL SELECT * FROM (SELECT id,ended_at,outcome FROM duepost_jobs WHERE ");
        is_first = false;
        if (window->filter.topic.size) {
            put_sql(sql, "topic=");
            put_text(sql, window->filter.topic);
            put_sql(sql, " AND ");
        }
        put_sql(sql, "outcome=");
        put_text(sql, slice_of(job_state_word(state)));
        put_sql(sql, " AND ");
        put_range(sql, window, "id");
        put_order(sql, window, "", "id");
        put_rows_max(sql, window);
        buffer_printf(&sql->text, ") w%d", (int)state);
    }
}

static void put_by_label(struct window_sql *sql, const struct window *window)
{
    struct slice others;
    put_sql(sql, "SELECT job AS id,ended_at FROM duepost_labels WHERE label=");
    put_text(sql, window_label(window, &others));
    put_sql(sql, " AND ");
    put_range(sql, window, "job");
    put_order(sql, window, "", "job");
    put_rows_max(sql, window);
}

static void put_prefix_range(struct window_sql *sql, struct slice prefix)
{
    put_sql(sql, "job_id>=");
    put_text(sql, prefix);
    assert(prefix.size <= JOB_ID_DERIVED_MAX);
    memcpy(sql->room, prefix.data, prefix.size);
    memcpy(sql->room + prefix.size, WINDOW_LARGEST, sizeof WINDOW_LARGEST - 1);
    put_sql(sql, " AND job_id<=");
    put_text(sql, slice_from(sql->room, prefix.size + sizeof WINDOW_LARGEST - 1));
}

static void put_by_prefix(struct window_sql *sql, const struct window *window)
{
    put_sql(sql, "SELECT id,ended_at FROM duepost_jobs WHERE ");
    put_prefix_range(sql, window->filter.id_prefix);
    put_sql(sql, " AND ");
    put_range(sql, window, "id");
    put_order(sql, window, "", "id");
    put_rows_max(sql, window);
}

static void put_window(struct window_sql *sql, const struct window *window)
{
    unsigned states = window_states(&window->filter);
    if (window->is_by_prefix)
        put_by_prefix(sql, window);
    else if (window->filter.labels.size)
        put_by_label(sql, window);
    else if (states)
        put_by_outcome(sql, window, states);
    else
        put_sql(sql, "SELECT id,ended_at,outcome FROM duepost_jobs WHERE 1=0");
}

/* ---- conditions that no index covers ---- */

static int64_t count_characters(struct slice text)
{
    int64_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += ((uint8_t)text.data[i] & 0xc0) != 0x80;
    return count;
}

/* Appends the condition of a status: 503, or 5xx for 500 to 599, or the word of an error. */
static void put_status(struct window_sql *sql, struct slice word)
{
    uint64_t number;
    bool is_class = word.size == 3 && word.data[0] >= '0' && word.data[0] <= '9' &&
                    slice_equal(slice_skip(word, 1), SLICE("xx"));
    if (is_class) {
        int64_t first = INT64_C(100) * (word.data[0] - '0');
        put_sql(sql, "j.status>=");
        put_number(sql, first);
        put_sql(sql, " AND j.status<");
        put_number(sql, first + 100);
    } else if (slice_to_number(word, 999, &number)) {
        put_sql(sql, "j.status=");
        put_number(sql, (int64_t)number);
    } else {
        put_sql(sql, "j.error=");
        put_text(sql, word);
    }
}

static void put_reason(struct window_sql *sql, struct slice word)
{
    put_sql(sql, "j.reason=");
    put_text(sql, word);
}

static void put_words(struct window_sql *sql, struct slice words,
                      void (*put_word)(struct window_sql *, struct slice))
{
    struct slice word;
    const char *before = " AND (";
    while (words.size) {
        slice_cut(words, ',', &word, &words);
        put_sql(sql, before);
        put_word(sql, word);
        before = " OR ";
    }
    put_sql(sql, ")");
}

/* Appends the condition that the url begins with this scheme and host, and that the host or its port ends
 * there. */
static void put_origin(struct window_sql *sql, const char *scheme, struct slice host)
{
    int64_t begin = (int64_t)strlen(scheme) + 1, length = count_characters(host);
    put_sql(sql, "(substr(lower(j.url),1,");
    put_number(sql, begin - 1);
    buffer_printf(&sql->text, ")='%s' AND substr(lower(j.url),", scheme);
    put_number(sql, begin);
    put_sql(sql, ",");
    put_number(sql, length);
    put_sql(sql, ")=");
    put_text(sql, host);
    put_sql(sql, " AND substr(j.url,");
    put_number(sql, begin + length);
    put_sql(sql, ",1) IN ('','/','?','#',':'))");
}

static void put_host(struct window_sql *sql, struct slice host)
{
    put_sql(sql, " AND (");
    put_origin(sql, "http://", host);
    put_sql(sql, " OR ");
    put_origin(sql, "https://", host);
    put_sql(sql, ")");
}

static void put_states(struct window_sql *sql, const struct job_filter *filter)
{
    unsigned states = window_states(filter);
    const char *before = " AND j.outcome IN (";
    if (states == WINDOW_ALL_STATES)
        return;
    if (states == 0) {
        put_sql(sql, " AND 1=0");
        return;
    }
    for (enum job_state state = JOB_STATE_DEAD; state <= JOB_STATE_CANCELLED; state++) {
        if (!(states & 1u << state))
            continue;
        put_sql(sql, before);
        put_text(sql, slice_of(job_state_word(state)));
        before = ",";
    }
    put_sql(sql, ")");
}

/* Appends conditions for all labels except the one by which the window selects its rows. */
static void put_labels(struct window_sql *sql, const struct window *window)
{
    struct slice label, rest = window->filter.labels;
    if (!window->is_by_prefix)
        (void)window_label(window, &rest);
    while (rest.size) {
        slice_cut(rest, '\n', &label, &rest);
        put_sql(sql,
                " AND EXISTS (SELECT 1 FROM duepost_labels l WHERE l.job=j.id AND l.ended_at=j.ended_at AND "
                "l.label=");
        put_text(sql, label);
        put_sql(sql, ")");
    }
}

/* Appends the condition that a job has no key. A key begins with HISTORY_LANE, and no label with a control
 * character. */
static void put_no_key(struct window_sql *sql)
{
    put_sql(sql, " AND NOT EXISTS (SELECT 1 FROM duepost_labels l WHERE l.job=j.id AND l.ended_at=j.ended_at "
                 "AND l.label<' ')");
}

/* Appends the conditions. An entry of duepost_labels that is older than its row is ignored, because it
 * belongs to an earlier end of the job. */
static void put_conditions(struct window_sql *sql, const struct window *window)
{
    const struct job_filter *filter = &window->filter;
    put_sql(sql, "j.ended_at=s.ended_at");
    if (window->is_by_prefix || filter->labels.size) {
        put_states(sql, filter);
        if (filter->topic.size) {
            put_sql(sql, " AND j.topic=");
            put_text(sql, filter->topic);
        }
    }
    put_labels(sql, window);
    if (filter->id_prefix.size) {
        put_sql(sql, " AND substr(j.job_id,1,");
        put_number(sql, count_characters(filter->id_prefix));
        put_sql(sql, ")=");
        put_text(sql, filter->id_prefix);
    }
    if (filter->has_key)
        put_no_key(sql);
    if (filter->host.size)
        put_host(sql, filter->host);
    if (filter->reasons.size)
        put_words(sql, filter->reasons, put_reason);
    if (filter->statuses.size)
        put_words(sql, filter->statuses, put_status);
}

/* ---- statements ---- */

void window_write_rows(struct window_sql *sql, const struct window *window)
{
    put_sql(sql, "SELECT s.id,s.ended_at,j.bytes,CASE WHEN ");
    put_conditions(sql, window);
    put_sql(sql, " THEN 1 ELSE 0 END FROM (SELECT id,ended_at FROM (");
    put_window(sql, window);
    put_sql(sql, ") u");
    put_order(sql, window, "", "id");
    put_rows_max(sql, window);
    put_sql(sql, ") s JOIN duepost_jobs j ON j.id=s.id");
    put_order(sql, window, "s.", "id");
}

/* Appends the conditions of the rows of a topic (empty: all topics) with this outcome. */
static void put_matching(struct window_sql *sql, struct slice topic, enum job_state state)
{
    if (topic.size) {
        put_sql(sql, "topic=");
        put_text(sql, topic);
        put_sql(sql, " AND ");
    }
    put_sql(sql, "outcome=");
    put_text(sql, slice_of(job_state_word(state)));
}

/* Appends the number of rows of each outcome. Reads only an index. */
static void put_covered_counts(struct window_sql *sql, const struct window *window)
{
    const struct job_filter *filter = &window->filter;
    const char *before = "";
    unsigned states = window_states(filter);
    for (enum job_state state = JOB_STATE_DEAD; state <= JOB_STATE_CANCELLED; state++) {
        if (!(states & 1u << state))
            continue;
        buffer_printf(&sql->text, "%sSELECT '%s',count(*),count(*) FROM duepost_jobs WHERE ", before,
                      job_state_word(state));
        before = " UNION ALL ";
        put_matching(sql, filter->topic, state);
        put_sql(sql, " AND ended_at>=");
        put_number(sql, filter->after_ms);
        put_sql(sql, " AND ended_at<");
        put_number(sql, filter->before_ms ? filter->before_ms : INT64_MAX);
    }
}

void window_write_counts(struct window_sql *sql, const struct window *window)
{
    if (window_is_covered(window)) {
        put_covered_counts(sql, window);
        return;
    }
    put_sql(sql, "SELECT j.outcome,sum(CASE WHEN ");
    put_conditions(sql, window);
    put_sql(sql, " THEN 1 ELSE 0 END),count(*) FROM (");
    put_window(sql, window);
    put_sql(sql, ") s JOIN duepost_jobs j ON j.id=s.id GROUP BY j.outcome");
}

void window_write_prefix(struct window_sql *sql, struct slice prefix)
{
    put_sql(sql, "SELECT count(*) FROM (SELECT 1 FROM duepost_jobs WHERE ");
    put_prefix_range(sql, prefix);
    put_sql(sql, " LIMIT ");
    put_number(sql, WINDOW_PREFIX_MAX + 1);
    put_sql(sql, ") s");
}

/* Appends the number of rows with this outcome in each step. A step is a range of an index, so the
 * database only counts its rows. GROUP BY would sort all rows, which is ten times slower. */
static void put_steps(struct window_sql *sql, const struct outcome_steps *stats, enum job_state state)
{
    buffer_printf(&sql->text, "SELECT '%s',n,(SELECT count(*) FROM duepost_jobs WHERE ",
                  job_state_word(state));
    put_matching(sql, stats->topic, state);
    put_sql(sql, " AND ended_at>=begins AND ended_at<ends) FROM step");
}

/* Appends a table named "step", which has a row for each step: its number, its beginning and its end. */
static void put_step_table(struct window_sql *sql, const struct outcome_steps *stats)
{
    int64_t last = (stats->to_ms - stats->from_ms - 1) / stats->step_ms;
    put_sql(sql, "WITH RECURSIVE step(n,begins,ends) AS (SELECT 0,CAST(");
    put_number(sql, stats->from_ms);
    put_sql(sql, " AS bigint),CAST(");
    put_number(sql, last ? stats->from_ms + stats->step_ms : stats->to_ms);
    put_sql(sql, " AS bigint) UNION ALL SELECT n+1,ends,CASE WHEN n+1=");
    put_number(sql, last);
    put_sql(sql, " THEN ");
    put_number(sql, stats->to_ms);
    put_sql(sql, " ELSE ends+");
    put_number(sql, stats->step_ms);
    put_sql(sql, " END FROM step WHERE n<");
    put_number(sql, last);
    put_sql(sql, ") ");
}

void window_write_stats(struct window_sql *sql, const struct outcome_steps *stats)
{
    put_step_table(sql, stats);
    for (enum job_state state = JOB_STATE_DEAD; state <= JOB_STATE_CANCELLED; state++) {
        if (state != JOB_STATE_DEAD)
            put_sql(sql, " UNION ALL ");
        put_steps(sql, stats, state);
    }
}
