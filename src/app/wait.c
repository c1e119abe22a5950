/* wait.c - requests that wait for the end of a job, id by id.
 *
 * Each entry has at most one call under way: it asks the store whether the job is still there (store_await),
 * which also announces its end to this process, or it reads the job. It reads the job only to answer a
 * request: when the job has ended or may have changed, or when the time of a request is over. */
#include "app/wait.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "app/app_private.h"
#include "app/jobs.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"
#include "io/loop.h"

enum {
    BUCKETS = 1024,
    POLL_MS = 500,   /* interval of the timer that makes a part of the entries ask again */
    POLL_PARTS = 20, /* so that each entry asks every POLL_MS * POLL_PARTS */
};

struct app_waits {
    struct loop *loop;
    struct app *app;
    struct list buckets[BUCKETS];
    size_t count;     /* number of entries */
    struct list turn; /* entries with something to do */
    struct hook *hook;
    struct timer *poll; /* runs while there are entries */
    size_t part;        /* part of the entries that asks next */
    bool is_draining;
};

/* A job for which requests wait. */
struct awaited {
    struct list link, turn_link;
    struct app_waits *waits;
    struct list requests;
    struct timer *due; /* a delayed job becomes ready, which changes its tag; NULL: not needed */
    size_t tag_count;  /* number of requests that wait for a change */
    int64_t until_us;  /* the latest end of a wait */
    bool is_busy;      /* a call is under way */
    bool must_ask, must_read;
    bool may_be_new; /* the job has ended; if there is one with its id, it must be noted again */
    struct slice id;
};

struct app_wait {
    struct list link;
    struct awaited *of;
    struct timer *end;
    bool is_over;  /* answer with the job as it is */
    bool is_first; /* no call for the request has succeeded, so it ends if the next one fails */
    app_verdict_fn *fn;
    void *arg;
    struct slice tags;
};

/* ---- entries ---- */

static struct list *bucket_of(struct app_waits *waits, struct slice id)
{
    return &waits->buckets[hash_of(id) % BUCKETS];
}

static struct awaited *awaited_find(struct app_waits *waits, struct slice id)
{
    struct list *bucket = bucket_of(waits, id);
    for (struct list *link = bucket->next; link != bucket; link = link->next) {
        struct awaited *job = LIST_ENTRY(link, struct awaited, link);
        if (slice_equal(job->id, id))
            return job;
    }
    return NULL;
}

/* Steps at the end of this turn. */
static void step_soon(struct awaited *job)
{
    list_remove(&job->turn_link);
    list_append(&job->waits->turn, &job->turn_link);
}

static void on_due(void *arg)
{
    struct awaited *job = arg;
    job->must_read = true;
    step_soon(job);
}

static struct awaited *entry_new(struct app_waits *waits, struct slice id)
{
    struct awaited *job = memory_new(sizeof *job + id.size);
    memcpy(job + 1, id.data, id.size);
    job->id = slice_from((char *)(job + 1), id.size);
    job->waits = waits;
    list_init(&job->requests);
    list_init(&job->turn_link);
    list_append(bucket_of(waits, id), &job->link);
    if (waits->count++ == 0)
        timer_start(waits->poll, POLL_MS * INT64_C(1000));
    return job;
}

static void free_if_idle(struct awaited *job)
{
    struct app_waits *waits = job->waits;
    if (job->is_busy || !list_is_empty(&job->requests))
        return;
    list_remove(&job->link);
    list_remove(&job->turn_link);
    timer_free(job->due);
    free(job);
    if (--waits->count == 0)
        timer_stop(waits->poll);
}

/* ---- answers ---- */

static void request_free(struct app_wait *wait)
{
    wait->of->tag_count -= wait->tags.size > 0;
    list_remove(&wait->link);
    timer_free(wait->end);
    free(wait);
}

static void request_answer(struct app_wait *wait, const struct app_verdict *verdict)
{
    app_verdict_fn *fn = wait->fn;
    void *arg = wait->arg;
    request_free(wait);
    fn(arg, verdict);
}

