/* The end of a row: it is sent and deleted, or refused and moved; or its topic waits; or the database
 * refuses to delete or to move it, and it is left out for some time, so that it stops no other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/outbox/outbox_private.h"

enum {
    FORBIDDEN_S = 10, /* time until a topic that the token has no right to is tried again */
    STUCK_S = 60,     /* time until a row that is stuck is tried again */
};

#define FAIL                                                                                                 \
    "WITH bad AS (DELETE FROM duepost_outbox WHERE id = $1 RETURNING " OUTBOX_COLUMNS ")"                    \
    " INSERT INTO duepost_outbox_failed (" OUTBOX_COLUMNS ", status, error)"                                 \
    " SELECT " OUTBOX_COLUMNS ", $2::integer, $3 FROM bad"

void relay_tell(const struct relay *relay, enum outbox_event event, const struct problem *text)
{
    relay->options->tell(relay->options->arg, event, text->text);
}

void relay_end_turn(struct relay *relay, enum verdict verdict, const struct problem *problem)
{
    if (verdict > relay->verdict) {
        relay->verdict = verdict;
        relay->problem = *problem;
    }
}

/* ---- topics that wait, rows that are stuck ---- */

struct waiting *relay_find_waiting(struct relay *relay, const char *topic)
{
    for (size_t i = 0; i < relay->waiting_count; i++)
        if (strcmp(relay->waiting[i].topic, topic) == 0)
            return &relay->waiting[i];
    return NULL;
}

/* Returns false if too many topics wait. */
static bool put_to_wait(struct relay *relay, const char *topic, long seconds)
{
    struct waiting *waiting = relay_find_waiting(relay, topic);
    if (!waiting && relay->waiting_count == OUTBOX_WAITING_MAX)
        return false;
    if (!waiting) {
        waiting = &relay->waiting[relay->waiting_count++];
        waiting->topic = slice_dup(slice_of(topic));
    }
    waiting->until_us = clock_boot_us() + (seconds > 0 ? seconds : 1) * INT64_C(1000000);
    return true;
}

void relay_end_waits(struct relay *relay)
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
void relay_write_waiting(const struct relay *relay, struct buffer *array)
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

static void add_done(struct relay *relay, const char *id)
{
    buffer_append_byte(&relay->done, relay->done.size ? ',' : '{');
    buffer_append(&relay->done, slice_of(id));
    relay->done_count++;
}

/* Leaves out a row for some time. Returns false, and changes problem, if too many rows are left out. */
static bool add_stuck(struct relay *relay, const char *id, bool is_sent, struct problem *problem)
{
    struct problem text = *problem;
    if (relay->stuck_count == OUTBOX_STUCK_MAX) {
        problem_set(problem, "the database refuses to move or to delete more than %d rows: %.400s",
                    OUTBOX_STUCK_MAX, text.text);
        return false;
    }
    struct stuck *stuck = &relay->stuck[relay->stuck_count++];
    *stuck = (struct stuck){.is_sent = is_sent, .until_us = clock_boot_us() + STUCK_S * INT64_C(1000000)};
    snprintf(stuck->id, sizeof stuck->id, "%s", id);
    relay->figures.stuck++;
    problem_set(&text, "row %s of the outbox %s: %.400s", id,
                is_sent ? "was sent, and the database refuses to delete it"
                        : "must go to duepost_outbox_failed, which the database refuses",
                problem->text);
    relay_tell(relay, OUTBOX_STUCK, &text);
    return true;
}

/* Tries again to delete the rows whose time has come; the others are read again. */
void relay_end_stuck(struct relay *relay)
{
    int64_t now_us = clock_boot_us();
    for (size_t i = 0; i < relay->stuck_count;) {
        struct stuck *stuck = &relay->stuck[i];
        if (now_us < stuck->until_us) {
            i++;
            continue;
        }
        if (stuck->is_sent)
            add_done(relay, stuck->id);
        *stuck = relay->stuck[--relay->stuck_count];
        relay->from_id = 0;
    }
}

void relay_write_stuck(const struct relay *relay, struct buffer *array)
{
    buffer_append_byte(array, '{');
    for (size_t i = 0; i < relay->stuck_count; i++)
        buffer_printf(array, "%s%s", i ? "," : "", relay->stuck[i].id);
    buffer_append_byte(array, '}');
}

/* ---- the results of rows ---- */

/* Deletes the rows that are done one by one, because one of them cannot be deleted. */
static bool delete_each(struct relay *relay, struct problem *problem)
{
    char *ids = slice_dup(slice_from(relay->done.data + 1, relay->done.size - 1)), *rest = NULL;
    bool is_done = true;
    for (const char *id = strtok_r(ids, ",}", &rest); id && is_done; id = strtok_r(NULL, ",}", &rest)) {
        PGresult *result =
            outbox_sql(&relay->database, "DELETE FROM duepost_outbox WHERE id = $1", 1, &id, problem);
        is_done = result || (relay->database.is_about_rows && add_stuck(relay, id, true, problem));
        PQclear(result);
    }
    free(ids);
    return is_done;
}

