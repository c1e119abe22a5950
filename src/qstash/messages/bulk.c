#include "qstash/messages/bulk.h"

#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "http/query.h"
#include "qstash/messages/message.h"
#include "qstash/qstash_private.h"
#include "qstash/runs/runs.h"

enum {
    PAGE = 500,          /* number of messages that are read together */
    GATHERED_MAX = 1000, /* see gathers in struct bulk_kind */
    RESULTS_MAX = 64 * 1024 * 1024,
    ANSWER_AFTER_US = 30 * 1000 * 1000,
    OWNED_MAX = 1024 * 1024, /* names and patterns of the caller */
    CONTINUING_MAX = 16,     /* maximum number of answered actions that continue in one reactor */
};

static void read_page(struct bulk *);
static void act_on_next(struct bulk *);

static void bulk_free(void *arg)
{
    struct bulk *bulk = arg;
    filters_fini(&bulk->filters);
    buffer_fini(&bulk->ids);
    buffer_fini(&bulk->results);
    buffer_fini(&bulk->owned);
    if (bulk->notes.app)
        app_notes_fini(&bulk->notes);
    free(bulk);
}

/* ---- 3. again ---- */

/* Adds the cursor of the next page, if there is one. */
static void bulk_add_cursor(struct json_writer *json, const struct bulk *bulk)
{
    if (bulk->walk.cursor[0])
        query_add_cursor(json, slice_of(bulk->walk.cursor));
}

