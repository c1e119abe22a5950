#include "qstash/event_page.h"

#include <assert.h>
#include <stdio.h>

#include "app/jobs.h"

void event_page_init(struct event_page *page, struct exchange *exchange, const struct filters *filters,
                     event_page_fn *fn, void *arg)
{
    page->exchange = exchange;
    page->filters = filters;
    page->fn = fn;
    page->arg = arg;
}

static void clear_items(struct event_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        buffer_fini(&page->items[i].record);
        buffer_fini(&page->items[i].lines);
    }
    page->count = page->seen = 0;
    page->next[0] = '\0';
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

/* ---- attempts ---- */

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

/* ---- messages ---- */

static struct event_item *add_item(struct event_page *page)
{
    assert(page->count < EVENT_PAGE_MAX);
    struct event_item *item = &page->items[page->count++];
    *item = (struct event_item){.page = page, .place = ++page->seen};
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
    bool is_read = is_message(job) && message_view_read(job->id, job->record, &view);
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

static void note_next(struct event_page *page, const struct app_verdict *verdict)
{
    struct slice cursor = verdict->page.cursor;
    size_t size = cursor.size <= EVENT_LIST_CURSOR_MAX ? cursor.size : 0;
    if (size)
        memcpy(page->next, cursor.data, size);
    page->next[size] = '\0';
    note_failure(page, verdict);
    if (verdict->page.is_partial && !page->fault_status) {
        page->fault_status = 400;
        snprintf(page->fault, sizeof page->fault, "%s", ANSWER_PARTIAL);
    }
}

static void on_listed(void *arg, const struct app_verdict *verdict)
{
    note_next(arg, verdict);
    read_lines(arg);
}

void event_page_list(struct event_page *page, const struct app_list *list)
{
    assert(list->max <= EVENT_PAGE_MAX);
    clear_items(page);
    app_list(app_of(page->exchange), list, on_job, on_listed, page);
}

static void pass_job(void *arg, const struct stored_job *job)
{
    struct event_page *page = arg;
    (void)job;
    page->seen++;
}

static void on_passed(void *arg, const struct app_verdict *verdict)
{
    struct event_page *page = arg;
    note_next(page, verdict);
    page->fn(page->arg);
}

void event_page_pass(struct event_page *page, const struct app_list *list)
{
    clear_items(page);
    app_list(app_of(page->exchange), list, pass_job, on_passed, page);
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
