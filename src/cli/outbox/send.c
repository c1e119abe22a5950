/* Sends rows to the server: many new jobs as one array, and next to it requests of one job. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "cli/call.h"
#include "cli/outbox/outbox_private.h"
#include "job/job_id.h"

enum {
    KEY_SLOTS = 2048, /* size of the hash table of a wave: a power of two, at least twice OUTBOX_ROWS_MAX */
    ALIVE_MS = 1000,  /* after this time the relay asks again whether it still has the lock */
    ANSWER_MS = 60 * 1000,
    STOP_MS = 5000, /* time for the answers that are under way at the end */
};

/* ---- requests ---- */

/* Returns whether the answer comes from duepost, and not from a program in between or from a server at a
 * wrong address: only then a row may be deleted or fail. Its errors repeat the status; 413 may come from any
 * program that a request of this size has to pass. */
static bool is_answer_own(const json_t *answer, long status)
{
    const char *detail = call_text(answer, "detail");
    if (status == 413)
        return true;
    return status / 100 == 2 ? call_text(answer, "state") != NULL
                             : detail && call_number(answer, "status") == (double)status &&
                                   (status != 404 || strcmp(detail, "There is nothing at this path.") != 0);
}

/* Says what the answer to a request says. */
static void explain_answer(const struct relay *relay, long status, struct slice text, struct problem *why)
{
    why->text[0] = '\0';
    if (status == 0)
        problem_set(why, "%s: %.*s; check the server", relay->options->server_name, SLICE_ARG(text));
    else if (status / 100 != 2)
        remote_explain(status, text, why);
}

static void end_alone(struct relay *relay, const struct row *row, long status, long wait_s, struct slice text)
{
    struct problem why;
    explain_answer(relay, status, text, &why);
    json_t *answer = json_loadb(text.data ? text.data : "", text.size, 0, NULL);
    if (status && !is_answer_own(answer, status)) {
        if (status / 100 == 2)
            problem_set(&why, "the answer %ld has no job; is it a duepost server?", status);
        status = 0;
    }
    json_decref(answer);
    relay_end_row(relay, row, status, wait_s, why.text);
}

/* A remote_call_fn. */
static void on_answer(void *arg, long status, struct slice text)
{
    struct sending *sending = arg;
    struct relay *relay = sending->relay;
    const char *after = remote_call_header(sending->call, "Retry-After");
    long wait_s = after ? strtol(after, NULL, 10) : 0;
    relay->under_way--;
    if (sending->row) {
        end_alone(relay, sending->row, status, wait_s, text);
    } else {
        relay->array_status = status;
        relay->array_wait_s = wait_s;
        buffer_clear(&relay->answer);
        buffer_append(&relay->answer, text);
    }
    sending->relay = NULL;
}

/* Begins a request. Fewer than OUTBOX_PARALLEL are under way. */
static void begin_request(struct relay *relay, const char *method, const char *target, struct slice body,
                          const struct row *row)
{
    struct sending *sending = relay->sendings;
    const struct remote_request request = {
        .method = method, .target = target, .body = body, .timeout_ms = ANSWER_MS};
    while (sending->relay)
        sending++;
    *sending = (struct sending){.relay = relay, .row = row};
    relay->under_way++;
    sending->call = remote_call_start(relay->calls, &request, on_answer, sending);
}

/* Waits until at most `most` requests are under way. At the end of the relay, drops those that are not
 * answered in time. */
static void await_answers(struct relay *relay, size_t most)
{
    struct outbox_database *database = &relay->database;
    for (;;) {
        remote_calls_step(relay->calls);
        if (relay->under_way <= most)
            return;
        bool is_stopping = outbox_is_stopping(database);
        if (is_stopping && clock_boot_us() - database->stopped_us > STOP_MS * INT64_C(1000)) {
            remote_calls_free(relay->calls); /* the rows are read again */
            relay->calls = remote_calls_new(relay->options->remote);
            memset(relay->sendings, 0, sizeof relay->sendings);
            relay->under_way = 0;
            return;
        }
        remote_calls_wait(relay->calls, &database->stop_fd, !is_stopping && database->stop_fd >= 0,
                          is_stopping ? 100 : ANSWER_MS);
    }
}

/* Returns whether the relay may begin a request. After a while, asks whether its session, and so its lock,
 * still lives. */
static bool may_send(struct relay *relay)
{
    struct problem problem;
    if (relay->verdict != VERDICT_ON || outbox_is_stopping(&relay->database))
        return false;
    if (clock_boot_us() - relay->alive_us > ALIVE_MS * INT64_C(1000)) {
        if (!outbox_sql_plain(&relay->database, "SELECT 1", &problem)) {
            relay_end_turn(relay, VERDICT_LOST, &problem); /* another relay may be at work */
            return false;
        }
        relay->alive_us = clock_boot_us();
    }
    return true;
}

/* ---- rows of one job: PUT and DELETE ---- */

static void begin_alone(struct relay *relay, const struct row *row)
{
    bool is_cancel = strcmp(row->action, "cancel") == 0;
    if (!topic_is_valid(slice_of(row->topic))) {
        relay_fail_row(relay, row, 400, "There is no topic of this name.");
        return;
    }
    if (!job_id_is_valid(slice_of(row->job_id))) {
        relay_fail_row(relay, row, 400, "The job_id must be 1 to 255 bytes without control characters.");
        return;
    }
    buffer_clear(&relay->target);
    buffer_append(&relay->target, SLICE("/jobs/"));
    call_add_encoded(&relay->target, row->topic);
    buffer_append_byte(&relay->target, '/');
    call_add_encoded(&relay->target, row->job_id);
    begin_request(relay, is_cancel ? "DELETE" : "PUT", buffer_text(&relay->target),
                  is_cancel ? (struct slice){NULL, 0} : slice_of(row->job), row);
}