void bulk_answer_count(struct bulk *bulk, const char *name)
{
    struct exchange *exchange = bulk->exchange;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    if (bulk->is_unknown) {
        exchange_refuse(
            exchange, 503,
            "%s: %lld %s; some failed, or their outcome is unknown: repeat the request for the others", name,
            (long long)bulk->done, bulk->kind->wants_run ? "runs" : "messages");
        return;
    }
    json_put_object(&json);
    json_add_number(&json, name, bulk->done);
    bulk_add_cursor(&json, bulk);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

struct json_writer bulk_writer(struct bulk *bulk)
{
    return bulk->results.size ? json_writer_behind(&bulk->results) : json_writer_to(&bulk->results);
}

void bulk_answer_results(struct bulk *bulk, unsigned status, const char *name)
{
    struct exchange *exchange = bulk->exchange;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    if (bulk->is_unknown || bulk->results.failed) {
        exchange_refuse(
            exchange, 503,
            "%s: %lld; some failed, or their results are unknown: repeat the request for the others", name,
            (long long)bulk->done);
        return;
    }
    json_put_object(&json);
    bulk_add_cursor(&json, bulk);
    json_add_array(&json, name);
    buffer_append(body, buffer_slice(&bulk->results));
    json_end_array(&json);
    json_end_object(&json);
    exchange_answer(exchange, status, NULL, 0, buffer_slice(body));
}

static struct slice own(struct bulk *bulk, struct slice text)
{
    size_t at = bulk->owned.size;
    buffer_append(&bulk->owned, text);
    return slice_from(bulk->owned.data + at, text.size);
}

static void write_owned_from(const void *bulk, char text[APP_FROM_SIZE])
{
    memcpy(text, ((const struct bulk *)bulk)->from, APP_FROM_SIZE);
}

/* Answers with the count so far and lets the action continue, if the client has waited long enough. No
 * message may be pending, because its action borrows the caller. */
static void let_continue(struct bulk *bulk)
{
    struct exchange *exchange = bulk->exchange;
    struct app_caller *caller = &bulk->caller;
    if (!exchange || !bulk->kind->takes_all || bulk->qstash->continuing >= CONTINUING_MAX ||
        clock_boot_us() - exchange->began_us < ANSWER_AFTER_US)
        return;
    struct slice name = slice_of(caller->name);
    buffer_reserve(&bulk->owned, name.size + 1 + caller->topics.size + caller->groups.size);
    caller->name = own(bulk, slice_from(name.data, name.size + 1)).data;
    caller->topics = own(bulk, caller->topics);
    caller->groups = own(bulk, caller->groups);
    caller->write_from(caller->peer, bulk->from);
    caller->write_from = write_owned_from;
    caller->has_left = NULL;
    caller->peer = bulk;
    app_notes_init(&bulk->notes, app_of(exchange));
    caller->notes = &bulk->notes;
    bulk->qstash->continuing++;
    exchange_keep(exchange, NULL, NULL);
    bulk->exchange = NULL;
    /* Without a cursor, because the action itself continues from there. */
    char text[64];
    int size = snprintf(text, sizeof text, "{\"cancelled\":%lld}", (long long)bulk->done);
    exchange_answer(exchange, 200, NULL, 0, slice_from(text, (size_t)size));
}

static void bulk_end(struct bulk *bulk)
{
    if (bulk->exchange) {
        bulk->kind->answer(bulk);
        return;
    }
    if (bulk->is_unknown)
        log_warning("bulk_cancel_incomplete", LOG_TEXT("who", bulk->caller.name),
                    LOG_NUMBER("cancelled", bulk->done));
    bulk->qstash->continuing--;
    bulk_free(bulk);
}

static void end_page(struct bulk *bulk)
{
    if (--bulk->pending > 0)
        return;
    if (bulk->walk.cursor[0] && bulk->left > 0 && !bulk->is_unknown)
        read_page(bulk);
    else
        bulk_end(bulk);
}

/* ---- 2. act ---- */

void bulk_end_one(struct bulk *bulk, enum status end)
{
    bulk->done += end == STATUS_OK;
    bulk->is_unknown |= end != STATUS_OK && end != STATUS_NOT_FOUND;
    if (bulk->kind->is_in_order)
        act_on_next(bulk);
    end_page(bulk);
}

void bulk_skip_one(struct bulk *bulk)
{
    bulk->left++;
    bulk_end_one(bulk, STATUS_NOT_FOUND);
}

static void act_on_next(struct bulk *bulk)
{
    struct slice id;
    if (!slice_cut(bulk->rest, '\n', &id, &bulk->rest))
        return;
    bulk->pending++;
    bulk->kind->act(bulk, id);
}

static void act_on_page(struct bulk *bulk)
{
    bulk->gathered = 0;
    bulk->rest = buffer_slice(&bulk->ids);
    bulk->pending = 1;
    act_on_next(bulk);
    while (!bulk->kind->is_in_order && bulk->rest.size)
        act_on_next(bulk);
    end_page(bulk);
}

static void note_id(struct bulk *bulk, struct slice message_id)
{
    buffer_append(&bulk->ids, message_id);
    buffer_append_byte(&bulk->ids, '\n');
    bulk->gathered++;
}

/* ---- 1. page ---- */

/* Returns whether the receiver's last answer to the message had one of the requested statuses. */
static bool has_status(const struct bulk *bulk, const struct message_view *view)
{
    struct slice word;
    uint64_t status;
    bool is_asked = false;
    for (size_t at = 0; (word = filters_next(&bulk->filters, FILTER_RESPONSE_STATUS, &at)).size;) {
        is_asked = true;
        if (slice_to_number(word, 999, &status) && (int)status == view->job.last_attempt.status)
            return true;
    }
    return !is_asked;
}

static bool is_in_scope(const struct bulk *bulk, const struct message_view *view)
{
    switch (bulk->kind->scope) {
    case BULK_OF_NO_RUN:
        return view->data.run.id.size == 0;
    case BULK_OF_RUNS:
        return message_view_is_of_run(view);
    default:
        return true;
    }
}

static void bulk_on_message(void *arg, const struct stored_job *job)
{
    struct bulk *bulk = arg;
    struct message_view view;
    if (bulk->left == 0 || !slice_equal(topic_owner(job->id), SLICE(QSTASH_TOPIC)) ||
        !message_view_read(job->id, job->record, &view))
        return;
    int64_t at_ms = job->state == JOB_STATE_DEAD ? job->at_ms : view.job.created_ms;
    if (is_in_scope(bulk, &view) && filters_match(&bulk->filters, &view) &&
        filters_match_time(&bulk->filters, at_ms) && has_status(bulk, &view)) {
        if (bulk->kind->show)
            bulk->kind->show(bulk, job, &view);
        else
            note_id(bulk, view.job.job_id);
        bulk->left--;
    }
    message_view_fini(&view);
}

static void bulk_on_run(void *arg, const struct workflow *workflow)
{
    struct bulk *bulk = arg;
    struct slice owner, id;
    bool is_unread = workflow->settings.size == 0;
    slice_cut(workflow->id, '/', &owner, &id);
    if (!run_is_id(id) || (!is_unread && !bulk->kind->wants_run(bulk, workflow)))
        return;
    if (is_unread)
        buffer_append_byte(&bulk->ids, '/');
    note_id(bulk, id);
    bulk->left--;
}

static void bulk_on_page(void *arg, const struct app_verdict *verdict)
{
    struct bulk *bulk = arg;
    bool has_room = bulk->gathered + PAGE <= GATHERED_MAX;
    if (verdict->end != STATUS_OK && (bulk->done || !bulk->exchange)) {
        bulk->is_unknown = true;
        bulk_end(bulk);
    } else if (verdict->end != STATUS_OK) {
        answer_refuse_verdict(bulk->exchange, verdict);
    } else if (verdict->page.is_partial && bulk->exchange) {
        exchange_refuse(bulk->exchange, 400, ANSWER_PARTIAL);
    } else if (bulk->kind->gathers && bulk->walk.cursor[0] && bulk->left > 0 && has_room) {
        read_page(bulk);
    } else {
        act_on_page(bulk);
    }
}

/* A page has at most the number of messages that the action may still act on. So the action never stops in
 * the middle of a page, and the page's cursor is the right one for the client. */
static void read_page(struct bulk *bulk)
{
    int64_t max = bulk->kind->wants_run ? WORKFLOW_PAGE_MAX : PAGE;
    let_continue(bulk);
    if (bulk->gathered == 0)
        buffer_clear(&bulk->ids);
    walk_read(&bulk->walk, (size_t)(bulk->left < max ? bulk->left : max));
}

/* ---- the request ---- */

static void bulk_start(struct bulk *bulk)
{
    const struct filters *filters = &bulk->filters;
    bool takes_all = bulk->kind->takes_all && (filters->count == 0 || filters->count >= BULK_COUNT);
    bool has_no_limit = takes_all || (filters_are_empty(filters) && !bulk->kind->needs_limit);
    bulk->left = has_no_limit ? INT64_MAX : filters->count ? filters->count : BULK_COUNT;
    struct slice queue = filters_only(filters, FILTER_QUEUE);
    struct slice topic = queue.size ? queue_topic(queue, bulk->topic) : queue;
    bulk->walk = (struct walk){
        .app = bulk->qstash->app,
        .is_of_runs = bulk->kind->wants_run,
        .messages = {.filter = {.states = bulk->kind->states,
                                .topic = topic,
                                .owner = topic.size ? SLICE("") : SLICE(QSTASH_TOPIC),
                                .id_prefix = SLICE(MESSAGE_ID_PREFIX)},
                     .is_newest_first = bulk->kind->is_newest_first},
        .runs = {.owner = SLICE(QSTASH_TOPIC), .has_state = true, .state = WORKFLOW_ACTIVE},
        .on_message = bulk_on_message,
        .on_run = bulk_on_run,
        .on_page = bulk_on_page,
        .arg = bulk,
    };
    if (filters->given & 1U << bulk->kind->ids) {
        struct slice id;
        char room[MESSAGE_ID_MAX + 1];
        for (size_t at = 0; (id = filters_next(&bulk->filters, bulk->kind->ids, &at)).size;)
            note_id(bulk, bulk->kind->ids == FILTER_DLQ_ID ? dead_letter_message(id, room) : id);
        act_on_page(bulk);
    } else if (!walk_move(&bulk->walk, filters->cursor)) {
        exchange_refuse(bulk->exchange, 400, "parameter cursor: is not a cursor of this list");
    } else {
        read_page(bulk);
    }
}

void bulk_begin(struct exchange *exchange, const struct bulk_kind *kind)
{
    struct bulk *bulk = NEW(struct bulk);
    bulk->exchange = exchange;
    bulk->qstash = qstash_of(exchange);
    bulk->caller = exchange->caller;
    bulk->kind = kind;
    buffer_init(&bulk->owned, OWNED_MAX);
    buffer_init_fallible(&bulk->ids, (size_t)GATHERED_MAX * (MESSAGE_ID_MAX + 1));
    buffer_init_fallible(&bulk->results, RESULTS_MAX);
    exchange_keep(exchange, bulk, bulk_free);
    if (!filters_read(exchange, kind->accepted, &bulk->filters))
        return;
    if (kind->count_max && bulk->filters.count > kind->count_max)
        exchange_refuse(exchange, 400, "parameter count: must be at most %lld", (long long)kind->count_max);
    else if (!kind->admit || kind->admit(bulk))
        bulk_start(bulk);
}
