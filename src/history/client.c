/* client.c - the calls of history.h in a reactor: copies arguments, watches deadlines, calls back. */
#include <assert.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "history/history.h"
#include "history/schema.h"
#include "history/thread.h"

#define LATE_US INT64_C(250000) /* interval of the check for calls past their deadline */

struct history {
    struct history_thread *thread;
    struct list calls; /* all calls whose callback was not called yet */
    struct timer *timer;
    int done_fd; /* readable when the list done is not empty */
    struct watch *watch;
    struct list done; /* guarded by the thread's lock */
};

/* ---- answers ---- */

static void answer_page(const struct history_call *call)
{
    size_t count = call->rows.count;
    struct history_row *rows = count ? NEW_ARRAY(struct history_row, count) : NULL;
    for (size_t i = 0; i < count; i++)
        rows[i] = call->rows.items[i].row;
    const struct history_page page = {rows, count, call->next};
    call->fn.page(call->arg, call->status, &page, call->problem.text);
    free(rows);
}

static void answer_trail(const struct history_call *call)
{
    size_t count = call->lines.count;
    struct trail_entry *lines = count ? NEW_ARRAY(struct trail_entry, count) : NULL;
    for (size_t i = 0; i < count; i++) {
        const struct trail_row *row = &call->lines.items[i];
        lines[i] = (struct trail_entry){row->at_ms, row->id, buffer_slice(&row->json)};
    }
    call->fn.trail(call->arg, call->status, lines, count, count > 0 && call->lines.is_full,
                   call->problem.text);
    free(lines);
}

static void answer(const struct history_call *call)
{
    enum status status = call->status;
    const char *why = call->problem.text;
    switch (call->kind) {
    case CALL_APPEND:
        call->fn.done(call->arg, status, why);
        break;
    case CALL_NOTE:
        call->fn.done(call->arg, status, why);
        break;
    case CALL_TRAIL:
        answer_trail(call);
        break;
    case CALL_FIND:
        call->fn.found(call->arg, status, call->rows.count ? &call->rows.items[0].row : NULL, why);
        break;
    case CALL_LIST:
        answer_page(call);
        break;
    case CALL_COUNT:
        call->fn.counts(call->arg, status, &call->counts, why);
        break;
    case CALL_STATS:
        call->fn.stats(call->arg, status, call->steps, call->step_count, why);
        break;
    case CALL_DELETE:
        call->fn.deleted(call->arg, status, call->deleted, call->has_more, why);
        break;
    }
}

static void on_call_done(struct history *history, struct history_call *call)
{
    uint64_t one = 1;
    list_append(&history->done, &call->link);
    (void)!write(history->done_fd, &one, sizeof one);
}

static void on_done_fd(void *arg, bool readable, bool writable)
{
    struct history *history = arg;
    struct list done;
    uint64_t ignored;
    (void)readable, (void)writable;
    (void)!read(history->done_fd, &ignored, sizeof ignored);
    history_thread_lock(history->thread);
    list_move(&history->done, &done);
    history_thread_unlock(history->thread);
    for (struct list *link; (link = list_take(&done));) {
        struct history_call *call = LIST_ENTRY(link, struct history_call, link);
        list_remove(&call->of_owner);
        answer(call);
        history_call_free(call);
    }
}

/* Answers a call although the thread may still run it. The answer uses a copy of the call, because the thread
 * may write into the call. */
static void answer_late(struct history *history, struct history_call *call)
{
    struct history_call late = {
        .kind = call->kind, .status = STATUS_UNAVAILABLE, .fn = call->fn, .arg = call->arg};
    problem_set(&late.problem, "the database of the history does not answer in time");
    list_remove(&call->of_owner);
    history_thread_lock(history->thread);
    bool is_ours = history_thread_withdraw(history->thread, call);
    history_thread_unlock(history->thread);
    if (is_ours)
        history_call_free(call);
    answer(&late);
}

static void history_on_timer(void *arg)
{
    struct history *history = arg;
    int64_t now_us = clock_steady_us();
    for (struct list *link = history->calls.next, *next; link != &history->calls; link = next) {
        struct history_call *call = LIST_ENTRY(link, struct history_call, of_owner);
        next = link->next;
        history_thread_lock(history->thread);
        bool is_late = call->state != CALL_DONE && call->deadline_us <= now_us;
        history_thread_unlock(history->thread);
        if (is_late) {
            answer_late(history, call);
            next = history->calls
                       .next; /* the list is read from its start, because the callback may have changed it */
        }
    }
    if (!list_is_empty(&history->calls))
        timer_start(history->timer, LATE_US);
}

