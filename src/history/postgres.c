/* postgres.c - the history in PostgreSQL.
 *
 * Each call is one statement, so it takes one round trip and is one transaction. All waits end at the
 * deadline of the call. The statement of an append takes its rows as one JSON text. */
#include <assert.h>
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_writer.h"
#include "base/memory.h"
#include "base/system.h"
#include "history/sql.h"

enum {
    ROWS_MAX = 512 * 1024 * 1024, /* maximum number of bytes of an append */
    VALUES_MAX = 128,
    COLUMNS_MAX = 32,
    NUMBER_SIZE = 24,
    VERSION_MIN = 130000,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
};

struct postgres {
    struct sql_driver base;
    char *url;
    PGconn *connection; /* NULL: closed */
    struct buffer rows; /* rows of the append under way, as JSON */
    size_t row_count;
};

/* Settings of a connection, sent in one call at its start. The statements are written for index scans;
 * without statistics the planner would sometimes sort all rows instead. The timeout lets the server end a
 * statement after its client has given up. */
#define SETTINGS                                                                                             \
    "SET enable_seqscan = off; SET enable_bitmapscan = off; SET statement_timeout = '40s';"                  \
    "SET lock_timeout = '20s'; SET client_min_messages = warning; SET default_transaction_isolation ="       \
    " 'read committed'; SELECT set_config('synchronous_commit', 'on', false)"                                \
    " WHERE current_setting('synchronous_commit') = 'off'"

/* COLLATE "C" compares bytes, as the queries for prefixes and positions require. */
#define TABLE                                                                                                \
    "CREATE TABLE duepost_jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"                         \
    " topic text COLLATE \"C\" NOT NULL, job_id text COLLATE \"C\" NOT NULL,"                                \
    " outcome text COLLATE \"C\" NOT NULL, created_at bigint NOT NULL, due_at bigint NOT NULL,"              \
    " ended_at bigint NOT NULL, reason text, status integer, error text, duration_ms bigint,"                \
    " attempts integer NOT NULL, rounds integer NOT NULL, lost_consumers integer NOT NULL,"                  \
    " method text NOT NULL, url text, labels json, headers json, body text,"                                 \
    " body_base64 smallint NOT NULL, body_left_out smallint NOT NULL, rest json, attempt_log json,"          \
    " bytes bigint NOT NULL);\n"                                                                             \
    "CREATE UNIQUE INDEX duepost_jobs_id ON duepost_jobs (job_id, topic, created_at);\n"                     \
    "CREATE INDEX duepost_jobs_topic ON duepost_jobs (topic, outcome, ended_at, id);\n"                      \
    "CREATE INDEX duepost_jobs_outcome ON duepost_jobs (outcome, ended_at, id);\n"                           \
    "CREATE TABLE duepost_labels (label text COLLATE \"C\" NOT NULL, ended_at bigint NOT NULL,"              \
    " job bigint NOT NULL REFERENCES duepost_jobs (id) ON DELETE CASCADE,"                                   \
    " PRIMARY KEY (label, ended_at, job));\n"                                                                \
    "CREATE INDEX duepost_labels_job ON duepost_labels (job);\n"                                             \
    "INSERT INTO duepost_meta (name, value) VALUES ('bytes', 0);\n"

static const char *const steps[SCHEMA_VERSION] = {TABLE};

/* If an append has several rows of one job, only the last row is stored. Members that are JSON themselves
 * (labels, headers, rest, attempt_log) are passed as strings, because PostgreSQL refuses \u0000 in JSON
 * that it unpacks. If a row is updated, the stored total size of the rows does not change. */
