/* The connection and the tables. Each wait for the database ends: when its server, its host or the network is
 * gone, when it answers nothing, and when the owner wants the end. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/slice.h"
#include "cli/outbox/outbox_private.h"

enum {
    VERSION_MIN = 130000,
    STATEMENT_MS = 70 * 1000, /* more than statement_timeout, so that the server gives up first */
    STOP_MS = 7000,           /* since the owner wants the end: 5 s for answers of the server, then 2 s */
};

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

/* ---- statements ---- */

bool outbox_is_stopping(struct outbox_database *database)
{
    struct pollfd ready = {.fd = database->stop_fd, .events = POLLIN};
    if (!database->stopped_us && database->stop_fd >= 0 && poll(&ready, 1, 0) > 0)
        database->stopped_us = clock_boot_us();
    return database->stopped_us != 0;
}

/* Returns whether an error comes from the rows of a statement, or from a trigger that they set off. These are
 * the classes of PostgreSQL's manual, Appendix A, about values (21, 22, 44), constraints (23), triggers and
 * functions (27, 2F, 38, 39, P0), sizes (54) and damaged data (XX001, XX002). All others are about the
 * connection, the tables, rights, locks, disks or the operator: another row would meet them, too. */
static bool is_about_rows(const char *state)
{
    static const char *const classes[] = {"21", "22", "23", "27", "2F",    "38",
                                          "39", "44", "54", "P0", "XX001", "XX002"};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strncmp(state, classes[i], strlen(classes[i])) == 0)
            return true;
    return false;
}

/* Says what went wrong; result may be NULL. */
static void explain(struct outbox_database *database, const PGresult *result, struct problem *problem)
{
    const char *text = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    text = text ? text : PQerrorMessage(database->connection);
    size_t size = strcspn(text, "\n");
    database->is_about_rows = state && is_about_rows(state);
    problem_set(problem, "PostgreSQL: %.*s", size < 400 ? (int)size : 400, text);
}

/* Waits until a result can be taken without waiting. */
static bool await_result(struct outbox_database *database, struct problem *problem)
{
    int64_t deadline_us = clock_boot_us() + STATEMENT_MS * INT64_C(1000);
    while (PQisBusy(database->connection)) {
        bool is_stopping = outbox_is_stopping(database);
        struct pollfd ready[] = {{.fd = PQsocket(database->connection), .events = POLLIN},
                                 {.fd = is_stopping ? -1 : database->stop_fd, .events = POLLIN}};
        int64_t end_us = is_stopping ? database->stopped_us + STOP_MS * INT64_C(1000) : deadline_us;
        int64_t left_us = (end_us < deadline_us ? end_us : deadline_us) - clock_boot_us();
        if (left_us <= 0) {
            database->is_about_rows = false;
            problem_set(problem, "PostgreSQL does not answer in time");
            return false;
        }
        if (poll(ready, 2, (int)(left_us / 1000) + 1) < 0 && errno != EINTR)
            abort();
        if (ready[0].revents && !PQconsumeInput(database->connection)) {
            explain(database, NULL, problem);
            return false;
        }
    }
    return true;
}

/* Takes all results of what was sent, and returns the last one, or NULL after an error. */
static PGresult *take_results(struct outbox_database *database, struct problem *problem)
{
    PGresult *last = NULL;
    bool is_done = true;
    for (;;) {
        if (!await_result(database, problem)) {
            PQclear(last);
            PQfinish(database->connection); /* nothing can follow a statement that is under way */
            database->connection = NULL;
            return NULL;
        }
        PGresult *result = PQgetResult(database->connection);
        if (!result)
            break;
        ExecStatusType kind = PQresultStatus(result);
        if (is_done && kind != PGRES_COMMAND_OK && kind != PGRES_TUPLES_OK) {
            is_done = false;
            explain(database, result, problem);
        }
        PQclear(last);
        last = result;
        if (PQstatus(database->connection) == CONNECTION_BAD)
            is_done = false;
    }
    if (is_done && last)
        return last;
    if (is_done || (PQstatus(database->connection) == CONNECTION_BAD && !problem->text[0]))
        explain(database, NULL, problem);
    PQclear(last);
    return NULL;
}

static bool is_connected(struct outbox_database *database, struct problem *problem)
{
    database->is_about_rows = false;
    problem->text[0] = '\0';
    if (!database->connection)
        problem_set(problem, "PostgreSQL: the connection is lost");
    return database->connection != NULL;
}

