/* outbox.c - duepost outbox: sends the rows of a table in PostgreSQL to a server as jobs.
 *
 * An application inserts a row in its own transaction, so that the job exists exactly if the transaction is
 * committed. The relay reads the rows in the order of their ids, sends them, and deletes them after the
 * answer; the id of a row is part of the idempotency key of its job, so that a relay that dies in between
 * sends nothing twice. Rows that the server refuses are moved to a second table with the reason. Nothing is
 * kept in memory, so the relay may be killed at any time. An advisory lock makes further relays wait. */
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "job/job_id.h"

enum {
    ROWS_MAX = 1000,
    WAITING_MAX = 1000, /* topics that wait; if more wait, all do */
    TICK_MS = 1000,     /* the table is read at least this often, because poolers pass no notifications */
    STANDBY_MS = 1000,  /* time between two tries to get the lock */
    AWAY_MAX_MS = 10 * 1000, /* longest wait for a database or a server that is away */
    FORBIDDEN_S = 10,        /* time until a topic that the token has no right to is tried again */
    VERSION_MIN = 130000,
    ALIVE_MS = 1000, /* after this time the relay asks again whether it still has the lock */
    REPORT_S = 60,
    METRICS_S = 10,
};
#define READ_BYTES "8388608"  /* bytes of the jobs of one request, unless its first job is larger */
#define JOB_BYTES  "16777000" /* longer jobs are not read: the server takes requests of 16 MiB */
#define LOCK       "7310592"  /* the number of the advisory lock: any constant */

/* The tables. An upgrade adds a step; the value of "version" is the number of steps that were made. */
static const char *const steps[] = {
    "CREATE TABLE duepost_outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " topic text NOT NULL, job_id text, key text, due_at timestamptz, delay interval, url text, body jsonb,"
    " body_bytes bytea, headers jsonb, labels jsonb, priority smallint, retry smallint,"
    " action text NOT NULL DEFAULT 'schedule', created_at timestamptz NOT NULL DEFAULT clock_timestamp(),"
    " CHECK (action IN ('schedule', 'replace', 'cancel')), CHECK (action = 'schedule' OR job_id IS NOT NULL),"
    " CHECK (due_at IS NULL OR delay IS NULL), CHECK (isfinite(due_at)),"
    " CHECK (body IS NULL OR body_bytes IS NULL), CHECK (octet_length(body_bytes) <= 16777216));\n"
    "CREATE TABLE duepost_outbox_failed (LIKE duepost_outbox, status integer, error text NOT NULL,"
    " failed_at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (id));\n"
    "CREATE FUNCTION duepost_outbox_wake() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN NOTIFY duepost_outbox; RETURN NULL; END $$;\n"
    "CREATE TRIGGER duepost_outbox_wake AFTER INSERT ON duepost_outbox"
    " FOR EACH STATEMENT EXECUTE FUNCTION duepost_outbox_wake();\n"
    "INSERT INTO duepost_outbox_meta (name, value) VALUES ('relay', gen_random_uuid()::text);\n",
};

enum { STEPS = sizeof steps / sizeof *steps };

/* The rows as jobs. NULL is absent; a null in the body stays, because the body is added last. A column of a
 * job that is too long to read is NULL. The sizes of the stored values bound how much is made into text. The
 * key also has the time of the row, because ids come again after TRUNCATE and after a restore. */
#define READ                                                                                                 \
    "SELECT id, action, topic, job_id, CASE WHEN size <= " JOB_BYTES " THEN job END FROM"                    \
    " (SELECT id, action, topic, job_id, job, octet_length(job) AS size,"                                    \
    " row_number() OVER (ORDER BY id) AS n, sum(octet_length(job)) OVER (ORDER BY id) AS upto FROM"          \
    " (SELECT id, action, topic, job_id, left(json_strip_nulls(json_build_object('topic', topic,"            \
    "'jobId', job_id, 'key', key,"                                                                           \
    "'dueAt', to_char(due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),"                      \
    "'delay', extract(epoch FROM delay)::double precision, 'url', url, 'headers', headers, 'labels', "       \
    "labels,"                                                                                                \
    "'priority', priority, 'retry', retry,"                                                                  \
    "'bodyBase64', translate(encode(body_bytes, 'base64'), E'\\n', ''), 'idempotencyKey',"                   \
    " CASE action WHEN 'schedule' THEN 'outbox-' || $3 || '-' || id || "                                     \
    "coalesce(to_char(created_at AT TIME ZONE 'UTC', '-YYYYMMDDHH24MISSUS'), '') END))::text, -1)"           \
    " || coalesce(',\"body\":' || body::text, '') || '}' AS job FROM"                                        \
    " (SELECT *, row_number() OVER (ORDER BY id) AS place, sum(coalesce(pg_column_size(body), 0)"            \
    " + coalesce(octet_length(body_bytes), 0)) OVER (ORDER BY id) AS stored FROM"                            \
    " (SELECT * FROM duepost_outbox WHERE NOT topic = ANY($1::text[]) ORDER BY id LIMIT $2) AS next)"        \
    " AS near WHERE stored <= " READ_BYTES " OR place = 1) AS rows) AS sized"                                \
    " WHERE upto <= " READ_BYTES " OR n = 1 ORDER BY id"