#define APPEND                                                                                               \
    "WITH given AS (SELECT DISTINCT ON (job_id, topic, created_at) * FROM json_to_recordset($1::json) AS r"  \
    "(n bigint, topic text, job_id text, outcome text, created_at bigint, due_at bigint, ended_at bigint,"   \
    " reason text, status integer, error text, duration_ms bigint, attempts integer, rounds integer,"        \
    " lost_consumers integer, method text, url text, labels text, headers text, body text,"                  \
    " body_base64 smallint, body_left_out smallint, rest text, attempt_log text, bytes bigint,"              \
    " lane text)"                                                                                            \
    " ORDER BY job_id, topic, created_at, ended_at DESC, n DESC),"                                           \
    " added AS (INSERT INTO duepost_jobs (" SCHEMA_COLUMNS ") SELECT topic,job_id,outcome,created_at,"       \
    "due_at,ended_at,reason,status,error,duration_ms,attempts,rounds,lost_consumers,method,url,"             \
    "labels::json,headers::json,body,body_base64,body_left_out,rest::json,attempt_log::json,bytes"           \
    " FROM given ON CONFLICT (job_id, topic, created_at) DO UPDATE SET outcome = excluded.outcome,"          \
    "due_at = excluded.due_at,ended_at = excluded.ended_at,reason = excluded.reason,"                        \
    "status = excluded.status,error = excluded.error,duration_ms = excluded.duration_ms,"                    \
    "attempts = excluded.attempts,rounds = excluded.rounds,lost_consumers = excluded.lost_consumers,"        \
    "method = excluded.method,url = excluded.url,labels = excluded.labels,headers = excluded.headers,"       \
    "body = excluded.body,body_base64 = excluded.body_base64,body_left_out = excluded.body_left_out,"        \
    "rest = excluded.rest,attempt_log = excluded.attempt_log,bytes = excluded.bytes"                         \
    " WHERE excluded.ended_at >= duepost_jobs.ended_at"                                                      \
    " RETURNING id, job_id, topic, created_at, ended_at, labels,"                                            \
    " CASE WHEN xmax = 0 THEN bytes ELSE 0 END AS bytes),"                                                   \
    " labelled AS (INSERT INTO duepost_labels (label, ended_at, job)"                                        \
    " SELECT l.value, a.ended_at, a.id FROM added a, json_array_elements_text(a.labels) l"                   \
    " UNION SELECT g.lane, a.ended_at, a.id FROM added a JOIN given g USING (job_id, topic, created_at)"     \
    " WHERE g.lane IS NOT NULL"                                                                              \
    " ON CONFLICT DO NOTHING)"                                                                               \
    " UPDATE duepost_meta SET value = value + (SELECT coalesce(sum(bytes), 0)::bigint FROM added)"           \
    " WHERE name = 'bytes'"

#define REMOVE                                                                                               \
    "WITH gone AS (DELETE FROM duepost_jobs WHERE id = ANY($1::bigint[]) RETURNING bytes)"                   \
    " UPDATE duepost_meta SET value = greatest(0, value - (SELECT coalesce(sum(bytes), 0)::bigint FROM"      \
    " gone)) WHERE name = 'bytes'"

static struct postgres *of_driver(struct driver *driver)
{
    return (struct postgres *)driver;
}

enum status postgres_url_check(const char *url, bool *has_password, struct problem *problem)
{
    *has_password = false;
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    if (!options) { /* libpq's message may show a part of a password */
        problem_set(problem, "must be postgresql://[user[:password]@]host[:port]/database, perhaps with "
                             "parameters such as ?sslmode=verify-full&sslrootcert=FILE&passfile=FILE");
        return STATUS_INVALID;
    }
    for (const PQconninfoOption *option = options; option->keyword; option++)
        *has_password |= option->val && strcmp(option->keyword, "password") == 0;
    PQconninfoFree(options);
    return STATUS_OK;
}

/* ---- waiting ---- */