struct history *history_new(struct loop *loop, struct history_thread *thread)
{
    struct history *history = NEW(struct history);
    history->thread = thread;
    list_init(&history->calls);
    list_init(&history->done);
    history->timer = timer_new(loop, history_on_timer, history);
    history->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert(history->done_fd >= 0);
    history->watch = watch_new(loop, history->done_fd, on_done_fd, history);
    watch_set(history->watch, true, false);
    return history;
}

void history_free(struct history *history)
{
    if (!history)
        return;
    for (struct list *link; (link = list_take(&history->calls));) {
        struct history_call *call = LIST_ENTRY(link, struct history_call, of_owner);
        history_thread_lock(history->thread);
        bool is_ours = history_thread_withdraw(history->thread, call);
        history_thread_unlock(history->thread);
        if (is_ours)
            history_call_free(call);
    }
    watch_free(history->watch);
    timer_free(history->timer);
    close(history->done_fd);
    free(history);
}

/* ---- calls ---- */

static struct history_call *call_new(struct history *history, enum call_kind kind, size_t text_bytes,
                                     void *arg)
{
    struct history_call *call = NEW(struct history_call);
    int64_t deadline_ms = call_kind_appends(kind) ? HISTORY_APPEND_DEADLINE_MS : HISTORY_DEADLINE_MS;
    call->kind = kind;
    call->owner = history;
    call->arg = arg;
    call->deadline_us = clock_steady_us() + deadline_ms * 1000;
    list_init(&call->link);
    list_init(&call->of_owner);
    buffer_init(&call->text, text_bytes + 1);
    buffer_reserve(&call->text,
                   text_bytes); /* the buffer must not grow later, because slices point into it */
    return call;
}

static void call_send(struct history *history, struct history_call *call)
{
    list_append(&history->calls, &call->of_owner);
    timer_arm(history->timer, LATE_US);
    history_thread_send(history->thread, call, on_call_done);
}

static struct slice copy_text(struct history_call *call, struct slice text)
{
    size_t at = call->text.size;
    buffer_append(&call->text, text);
    assert(!call->text.failed);
    return slice_from(call->text.data + at, text.size);
}

void history_append(struct history *history, const struct history_entry *entries, size_t count,
                    history_done_fn *fn, void *arg)
{
    size_t bytes = 0;
    assert(count <= HISTORY_ENTRIES_MAX);
    for (size_t i = 0; i < count; i++)
        bytes += entries[i].id.size + entries[i].text.size;
    struct history_call *call = call_new(history, CALL_APPEND, bytes, arg);
    call->fn.done = fn;
    call->waiting_bytes = bytes;
    call->entries = NEW_ARRAY(struct history_entry, count ? count : 1);
    call->entry_count = count;
    for (size_t i = 0; i < count; i++)
        call->entries[i] = (struct history_entry){copy_text(call, entries[i].id),
                                                  copy_text(call, entries[i].text), entries[i].keeps_body};
    call_send(history, call);
}

void history_find(struct history *history, struct slice id, history_found_fn *fn, void *arg)
{
    struct history_call *call = call_new(history, CALL_FIND, id.size, arg);
    call->fn.found = fn;
    call->id = copy_text(call, id);
    call_send(history, call);
}

static size_t filter_bytes(const struct job_filter *filter)
{
    return filter->topic.size + filter->labels.size + filter->id_prefix.size + filter->reasons.size +
           filter->statuses.size + filter->host.size + sizeof HISTORY_LANE "\n" + filter->key.size;
}

/* Copies the labels and the key, which is a label in the database. */
static struct slice copy_labels(struct history_call *call, const struct job_filter *filter)
{
    size_t at = call->text.size;
    if (filter->key.size) {
        (void)copy_text(call, SLICE(HISTORY_LANE));
        (void)copy_text(call, filter->key);
    }
    if (filter->key.size && filter->labels.size)
        (void)copy_text(call, SLICE("\n"));
    (void)copy_text(call, filter->labels);
    return slice_from(call->text.data + at, call->text.size - at);
}

static void copy_filter(struct history_call *call, const struct job_filter *filter)
{
    struct job_filter *copy = &call->list.filter;
    *copy = *filter;
    copy->owner = SLICE("");
    copy->topic = copy_text(call, filter->topic);
    copy->labels = copy_labels(call, filter);
    copy->has_key = filter->has_key && !filter->key.size;
    copy->key = SLICE("");
    copy->id_prefix = copy_text(call, filter->id_prefix);
    copy->host = copy_text(call, filter->host);
    copy->reasons = copy_text(call, filter->reasons);
    copy->statuses = copy_text(call, filter->statuses);
}