#define FAIL                                                                                                 \
    "WITH bad AS (DELETE FROM duepost_outbox WHERE id = $1 RETURNING *)"                                     \
    " INSERT INTO duepost_outbox_failed SELECT bad.*, $2::integer, $3 FROM bad"

struct row {
    const char *id, *action, *topic, *job_id, *job; /* job_id and job: NULL if the column is */
};

/* A topic whose rows are not read for some time, because of its quota or of the rights of the token. */
struct waiting {
    char *topic;
    int64_t until_us;
};

struct relay {
    struct call *call;
    const char *source;
    PGconn *database; /* NULL: not connected */
    char *name;       /* part of the idempotency keys */
    struct waiting waiting[WAITING_MAX];
    size_t waiting_count;
    long rows; /* rows to read next: fewer if rows are long */
    struct buffer request, answer, target;
    struct buffer done;   /* ids of the rows to delete; they are kept while the database is away */
    int64_t alive_us;     /* when the relay last knew that it has the lock */
    int64_t sent, failed; /* since the start */
    int64_t reported, report_us, metrics_us;
    bool is_away; /* the database or the server was away the last time, which was printed */
};

/* ---- the database ---- */

static bool database_failed(struct relay *relay, const PGresult *result, struct problem *problem)
{
    const char *text = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    text = text ? text : PQerrorMessage(relay->database);
    size_t size = strcspn(text, "\n");
    problem_set(problem, "PostgreSQL: %.*s", size < 400 ? (int)size : 400, text);
    return false;
}

/* Runs a statement with texts as parameters. Returns NULL after an error; problem then says why. */
static PGresult *run_sql(struct relay *relay, const char *sql, int count, const char *const *values,
                         struct problem *problem)
{
    PGresult *result = PQexecParams(relay->database, sql, count, NULL, values, NULL, NULL, 0);
    ExecStatusType kind = PQresultStatus(result);
    if (kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK)
        return result;
    database_failed(relay, result, problem);
    PQclear(result);
    return NULL;
}

static bool run_plain(struct relay *relay, const char *sql, struct problem *problem)
{
    PGresult *result = PQexec(relay->database, sql);
    ExecStatusType kind = PQresultStatus(result);
    bool is_done = kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK;
    if (!is_done)
        database_failed(relay, result, problem);
    PQclear(result);
    return is_done;
}

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg, (void)result;
}

static void disconnect_database(struct relay *relay)
{
    PQfinish(relay->database);
    relay->database = NULL;
}

static bool connect_database(struct relay *relay, struct problem *problem)
{
    /* The lock of a relay whose host is gone is free after half a minute. */
    static const char session[] = "-c statement_timeout=60s -c tcp_keepalives_idle=10"
                                  " -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3";
    static const char *const names[] = {"fallback_application_name",
                                        "client_encoding",
                                        "connect_timeout",
                                        "tcp_user_timeout",
                                        "keepalives_idle",
                                        "keepalives_interval",
                                        "keepalives_count",
                                        "options",
                                        "dbname",
                                        NULL};
    const char *const values[] = {"duepost outbox", "UTF8",        "10", "30000", "10", "5", "3",
                                  session,          relay->source, NULL};
    disconnect_database(relay);
    relay->database = PQconnectdbParams(names, values, 1);
    if (PQstatus(relay->database) != CONNECTION_OK)
        return database_failed(relay, NULL, problem);
    PQsetNoticeReceiver(relay->database, ignore_notice, NULL);
    if (PQserverVersion(relay->database) < VERSION_MIN) {
        problem_set(problem, "PostgreSQL has version %d; the outbox needs 13 or later",
                    PQserverVersion(relay->database) / 10000);
        return false;
    }
    return true;
}