static enum status connection_failed(const struct postgres *postgres, struct problem *problem)
{
    const char *text = PQerrorMessage(postgres->connection);
    size_t size = strlen(text);
    while (size && text[size - 1] == '\n')
        size--;
    problem_set(problem, "PostgreSQL: %.*s", size < 400 ? (int)size : 400, text);
    for (char *at = problem->text; (at = strchr(at, '\n'));)
        *at = ' ';
    return STATUS_UNAVAILABLE;
}

/* Waits until the socket is ready. */
static enum status wait_for(const struct postgres *postgres, short events, struct problem *problem)
{
    const struct driver *driver = &postgres->base.driver;
    struct pollfd ready[2] = {{.fd = PQsocket(postgres->connection), .events = events},
                              {.fd = driver->stop_fd, .events = POLLIN}};
    int64_t left_us = driver->deadline_us - clock_steady_us();
    int count = left_us > 0 ? poll(ready, 2, (int)(left_us / 1000) + 1) : 0;
    if (count < 0 && errno == EINTR)
        return STATUS_OK;
    if (atomic_load(driver->is_stopping)) {
        problem_set(problem, "duepost is stopping");
        return STATUS_UNAVAILABLE;
    }
    if (count > 0)
        return STATUS_OK;
    problem_set(problem, "PostgreSQL does not answer in time");
    return STATUS_UNAVAILABLE;
}

/* ---- open and close ---- */

static void postgres_close(struct driver *driver)
{
    struct postgres *postgres = of_driver(driver);
    PQfinish(postgres->connection);
    postgres->connection = NULL;
    buffer_clear(&postgres->rows);
}

static void postgres_free(struct driver *driver)
{
    struct postgres *postgres = of_driver(driver);
    postgres_close(driver);
    buffer_fini(&postgres->rows);
    explicit_bzero(postgres->url, strlen(postgres->url));
    free(postgres->url);
    free(postgres);
}

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg, (void)result;
}

static enum status connect_server(struct postgres *postgres, struct problem *problem)
{
    static const char *const names[] = {"fallback_application_name", "dbname", "client_encoding", NULL};
    const char *const values[] = {"duepost", postgres->url, "UTF8", NULL};
    postgres->connection = PQconnectStartParams(names, values, 1);
    if (!postgres->connection || PQstatus(postgres->connection) == CONNECTION_BAD)
        return connection_failed(postgres, problem);
    PQsetNoticeReceiver(postgres->connection, ignore_notice, NULL);
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK) {
        if (next == PGRES_POLLING_FAILED)
            return connection_failed(postgres, problem);
        if (wait_for(postgres, next == PGRES_POLLING_READING ? POLLIN : POLLOUT, problem) != STATUS_OK)
            return STATUS_UNAVAILABLE;
        next = PQconnectPoll(postgres->connection);
    }
    PQsetnonblocking(postgres->connection, 1);
    return STATUS_OK;
}

static enum status check_server(const struct postgres *postgres, struct problem *problem)
{
    const char *encoding = PQparameterStatus(postgres->connection, "server_encoding");
    int version = PQserverVersion(postgres->connection);
    if (version < VERSION_MIN) {
        problem_set(problem, "PostgreSQL has version %d; duepost needs 13 or later", version / 10000);
        return STATUS_UNAVAILABLE;
    }
    if (!encoding || strcmp(encoding, "UTF8") != 0) {
        problem_set(problem, "the database has the encoding %.50s; duepost needs UTF8",
                    encoding ? encoding : "?");
        return STATUS_UNAVAILABLE;
    }
    return STATUS_OK;
}

/* ---- statements ---- */

/* Sends all bytes. Also reads while it sends, because the server may stop reading until its own data has been
 * read. */
static enum status flush(const struct postgres *postgres, struct problem *problem)
{
    int left;
    while ((left = PQflush(postgres->connection)) == 1) {
        if (wait_for(postgres, POLLIN | POLLOUT, problem) != STATUS_OK)
            return STATUS_UNAVAILABLE;
        if (!PQconsumeInput(postgres->connection))
            return connection_failed(postgres, problem);
    }
    return left == 0 ? STATUS_OK : connection_failed(postgres, problem);
}