/* Answers the requests that need not wait any longer. */
static void answer_all(struct awaited *job, const struct app_verdict *verdict)
{
    bool is_known = verdict->end == STATUS_OK;
    bool is_away = verdict->end == STATUS_UNAVAILABLE || verdict->end == STATUS_UNKNOWN;
    bool has_ended = is_known ? verdict->job.state >= JOB_STATE_DEAD : !is_away;
    char tag[JOB_TAG_SIZE] = "";
    if (is_known && job->tag_count)
        job_tag_of(&verdict->job, tag);
    struct list all;
    list_move(&job->requests, &all);
    for (struct list *link; (link = list_take(&all));) {
        struct app_wait *wait = LIST_ENTRY(link, struct app_wait, link);
        bool has_changed = is_known && wait->tags.size && job_tags_match(wait->tags, tag);
        list_append(&job->requests, link);
        if (has_ended || wait->is_over || has_changed || (is_away && wait->is_first))
            request_answer(wait, verdict);
        else
            wait->is_first = false;
    }
}

/* ---- calls ---- */

static void on_read(void *arg, const struct app_verdict *verdict)
{
    struct awaited *job = arg;
    const struct stored_job *stored = &verdict->job;
    answer_all(job, verdict);
    job->is_busy = false;
    if (verdict->end == STATUS_OK && stored->state < JOB_STATE_DEAD && job->may_be_new)
        job->must_ask = true;
    job->may_be_new = false;
    if (verdict->end == STATUS_OK && stored->state == JOB_STATE_DELAYED && job->tag_count) {
        int64_t wait_ms = stored->at_ms - stored->now_ms;
        if (!job->due)
            job->due = timer_new(job->waits->loop, on_due, job);
        timer_start(job->due, (wait_ms > 0 ? wait_ms : 0) * 1000 + 1000);
    }
    if (job->must_ask || job->must_read)
        step_soon(job);
    free_if_idle(job);
}

static void on_awaited(void *arg, enum status status, bool is_there)
{
    struct awaited *job = arg;
    job->is_busy = false;
    for (struct list *link = job->requests.next; link != &job->requests && status == STATUS_OK;
         link = link->next)
        LIST_ENTRY(link, struct app_wait, link)->is_first = false;
    if (status != STATUS_OK)
        job->must_read |= !list_is_empty(&job->requests); /* the read finds out why Redis is away */
    else if (!is_there || job->tag_count)
        job->must_read = true;
    if (job->must_ask || job->must_read)
        step_soon(job);
    free_if_idle(job);
}

static void awaited_step(struct awaited *job)
{
    struct app_waits *waits = job->waits;
    bool asks = job->must_ask;
    if (list_is_empty(&job->requests)) {
        free_if_idle(job);
        return;
    }
    job->is_busy = true;
    if (asks) {
        int64_t left_ms = (job->until_us - loop_now_us(waits->loop)) / 1000;
        struct store_await await = {.id = job->id,
                                    .wait_ms = (left_ms > 0 ? left_ms : 0) + APP_WAIT_SPARE_MS};
        job->must_ask = false;
        store_await(waits->app->store, &await, on_awaited, job);
    } else {
        job->must_read = false;
        app_read(waits->app, job->id, on_read, job);
    }
}

static void waits_on_turn_end(void *arg)
{
    struct app_waits *waits = arg;
    struct list all;
    list_move(&waits->turn, &all);
    for (struct list *link; (link = list_take(&all));) {
        struct awaited *job = LIST_ENTRY(link, struct awaited, turn_link);
        if (!job->is_busy)
            awaited_step(job);
    }
}

/* ---- announcements and polls ---- */

static void ask_bucket(struct list *bucket)
{
    for (struct list *link = bucket->next; link != bucket; link = link->next) {
        struct awaited *job = LIST_ENTRY(link, struct awaited, link);
        job->must_ask = true;
        step_soon(job);
    }
}