/* ---- new jobs: an array ---- */

/* Returns the server's words for the result of one job. */
static void explain_result(const json_t *result, struct problem *why)
{
    char *text = json_dumps(result, 0);
    remote_explain((long)call_number(result, "status"), slice_of(text ? text : "{}"), why);
    free(text);
}

static void begin_array(struct relay *relay, const struct row *const *rows, size_t count)
{
    buffer_clear(&relay->request);
    for (size_t i = 0; i < count; i++) {
        buffer_append_byte(&relay->request, i ? ',' : '[');
        buffer_append(&relay->request, slice_of(rows[i]->job));
    }
    buffer_append_byte(&relay->request, ']');
    relay->array_status = 0;
    relay->array_wait_s = 0;
    buffer_clear(&relay->answer);
    begin_request(relay, "POST", "/jobs", buffer_slice(&relay->request), NULL);
}

/* Handles the answer to an array. Returns false if one of its jobs spoils it, so that they must go alone. */
static bool end_array(struct relay *relay, const struct row *const *rows, size_t count)
{
    struct problem why;
    long status = relay->array_status;
    bool is_fine = true;
    explain_answer(relay, status, buffer_slice(&relay->answer), &why);
    json_t *answer = json_loadb(buffer_text(&relay->answer), relay->answer.size, 0, NULL);
    const json_t *results = json_object_get(answer, "results");
    if (status / 100 == 2 && json_array_size(results) == count) {
        for (size_t i = 0; i < count; i++) {
            const json_t *result = json_array_get(results, i);
            long own = (long)call_number(result, "status");
            if (own / 100 != 2)
                explain_result(result, &why);
            relay_end_row(relay, rows[i], own, (long)call_number(result, "retryAfter"), why.text);
        }
    } else if (status / 100 == 2) {
        problem_set(&why, "the answer has no results; is it a duepost server?");
        relay_end_turn(relay, VERDICT_WAITS, &why);
    } else if ((status == 400 || status == 413) && is_answer_own(answer, status)) {
        if (count == 1)
            relay_fail_row(relay, rows[0], status, why.text);
        else
            is_fine = false;
    } else { /* for all topics, such as the rate of the token */
        relay_end_turn(relay, VERDICT_WAITS, &why);
        relay->wait_s = relay->array_wait_s;
    }
    json_decref(answer);
    return is_fine;
}

/* ---- a wave ---- */

/* Rows of which no two are of the same job. They are sent together: new jobs as one array, in the order of
 * their ids, and together with it one request for each other row. */
struct wave {
    const struct row *plain[OUTBOX_ROWS_MAX], *alone[OUTBOX_ROWS_MAX];
    size_t plain_count, alone_count;
    const struct row *slots[KEY_SLOTS]; /* a hash table of the rows that have a job_id */
};

/* Returns false, and changes nothing, if the wave has a row of the same job. */
static bool wave_add(struct wave *wave, const struct row *row)
{
    if (row->job_id) {
        size_t at = hash_of(slice_of(row->job_id)) ^ hash_of(slice_of(row->topic));
        const struct row *other;
        for (; (other = wave->slots[at % KEY_SLOTS]); at++)
            if (strcmp(other->job_id, row->job_id) == 0 && strcmp(other->topic, row->topic) == 0)
                return false;
        wave->slots[at % KEY_SLOTS] = row;
    }
    if (strcmp(row->action, "schedule") == 0)
        wave->plain[wave->plain_count++] = row;
    else
        wave->alone[wave->alone_count++] = row;
    return true;
}

static void send_wave(struct relay *relay, const struct wave *wave)
{
    bool has_array = wave->plain_count && may_send(relay);
    if (has_array)
        begin_array(relay, wave->plain, wave->plain_count);
    for (size_t i = 0; i < wave->alone_count && may_send(relay); i++) {
        await_answers(relay, OUTBOX_PARALLEL - 1);
        if (!relay_find_waiting(relay, wave->alone[i]->topic))
            begin_alone(relay, wave->alone[i]);
    }
    await_answers(relay, 0);
    if (!has_array || end_array(relay, wave->plain, wave->plain_count))
        return;
    for (size_t i = 0; i < wave->plain_count; i++) {
        if (relay_find_waiting(relay, wave->plain[i]->topic))
            continue;
        if (!may_send(relay))
            return;
        begin_array(relay, &wave->plain[i], 1);
        await_answers(relay, 0);
        end_array(relay, &wave->plain[i], 1);
    }
}

/* Sends rows, wave by wave. Rows of a topic that began to wait stay, so that they do not go before its first
 * row. */
void relay_send_rows(struct relay *relay, const struct row *rows, size_t count)
{
    struct wave *wave = NEW(struct wave);
    for (size_t next = 0; next < count && may_send(relay);) {
        memset(wave, 0, sizeof *wave);
        for (; next < count; next++) {
            if (relay_find_waiting(relay, rows[next].topic))
                continue;
            if (!rows[next].job)
                relay_fail_row(relay, &rows[next], 413, "The job is over 16 MiB.");
            else if (!wave_add(wave, &rows[next]))
                break;
        }
        send_wave(relay, wave);
    }
    free(wave);
}