/* Returns a value of the table of names, which the caller frees, or NULL. */
static char *read_meta(struct relay *relay, const char *name, struct problem *problem)
{
    const char *const values[] = {name};
    PGresult *result =
        run_sql(relay, "SELECT value FROM duepost_outbox_meta WHERE name = $1", 1, values, problem);
    char *value = result && PQntuples(result) ? slice_dup(slice_of(PQgetvalue(result, 0, 0))) : NULL;
    if (result && !value)
        problem_set(problem, "the table duepost_outbox_meta has no %s", name);
    PQclear(result);
    return value;
}

/* Checks that this program knows the tables, and reads the name of the relay. */
static bool check_tables(struct relay *relay, struct problem *problem)
{
    char *version = read_meta(relay, "version", problem);
    if (!version) {
        size_t used = strlen(problem->text);
        snprintf(problem->text + used, sizeof problem->text - used,
                 "; duepost outbox --install creates the tables");
        return false;
    }
    long number = strtol(version, NULL, 10);
    free(version);
    if (number != STEPS) {
        if (number < STEPS)
            problem_set(
                problem,
                "the tables have version %ld, and this program needs %d: run duepost outbox --install",
                number, STEPS);
        else
            problem_set(problem, "the tables have version %ld, and this program only knows %d: it is too old",
                        number, STEPS);
        return false;
    }
    free(relay->name);
    relay->name = read_meta(relay, "relay", problem);
    return relay->name != NULL;
}

/* Connects, and checks that this relay can send rows and delete them. A relay that could only send would
 * replace the same job again and again. */