/* Waits for the next result; NULL: there are no more. */
static enum status take_result(const struct postgres *postgres, PGresult **result, struct problem *problem)
{
    while (PQisBusy(postgres->connection)) {
        if (wait_for(postgres, POLLIN, problem) != STATUS_OK)
            return STATUS_UNAVAILABLE;
        if (!PQconsumeInput(postgres->connection))
            return connection_failed(postgres, problem);
    }
    *result = PQgetResult(postgres->connection);
    return STATUS_OK;
}

static bool give_row(const PGresult *result, int row, sql_row_fn *fn, void *arg)
{
    struct column_value columns[COLUMNS_MAX];
    int count = PQnfields(result);
    assert(count <= COLUMNS_MAX);
    for (int i = 0; i < count; i++) {
        Oid type = PQftype(result, i);
        const char *text = PQgetvalue(result, row, i);
        if (PQgetisnull(result, row, i))
            columns[i] = (struct column_value){.kind = COLUMN_NULL};
        else if (type == OID_INT8 || type == OID_INT4 || type == OID_INT2)
            columns[i] = COLUMN_NUMBER_OF(strtoll(text, NULL, 10));
        else
            columns[i] = COLUMN_TEXT_OF(slice_from(text, (size_t)PQgetlength(result, row, i)));
    }
    return fn(arg, columns, (size_t)count);
}

/* Sets the problem without the details, which may contain data of jobs. Returns INVALID if the data of the
 * statement caused the error. */
static enum status result_failed(const struct postgres *postgres, const PGresult *result,
                                 struct problem *problem)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (!state || !text)
        return connection_failed(postgres, problem);
    problem_set(problem, "PostgreSQL: %.300s (%s)", text, state);
    bool is_data =
        strncmp(state, "22", 2) == 0 || strncmp(state, "23", 2) == 0 || strncmp(state, "54", 2) == 0;
    return is_data ? STATUS_INVALID : STATUS_UNAVAILABLE;
}

/* Takes all results of the statements that were sent. Reports the first error. */
static enum status take_results(const struct postgres *postgres, sql_row_fn *fn, void *arg,
                                struct problem *problem)
{
    enum status status = STATUS_OK;
    PGresult *result = NULL;
    for (;;) {
        if (take_result(postgres, &result, problem) != STATUS_OK)
            return STATUS_UNAVAILABLE;
        if (!result)
            return status;
        ExecStatusType kind = PQresultStatus(result);
        if (kind != PGRES_COMMAND_OK && kind != PGRES_TUPLES_OK && status == STATUS_OK)
            status = result_failed(postgres, result, problem);
        bool wants_rows = fn && status == STATUS_OK;
        for (int row = 0; wants_rows && row < PQntuples(result); row++)
            wants_rows = give_row(result, row, fn, arg);
        PQclear(result);
    }
}

static bool send_sql(const struct postgres *postgres, const struct sql *sql)
{
    char numbers[VALUES_MAX][NUMBER_SIZE];
    const char *values[VALUES_MAX];
    char *copies[VALUES_MAX] = {NULL}; /* texts need a NUL at the end */
    assert(sql->count <= VALUES_MAX);
    for (size_t i = 0; i < sql->count; i++) {
        const struct column_value *value = &sql->values[i];
        if (value->kind == COLUMN_NUMBER)
            snprintf(numbers[i], NUMBER_SIZE, "%lld", (long long)value->number);
        else if (value->kind == COLUMN_TEXT)
            copies[i] = slice_dup(value->text);
        values[i] = value->kind == COLUMN_NUMBER ? numbers[i] : copies[i];
    }
    bool is_sent =
        PQsendQueryParams(postgres->connection, sql->text, (int)sql->count, NULL, values, NULL, NULL, 0);
    for (size_t i = 0; i < sql->count; i++)
        free(copies[i]);
    return is_sent;
}