/* Finds the rows whose deletion a trigger or a policy has skipped without an error. */
static bool find_left(struct relay *relay, const char *const *ids, struct problem *problem)
{
    PGresult *result = outbox_sql(
        &relay->database, "SELECT id FROM duepost_outbox WHERE id = ANY($1::bigint[])", 1, ids, problem);
    bool is_done = result != NULL;
    for (int i = 0; is_done && i < PQntuples(result); i++) {
        problem_set(problem, "DELETE ends without an error, and the row is still there");
        is_done = add_stuck(relay, PQgetvalue(result, i, 0), true, problem);
    }
    PQclear(result);
    return is_done;
}

/* Deletes the rows that are done. */
bool relay_delete_done(struct relay *relay, struct problem *problem)
{
    if (!relay->done.size)
        return true;
    buffer_append_byte(&relay->done, '}');
    const char *const values[] = {buffer_text(&relay->done)};
    PGresult *result = outbox_sql(&relay->database, "DELETE FROM duepost_outbox WHERE id = ANY($1::bigint[])",
                                  1, values, problem);
    bool is_done = result != NULL;
    if (is_done && strtoul(PQcmdTuples(result), NULL, 10) < relay->done_count)
        is_done = find_left(relay, values, problem);
    else if (!is_done && relay->database.is_about_rows)
        is_done = delete_each(relay, problem);
    if (is_done) {
        buffer_clear(&relay->done);
        relay->done_count = 0;
    } else {
        relay->done.size--; /* more ids may follow */
    }
    PQclear(result);
    return is_done;
}

void relay_move_row(struct relay *relay, const char *id, const char *status, const char *why)
{
    struct problem problem, plain;
    const char *const values[] = {id, status, why};
    PGresult *result = outbox_sql(&relay->database, FAIL, 3, values, &problem);
    if (!result && relay->database.is_about_rows) {
        /* The reason may have bytes that this database cannot keep. */
        problem_set(&plain, "%s", why);
        for (char *at = plain.text; *at; at++)
            *at = (signed char)*at < 0 ? '?' : *at;
        const char *const again[] = {id, status, plain.text};
        result = outbox_sql(&relay->database, FAIL, 3, again, &problem);
    }
    bool is_moved = result && strcmp(PQcmdTuples(result), "0") != 0;
    bool is_left_out = !is_moved && (result || relay->database.is_about_rows);
    if (result && !is_moved)
        problem_set(&problem, "it was removed meanwhile, or a trigger or a policy skips it");
    relay->figures.failed += is_moved;
    PQclear(result);
    if (!is_moved && !(is_left_out && add_stuck(relay, id, false, &problem)))
        relay_end_turn(relay, VERDICT_LOST, &problem);
}

void relay_fail_row(struct relay *relay, const struct row *row, long status, const char *why)
{
    char number[OUTBOX_ID_SIZE];
    struct problem text;
    snprintf(number, sizeof number, "%ld", status);
    problem_set(&text, "row %s of the outbox, %.255s%s%.255s, has failed: %s", row->id, row->topic,
                row->job_id ? "/" : "", row->job_id ? row->job_id : "", why);
    relay_tell(relay, OUTBOX_FAILED, &text);
    relay_move_row(relay, row->id, number, why);
}

/* Handles the status that the server gave to a row. why has its words. */
void relay_end_row(struct relay *relay, const struct row *row, long status, long wait_s, const char *why)
{
    struct problem problem;
    problem_set(&problem, "%s", why);
    if (status / 100 == 2 || (status == 404 && strcmp(row->action, "cancel") == 0)) {
        add_done(relay, row->id);
        relay->figures.sent++;
    } else if (status == 429 || status == 403) {
        bool is_new = !relay_find_waiting(relay, row->topic);
        if (!put_to_wait(relay, row->topic, status == 403 ? FORBIDDEN_S : wait_s)) {
            problem_set(&problem, "more than %d topics wait: %.300s", OUTBOX_WAITING_MAX, why);
            relay_end_turn(relay, VERDICT_WAITS, &problem);
        } else if (status == 403 && is_new) {
            problem_set(&problem, "row %s of the outbox waits, and all others of %.255s: %s", row->id,
                        row->topic, why);
            relay_tell(relay, OUTBOX_REFUSED, &problem);
        }
    } else if (status == 400 || status == 409 || status == 412 || status == 413 || status == 422) {
        relay_fail_row(relay, row, status, why);
    } else {
        relay_end_turn(relay, VERDICT_WAITS, &problem);
        relay->wait_s = wait_s > relay->wait_s ? wait_s : relay->wait_s;
    }
}