void history_list(struct history *history, const struct history_list *list, history_page_fn *fn, void *arg)
{
    assert(list->max >= 1 && list->max <= HISTORY_PAGE_MAX);
    struct history_call *call = call_new(history, CALL_LIST, filter_bytes(&list->filter), arg);
    call->fn.page = fn;
    call->list = *list;
    copy_filter(call, &list->filter);
    call_send(history, call);
}

void history_count(struct history *history, const struct job_filter *filter, history_counts_fn *fn, void *arg)
{
    struct history_call *call = call_new(history, CALL_COUNT, filter_bytes(filter), arg);
    call->fn.counts = fn;
    copy_filter(call, filter);
    call_send(history, call);
}

void history_stats(struct history *history, const struct outcome_steps *stats, history_stats_fn *fn,
                   void *arg)
{
    assert(stats->step_ms > 0 && stats->from_ms <= stats->to_ms);
    size_t steps = (size_t)((stats->to_ms - stats->from_ms + stats->step_ms - 1) / stats->step_ms);
    assert(steps <= HISTORY_STEPS_MAX);
    struct history_call *call = call_new(history, CALL_STATS, stats->topic.size, arg);
    call->fn.stats = fn;
    call->stats = *stats;
    call->stats.topic = copy_text(call, stats->topic);
    call->steps = NEW_ARRAY(struct outcome_counts, steps ? steps : 1);
    call->step_count = steps;
    call_send(history, call);
}

void history_prune(struct history *history, int64_t now_ms)
{
    history_thread_prune(history->thread, now_ms);
}

void history_delete(struct history *history, const struct job_filter *filter, history_deleted_fn *fn,
                    void *arg)
{
    assert(!filter->labels.size && !filter->id_prefix.size && !filter->host.size && !filter->reasons.size &&
           !filter->statuses.size && !filter->has_key);
    struct history_call *call = call_new(history, CALL_DELETE, filter_bytes(filter), arg);
    call->fn.deleted = fn;
    copy_filter(call, filter);
    call_send(history, call);
}

/* ---- lines of the audit log ---- */

void history_note(struct history *history, const struct slice *lines, size_t count, history_done_fn *fn,
                  void *arg)
{
    size_t bytes = 0;
    assert(count >= 1 && count <= HISTORY_ENTRIES_MAX);
    for (size_t i = 0; i < count; i++)
        bytes += lines[i].size;
    struct history_call *call = call_new(history, CALL_NOTE, bytes, arg);
    call->fn.done = fn;
    call->waiting_bytes = bytes;
    call->entries = NEW_ARRAY(struct history_entry, count);
    call->entry_count = count;
    for (size_t i = 0; i < count; i++)
        call->entries[i] = (struct history_entry){SLICE(""), copy_text(call, lines[i]), false};
    call_send(history, call);
}

void history_trail(struct history *history, const struct trail_query *trail, history_trail_fn *fn, void *arg)
{
    assert(trail->max >= 1 && trail->max <= HISTORY_PAGE_MAX);
    struct history_call *call =
        call_new(history, CALL_TRAIL, trail->who.size + trail->action.size + trail->topic.size, arg);
    call->fn.trail = fn;
    call->trail = *trail;
    call->trail.who = copy_text(call, trail->who);
    call->trail.action = copy_text(call, trail->action);
    call->trail.topic = copy_text(call, trail->topic);
    call_send(history, call);
}

/* ---- the database before the thread begins ---- */

#define CHECK_US INT64_C(5000000)

static struct driver *open_driver(const struct history_options *options, const atomic_bool *is_stopping)
{
    struct driver *driver = history_driver_new(options);
    driver->is_stopping = is_stopping;
    driver->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    driver->deadline_us = clock_steady_us() + CHECK_US;
    return driver;
}

static void close_driver(struct driver *driver)
{
    close(driver->stop_fd);
    driver->kind->free(driver);
}

enum status history_check(const struct history_options *options, int64_t *version, struct problem *problem)
{
    atomic_bool is_stopping = false;
    struct driver *driver = open_driver(options, &is_stopping);
    enum status status = driver->kind->find_version(driver, version, problem);
    if (status == STATUS_OK)
        status = schema_check(*version, problem);
    close_driver(driver);
    return status == STATUS_OK ? STATUS_OK : STATUS_UNAVAILABLE;
}

bool history_has_jobs(const struct history_options *options)
{
    atomic_bool is_stopping = false;
    struct driver *driver = open_driver(options, &is_stopping);
    struct problem problem;
    int64_t version;
    bool has_rows = false;
    bool is_read = driver->kind->find_version(driver, &version, &problem) == STATUS_OK && version > 0 &&
                   driver->kind->has_rows(driver, &has_rows, &problem) == STATUS_OK;
    close_driver(driver);
    return is_read && has_rows;
}
