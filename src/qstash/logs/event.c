#include "qstash/logs/event.h"

#include <assert.h>
#include <stdio.h>

#include "app/jobs.h"
#include "job/text/json.h"
#include "qstash/messages/message.h"

/* Numbers of events: each attempt uses three numbers (ACTIVE, ERROR, RETRY). The last event's number is
 * larger than all of these. */
enum { NUMBERS_OF_ATTEMPT = 3, NUMBER_LAST = 1000000 };

static const struct slice words[] = {
#define EVENT_WORD(word) SLICE_INIT(#word),
    EVENT_STATES(EVENT_WORD)
#undef EVENT_WORD
};

enum { STATES = sizeof words / sizeof *words };

bool event_states_take(struct slice word, unsigned *states)
{
    if (slice_equal(word, SLICE("IN_PROGRESS"))) {
        *states |= 1U << EVENT_ACTIVE | 1U << EVENT_RETRY | 1U << EVENT_ERROR;
        return true;
    }
    for (unsigned i = 0; i < STATES; i++) {
        if (slice_equal(word, words[i])) {
            *states |= 1U << i;
            return true;
        }
    }
    return false;
}

/* ---- the events of a message ---- */

struct event_list {
    struct event *events;
    size_t count;
    int attempts; /* number of the latest attempt that was added */
};

static struct event *add_event(struct event_list *list, enum event_state state, int64_t at_ms, int number)
{
    static struct event ignored;
    if (list->count == EVENTS_MAX)
        return &ignored;
    struct event *event = &list->events[list->count];
    int64_t before_ms = list->count ? event[-1].at_ms : 0;
    *event = (struct event){.state = state, .at_ms = at_ms > before_ms ? at_ms : before_ms, .number = number};
    list->count++;
    return event;
}

static int number_of(int attempt, int position)
{
    return NUMBERS_OF_ATTEMPT * (attempt < NUMBER_LAST / 4 ? attempt : NUMBER_LAST / 4) + position;
}

/* Returns the number of an attempt. A dead job that is run again counts its attempts from 1, but the numbers
 * of its events continue. */
static int count_attempt(struct event_list *list, int number)
{
    list->attempts = number > list->attempts ? number : list->attempts + 1;
    return list->attempts;
}

static bool is_alive(enum job_state state)
{
    return state == JOB_STATE_DELAYED || state == JOB_STATE_READY || state == JOB_STATE_LEASED;
}

/* Returns whether the message was dead before it was deleted; in the history, such a message is a cancelled
 * job. */
static bool was_dead(const struct event_source *source)
{
    return source->state == JOB_STATE_DEAD ||
           (source->view->job.reason.size > 0 && !job_was_replaced(&source->view->job));
}

/* Returns the time at which the next attempt begins, or should have begun. In a queue with order fifo, a
 * message keeps its due time after a failed attempt, so the due time can be before the last attempt. */
static int64_t next_attempt_ms(const struct event_source *source, const struct attempt_line *line)
{
    int64_t ended_ms = line->result.at_ms + line->result.duration_ms;
    bool is_waiting = source->state == JOB_STATE_DELAYED || source->state == JOB_STATE_READY;
    if (is_waiting && source->at_ms > line->result.at_ms)
        return source->at_ms;
    return is_alive(source->state) ? ended_ms + source->view->job.wait_ms : 0;
}

/* Adds the events of one attempt. next is the attempt after it; NULL: it is the last one. */
static void add_attempt(struct event_list *list, const struct event_source *source,
                        const struct attempt_line *line, const struct attempt_line *next)
{
    int attempt = count_attempt(list, line->number);
    int64_t ended_ms = line->result.at_ms + line->result.duration_ms;
    add_event(list, EVENT_ACTIVE, line->result.at_ms, number_of(attempt, 0));
    if (attempt_result_is_success(&line->result) && !next && source->state != JOB_STATE_DEAD)
        return;
    struct event *error = add_event(list, EVENT_ERROR, ended_ms, number_of(attempt, 1));
    error->line = *line;
    error->has_headers = !next && source->view->job.answer_headers.size;
    if (next || is_alive(source->state) || (source->state == JOB_STATE_CANCELLED && !was_dead(source))) {
        struct event *retry = add_event(list, EVENT_RETRY, ended_ms, number_of(attempt, 2));
        retry->next_ms = next ? next->result.at_ms : next_attempt_ms(source, line);
    }
}

