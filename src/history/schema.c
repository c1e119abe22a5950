#include <stdlib.h>
#include <string.h>

#include "history/driver.h"

static struct sql_value text_or_null(struct slice text)
{
    return text.size ? SQL_TEXT_OF(text) : (struct sql_value){.kind = SQL_NULL};
}

static struct sql_value number_or_null(int64_t number, int64_t null)
{
    if (number == null)
        return (struct sql_value){.kind = SQL_NULL};
    return SQL_NUMBER_OF(number);
}

void schema_values(const struct history_columns *of, struct sql_value values[SCHEMA_COLUMN_COUNT])
{
    struct sql_value *at = values;
    *at++ = SQL_TEXT_OF(of->topic);
    *at++ = SQL_TEXT_OF(of->job_id);
    *at++ = SQL_TEXT_OF(slice_of(job_state_word(of->outcome)));
    *at++ = SQL_NUMBER_OF(of->created_at);
    *at++ = SQL_NUMBER_OF(of->due_at);
    *at++ = SQL_NUMBER_OF(of->ended_at);
    *at++ = text_or_null(of->reason);
    *at++ = number_or_null(of->status, 0);
    *at++ = text_or_null(of->error);
    *at++ = number_or_null(of->duration_ms, -1);
    *at++ = SQL_NUMBER_OF(of->attempts);
    *at++ = SQL_NUMBER_OF(of->rounds);
    *at++ = SQL_NUMBER_OF(of->lost_consumers);
    *at++ = SQL_TEXT_OF(of->method);
    *at++ = text_or_null(of->url);
    *at++ = text_or_null(of->labels);
    *at++ = text_or_null(of->headers);
    *at++ = of->has_body ? SQL_TEXT_OF(of->body) : (struct sql_value){.kind = SQL_NULL};
    *at++ = SQL_NUMBER_OF(of->is_base64);
    *at++ = SQL_NUMBER_OF(of->is_body_left_out);
    *at++ = text_or_null(of->rest);
    *at++ = text_or_null(of->attempt_log);
    *at++ = SQL_NUMBER_OF(of->bytes);
}

static enum job_state read_outcome(struct slice word)
{
    for (enum job_state state = JOB_STATE_DELIVERED; state <= JOB_STATE_CANCELLED; state++)
        if (slice_equal(word, slice_of(job_state_word(state))))
            return state;
    return JOB_STATE_DEAD;
}

void schema_read(const struct sql_value *at, struct history_columns *columns)
{
    *columns = (struct history_columns){
        .topic = at[0].text,
        .job_id = at[1].text,
        .outcome = read_outcome(at[2].text),
        .created_at = at[3].number,
        .due_at = at[4].number,
        .ended_at = at[5].number,
        .reason = at[6].text,
        .status = at[7].number,
        .error = at[8].text,
        .duration_ms = at[9].kind == SQL_NULL ? -1 : at[9].number,
        .attempts = at[10].number,
        .rounds = at[11].number,
        .lost_consumers = at[12].number,
        .method = at[13].text,
        .url = at[14].text,
        .labels = at[15].text,
        .headers = at[16].text,
        .has_body = at[17].kind != SQL_NULL,
        .body = at[17].text,
        .is_base64 = at[18].number,
        .is_body_left_out = at[19].number,
        .rest = at[20].text,
        .attempt_log = at[21].text,
        .bytes = at[22].number,
    };
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
        status = driver->kind->query(driver, &sql, NULL, NULL, problem);
        free(one);
        text = slice_skip(text, end ? size + 2 : size);
    }
    return status;
}

static enum status set_version(struct driver *driver, struct problem *problem)
{
    const struct sql_value values[] = {SQL_NUMBER_OF(SCHEMA_VERSION)};
    const struct sql sql = {"UPDATE duepost_meta SET value = $1 WHERE name = 'version'", values, 1};
    return driver->kind->query(driver, &sql, NULL, NULL, problem);
}

enum status schema_version(struct driver *driver, int64_t *version, struct problem *problem)
{
    static const struct sql read = {"SELECT value FROM duepost_meta WHERE name = 'version'", NULL, 0};
    *version = -1;
    return driver->kind->query(driver, &read, sql_take_number, version, problem);
}

enum status schema_check(int64_t version, struct problem *problem)
{
    if (version >= 0 && version <= SCHEMA_VERSION)
        return STATUS_OK;
    problem_set(problem,
                "the tables have version %lld; this duepost knows versions up to %d. Use a later duepost",
                (long long)version, SCHEMA_VERSION);
    return STATUS_UNAVAILABLE;
}

enum status schema_migrate(struct driver *driver, const char *const steps[SCHEMA_VERSION],
                           struct problem *problem)
{
    static const char make[] =
        "CREATE TABLE IF NOT EXISTS duepost_meta (name TEXT PRIMARY KEY, value BIGINT NOT NULL);\n"
        "INSERT INTO duepost_meta (name, value) VALUES ('version', 0) ON CONFLICT DO NOTHING;\n";
    int64_t version = -1;
    enum status status = run_text(driver, slice_of(make), problem);
    if (status == STATUS_OK)
        status = schema_version(driver, &version, problem);
    if (status == STATUS_OK)
        status = schema_check(version, problem);
    if (status != STATUS_OK || version == SCHEMA_VERSION)
        return status;
    for (; version < SCHEMA_VERSION && status == STATUS_OK; version++)
        status = run_text(driver, slice_of(steps[version]), problem);
    return status == STATUS_OK ? set_version(driver, problem) : status;
}
