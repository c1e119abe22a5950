/* examine.c - what duepost check says about an outbox. */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/outbox/outbox_private.h"

enum {
    NOTIFY_MS = 2000,
    CLOCK_MS = 1000, /* a larger difference of the clocks is reported */
    OLD_S = 60,
};

struct examination {
    struct outbox_database database;
    void (*found)(void *arg, enum outbox_finding, const char *text);
    void *arg;
};

__attribute__((format(printf, 3, 4))) static void find(const struct examination *examination,
                                                       enum outbox_finding finding, const char *format, ...)
{
    char text[700];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    examination->found(examination->arg, finding, text);
}

/* Returns the only value of a statement, or NULL after reporting the reason. The caller clears
 * *result. */
static const char *examination_ask(struct examination *examination, const char *sql, PGresult **result)
{
    struct problem problem;
    *result = outbox_sql(&examination->database, sql, 0, NULL, &problem);
    if (!*result)
        find(examination, OUTBOX_BAD, "%s", problem.text);
    return *result ? PQgetvalue(*result, 0, 0) : NULL;
}

static void examine_role(struct examination *examination)
{
    PGresult *result;
    struct problem problem;
    if (!outbox_check_rights(&examination->database, &problem)) {
        find(examination, OUTBOX_BAD, "%s; docs/outbox.md has the statements that give it", problem.text);
        return;
    }
    const char *role =
        examination_ask(examination,
                        "SELECT current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),"
                        " pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'duepost_outbox'::regclass),"
                        " 'USAGE')",
                        &result);
    if (role && PQgetvalue(result, 0, 1)[0] == 't')
        find(examination, OUTBOX_DOUBTFUL,
             "the role %s is a superuser; the relay needs SELECT and DELETE on duepost_outbox, INSERT on "
             "duepost_outbox_failed and SELECT on duepost_outbox_meta: use a role that has no more",
             role);
    else if (role && PQgetvalue(result, 0, 2)[0] == 't')
        find(examination, OUTBOX_GOOD, "the role %s has all rights that are needed, and owns the tables",
             role);
    else if (role)
        find(examination, OUTBOX_GOOD, "the role %s has all rights that are needed", role);
    PQclear(result);
}

/* A pooler that gives each transaction another session passes no notifications, and the lock of a relay is
 * then not its own. A second connection notifies the first one. */
static void examine_notifications(struct examination *examination)
{
    struct outbox_database other = {.source = examination->database.source, .stop_fd = -1};
    struct problem problem;
    PGconn *connection = examination->database.connection;
    PGnotify *notify = NULL;
    int64_t end_us = clock_boot_us() + NOTIFY_MS * INT64_C(1000), left_us;
    if (!outbox_sql_plain(&examination->database, "LISTEN duepost_check", &problem) ||
        !outbox_connect(&other, &problem) || !outbox_sql_plain(&other, "NOTIFY duepost_check", &problem)) {
        find(examination, OUTBOX_BAD, "%s", problem.text);
        outbox_disconnect(&other);
        return;
    }
    while (!(notify = PQnotifies(connection)) && (left_us = end_us - clock_boot_us()) > 0) {
        struct pollfd ready = {.fd = PQsocket(connection), .events = POLLIN};
        if (poll(&ready, 1, (int)(left_us / 1000) + 1) > 0 && !PQconsumeInput(connection))
            break;
    }
    if (notify)
        find(examination, OUTBOX_GOOD, "notifications arrive");
    else
        find(examination, OUTBOX_DOUBTFUL,
             "notifications do not arrive: a pooler such as PgBouncer may be in between. Rows then wait for "
             "up to a "
             "second, and two relays may work at a time; give the relay a direct connection");
    PQfreemem(notify);
    outbox_disconnect(&other);
}

static void examine_clock(struct examination *examination)
{
    PGresult *result;
    int64_t before_ms = clock_wall_ms();
    const char *text = examination_ask(
        examination, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", &result);
    int64_t after_ms = clock_wall_ms();
    if (text) {
        long long theirs_ms = strtoll(text, NULL, 10), middle_ms = before_ms + (after_ms - before_ms) / 2;
        long long ahead_ms = theirs_ms - middle_ms, half_ms = (after_ms - before_ms) / 2;
        long long size_ms = ahead_ms < 0 ? -ahead_ms : ahead_ms;
        if (size_ms > CLOCK_MS + half_ms)
            find(examination, OUTBOX_DOUBTFUL,
                 "the clock of the database is %lld.%03lld s %s that of this host: a due_at of now() is too "
                 "%s. Let "
                 "both hosts follow the same time servers",
                 size_ms / 1000, size_ms % 1000, ahead_ms > 0 ? "ahead of" : "behind",
                 ahead_ms > 0 ? "late" : "early");
        else
            find(examination, OUTBOX_GOOD, "the clocks of the database and of this host agree within %lld ms",
                 size_ms + half_ms);
    }
    PQclear(result);
}

static void examine_failed(struct examination *examination)
{
    PGresult *result;
    const char *text = examination_ask(
        examination, "SELECT has_table_privilege('duepost_outbox_failed', 'SELECT')", &result);
    bool may_read = text && text[0] == 't';
    PQclear(result);
    if (text && !may_read)
        find(examination, OUTBOX_GOOD,
             "failed rows are not counted: the role may not read duepost_outbox_failed");
    if (!may_read)
        return;
    text = examination_ask(examination, "SELECT count(*) FROM duepost_outbox_failed", &result);
    if (text && strcmp(text, "0") != 0)
        find(examination, OUTBOX_DOUBTFUL,
             "%s rows have failed: duepost_outbox_failed has the reasons; duepost outbox retry sends them "
             "again",
             text);
    else if (text)
        find(examination, OUTBOX_GOOD, "no row has failed");
    PQclear(result);
}

static void examine_relay(struct examination *examination)
{
    static const char sql[] =
        "SELECT coalesce((SELECT extract(epoch FROM clock_timestamp() - created_at)::bigint FROM "
        "duepost_outbox"
        " ORDER BY id LIMIT 1), 0),"
        " EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = " OUTBOX_LOCK
        " AND classid = 0"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))";
    PGresult *result;
    const char *oldest = examination_ask(examination, sql, &result);
    bool is_active = oldest && PQgetvalue(result, 0, 1)[0] == 't';
    if (oldest && strtoll(oldest, NULL, 10) > OLD_S)
        find(examination, OUTBOX_DOUBTFUL, "the first row has waited for %s s, and %s", oldest,
             is_active ? "a relay is at work: its log says why" : "no relay is at work: start one");
    else if (oldest)
        find(examination, OUTBOX_GOOD, "%s", is_active ? "a relay is at work" : "no relay is at work now");
    PQclear(result);
}

void outbox_examine(const char *source, void (*found)(void *arg, enum outbox_finding, const char *text),
                    void *arg)
{
    struct examination examination = {
        .database = {.source = source, .stop_fd = -1}, .found = found, .arg = arg};
    struct outbox_database *database = &examination.database;
    struct problem problem;
    if (!outbox_connect(database, &problem) || !outbox_check_tables(database, &problem)) {
        find(&examination, OUTBOX_BAD, "%s", problem.text);
    } else {
        int version = PQserverVersion(database->connection);
        find(&examination, OUTBOX_GOOD, "PostgreSQL %d, tables of this version of duepost", version / 10000);
        examine_role(&examination);
        examine_notifications(&examination);
        examine_clock(&examination);
        examine_failed(&examination);
        examine_relay(&examination);
    }
    outbox_disconnect(database);
}
