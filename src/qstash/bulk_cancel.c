/* bulk_cancel.c - DELETE /v2/messages: cancels the messages with these ids, or those that the filters find.
 *
 *   1. page    reads a page of waiting and leased messages, and notes those that match
 *   2. cancel  cancels each of them, unless it has ended meanwhile
 *   3. again   from 1, until there are enough or no more; then the answer
 *
 * With ids, step 1 is left out. Unknown ids are skipped. */
#include "app/lists.h"
#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/filters.h"
#include "qstash/message_cancel.h"

enum {
    PAGE = 500,  /* messages that are read at once */
    COUNT = 100, /* without a count */
    CURSOR_MAX = 2048,
};

#define ACCEPTED                                                                                             \
    ((1U << FILTER_MATCHED) - 1) | 1U << FILTER_COUNT | 1U << FILTER_CURSOR | 1U << FILTER_FROM |            \
        1U << FILTER_TO

struct bulk_cancel {
    struct exchange *exchange;
    struct filters filters;
    struct app_list list;
    struct buffer ids; /* messages of this page that match, each with a newline */
    char cursor[CURSOR_MAX + 1];
    size_t cursor_bytes; /* of the next page; 0: the list has ended */
    int64_t left;        /* messages that may still be cancelled */
    int64_t cancelled;
    size_t pending;  /* cancels under way, and one more while they are begun */
    bool is_unknown; /* the outcome of some */
};

static void read_page(struct bulk_cancel *);

static void bulk_cancel_free(void *arg)
{
    struct bulk_cancel *bulk = arg;
    filters_fini(&bulk->filters);
    buffer_fini(&bulk->ids);
    free(bulk);
}

/* ---- 3 ---- */

static void answer_cancelled(struct bulk_cancel *bulk)
{
    struct exchange *exchange = bulk->exchange;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    if (bulk->is_unknown) {
        exchange_refuse(exchange, 503, "%lld messages are cancelled; repeat the request for the others",
                        (long long)bulk->cancelled);
        return;
    }
    json_put_object(&json);
    json_add_number(&json, "cancelled", bulk->cancelled);
    if (bulk->cursor_bytes)
        json_add_text(&json, "cursor", slice_from(bulk->cursor, bulk->cursor_bytes));
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void end_page(struct bulk_cancel *bulk)
{
    if (--bulk->pending > 0)
        return;
    if (bulk->cursor_bytes && bulk->left > 0 && !bulk->is_unknown)
        read_page(bulk);
    else
        answer_cancelled(bulk);
}

/* ---- 2 ---- */

static void on_cancelled(void *arg, const struct app_verdict *verdict)
{
    struct bulk_cancel *bulk = arg;
    bulk->cancelled += verdict->end == APP_DONE;
    bulk->is_unknown |= verdict->end != APP_DONE && verdict->end != APP_NOT_FOUND;
    end_page(bulk);
}

static void cancel_one(struct bulk_cancel *bulk, struct slice message_id)
{
    bulk->pending++;
    message_cancel(app_of(bulk->exchange), &bulk->exchange->caller, message_id, on_cancelled, bulk);
}

static void cancel_page(struct bulk_cancel *bulk)
{
    struct slice id, rest = buffer_slice(&bulk->ids);
    bulk->pending = 1;
    while (slice_cut(rest, '\n', &id, &rest))
        cancel_one(bulk, id);
    end_page(bulk);
}

static void cancel_ids(struct bulk_cancel *bulk)
{
    struct slice id;
    bulk->pending = 1;
    for (size_t at = 0; (id = filters_next(&bulk->filters, FILTER_MESSAGE_ID, &at)).size;)
        cancel_one(bulk, id);
    end_page(bulk);
}

/* ---- 1 ---- */

static void on_job(void *arg, const struct app_job *job)
{
    struct bulk_cancel *bulk = arg;
    struct message_view view;
    if (bulk->left == 0 || !slice_equal(topic_owner(job->id), SLICE(QSTASH_TOPIC)) ||
        !message_view_read(job->id, job->record, &view))
        return;
    if (filters_match(&bulk->filters, &view, view.job.created_ms)) {
        buffer_append(&bulk->ids, view.job.job_id);
        buffer_append_byte(&bulk->ids, '\n');
        bulk->left--;
    }
    message_view_fini(&view);
}

static void on_page(void *arg, const struct app_verdict *verdict)
{
    struct bulk_cancel *bulk = arg;
    struct slice next = verdict->page.cursor;
    if (verdict->end != APP_DONE) {
        answer_refuse_verdict(bulk->exchange, verdict);
        return;
    }
    bulk->cursor_bytes = next.size <= CURSOR_MAX ? next.size : 0;
    if (bulk->cursor_bytes)
        memcpy(bulk->cursor, next.data, next.size);
    cancel_page(bulk);
}

static void read_page(struct bulk_cancel *bulk)
{
    struct app *app = app_of(bulk->exchange);
    struct slice cursor = slice_from(bulk->cursor, bulk->cursor_bytes);
    buffer_clear(&bulk->ids);
    bulk->list.from = (struct app_cursor){.is_set = false};
    /* A page has no more messages than may be cancelled, so that the cursor is behind the last of them. */
    bulk->list.max = bulk->left < PAGE ? (size_t)bulk->left : PAGE;
    if (cursor.size && (!app_cursor_parse(app, cursor, &bulk->list.from) || bulk->list.from.is_of_history))
        exchange_refuse(bulk->exchange, 400, "parameter cursor: is not a cursor of this list");
    else
        app_list(app, &bulk->list, on_job, on_page, bulk);
}

/* ---- */

static void begin(struct bulk_cancel *bulk)
{
    const struct filters *filters = &bulk->filters;
    bulk->left = filters_are_empty(filters) ? INT64_MAX : filters->count ? filters->count : COUNT;
    bulk->list = (struct app_list){
        .states = 1U << JOB_STATE_DELAYED | 1U << JOB_STATE_READY | 1U << JOB_STATE_LEASED,
        .id_prefix = SLICE("msg_"),
    };
    bulk->cursor_bytes = filters->cursor.size <= CURSOR_MAX ? filters->cursor.size : 0;
    if (bulk->cursor_bytes)
        memcpy(bulk->cursor, filters->cursor.data, bulk->cursor_bytes);
    if (filters->given & 1U << FILTER_MESSAGE_ID)
        cancel_ids(bulk);
    else
        read_page(bulk);
}

HANDLER(messages_cancel_handle)
{
    struct bulk_cancel *bulk = NEW(struct bulk_cancel);
    bulk->exchange = exchange;
    buffer_init_fallible(&bulk->ids, (size_t)PAGE * (MESSAGE_ID_MAX + 1));
    exchange_keep(exchange, bulk, bulk_cancel_free);
    if (filters_read(exchange, ACCEPTED, &bulk->filters))
        begin(bulk);
}