static void on_poll(void *arg)
{
    struct app_waits *waits = arg;
    for (size_t i = waits->part; i < BUCKETS; i += POLL_PARTS)
        ask_bucket(&waits->buckets[i]);
    waits->part = (waits->part + 1) % POLL_PARTS;
    timer_start(waits->poll, POLL_MS * INT64_C(1000));
}

static void on_wake(void *arg, struct slice ids, bool have_ended)
{
    struct app_waits *waits = arg;
    struct slice id;
    if (waits->count == 0)
        return;
    for (size_t i = 0; ids.size == 0 && i < BUCKETS; i++)
        ask_bucket(&waits->buckets[i]);
    while (ids.size) {
        slice_cut(ids, '\n', &id, &ids);
        struct awaited *job = awaited_find(waits, id);
        if (!job || !(have_ended || job->tag_count))
            continue;
        job->must_read = true;
        job->may_be_new |= have_ended;
        step_soon(job);
    }
}

/* ---- a request ---- */

void app_wait_leave(struct app_wait *wait)
{
    wait->is_over = true;
    wait->of->must_read = true;
    step_soon(wait->of);
}

static void on_end(void *arg)
{
    app_wait_leave(arg);
}

void app_wait_drop(struct app_wait *wait)
{
    struct awaited *job = wait->of;
    request_free(wait);
    free_if_idle(job);
}

struct app_wait *app_wait(struct app *app, const struct app_wait_call *call, app_verdict_fn *fn, void *arg)
{
    struct app_waits *waits = app->waits;
    struct app_wait *wait = memory_new(sizeof *wait + call->tags.size);
    struct awaited *job = awaited_find(waits, call->id);
    int64_t until_us = loop_now_us(waits->loop) + call->wait_ms * 1000;
    if (!job)
        job = entry_new(waits, call->id);
    *wait = (struct app_wait){.of = job, .fn = fn, .arg = arg, .is_first = true};
    if (call->tags.size)
        memcpy(wait + 1, call->tags.data, call->tags.size);
    wait->tags = slice_from((char *)(wait + 1), call->tags.size);
    wait->is_over = waits->is_draining;
    wait->end = timer_new(waits->loop, on_end, wait);
    timer_start(wait->end, call->wait_ms * 1000);
    list_append(&job->requests, &wait->link);
    job->tag_count += call->tags.size > 0;
    if (until_us > job->until_us)
        job->until_us = until_us;
    job->must_ask = true;
    job->must_read |= wait->is_over;
    step_soon(job);
    return wait;
}

/* ---- the waits of a reactor ---- */

struct app_waits *app_waits_new(struct loop *loop, struct app *app)
{
    struct app_waits *waits = NEW(struct app_waits);
    waits->loop = loop;
    waits->app = app;
    for (size_t i = 0; i < BUCKETS; i++)
        list_init(&waits->buckets[i]);
    list_init(&waits->turn);
    waits->poll = timer_new(loop, on_poll, waits);
    waits->hook = hook_new(loop, LOOP_PHASE_DECIDE, waits_on_turn_end, waits);
    store_on_job_wake(app->store, on_wake, waits);
    return waits;
}

void app_waits_free(struct app_waits *waits)
{
    if (!waits)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct list *link; (link = list_take(&waits->buckets[i]));) {
            struct awaited *job = LIST_ENTRY(link, struct awaited, link);
            assert(list_is_empty(&job->requests)); /* the history has dropped a read for this job */
            timer_free(job->due);
            free(job);
        }
    hook_free(waits->hook);
    timer_free(waits->poll);
    free(waits);
}

void app_waits_drain(struct app_waits *waits)
{
    waits->is_draining = true;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct list *link = waits->buckets[i].next; link != &waits->buckets[i]; link = link->next) {
            struct awaited *job = LIST_ENTRY(link, struct awaited, link);
            for (struct list *at = job->requests.next; at != &job->requests; at = at->next)
                app_wait_leave(LIST_ENTRY(at, struct app_wait, link));
        }
}