static bool open_outbox(struct relay *relay, struct problem *problem)
{
    static const char *const sql =
        "SELECT CASE WHEN current_setting('transaction_read_only') = 'on' THEN 'the database is read-only'"
        " ELSE (SELECT 'the role ' || current_user || ' needs the right ' || needed || ' on ' || name FROM"
        " (VALUES ('duepost_outbox', 'SELECT'), ('duepost_outbox', 'DELETE'), ('duepost_outbox_failed',"
        " 'INSERT')) AS rights (name, needed) WHERE NOT has_table_privilege(name, needed) LIMIT 1) END";
    if (!connect_database(relay, problem) || !check_tables(relay, problem))
        return false;
    PGresult *result = run_sql(relay, sql, 0, NULL, problem);
    bool can_work = result && PQgetisnull(result, 0, 0);
    if (result && !can_work)
        problem_set(problem, "PostgreSQL: %s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return can_work;
}

/* ---- the tables ---- */

/* Creates the tables, or makes the steps that are missing, in one transaction. */
static bool install(struct relay *relay, struct problem *problem)
{
    struct buffer sql;
    long version = 0;
    if (!connect_database(relay, problem) ||
        !run_plain(relay, "BEGIN; SELECT pg_advisory_xact_lock(" LOCK " + 1)", problem) ||
        !run_plain(
            relay,
            "CREATE TABLE IF NOT EXISTS duepost_outbox_meta (name text PRIMARY KEY, value text NOT NULL)",
            problem))
        return false;
    PGresult *result =
        run_sql(relay, "SELECT value FROM duepost_outbox_meta WHERE name = 'version'", 0, NULL, problem);
    if (!result)
        return false;
    if (PQntuples(result))
        version = strtol(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    for (long step = version; step < STEPS; step++)
        if (!run_plain(relay, steps[step], problem))
            return false;
    buffer_init(&sql, 256);
    buffer_printf(&sql,
                  "INSERT INTO duepost_outbox_meta (name, value) VALUES ('version', '%d')"
                  " ON CONFLICT (name) DO UPDATE SET value = excluded.value; COMMIT",
                  STEPS);
    bool is_done = version > STEPS ? run_plain(relay, "ROLLBACK", problem)
                                   : run_plain(relay, buffer_text(&sql), problem);
    buffer_fini(&sql);
    if (is_done && version >= STEPS)
        printf("the tables have version %ld already\n", version);
    else if (is_done)
        printf("the tables have version %d now\n", STEPS);
    return is_done;
}

/* Prints how many rows wait and for how long, how many have failed, and whether a relay is at work. */
static bool show_status(struct relay *relay, struct problem *problem)
{
    static const char *const sql =
        "SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::numeric(12, "
        "3),"
        " (SELECT count(*) FROM duepost_outbox_failed),"
        " EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = " LOCK " AND classid = 0"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) FROM "
        "duepost_outbox";
    if (!connect_database(relay, problem) || !check_tables(relay, problem))
        return false;
    PGresult *result = run_sql(relay, sql, 0, NULL, problem);
    if (!result)
        return false;
    const char *waiting = PQgetvalue(result, 0, 0), *age = PQgetvalue(result, 0, 1);
    const char *failed = PQgetvalue(result, 0, 2);
    const char *is_active = PQgetvalue(result, 0, 3)[0] == 't' ? "true" : "false";
    if (relay->call->arguments.is_json)
        printf("{\"waiting\": %s, \"oldestSeconds\": %s, \"failed\": %s, \"relayActive\": %s}\n", waiting,
               age, failed, is_active);
    else
        printf("waiting %s rows, the oldest for %s s; failed %s; a relay is at work: %s\n", waiting, age,
               failed, is_active);
    PQclear(result);
    return true;
}

/* Puts the rows that have failed back. They get new ids, so they are new jobs for the server. */
static bool retry_failed(struct relay *relay, struct problem *problem)
{
#define COLUMNS                                                                                              \
    "topic, job_id, key, due_at, delay, url, body, body_bytes, headers, labels, priority, retry, action"
    if (!connect_database(relay, problem) || !check_tables(relay, problem))
        return false;
    PGresult *result = run_sql(relay,
                               "WITH gone AS (DELETE FROM duepost_outbox_failed RETURNING *) INSERT INTO"
                               " duepost_outbox (" COLUMNS ") SELECT " COLUMNS " FROM gone ORDER BY id",
                               0, NULL, problem);
    if (result)
        printf("%s rows are sent again\n", PQcmdTuples(result));
    PQclear(result);
    return result != NULL;
}

/* ---- topics that wait ---- */

static struct waiting *find_waiting(struct relay *relay, const char *topic)
{
    for (size_t i = 0; i < relay->waiting_count; i++)
        if (strcmp(relay->waiting[i].topic, topic) == 0)
            return &relay->waiting[i];
    return NULL;
}

/* Returns false if too many topics wait. */
static bool put_to_wait(struct relay *relay, const char *topic, long seconds)
{
    struct waiting *waiting = find_waiting(relay, topic);
    if (!waiting && relay->waiting_count == WAITING_MAX)
        return false;
    if (!waiting) {
        waiting = &relay->waiting[relay->waiting_count++];
        waiting->topic = slice_dup(slice_of(topic));
    }
    waiting->until_us = clock_boot_us() + (seconds > 0 ? seconds : 1) * INT64_C(1000000);
    return true;
}

static void end_waits(struct relay *relay)
{
    int64_t now_us = clock_boot_us();
    for (size_t i = 0; i < relay->waiting_count;) {
        struct waiting *waiting = &relay->waiting[i];
        if (now_us < waiting->until_us) {
            i++;
            continue;
        }
        free(waiting->topic);
        *waiting = relay->waiting[--relay->waiting_count];
    }
}

/* Writes the topics that wait as an array of PostgreSQL. */
static void write_waiting(const struct relay *relay, struct buffer *array)
{
    buffer_append_byte(array, '{');
    for (size_t i = 0; i < relay->waiting_count; i++) {
        buffer_append(array, i ? SLICE(",\"") : SLICE("\""));
        for (const char *at = relay->waiting[i].topic; *at; at++) {
            if (*at == '"' || *at == '\\')
                buffer_append_byte(array, '\\');
            buffer_append_byte(array, *at);
        }
        buffer_append_byte(array, '"');
    }
    buffer_append_byte(array, '}');
}

/* ---- the results of rows ---- */

/* The next step for a batch of rows. */
enum verdict {
    VERDICT_ON,    /* the next row */
    VERDICT_WAITS, /* the server is away: the rows that are left are read again later */
    VERDICT_LOST,  /* the database is away */
};

/* Notes that a row can be deleted. */
static void note_done(struct relay *relay, const struct row *row)
{
    buffer_append_byte(&relay->done, relay->done.size ? ',' : '{');
    buffer_append(&relay->done, slice_of(row->id));
    relay->sent++;
}

/* Deletes the rows that are done. */
static bool delete_done(struct relay *relay, struct problem *problem)
{
    if (!relay->done.size)
        return true;
    buffer_append_byte(&relay->done, '}');
    const char *const values[] = {buffer_text(&relay->done)};
    PGresult *result =
        run_sql(relay, "DELETE FROM duepost_outbox WHERE id = ANY($1::bigint[])", 1, values, problem);
    if (result)
        buffer_clear(&relay->done);
    else
        relay->done.size--; /* more ids may follow */
    PQclear(result);
    return result != NULL;
}

static enum verdict fail_row(struct relay *relay, const struct row *row, long status, const char *why,
                             struct problem *problem)
{
    char number[24];
    snprintf(number, sizeof number, "%ld", status);
    const char *const values[] = {row->id, number, why};
    fprintf(stderr, "duepost: row %s of the outbox, %s%s%s, has failed: %s\n", row->id, row->topic,
            row->job_id ? "/" : "", row->job_id ? row->job_id : "", why);
    PGresult *result = run_sql(relay, FAIL, 3, values, problem);
    if (!result && PQstatus(relay->database) == CONNECTION_OK) {
        /* The reason may have bytes that this database cannot keep. */
        struct problem plain;
        problem_set(&plain, "%s", why);
        for (char *at = plain.text; *at; at++)
            *at = (signed char)*at < 0 ? '?' : *at;
        const char *const again[] = {row->id, number, plain.text};
        result = run_sql(relay, FAIL, 3, again, problem);
    }
    relay->failed += result != NULL;
    PQclear(result);
    return result ? VERDICT_ON : VERDICT_LOST;
}

/* Handles the status that the server gave to a row. why has its words. */
static enum verdict end_row(struct relay *relay, const struct row *row, long status, long wait_s,
                            const char *why, struct problem *problem)
{
    if (status / 100 == 2 || (status == 404 && strcmp(row->action, "cancel") == 0)) {
        note_done(relay, row);
        return VERDICT_ON;
    }
    if (status == 429 || status == 403) {
        bool is_new = !find_waiting(relay, row->topic);
        if (!put_to_wait(relay, row->topic, status == 403 ? FORBIDDEN_S : wait_s)) {
            problem_set(problem, "more than %d topics wait: %.300s", WAITING_MAX, why);
            return VERDICT_WAITS;
        }
        if (status == 403 && is_new)
            fprintf(stderr, "duepost: row %s of the outbox waits, and all others of %s: %s\n", row->id,
                    row->topic, why);
        return VERDICT_ON;
    }
    if (status == 400 || status == 409 || status == 412 || status == 413 || status == 422)
        return fail_row(relay, row, status, why, problem);
    problem_set(problem, "%s", why);
    return VERDICT_WAITS;
}

/* ---- sending ---- */

/* Returns whether the answer comes from duepost, and not from a program in between or from a server at a
 * wrong address: only then a row may be deleted or fail. Its errors repeat the status; 413 may come from any
 * program that a request of this size has to pass. */
static bool is_answer_own(const json_t *answer, long status)
{
    const char *detail = call_text(answer, "detail");
    if (status == 413)
        return true;
    return status / 100 == 2
               ? call_text(answer, "state") != NULL
               : call_number(answer, "status") == status && detail && !strstr(detail, "nothing at this path");
}

static enum verdict send_alone(struct relay *relay, const struct row *row, struct problem *problem)
{
    bool is_cancel = strcmp(row->action, "cancel") == 0;
    struct problem why = {.text = ""};
    if (!topic_is_valid(slice_of(row->topic)))
        return fail_row(relay, row, 400, "There is no topic of this name.", problem);
    if (!job_id_is_valid(slice_of(row->job_id)))
        return fail_row(relay, row, 400, "The job_id must be 1 to 255 bytes without control characters.",
                        problem);
    buffer_clear(&relay->target);
    buffer_append(&relay->target, SLICE("/jobs/"));
    call_add_encoded(&relay->target, row->topic);
    buffer_append_byte(&relay->target, '/');
    call_add_encoded(&relay->target, row->job_id);
    buffer_clear(&relay->answer);
    if (remote_ask(relay->call->remote, is_cancel ? "DELETE" : "PUT", buffer_text(&relay->target),
                   is_cancel ? NULL : row->job, &relay->answer, &why) == STATUS_OK)
        why.text[0] = '\0';
    long status = remote_status(relay->call->remote);
    json_t *answer = json_loadb(buffer_text(&relay->answer), relay->answer.size, 0, NULL);
    if (status && !is_answer_own(answer, status)) {
        if (status / 100 == 2)
            problem_set(&why, "the answer %ld has no job; is it a duepost server?", status);
        status = 0;
    }
    json_decref(answer);
    return end_row(relay, row, status, remote_retry_after_s(relay->call->remote), why.text, problem);
}

/* Returns the server's words for the result of one job. */
static void explain_result(const json_t *result, struct problem *why)
{
    char *text = json_dumps(result, 0);
    remote_explain((long)call_number(result, "status"), slice_of(text ? text : "{}"), why);
    free(text);
}

/* Sends rows as one array. */
static enum verdict send_array(struct relay *relay, const struct row *rows, size_t count,
                               struct problem *problem)
{
    struct problem why = {.text = ""};
    enum verdict verdict = VERDICT_ON;
    buffer_clear(&relay->request);
    for (size_t i = 0; i < count; i++) {
        buffer_append_byte(&relay->request, i ? ',' : '[');
        buffer_append(&relay->request, slice_of(rows[i].job));
    }
    buffer_append_byte(&relay->request, ']');
    buffer_clear(&relay->answer);
    if (remote_ask(relay->call->remote, "POST", "/jobs", buffer_text(&relay->request), &relay->answer,
                   &why) == STATUS_OK)
        why.text[0] = '\0';
    long status = remote_status(relay->call->remote);
    json_t *answer = json_loadb(buffer_text(&relay->answer), relay->answer.size, 0, NULL);
    const json_t *results = json_object_get(answer, "results");
    if (status / 100 == 2 && json_array_size(results) == count) {
        for (size_t i = 0; i < count && verdict == VERDICT_ON; i++) {
            const json_t *result = json_array_get(results, i);
            long own = (long)call_number(result, "status");
            if (own / 100 != 2)
                explain_result(result, &why);
            verdict =
                end_row(relay, &rows[i], own, (long)call_number(result, "retryAfter"), why.text, problem);
        }
    } else if (status / 100 == 2) {
        problem_set(problem, "the answer has no results; is it a duepost server?");
        verdict = VERDICT_WAITS;
    } else if ((status == 400 || status == 413) && is_answer_own(answer, status)) {
        if (count == 1)
            verdict = fail_row(relay, rows, status, why.text, problem);
        for (size_t i = 0; count > 1 && i < count && verdict == VERDICT_ON; i++)
            if (!find_waiting(relay, rows[i].topic)) /* one of the jobs spoils the array */
                verdict = send_array(relay, &rows[i], 1, problem);
    } else { /* for all topics, such as the rate of the token */
        problem_set(problem, "%s", why.text);
        verdict = VERDICT_WAITS;
    }
    json_decref(answer);
    return verdict;
}

static bool is_plain(const struct row *row)
{
    return row->job && strcmp(row->action, "schedule") == 0;
}

/* Sends rows in their order. New jobs that follow each other are one request. Rows of a topic that began to
 * wait stay, so that they do not go before its first row. */
static enum verdict send_rows(struct relay *relay, struct row *rows, size_t count, struct problem *problem)
{
    enum verdict verdict = VERDICT_ON;
    for (size_t i = 0, next; i < count && verdict == VERDICT_ON; i = next) {
        size_t plain = 0;
        if (clock_boot_us() - relay->alive_us > ALIVE_MS * INT64_C(1000) &&
            !run_plain(relay, "SELECT 1", problem))
            return VERDICT_LOST; /* another relay may be at work */
        relay->alive_us = clock_boot_us();
        for (next = i; next < count; next++) {
            if (find_waiting(relay, rows[next].topic))
                continue;
            if (!is_plain(&rows[next]))
                break;
            rows[i + plain++] = rows[next];
        }
        if (plain)
            verdict = send_array(relay, &rows[i], plain, problem);
        else if (next < count) {
            const struct row *row = &rows[next++];
            verdict = row->job ? send_alone(relay, row, problem)
                               : fail_row(relay, row, 413, "The job is over 16 MiB.", problem);
        }
    }
    return verdict;
}

/* Reads the next rows and sends them. *count is their number. */
static enum verdict relay_some(struct relay *relay, size_t *count, struct problem *problem)
{
    struct buffer topics;
    char limit[24];
    if (!delete_done(relay, problem))
        return VERDICT_LOST;
    end_waits(relay);
    buffer_init(&topics, WAITING_MAX * (JOB_TOPIC_NAME_MAX + sizeof "\"\","));
    write_waiting(relay, &topics);
    snprintf(limit, sizeof limit, "%ld", relay->rows);
    const char *const values[] = {buffer_text(&topics), limit, relay->name};
    PGresult *result = run_sql(relay, READ, 3, values, problem);
    buffer_fini(&topics);
    if (!result) {
        relay->rows = relay->rows > 4 ? relay->rows / 4 : 1; /* a read of long rows may end at its timeout */
        return VERDICT_LOST;
    }
    relay->alive_us = clock_boot_us();
    size_t bytes = 1;
    *count = (size_t)PQntuples(result);
    struct row *rows = calloc(*count + 1, sizeof *rows);
    if (!rows)
        abort();
    for (int i = 0; i < (int)*count; i++) {
        rows[i] = (struct row){.id = PQgetvalue(result, i, 0),
                               .action = PQgetvalue(result, i, 1),
                               .topic = PQgetvalue(result, i, 2),
                               .job_id = PQgetisnull(result, i, 3) ? NULL : PQgetvalue(result, i, 3),
                               .job = PQgetisnull(result, i, 4) ? NULL : PQgetvalue(result, i, 4)};
        bytes += (size_t)PQgetlength(result, i, 4);
    }
    enum verdict verdict = send_rows(relay, rows, *count, problem);
    struct problem lost;
    if (verdict != VERDICT_LOST && !delete_done(relay, &lost)) {
        *problem = lost;
        verdict = VERDICT_LOST;
    }
    if (*count) { /* the rows of the next read are about as long */
        size_t fit = strtoul(READ_BYTES, NULL, 10) / (bytes / *count + 1);
        relay->rows = fit < 1 ? 1 : fit > ROWS_MAX ? ROWS_MAX : (long)fit;
    }
    free(rows);
    PQclear(result);
    return verdict;
}

/* ---- the relay ---- */

static void sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

/* Waits for a notification, at most for ms. */
static void await_rows(struct relay *relay, int ms)
{
    struct pollfd ready = {.fd = PQsocket(relay->database), .events = POLLIN};
    PGnotify *notify = PQnotifies(relay->database); /* comes with the answer to a read, too */
    if (!notify && poll(&ready, 1, ms) > 0)
        PQconsumeInput(relay->database);
    for (; notify || (notify = PQnotifies(relay->database)); notify = NULL)
        PQfreemem(notify);
}

/* Connects and gets the lock. Returns false after an error. *is_owner is false while another relay has the
 * lock. */
static bool begin_relay(struct relay *relay, bool *is_owner, struct problem *problem)
{
    if (!relay->database && !open_outbox(relay, problem))
        return false;
    PGresult *result = run_sql(relay, "SELECT pg_try_advisory_lock(" LOCK ")", 0, NULL, problem);
    *is_owner = result && PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return result && (!*is_owner || run_plain(relay, "LISTEN duepost_outbox", problem));
}

/* Returns for how many seconds the first row has waited, as a text, or NULL after an error. The caller frees
 * it. */
static char *oldest_age(struct relay *relay)
{
    struct problem ignored;
    PGresult *result = run_sql(relay,
                               "SELECT coalesce((SELECT extract(epoch FROM clock_timestamp() - created_at)"
                               "::numeric(12, 3) FROM duepost_outbox ORDER BY id LIMIT 1), 0)",
                               0, NULL, &ignored);
    char *age = result ? slice_dup(slice_of(PQgetvalue(result, 0, 0))) : NULL;
    PQclear(result);
    return age;
}

/* Replaces the file of metrics. */
static void write_metrics(struct relay *relay)
{
    const char *path = relay->call->arguments.values[ARGUMENT_METRICS_FILE];
    char new_path[4096];
    if (!path || clock_boot_us() < relay->metrics_us)
        return;
    relay->metrics_us = clock_boot_us() + METRICS_S * INT64_C(1000000);
    char *age = relay->database ? oldest_age(relay) : NULL;
    snprintf(new_path, sizeof new_path, "%s.new", path);
    FILE *file = fopen(new_path, "w");
    if (!file) {
        fprintf(stderr, "duepost: cannot write %s: %s\n", new_path, strerror(errno));
        free(age);
        return;
    }
    fprintf(file,
            "# HELP duepost_outbox_sent_total Rows of the outbox that became jobs.\n"
            "# TYPE duepost_outbox_sent_total counter\nduepost_outbox_sent_total %lld\n"
            "# HELP duepost_outbox_failed_total Rows of the outbox that the server refused.\n"
            "# TYPE duepost_outbox_failed_total counter\nduepost_outbox_failed_total %lld\n"
            "# HELP duepost_outbox_up Whether the last rows could be read and sent.\n"
            "# TYPE duepost_outbox_up gauge\nduepost_outbox_up %d\n",
            (long long)relay->sent, (long long)relay->failed, age && !relay->is_away);
    if (age)
        fprintf(file,
                "# HELP duepost_outbox_oldest_seconds How long the first row has waited.\n"
                "# TYPE duepost_outbox_oldest_seconds gauge\nduepost_outbox_oldest_seconds %s\n",
                age);
    free(age);
    if (fclose(file) != 0 || rename(new_path, path) != 0)
        fprintf(stderr, "duepost: cannot write %s: %s\n", path, strerror(errno));
}

static void report_rows(struct relay *relay)
{
    write_metrics(relay);
    if (clock_boot_us() < relay->report_us)
        return;
    if (relay->sent + relay->failed > relay->reported)
        fprintf(stderr, "duepost: %lld rows sent, %lld failed since the start\n", (long long)relay->sent,
                (long long)relay->failed);
    relay->reported = relay->sent + relay->failed;
    relay->report_us = clock_boot_us() + REPORT_S * INT64_C(1000000);
}

/* Prints why nothing is sent, the first time, and waits longer each time. */
static void wait_away(struct relay *relay, const struct problem *problem, int *wait_ms)
{
    if (!relay->is_away)
        fprintf(stderr, "duepost: %s; trying again\n", problem->text);
    relay->is_away = true;
    write_metrics(relay);
    sleep_ms(*wait_ms);
    *wait_ms = 2 * *wait_ms < AWAY_MAX_MS ? 2 * *wait_ms : AWAY_MAX_MS;
}

/* Ends the relay. The first process of a container ignores a signal without a handler. */
static void end_container(int number)
{
    _exit(128 + number);
}

static bool run_relay(struct relay *relay, struct problem *problem)
{
    bool is_owner = false, was_standby = false, until_empty = relay->call->arguments.until_empty;
    int wait_ms = 100;
    if (getpid() == 1)
        signal(SIGTERM, end_container);
    if (!open_outbox(relay, problem)) {
        PGPing ping = PQping(relay->source);
        if (ping == PQPING_OK || ping == PQPING_NO_ATTEMPT)
            return false; /* a mistake in the command, or in the database */
        disconnect_database(relay);
    }
    for (;;) {
        size_t count = 0;
        if (!is_owner && !begin_relay(relay, &is_owner, problem)) {
            disconnect_database(relay);
            wait_away(relay, problem, &wait_ms);
            continue;
        }
        if (!is_owner) {
            if (!was_standby)
                fprintf(stderr, "duepost: another relay is at work; waiting for its end\n");
            was_standby = true;
            report_rows(relay);
            sleep_ms(STANDBY_MS);
            continue;
        }
        enum verdict verdict = relay_some(relay, &count, problem);
        report_rows(relay);
        if (verdict == VERDICT_LOST) {
            is_owner = false;
            disconnect_database(relay);
        }
        if (verdict != VERDICT_ON) {
            long server_s = verdict == VERDICT_WAITS ? remote_retry_after_s(relay->call->remote) : 0;
            if (server_s > 0 && server_s * 1000 < AWAY_MAX_MS && wait_ms < server_s * 1000)
                wait_ms = (int)server_s * 1000;
            wait_away(relay, problem, &wait_ms);
            continue;
        }
        if (relay->is_away)
            fprintf(stderr, "duepost: the outbox is sent again\n");
        relay->is_away = false;
        wait_ms = 100;
        if (count == 0 && until_empty && relay->waiting_count == 0)
            return true;
        if (count == 0)
            await_rows(relay, TICK_MS);
    }
}

bool outbox_run(struct call *call)
{
    const char *verb = call->arguments.word;
    struct relay relay = {.call = call, .source = call->arguments.values[ARGUMENT_SOURCE], .rows = ROWS_MAX};
    bool is_done = false;
    if (!relay.source)
        relay.source = getenv("DUEPOST_SOURCE");
    if (!relay.source || strncmp(relay.source, "postgres", 8) != 0) {
        problem_set(&call->problem, "the outbox needs --source postgresql://… or DUEPOST_SOURCE");
        return false;
    }
    buffer_init(&relay.request, 2 * REMOTE_ANSWER_MAX);
    buffer_init(&relay.answer, REMOTE_ANSWER_MAX);
    buffer_init(&relay.done, 1024 * 1024);
    buffer_init(&relay.target, REMOTE_URL_MAX);
    relay.report_us = clock_boot_us() + REPORT_S * INT64_C(1000000);
    if (call->arguments.is_installing)
        is_done = install(&relay, &call->problem);
    else if (verb && strcmp(verb, "status") == 0)
        is_done = show_status(&relay, &call->problem);
    else if (verb && strcmp(verb, "retry") == 0)
        is_done = retry_failed(&relay, &call->problem);
    else if (verb)
        problem_set(&call->problem, "%.100s is not known: the words of outbox are status and retry", verb);
    else
        is_done = run_relay(&relay, &call->problem);
    disconnect_database(&relay);
    while (relay.waiting_count)
        free(relay.waiting[--relay.waiting_count].topic);
    free(relay.name);
    buffer_fini(&relay.request);
    buffer_fini(&relay.answer);
    buffer_fini(&relay.done);
    buffer_fini(&relay.target);
    return is_done;
}
