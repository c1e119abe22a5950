/* The relay: one turn reads the next rows, sends them, and deletes those that were answered. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/outbox/outbox_private.h"
#include "job/job_id.h"

enum {
    TICK_MS = 1000,    /* the table is read at least this often, because poolers pass no notifications */
    STANDBY_MS = 1000, /* time between two tries to get the lock */
    AWAY_MAX_MS = 10 * 1000, /* longest wait for a database or a server that is away */
    OLDEST_MS = 5000,
    /* A pass over all rows, those of waiting topics included, begins after this many times the duration of
     * the read that goes past these: it costs a three hundredth of the time of the database. */
    PASS_TIMES = 300,
    PASS_MAX_MS = 10 * 1000,
    /* Between two passes, the last ids are read again: their transactions may have been committed late. */
    NEAR_IDS = 1000,
};
#define READ_BYTES "8388608"  /* bytes of the jobs of one request, unless its first job is larger */
#define JOB_BYTES  "16777000" /* longer jobs are not read: the server takes requests of 16 MiB */

/* The next rows: not of the topics $1, not of the ids $4, and behind the id $5. */
#define NEXT                                                                                                 \
    " FROM duepost_outbox WHERE id > $3::bigint AND NOT topic = ANY($1::text[]) AND NOT id = "               \
    "ANY($2::bigint[]) ORDER BY id LIMIT $4"

/* The rows as jobs. NULL is absent; a null in the body stays, because the body is added last. A column of a
 * job that is too long to read is NULL. The sizes of the stored values bound how much is made into text. The
 * key also has the time of the row, because ids come again after TRUNCATE and after a restore. The last
 * column is the number of rows that were there, of which the first ones are in the result. */
#define READ                                                                                                 \
    "SELECT id, action, topic, job_id, CASE WHEN size <= " JOB_BYTES " THEN job END, found FROM"             \
    " (SELECT id, action, topic, job_id, job, found, octet_length(job) AS size,"                             \
    " row_number() OVER (ORDER BY id) AS n, sum(octet_length(job)) OVER (ORDER BY id) AS upto FROM"          \
    " (SELECT id, action, topic, job_id, found, left(json_strip_nulls(json_build_object('topic', topic,"     \
    "'jobId', job_id, 'key', key,"                                                                           \
    "'dueAt', to_char(due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),"                      \
    "'delay', extract(epoch FROM delay)::double precision, 'url', url, 'headers', headers, 'labels', "       \
    "labels,"                                                                                                \
    "'priority', priority, 'retry', retry,"                                                                  \
    "'bodyBase64', translate(encode(body_bytes, 'base64'), E'\\n', ''), 'idempotencyKey',"                   \
    " CASE action WHEN 'schedule' THEN 'outbox-' || $5 || '-' || id || "                                     \
    "coalesce(to_char(created_at AT TIME ZONE 'UTC', '-YYYYMMDDHH24MISSUS'), '') END))::text, -1)"           \
    " || coalesce(',\"body\":' || body::text, '') || '}' AS job FROM"                                        \
    " (SELECT *, row_number() OVER (ORDER BY id) AS place, count(*) OVER () AS found,"                       \
    " sum(coalesce(pg_column_size(body), 0)"                                                                 \
    " + coalesce(octet_length(body_bytes), 0)) OVER (ORDER BY id) AS stored FROM"                            \
    " (SELECT " OUTBOX_COLUMNS NEXT ") AS next)"                                                             \
    " AS near WHERE stored <= " READ_BYTES " OR place = 1) AS rows) AS sized"                                \
    " WHERE upto <= " READ_BYTES " OR n = 1 ORDER BY id"

/* ---- a turn ---- */

/* Moves the first row, which the database cannot read. */
static void fail_first(struct relay *relay, const char *const *values, const char *why)
{
    struct problem problem, text;
    PGresult *result = outbox_sql(&relay->database, "SELECT id" NEXT, 4, values, &problem);
    if (!result)
        relay_end_turn(relay, VERDICT_LOST, &problem);
    if (result && PQntuples(result)) {
        problem_set(&text, "row %s of the outbox has failed: %.400s", PQgetvalue(result, 0, 0), why);
        relay_tell(relay, OUTBOX_FAILED, &text);
        relay_move_row(relay, PQgetvalue(result, 0, 0), NULL, why);
    }
    PQclear(result);
}