size_t events_of(const struct event_source *source, struct event events[EVENTS_MAX])
{
    struct event_list list = {.events = events};
    struct attempt_line line, next;
    struct slice lines = source->lines;
    bool is_under_way = source->state == JOB_STATE_LEASED || source->state == JOB_STATE_DELIVERED;
    add_event(&list, EVENT_CREATED, source->view->job.created_ms, 0);
    bool has_line = attempt_line_take(&lines, &line);
    while (has_line) {
        bool has_next = attempt_line_take(&lines, &next);
        add_attempt(&list, source, &line, has_next ? &next : NULL);
        is_under_way =
            is_under_way && (source->state == JOB_STATE_LEASED || !attempt_result_is_success(&line.result));
        line = next;
        has_line = has_next;
    }
    if (is_under_way) {
        /* An attempt without a line is under way, or the client has ended the run during it. Its start is
         * unknown until it ends, so the event gets the due time of the attempt. */
        const struct job *job = &source->view->job;
        int64_t due_ms = job->last_attempt.at_ms
                             ? job->last_attempt.at_ms + job->last_attempt.duration_ms + job->wait_ms
                             : job_due_ms(job, job->created_ms);
        add_event(&list, EVENT_ACTIVE, due_ms, number_of(count_attempt(&list, job->attempts + 1), 0));
    }
    /* If a dead message was deleted, the time of its death is unknown; its event FAILED then gets the time of
     * the previous event. */
    bool is_deleted = source->state == JOB_STATE_CANCELLED && was_dead(source);
    if (source->state == JOB_STATE_DELIVERED)
        add_event(&list, EVENT_DELIVERED, source->at_ms, NUMBER_LAST);
    else if (source->state == JOB_STATE_DEAD || is_deleted)
        add_event(&list, EVENT_FAILED, is_deleted ? 0 : source->at_ms, NUMBER_LAST);
    else if (source->state == JOB_STATE_CANCELLED)
        add_event(&list, EVENT_CANCELED, source->at_ms, NUMBER_LAST);
    return list.count;
}

/* ---- as JSON ---- */

/* Adds why an attempt failed. */
static void add_failure(struct json_writer *json, const struct attempt_line *line)
{
    const struct attempt_result *result = &line->result;
    char error[48];
    struct buffer text;
    if (result->error != FAILURE_NONE) {
        json_add_text(json, "error",
                      result->detail.size ? result->detail : slice_of(failure_word(result->error)));
        return;
    }
    if (attempt_result_is_success(result) &&
        line->answer.size) { /* why a 2xx is an error, see delivery_form.h */
        buffer_init_fallible(&text, ATTEMPT_LINE_MAX);
        json_add_text(json, "error", attempt_line_text(line, &text));
        buffer_fini(&text);
    } else {
        snprintf(error, sizeof error, "the receiver answered %d", result->status);
        json_add_text(json, "error", slice_of(error));
    }
    json_add_number(json, "responseStatus", result->status);
    if (line->answer.size == 0)
        return;
    buffer_init_fallible(&text, ATTEMPT_LINE_MAX);
    message_view_add_base64(json, "responseBody", attempt_line_bytes(line, &text));
    buffer_fini(&text);
}

static void add_message(struct json_writer *json, const struct message_view *view)
{
    const struct job *job = &view->job;
    char room[REDACTED_SIZE];
    json_add_nonempty(json, "topicName", view->data.group);
    json_add_nonempty(json, "endpointName", view->data.endpoint);
    json_add_nonempty(json, "scheduleId", view->data.schedule_id);
    json_add_text(json, "method", slice_of(job_method_word(job->method)));
    message_view_add_headers(json, "header", view);
    if (view->body.size && view->data.redact.body)
        json_add_text(json, "body", message_view_redacted(view->body, room));
    else if (view->body.size)
        message_view_add_base64(json, "body", view->body);
    json_add_number(json, "maxRetries", job->retry);
    json_add_number(json, "timeout", job->timeout_ms);
    message_view_add_settings(json, view, MESSAGE_HEADERS);
    json_add_nonempty(json, "retryDelayExpr", job->retry_wait);
}

void event_put(struct json_writer *json, const struct message_view *view, const struct event *event)
{
    json_put_object(json);
    json_add_number(json, "time", event->at_ms);
    json_add_text(json, "messageId", view->job.job_id);
    json_add_text(json, "state", words[event->state]);
    json_add_text(json, "url", view->job.url);
    if (event->next_ms)
        json_add_number(json, "nextDeliveryTime", event->next_ms);
    if (event->state == EVENT_ERROR)
        add_failure(json, &event->line);
    if (event->has_headers) {
        answer_headers_add(json, "responseHeader", view->job.answer_headers);
        answer_headers_add(json, "responseHeaders", view->job.answer_headers);
    }
    if (event->state == EVENT_FAILED)
        json_add_nonempty(json, "error", view->job.reason);
    add_message(json, view);
    json_end_object(json);
}

/* ---- a page of messages ---- */

static void clear_items(struct event_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        buffer_fini(&page->items[i].record);
        buffer_fini(&page->items[i].lines);
    }
    page->count = page->seen = 0;
}

