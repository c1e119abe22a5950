#include "qstash/run_letter.h"

#include "app/jobs.h"
#include "qstash/answer.h"
#include "qstash/handler.h"
#include "base/memory.h"

static void letter_end(struct run_letter *letter, bool is_known)
{
    letter->fn(letter->arg, letter, is_known);
    if (letter->is_there)
        message_view_fini(&letter->view);
    buffer_fini(&letter->id);
    buffer_fini(&letter->record);
    buffer_fini(&letter->lines);
    buffer_fini(&letter->callback);
    free(letter);
}

static struct slice state_of_callback(const struct app_verdict *verdict)
{
    if (verdict->end != STATUS_OK) /* the callback has ended and is not stored any more */
        return SLICE("CALLBACK_SUCCESS");
    switch (verdict->job.state) {
    case JOB_STATE_DEAD:
        return SLICE("CALLBACK_FAIL");
    case JOB_STATE_DELIVERED:
        return SLICE("CALLBACK_SUCCESS");
    case JOB_STATE_CANCELLED:
        return SLICE("CALLBACK_CANCELED");
    default:
        return SLICE("CALLBACK_INPROGRESS");
    }
}

static void on_callback(void *arg, const struct app_verdict *verdict)
{
    struct run_letter *letter = arg;
    struct message_view view;
    struct json_writer json = json_writer_to(&letter->callback);
    if (verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND &&
        verdict->end != STATUS_HISTORY_UNAVAILABLE) {
        letter_end(letter, false);
        return;
    }
    letter->state = state_of_callback(verdict);
    json_put_object(&json);
    json_add_text(&json, "state", letter->state);
    if (verdict->end == STATUS_OK && message_view_read(verdict->job.id, verdict->job.record, &view)) {
        dead_letter_add_answer(&json, &verdict->job, &view, "responseHeaders");
        message_view_fini(&view);
    }
    json_end_object(&json);
    letter_end(letter, true);
}

static void read_callback(struct run_letter *letter)
{
    struct buffer key = buffer_of(letter->callback_key, CALLBACK_KEY_SIZE);
    callback_write_failure_key(letter->job.id, &key);
    app_read(letter->app, buffer_slice(&key), on_callback, letter);
}

static void letter_on_read(void *arg, const struct app_verdict *verdict)
{
    struct run_letter *letter = arg;
    if (!dead_letter_is(verdict)) {
        letter_end(letter, answer_is_known(verdict));
        return;
    }
    buffer_append(&letter->id, verdict->job.id);
    buffer_append(&letter->record, verdict->job.record);
    buffer_append(&letter->lines, verdict->job.last_lines);
    letter->job = verdict->job;
    letter->job.id = buffer_slice(&letter->id);
    letter->job.record = buffer_slice(&letter->record);
    letter->job.last_lines = buffer_slice(&letter->lines);
    if (letter->record.failed || letter->lines.failed ||
        !message_view_read(letter->job.id, letter->job.record, &letter->view)) {
        letter_end(letter, true);
        return;
    }
    letter->is_there = message_view_is_of_run(&letter->view);
    if (!letter->is_there)
        message_view_fini(&letter->view);
    if (letter->is_there && letter->view.job.on_dead.size)
        read_callback(letter);
    else
        letter_end(letter, true);
}

void run_letter_read(struct app *app, struct slice message_id, run_letter_fn *fn, void *arg)
{
    struct run_letter *letter = NEW(struct run_letter);
    letter->app = app;
    letter->fn = fn;
    letter->arg = arg;
    buffer_init(&letter->id, MESSAGE_KEY_SIZE);
    buffer_init_fallible(&letter->record, JOB_RECORD_MAX);
    buffer_init_fallible(&letter->lines, JOB_RECORD_MAX);
    buffer_init_fallible(&letter->callback, JOB_RECORD_MAX);
    struct slice key = message_id_key(message_id, letter->key);
    if (key.size)
        app_read(app, key, letter_on_read, letter);
    else
        letter_end(letter, true);
}

void run_letter_put(struct json_writer *json, const struct run_letter *letter)
{
    json_put_object(json);
    dead_letter_add(json, &letter->job, &letter->view);
    if (letter->callback.size)
        json_add_raw(json, "failureCallbackInfo", buffer_slice(&letter->callback));
    json_end_object(json);
}

/* ---- many letters ---- */

struct action {
    struct bulk *bulk;
    run_letter_act_fn *act;
};

/* Returns whether the failure callback has one of the requested states. */
static bool has_state(const struct bulk *bulk, struct slice state)
{
    struct slice word;
    bool is_asked = false;
    for (size_t at = 0; (word = filters_next(&bulk->filters, FILTER_FAILURE_STATE, &at)).size;) {
        is_asked = true;
        if (slice_equal(word, state))
            return true;
    }
    return !is_asked;
}

/* Returns whether the request has ids. In this case, its filters are ignored. */
static bool has_ids(const struct bulk *bulk)
{
    return bulk->filters.given & 1U << FILTER_DLQ_ID;
}

static void action_on_letter(void *arg, struct run_letter *letter, bool is_known)
{
    struct action *action = arg;
    struct bulk *bulk = action->bulk;
    if (!is_known)
        bulk_end_one(bulk, STATUS_UNKNOWN);
    else if (!letter->is_there)
        bulk_end_one(bulk, STATUS_NOT_FOUND);
    else if (!has_ids(bulk) && !has_state(bulk, letter->state))
        bulk_skip_one(bulk);
    else
        action->act(bulk, letter);
    free(action);
}

void run_letter_act(struct bulk *bulk, struct slice message_id, run_letter_act_fn *act)
{
    struct action *action = NEW(struct action);
    action->bulk = bulk;
    action->act = act;
    run_letter_read(app_of(bulk->exchange), message_id, action_on_letter, action);
}