/* Reads the next rows, at most relay->rows. Returns NULL after an error, or if the first row cannot be
 * read. */
static PGresult *read_rows(struct relay *relay)
{
    struct problem problem;
    struct buffer topics, ids;
    char limit[OUTBOX_ID_SIZE], from[OUTBOX_ID_SIZE];
    PGresult *result;
    buffer_init(&topics, OUTBOX_WAITING_MAX * (JOB_TOPIC_NAME_MAX + sizeof "\"\","));
    buffer_init(&ids, OUTBOX_STUCK_MAX * OUTBOX_ID_SIZE);
    relay_write_waiting(relay, &topics);
    relay_write_stuck(relay, &ids);
    for (;;) {
        snprintf(limit, sizeof limit, "%ld", relay->rows);
        snprintf(from, sizeof from, "%lld", (long long)relay->from_id);
        const char *const values[] = {buffer_text(&topics), buffer_text(&ids), from, limit,
                                      relay->database.name};
        int64_t began_us = clock_boot_us();
        result = outbox_sql(&relay->database, READ, 5, values, &problem);
        relay->read_us = clock_boot_us() - began_us;
        if (result || !relay->database.is_about_rows)
            break;
        if (relay->rows == 1) {
            fail_first(relay, values, problem.text);
            break;
        }
        relay->rows = relay->rows > 4 ? relay->rows / 4 : 1;
    }
    if (!result && !relay->database.is_about_rows && relay->verdict == VERDICT_ON) {
        relay->rows = relay->rows > 4 ? relay->rows / 4 : 1; /* a read of long rows may end at its timeout */
        relay_end_turn(relay, VERDICT_LOST, &problem);
    }
    buffer_fini(&topics);
    buffer_fini(&ids);
    return result;
}

/* Returns the last id, or -1 after an error. */
static int64_t last_id(struct relay *relay)
{
    struct problem problem;
    PGresult *result =
        outbox_sql(&relay->database, "SELECT coalesce(max(id), 0) FROM duepost_outbox", 0, NULL, &problem);
    int64_t id = result ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : -1;
    if (!result)
        relay_end_turn(relay, VERDICT_LOST, &problem);
    PQclear(result);
    return id;
}

/* Ends a pass: its last read has found the rest of the rows, and each of them was sent, or waits. Rows of
 * topics that wait are read past by each read that begins at the first row. So the next pass comes late if
 * this read took long, and the reads in between begin near the end. */
static void end_pass(struct relay *relay, int64_t last)
{
    if (relay->waiting_count == 0)
        return;
    if (relay->from_id == 0) {
        int64_t wait_us = relay->read_us * PASS_TIMES, most_us = PASS_MAX_MS * INT64_C(1000);
        relay->pass_us = clock_boot_us() + (wait_us < most_us ? wait_us : most_us);
    }
    if (last - NEAR_IDS > relay->from_id)
        relay->from_id = last - NEAR_IDS;
}