void event_page_fini(struct event_page *page)
{
    clear_items(page);
}

static void note_failure(struct event_page *page, const struct app_verdict *verdict)
{
    bool is_failure = verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND;
    if (is_failure && !page->fault_status)
        page->fault_status = answer_of_verdict(verdict, page->fault);
}

/* ---- a page: attempts ---- */

static void add_lines(struct event_item *item, struct slice lines)
{
    buffer_append(&item->lines, lines);
    if (item->lines.failed || item->record.failed)
        note_failure(item->page, &(struct app_verdict){.end = STATUS_NO_MEMORY});
}

static void end_lines(struct event_page *page)
{
    if (--page->pending == 0)
        page->fn(page->arg);
}

static void on_lines(void *arg, const struct app_verdict *verdict)
{
    struct event_item *item = arg;
    note_failure(item->page, verdict);
    add_lines(item, verdict->lines);
    end_lines(item->page);
}

static void read_lines(struct event_page *page)
{
    page->pending = 1;
    for (size_t i = 0; i < page->count; i++) {
        struct event_item *item = &page->items[i];
        if (!item->id.size || !item->needs_lines)
            continue;
        page->pending++;
        app_attempts(app_of(page->exchange), item->id, on_lines, item);
    }
    end_lines(page);
}

/* ---- a page: messages ---- */

static struct event_item *add_item(struct event_page *page)
{
    assert(page->count < EVENT_PAGE_MAX);
    struct event_item *item = &page->items[page->count++];
    *item = (struct event_item){.page = page, .position = ++page->seen};
    buffer_init_fallible(&item->record, JOB_RECORD_MAX);
    buffer_init_fallible(&item->lines, (size_t)EVENTS_MAX * ATTEMPT_LINE_MAX);
    return item;
}

static void fill_item(struct event_item *item, const struct stored_job *job, struct slice lines)
{
    memmove(item->key, job->id.data, job->id.size);
    item->id = slice_from(item->key, job->id.size);
    item->state = job->state;
    item->at_ms = job->at_ms;
    item->needs_lines = !job->is_of_history;
    buffer_append(&item->record, job->record);
    add_lines(item, lines);
}

static bool is_message(const struct stored_job *job)
{
    struct slice topic, job_id;
    return job_key_parse(job->id, &topic, &job_id) && job_id.size <= MESSAGE_ID_MAX &&
           slice_equal(topic_owner(topic), SLICE(QSTASH_TOPIC));
}

static void on_job(void *arg, const struct stored_job *job)
{
    struct event_page *page = arg;
    struct message_view view;
    bool is_read = !page->is_passing && is_message(job) && message_view_read(job->id, job->record, &view);
    if (is_read && filters_match(page->filters, &view)) {
        struct event_item *item = add_item(page);
        fill_item(item, job, job->lines);
        item->needs_lines = item->needs_lines && (view.job.last_attempt.at_ms || job->last_lines.size);
    } else {
        page->seen++;
    }
    if (is_read)
        message_view_fini(&view);
}

static void on_listed(void *arg, const struct app_verdict *verdict)
{
    struct event_page *page = arg;
    note_failure(page, verdict);
    if (verdict->page.is_partial && !page->fault_status) {
        page->fault_status = 400;
        snprintf(page->fault, sizeof page->fault, "%s", ANSWER_PARTIAL);
    }
    if (page->is_passing)
        page->fn(page->arg);
    else
        read_lines(page);
}

void event_page_init(struct event_page *page, struct exchange *exchange, const struct filters *filters,
                     event_page_fn *fn, void *arg)
{
    page->exchange = exchange;
    page->filters = filters;
    page->walk =
        (struct walk){.app = app_of(exchange), .on_message = on_job, .on_page = on_listed, .arg = page};
    page->fn = fn;
    page->arg = arg;
}

void event_page_list(struct event_page *page, size_t max, bool is_passing)
{
    clear_items(page);
    page->is_passing = is_passing;
    walk_read(&page->walk, max);
}

void event_page_end_ids(struct event_page *page)
{
    if (--page->pending == 0)
        read_lines(page);
}

static void on_read(void *arg, const struct app_verdict *verdict)
{
    struct event_item *item = arg;
    note_failure(item->page, verdict);
    if (verdict->end == STATUS_OK)
        fill_item(item, &verdict->job, verdict->lines);
    event_page_end_ids(item->page);
}

void event_page_begin_ids(struct event_page *page)
{
    clear_items(page);
    page->pending = 1;
}

void event_page_add_id(struct event_page *page, struct slice message_id, int number)
{
    struct event_item *item = add_item(page);
    struct slice key = message_id_key(message_id, item->key);
    item->number = number;
    if (key.size == 0)
        return;
    page->pending++;
    app_read(app_of(page->exchange), key, on_read, item);
}
