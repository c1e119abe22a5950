/* command.c - duepost outbox: a relay that is a process of its own, and its tables. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/slice.h"
#include "cli/commands.h"
#include "cli/outbox/outbox_private.h"

enum { REPORT_S = 60, METRICS_S = 10 };

/* ---- the tables ---- */

static bool install(struct outbox_database *database, struct problem *problem)
{
    long version, now;
    if (!outbox_install(database, &version, &now, problem))
        return false;
    if (version >= now)
        printf("the tables have version %ld already\n", version);
    else
        printf("the tables have version %ld now\n", now);
    return true;
}

/* Prints how many rows wait and for how long, how many have failed, and whether a relay is at work. */
static bool show_status(struct outbox_database *database, bool is_json, struct problem *problem)
{
    static const char *const sql =
        "SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::numeric(12, "
        "3),"
        " (SELECT count(*) FROM duepost_outbox_failed),"
        " EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = " OUTBOX_LOCK
        " AND classid = 0"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) FROM "
        "duepost_outbox";
    if (!outbox_connect(database, problem) || !outbox_check_tables(database, problem))
        return false;
    PGresult *result = outbox_sql(database, sql, 0, NULL, problem);
    if (!result)
        return false;
    const char *waiting = PQgetvalue(result, 0, 0), *age = PQgetvalue(result, 0, 1);
    const char *failed = PQgetvalue(result, 0, 2);
    const char *is_active = PQgetvalue(result, 0, 3)[0] == 't' ? "true" : "false";
    if (is_json)
        printf("{\"waiting\": %s, \"oldestSeconds\": %s, \"failed\": %s, \"relayActive\": %s}\n", waiting,
               age, failed, is_active);
    else
        printf("waiting %s rows, the oldest for %s s; failed %s; a relay is at work: %s\n", waiting, age,
               failed, is_active);
    PQclear(result);
    return true;
}

/* Puts the rows that have failed back. They get new ids, so they are new jobs for the server. */
static bool retry_failed(struct outbox_database *database, struct problem *problem)
{
#define COLUMNS                                                                                              \
    "topic, job_id, key, due_at, delay, url, body, body_bytes, headers, labels, priority, retry, action"
    if (!outbox_connect(database, problem) || !outbox_check_tables(database, problem))
        return false;
    PGresult *result = outbox_sql(database,
                                  "WITH gone AS (DELETE FROM duepost_outbox_failed RETURNING *) INSERT INTO"
                                  " duepost_outbox (" COLUMNS ") SELECT " COLUMNS " FROM gone ORDER BY id",
                                  0, NULL, problem);
    if (result)
        printf("%s rows are sent again\n", PQcmdTuples(result));
    PQclear(result);
    return result != NULL;
}

/* ---- the relay ---- */

struct reporting {
    const char *metrics_file; /* NULL: none */
    int64_t reported, report_us, metrics_us;
};

static void print_event(void *arg, enum outbox_event event, const char *text)
{
    (void)arg;
    fprintf(stderr, "duepost: %s%s\n", text, event == OUTBOX_AWAY ? "; trying again" : "");
}

static void write_metric(FILE *file, const char *name, const char *type, const char *help, const char *value)
{
    fprintf(file, "# HELP duepost_relay_%s %s\n# TYPE duepost_relay_%s %s\nduepost_relay_%s %s\n", name, help,
            name, type, name, value);
}

/* Replaces the file of metrics. */
static void write_metrics(const char *path, const struct outbox_figures *figures)
{
    char new_path[4096], text[24];
    snprintf(new_path, sizeof new_path, "%s.new", path);
    FILE *file = fopen(new_path, "w");
    if (!file) {
        fprintf(stderr, "duepost: cannot write %s: %s\n", new_path, strerror(errno));
        return;
    }
    snprintf(text, sizeof text, "%lld", (long long)figures->sent);
    write_metric(file, "sent_total", "counter", "Rows of the outbox that became jobs.", text);
    snprintf(text, sizeof text, "%lld", (long long)figures->failed);
    write_metric(file, "failed_total", "counter", "Rows of the outbox that the server refused.", text);
    snprintf(text, sizeof text, "%lld", (long long)figures->stuck);
    write_metric(file, "stuck_total", "counter",
                 "Times that the database refused to move or to delete a row of the outbox.", text);
    write_metric(file, "up", "gauge", "Whether the last rows could be read and sent.",
                 figures->is_up ? "1" : "0");
    write_metric(file, "active", "gauge", "Whether this relay has the lock of the outbox.",
                 figures->is_active ? "1" : "0");
    if (figures->oldest_ms >= 0) {
        snprintf(text, sizeof text, "%lld.%03lld", (long long)figures->oldest_ms / 1000,
                 (long long)figures->oldest_ms % 1000);
        write_metric(file, "oldest_seconds", "gauge", "How long the first row of the outbox has waited.",
                     text);
    }
    if (fclose(file) != 0 || rename(new_path, path) != 0)
        fprintf(stderr, "duepost: cannot write %s: %s\n", path, strerror(errno));
}

static void report_relay(void *arg, const struct outbox_figures *figures)
{
    struct reporting *reporting = arg;
    int64_t now_us = clock_boot_us(), count = figures->sent + figures->failed;
    if (reporting->metrics_file && now_us >= reporting->metrics_us) {
        write_metrics(reporting->metrics_file, figures);
        reporting->metrics_us = now_us + METRICS_S * INT64_C(1000000);
    }
    if (now_us < reporting->report_us)
        return;
    if (count > reporting->reported)
        fprintf(stderr, "duepost: %lld rows sent, %lld failed since the start\n", (long long)figures->sent,
                (long long)figures->failed);
    reporting->reported = count;
    reporting->report_us = now_us + REPORT_S * INT64_C(1000000);
}

/* Ends the relay. The first process of a container ignores a signal without a handler. */
static void end_container(int number)
{
    _exit(128 + number);
}

static bool run_relay(struct call *call, const char *source)
{
    struct reporting reporting = {.metrics_file = call->arguments.values[ARGUMENT_METRICS_FILE],
                                  .report_us = clock_boot_us() + REPORT_S * INT64_C(1000000)};
    const struct outbox_relay_options options = {
        .source = source,
        .remote = call->remote,
        .server_name = remote_options(call->remote).server,
        .stop_fd = -1,
        .until_empty = call->arguments.until_empty,
        .tell = print_event,
        .note = report_relay,
        .arg = &reporting,
    };
    if (getpid() == 1)
        signal(SIGTERM, end_container);
    return outbox_relay_run(&options, &call->problem);
}

bool outbox_run(struct call *call)
{
    const char *verb = call->arguments.word;
    struct outbox_database database = {.source = call->arguments.values[ARGUMENT_SOURCE], .stop_fd = -1};
    bool is_done = false;
    if (!database.source)
        database.source = getenv("DUEPOST_SOURCE");
    if (!database.source || strncmp(database.source, "postgres", 8) != 0)
        problem_set(&call->problem, "the outbox needs --source postgresql://… or DUEPOST_SOURCE");
    else if (call->arguments.is_installing)
        is_done = install(&database, &call->problem);
    else if (verb && strcmp(verb, "status") == 0)
        is_done = show_status(&database, call->arguments.is_json, &call->problem);
    else if (verb && strcmp(verb, "retry") == 0)
        is_done = retry_failed(&database, &call->problem);
    else if (verb)
        problem_set(&call->problem, "%.100s is not known: the words of outbox are status and retry", verb);
    else
        is_done = run_relay(call, database.source);
    outbox_disconnect(&database);
    return is_done;
}