static enum status postgres_run(struct postgres *postgres, const struct sql *sql, sql_row_fn *fn, void *arg,
                                struct problem *problem)
{
    if (!send_sql(postgres, sql))
        return connection_failed(postgres, problem);
    enum status status = flush(postgres, problem);
    return status == STATUS_OK ? take_results(postgres, fn, arg, problem) : status;
}

/* Runs statements without parameters, separated by semicolons, in one transaction. */
static enum status postgres_run_texts(struct postgres *postgres, const char *texts, struct problem *problem)
{
    if (!PQsendQuery(postgres->connection, texts))
        return connection_failed(postgres, problem);
    enum status status = flush(postgres, problem);
    return status == STATUS_OK ? take_results(postgres, NULL, NULL, problem) : status;
}

static enum status postgres_query(struct driver *driver, const struct sql *sql, sql_row_fn *fn, void *arg,
                                  struct problem *problem)
{
    enum status status = postgres_run(of_driver(driver), sql, fn, arg, problem);
    return status == STATUS_INVALID ? STATUS_UNAVAILABLE : status;
}

static enum status postgres_open(struct driver *driver, struct problem *problem)
{
    struct postgres *postgres = of_driver(driver);
    enum status status = connect_server(postgres, problem);
    if (status == STATUS_OK)
        status = check_server(postgres, problem);
    if (status == STATUS_OK)
        status = postgres_run_texts(postgres, SETTINGS, problem);
    return status == STATUS_OK ? STATUS_OK : STATUS_UNAVAILABLE;
}

static enum status postgres_find_version(struct driver *driver, int64_t *version, struct problem *problem)
{
    static const struct sql find = {"SELECT count(*) FROM pg_class WHERE oid = to_regclass('duepost_meta')",
                                    NULL, 0};
    int64_t tables = 0;
    *version = 0;
    enum status status = postgres_open(driver, problem);
    if (status == STATUS_OK)
        status = postgres_run(of_driver(driver), &find, sql_take_number, &tables, problem);
    if (status == STATUS_OK && tables)
        status = sql_version(driver, version, problem);
    return status == STATUS_OK ? STATUS_OK : STATUS_UNAVAILABLE;
}

/* If the tables already have this version, returns without creating anything, so the user needs no right
 * to create tables. */
static enum status postgres_prepare(struct driver *driver, struct problem *problem)
{
    struct postgres *postgres = of_driver(driver);
    bool is_current = false;
    if (sql_is_current(driver, &is_current, problem) == STATUS_OK && is_current)
        return STATUS_OK;
    if (PQstatus(postgres->connection) != CONNECTION_OK)
        return STATUS_UNAVAILABLE;
    enum status status =
        postgres_run_texts(postgres, "BEGIN; SELECT pg_advisory_xact_lock(7700, 1)", problem);
    if (status == STATUS_OK)
        status = sql_migrate(driver, steps, problem);
    if (status == STATUS_OK)
        status = postgres_run_texts(postgres, "COMMIT", problem);
    return status == STATUS_OK ? STATUS_OK : STATUS_UNAVAILABLE;
}

/* ---- rows ---- */

static enum status postgres_append_begin(struct driver *driver, struct problem *problem)
{
    struct postgres *postgres = of_driver(driver);
    (void)problem;
    buffer_clear(&postgres->rows);
    postgres->row_count = 0;
    return STATUS_OK;
}