/* Reads the next rows, sends them, and deletes those that are done. Returns their number. */
static size_t relay_turn(struct relay *relay)
{
    struct problem problem;
    int64_t last = 0;
    size_t count = 0;
    if (!relay_delete_done(relay, &problem))
        relay_end_turn(relay, VERDICT_LOST, &problem);
    relay_end_stuck(relay);
    if (clock_boot_us() >= relay->pass_us) {
        relay_end_waits(relay);
        relay->from_id = 0;
    }
    if (relay->waiting_count)
        last = last_id(relay);
    PGresult *result = relay->verdict == VERDICT_ON ? read_rows(relay) : NULL;
    if (!result)
        return relay->verdict == VERDICT_ON; /* a row was moved */
    relay->alive_us = clock_boot_us();
    size_t bytes = 1;
    count = (size_t)PQntuples(result);
    long found = count ? strtol(PQgetvalue(result, 0, 5), NULL, 10) : 0;
    bool is_end = found < relay->rows && found == (long)count;
    struct row *rows = NEW_ARRAY(struct row, count + 1);
    for (int i = 0; i < (int)count; i++) {
        rows[i] = (struct row){.id = PQgetvalue(result, i, 0),
                               .action = PQgetvalue(result, i, 1),
                               .topic = PQgetvalue(result, i, 2),
                               .job_id = PQgetisnull(result, i, 3) ? NULL : PQgetvalue(result, i, 3),
                               .job = PQgetisnull(result, i, 4) ? NULL : PQgetvalue(result, i, 4)};
        bytes += (size_t)PQgetlength(result, i, 4);
    }
    relay_send_rows(relay, rows, count);
    if (relay->verdict != VERDICT_LOST && !relay_delete_done(relay, &problem))
        relay_end_turn(relay, VERDICT_LOST, &problem);
    if (count) { /* the rows of the next read are about as long */
        size_t fit = strtoul(READ_BYTES, NULL, 10) / (bytes / count + 1);
        relay->rows = fit < 1 ? 1 : fit > OUTBOX_ROWS_MAX ? OUTBOX_ROWS_MAX : (long)fit;
    }
    if (is_end && relay->verdict == VERDICT_ON)
        end_pass(relay, last);
    free(rows);
    PQclear(result);
    return count;
}

/* ---- the relay ---- */

static void sleep_ms(struct relay *relay, int ms)
{
    struct pollfd stop = {.fd = relay->database.stop_fd, .events = POLLIN};
    poll(&stop, 1, ms);
}

/* Waits for a notification, at most for ms. */
static void await_rows(struct relay *relay, int ms)
{
    PGconn *connection = relay->database.connection;
    struct pollfd ready[] = {{.fd = PQsocket(connection), .events = POLLIN},
                             {.fd = relay->database.stop_fd, .events = POLLIN}};
    PGnotify *notify = PQnotifies(connection); /* comes with the answer to a read, too */
    if (!notify && poll(ready, 2, ms) > 0 && ready[0].revents)
        PQconsumeInput(connection);
    for (; notify || (notify = PQnotifies(connection)); notify = NULL)
        PQfreemem(notify);
}

static bool open_outbox(struct relay *relay, struct problem *problem)
{
    struct outbox_database *database = &relay->database;
    return outbox_connect(database, problem) && outbox_check_tables(database, problem) &&
           outbox_check_rights(database, problem);
}

/* Connects and gets the lock. Returns false after an error. is_active is false while another relay has the
 * lock. */
static bool begin_relay(struct relay *relay, struct problem *problem)
{
    struct outbox_database *database = &relay->database;
    if (!database->connection && !open_outbox(relay, problem))
        return false;
    PGresult *result = outbox_sql(database, "SELECT pg_try_advisory_lock(" OUTBOX_LOCK ")", 0, NULL, problem);
    relay->figures.is_active = result && PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return result &&
           (!relay->figures.is_active || outbox_sql_plain(database, "LISTEN duepost_outbox", problem));
}

/* Asks how long the first row has waited. */
static void read_oldest(struct relay *relay)
{
    struct problem ignored;
    PGresult *result = outbox_sql(&relay->database,
                                  "SELECT coalesce((SELECT greatest(0, extract(epoch FROM clock_timestamp() -"
                                  " created_at) * 1000)::bigint FROM duepost_outbox ORDER BY id LIMIT 1), 0)",
                                  0, NULL, &ignored);
    relay->figures.oldest_ms = result ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : -1;
    PQclear(result);
}

static void note_relay(struct relay *relay, bool is_up)
{
    relay->figures.is_up = is_up;
    if (!relay->database.connection || !relay->figures.is_active) {
        relay->figures.oldest_ms = -1;
    } else if (clock_boot_us() >= relay->oldest_us) {
        relay->oldest_us = clock_boot_us() + OLDEST_MS * INT64_C(1000);
        read_oldest(relay);
    }
    relay->options->note(relay->options->arg, &relay->figures);
}