PGresult *outbox_sql(struct outbox_database *database, const char *sql, int count, const char *const *values,
                     struct problem *problem)
{
    if (!is_connected(database, problem))
        return NULL;
    if (!PQsendQueryParams(database->connection, sql, count, NULL, values, NULL, NULL, 0)) {
        explain(database, NULL, problem);
        return NULL;
    }
    return take_results(database, problem);
}

bool outbox_sql_plain(struct outbox_database *database, const char *sql, struct problem *problem)
{
    if (!is_connected(database, problem))
        return false;
    if (!PQsendQuery(database->connection, sql)) {
        explain(database, NULL, problem);
        return false;
    }
    PGresult *result = take_results(database, problem);
    PQclear(result);
    return result != NULL;
}

/* ---- the connection ---- */

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg, (void)result;
}

void outbox_disconnect(struct outbox_database *database)
{
    PQfinish(database->connection);
    database->connection = NULL;
    free(database->name);
    database->name = NULL;
}

bool outbox_connect(struct outbox_database *database, struct problem *problem)
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
    const char *const values[] = {"duepost outbox", "UTF8",           "10", "30000", "10", "5", "3",
                                  session,          database->source, NULL};
    outbox_disconnect(database);
    database->connection = PQconnectdbParams(names, values, 1);
    if (PQstatus(database->connection) != CONNECTION_OK) {
        explain(database, NULL, problem);
        return false;
    }
    PQsetNoticeReceiver(database->connection, ignore_notice, NULL);
    if (PQserverVersion(database->connection) < VERSION_MIN) {
        problem_set(problem, "PostgreSQL has version %d; the outbox needs 13 or later",
                    PQserverVersion(database->connection) / 10000);
        return false;
    }
    return true;
}

/* ---- the tables ---- */

/* Returns a value of the table of names, which the caller frees, or NULL. */
static char *read_meta(struct outbox_database *database, const char *name, struct problem *problem)
{
    const char *const values[] = {name};
    PGresult *result =
        outbox_sql(database, "SELECT value FROM duepost_outbox_meta WHERE name = $1", 1, values, problem);
    char *value = result && PQntuples(result) ? slice_dup(slice_of(PQgetvalue(result, 0, 0))) : NULL;
    if (result && !value)
        problem_set(problem, "the table duepost_outbox_meta has no %s", name);
    PQclear(result);
    return value;
}

bool outbox_check_tables(struct outbox_database *database, struct problem *problem)
{
    char *version = read_meta(database, "version", problem);
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
    free(database->name);
    database->name = read_meta(database, "relay", problem);
    return database->name != NULL;
}

bool outbox_check_rights(struct outbox_database *database, struct problem *problem)
{
    static const char *const sql =
        "SELECT CASE WHEN current_setting('transaction_read_only') = 'on' THEN 'the database is read-only'"
        " ELSE (SELECT 'the role ' || current_user || ' needs the right ' || needed || ' on ' || name FROM"
        " (VALUES ('duepost_outbox', 'SELECT'), ('duepost_outbox', 'DELETE'), ('duepost_outbox_failed',"
        " 'INSERT')) AS rights (name, needed) WHERE NOT has_table_privilege(name, needed) LIMIT 1) END";
    PGresult *result = outbox_sql(database, sql, 0, NULL, problem);
    bool can_work = result && PQgetisnull(result, 0, 0);
    if (result && !can_work)
        problem_set(problem, "PostgreSQL: %s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return can_work;
}

bool outbox_install(struct outbox_database *database, long *version, long *now, struct problem *problem)
{
    char end[256];
    *version = 0;
    *now = STEPS;
    if (!outbox_connect(database, problem) ||
        !outbox_sql_plain(database, "BEGIN; SELECT pg_advisory_xact_lock(" OUTBOX_LOCK " + 1)", problem) ||
        !outbox_sql_plain(
            database,
            "CREATE TABLE IF NOT EXISTS duepost_outbox_meta (name text PRIMARY KEY, value text NOT NULL)",
            problem))
        return false;
    PGresult *result = outbox_sql(database, "SELECT value FROM duepost_outbox_meta WHERE name = 'version'", 0,
                                  NULL, problem);
    if (!result)
        return false;
    if (PQntuples(result))
        *version = strtol(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    for (long step = *version; step < STEPS; step++)
        if (!outbox_sql_plain(database, steps[step], problem))
            return false;
    snprintf(end, sizeof end,
             "INSERT INTO duepost_outbox_meta (name, value) VALUES ('version', '%d')"
             " ON CONFLICT (name) DO UPDATE SET value = excluded.value; COMMIT",
             STEPS);
    return outbox_sql_plain(database, *version > STEPS ? "ROLLBACK" : end, problem);
}