static enum status postgres_append(struct driver *driver, const struct history_parse *parse,
                                   struct problem *problem)
{
    struct postgres *postgres = of_driver(driver);
    struct buffer *rows = &postgres->rows;
    struct column_value values[SCHEMA_COLUMN_COUNT];
    buffer_append_byte(rows, postgres->row_count ? ',' : '[');
    struct json_writer json = json_writer_to(rows);
    json_put_object(&json);
    json_add_number(&json, "n", (int64_t)postgres->row_count++);
    schema_values(&parse->columns, values);
    for (size_t i = 0; i < SCHEMA_COLUMN_COUNT; i++) {
        if (values[i].kind == COLUMN_NUMBER)
            json_add_number(&json, schema_names[i], values[i].number);
        else if (values[i].kind == COLUMN_TEXT)
            json_add_text(&json, schema_names[i], values[i].text);
    }
    if (parse->lane.size)
        json_add_text(&json, "lane", parse->lane);
    json_end_object(&json);
    if (!rows->failed)
        return STATUS_OK;
    problem_set(problem, "the texts of these jobs are too large");
    return STATUS_INVALID;
}

static enum status postgres_append_end(struct driver *driver, struct problem *problem)
{
    struct postgres *postgres = of_driver(driver);
    if (postgres->row_count == 0)
        return STATUS_OK;
    buffer_append_byte(&postgres->rows, ']');
    const struct column_value values[] = {COLUMN_TEXT_OF(buffer_slice(&postgres->rows))};
    const struct sql sql = {APPEND, values, 1};
    enum status status = postgres_run(postgres, &sql, NULL, NULL, problem);
    buffer_clear(&postgres->rows);
    return status;
}

static void postgres_write_ids(struct buffer *out, const int64_t *ids, size_t count)
{
    buffer_append_byte(out, '{');
    for (size_t i = 0; i < count; i++)
        buffer_printf(out, "%s%lld", i ? "," : "", (long long)ids[i]);
    buffer_append_byte(out, '}');
}

static enum status postgres_remove(struct driver *driver, const struct positions *at, struct problem *problem)
{
    struct buffer list;
    buffer_init(&list, 24 * at->count + 2);
    postgres_write_ids(&list, at->ids, at->count);
    const struct column_value values[] = {COLUMN_TEXT_OF(buffer_slice(&list))};
    const struct sql sql = {REMOVE, values, 1};
    enum status status = postgres_query(driver, &sql, NULL, NULL, problem);
    buffer_fini(&list);
    return status;
}

static enum status postgres_measure(struct driver *driver, int64_t *bytes, struct problem *problem)
{
    static const struct sql sql = {"SELECT value FROM duepost_meta WHERE name = 'bytes'", NULL, 0};
    return postgres_query(driver, &sql, sql_take_number, bytes, problem);
}

static const struct sql_kind postgres_sql = {
    .query = postgres_query,
    .is_one_of_ids = "id = ANY($1::bigint[])",
    .write_ids = postgres_write_ids,
};

static const struct driver_kind postgres_kind = {
    .name = "postgresql",
    .find_version = postgres_find_version,
    .open = postgres_open,
    .close = postgres_close,
    .free = postgres_free,
    .prepare = postgres_prepare,
    .find = sql_find,
    .count_prefix = sql_count_prefix,
    .look = sql_look,
    .fetch = sql_fetch,
    .count = sql_count,
    .plot = sql_plot,
    .has_rows = sql_has_rows,
    .note = sql_note,
    .trail = sql_trail,
    .forget = sql_forget,
    .append_begin = postgres_append_begin,
    .append = postgres_append,
    .append_end = postgres_append_end,
    .remove = postgres_remove,
    .measure = postgres_measure,
};

struct driver *postgres_new(const char *url)
{
    struct postgres *postgres = NEW(struct postgres);
    postgres->base = (struct sql_driver){{.kind = &postgres_kind}, &postgres_sql};
    postgres->url = slice_dup(slice_of(url));
    buffer_init(&postgres->rows, ROWS_MAX);
    return &postgres->base.driver;
}

void postgres_library(struct library *library)
{
    int version = PQlibVersion(); /* 150014 is 15.14 */
    library_set_numbers(library, "libpq", version / 10000, version % 10000);
}