/* Reports why nothing is sent, the first time, and waits longer each time. */
static void wait_away(struct relay *relay, const struct problem *problem, int *wait_ms)
{
    if (outbox_is_stopping(&relay->database))
        return;
    if (!relay->is_away)
        relay_tell(relay, OUTBOX_AWAY, problem);
    relay->is_away = true;
    note_relay(relay, false);
    sleep_ms(relay, *wait_ms);
    *wait_ms = 2 * *wait_ms < AWAY_MAX_MS ? 2 * *wait_ms : AWAY_MAX_MS;
}

/* Waits for the end of another relay. */
static void stand_by(struct relay *relay, bool *was_told)
{
    struct problem text;
    problem_set(&text, "another relay is at work; waiting for its end");
    if (!*was_told)
        relay_tell(relay, OUTBOX_STANDBY, &text);
    *was_told = true;
    relay->is_away = false;
    note_relay(relay, true);
    sleep_ms(relay, STANDBY_MS);
}

/* Works until the relay must end, or the table is empty. */
static void work(struct relay *relay)
{
    bool was_told = false;
    int wait_ms = 100;
    struct problem text;
    while (!outbox_is_stopping(&relay->database)) {
        relay->verdict = VERDICT_ON;
        relay->wait_s = 0;
        if (!relay->figures.is_active) {
            if (!begin_relay(relay, &text)) {
                relay->figures.is_active = false;
                outbox_disconnect(&relay->database);
                wait_away(relay, &text, &wait_ms);
                continue;
            }
            if (!relay->figures.is_active) {
                stand_by(relay, &was_told);
                continue;
            }
            relay->from_id = relay->pass_us = 0;
        }
        size_t count = relay_turn(relay);
        if (relay->verdict == VERDICT_LOST) {
            relay->figures.is_active = false;
            outbox_disconnect(&relay->database);
        }
        if (relay->verdict != VERDICT_ON) {
            if (relay->wait_s > 0 && relay->wait_s * 1000 < AWAY_MAX_MS && wait_ms < relay->wait_s * 1000)
                wait_ms = (int)relay->wait_s * 1000;
            wait_away(relay, &relay->problem, &wait_ms);
            continue;
        }
        problem_set(&text, "the outbox is sent again");
        if (relay->is_away)
            relay_tell(relay, OUTBOX_BACK, &text);
        relay->is_away = was_told = false;
        wait_ms = 100;
        note_relay(relay, true);
        if (count == 0 && relay->options->until_empty && relay->waiting_count == 0)
            return;
        if (count == 0)
            await_rows(relay, TICK_MS);
    }
}

bool outbox_relay_run(const struct outbox_relay_options *options, struct problem *problem)
{
    struct relay *relay = NEW(struct relay);
    relay->options = options;
    relay->database = (struct outbox_database){.source = options->source, .stop_fd = options->stop_fd};
    relay->rows = OUTBOX_ROWS_MAX;
    relay->figures.oldest_ms = -1;
    bool is_done = true;
    if (!options->keeps_trying && !open_outbox(relay, problem)) {
        PGPing ping = PQping(options->source);
        is_done =
            ping != PQPING_OK && ping != PQPING_NO_ATTEMPT; /* a mistake in the command, or in the database */
        outbox_disconnect(&relay->database);
    }
    if (is_done) {
        relay->calls = remote_calls_new(options->remote);
        buffer_init(&relay->request, 2 * REMOTE_ANSWER_MAX);
        buffer_init(&relay->answer, REMOTE_ANSWER_MAX);
        buffer_init(&relay->done, 1024 * 1024);
        buffer_init(&relay->target, REMOTE_URL_MAX);
        work(relay);
        remote_calls_free(relay->calls);
        buffer_fini(&relay->request);
        buffer_fini(&relay->answer);
        buffer_fini(&relay->done);
        buffer_fini(&relay->target);
    }
    outbox_disconnect(&relay->database);
    while (relay->waiting_count)
        free(relay->waiting[--relay->waiting_count].topic);
    free(relay);
    return is_done;
}
