/* lease.c - requests of workers for jobs, topic by topic.
 *
 * The requests of a topic are a queue; those for jobs of one key are another one. A round makes store calls
 * for the first requests of the queue, and for further requests while there are more jobs. A round ends when
 * all of its requests have an answer. If a round finds no more jobs, requests that do not wait end with an
 * empty list, and the other requests wait for the next round. */
#include "app/lease.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "app/app_private.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "io/loop.h"
#include "store/pull.h"

enum {
    BUCKETS = 256,
    WIDTH_MIN = 4, /* number of requests in the first round after an announcement */
    WIDTH_MAX = 64,
    ANNOUNCE_MS = 20 * 1000, /* how long the store announces jobs of a topic, see store_pull */
    RENEW_MS = 5 * 1000,     /* interval of the store calls for topics with waiting requests */
};

struct app_leases {
    struct loop *loop;
    struct app *app;
    struct list buckets[BUCKETS]; /* queues with requests; those of one topic are in the same bucket */
    size_t topic_count;
    struct list turn; /* topics that need a round */
    struct hook *hook;
    struct timer *renewal; /* runs while there are topics */
    bool is_draining;
};

struct lease_topic {
    struct list link, turn_link;
    struct app_leases *leases;
    struct list queue; /* requests, in their order of arrival */
    struct timer *due; /* fires when the next job is due */
    uint64_t round;    /* number of the latest round */
    size_t width;      /* number of requests in the next round */
    size_t asking;     /* number of requests of this round without an answer */
    bool has_more;     /* in this round, the store found more jobs than the requests of the round took */
    bool has_failed;   /* Redis did not answer the call for a request of this round */
    bool is_announced; /* the store announces new jobs of the topic, because requests wait for them */
    int64_t announced_us;
    struct slice name, only; /* see struct app_lease */
};

struct app_lease_wait {
    struct list link;
    struct lease_topic *topic;
    struct app_lease what;
    app_leased_fn *fn;
    void *arg;
    struct timer *end; /* timer that ends the wait; NULL: the request does not wait */
    uint64_t round;    /* number of the round that was the latest one when the request came */
    int64_t asked_us;
    bool was_asked;
    bool is_asking;
    bool is_over; /* the request must end: it has waited long enough, or its worker has disconnected */
};

/* ---- topics ---- */

static struct lease_topic *find_topic(const struct app_leases *leases, struct slice name, struct slice only)
{
    const struct list *bucket = &leases->buckets[hash_of(name) % BUCKETS];
    for (struct list *link = bucket->next; link != bucket; link = link->next) {
        struct lease_topic *topic = LIST_ENTRY(link, struct lease_topic, link);
        if (slice_equal(topic->name, name) && slice_equal(topic->only, only))
            return topic;
    }
    return NULL;
}

/* Requests a round, which begins at the end of this turn, or after the current round. So all requests that
 * come in one turn of the loop are in the same round. */
static void ask_soon(struct lease_topic *topic)
{
    list_remove(&topic->turn_link);
    list_append(&topic->leases->turn, &topic->turn_link);
}

static void on_due(void *arg)
{
    ask_soon(arg);
}

static struct lease_topic *new_topic(struct app_leases *leases, struct slice name, struct slice only)
{
    struct lease_topic *topic = memory_new(sizeof *topic + name.size + only.size);
    char *copy = (char *)(topic + 1);
    memcpy(copy, name.data, name.size);
    if (only.size > 0)
        memcpy(copy + name.size, only.data, only.size);
    topic->leases = leases;
    topic->name = slice_from(copy, name.size);
    topic->only = slice_from(copy + name.size, only.size);
    topic->width = WIDTH_MIN;
    topic->due = timer_new(leases->loop, on_due, topic);
    list_init(&topic->queue);
    list_init(&topic->turn_link);
    list_append(&leases->buckets[hash_of(name) % BUCKETS], &topic->link);
    if (leases->topic_count++ == 0)
        timer_start(leases->renewal, RENEW_MS * INT64_C(1000));
    return topic;
}

static void free_if_idle(struct lease_topic *topic)
{
    struct app_leases *leases = topic->leases;
    if (topic->asking > 0 || !list_is_empty(&topic->queue))
        return;
    list_remove(&topic->link);
    list_remove(&topic->turn_link);
    timer_free(topic->due);
    free(topic);
    if (--leases->topic_count == 0)
        timer_stop(leases->renewal);
}

/* ---- called at the end of a request ---- */

static void note_waiting(const struct app_lease_wait *wait, int change)
{
    struct lease_board *board = wait->topic->leases->app->lease_board;
    if (board && wait->what.wait_ms > 0)
        lease_board_add(board, wait->topic->name, change);
}

/* Removes a request from its queue. The caller must still free the request's memory. */
static void leave_queue(struct app_lease_wait *wait)
{
    note_waiting(wait, -1);
    list_remove(&wait->link);
    timer_free(wait->end);
    wait->end = NULL;
}

static void end_with(struct app_lease_wait *wait, const struct app_leased *leased)
{
    leave_queue(wait);
    wait->fn(wait->arg, &(struct app_verdict){.end = STATUS_OK}, leased);
    free(wait);
}

static void end_empty(struct app_lease_wait *wait)
{
    end_with(wait, &(struct app_leased){.count = 0});
}

static void on_refusal(void *arg, const struct app_verdict *verdict)
{
    struct app_lease_wait *wait = arg;
    wait->fn(wait->arg, verdict, NULL);
}

static void end_refused(struct app_lease_wait *wait, enum status status)
{
    leave_queue(wait);
    use_case_end(wait->topic->leases->app, wait->topic->name, status, NULL, on_refusal, wait);
    free(wait);
}

static bool has_left(const struct app_lease_wait *wait)
{
    const struct app_caller *caller = wait->what.caller;
    return caller->has_left && caller->has_left(caller->peer);
}

/* ---- rounds ---- */

static void end_leased(struct app_lease_wait *wait, const struct store_pulled *pulled)
{
    struct app *app = wait->topic->leases->app;
    struct app_leased leased = {pulled->token, pulled->jobs, pulled->count, wait->what.once.size > 0};
    if (has_left(wait)) {
        app_grant_end(app_grant_new(app, &leased), false);
        end_empty(wait);
        return;
    }
    metrics_count(app->metrics, METRICS_COUNTER_LEASED, pulled->count);
    end_with(wait, &leased);
}

static void note_result(struct lease_topic *topic, struct app_lease_wait *wait,
                        const struct store_pulled *pulled)
{
    topic->has_more |= pulled->has_more;
    if (pulled->count == 0 && !pulled->has_more && wait->what.wait_ms > 0) {
        topic->is_announced = true;
        topic->announced_us = wait->asked_us;
    }
    int64_t wait_ms = pulled->next_ms - pulled->now_ms;
    if (pulled->next_ms < 0)
        timer_stop(topic->due);
    else
        timer_start(topic->due, (wait_ms > 0 ? wait_ms : 0) * 1000 + 1000);
}

static void end_round(struct lease_topic *topic)
{
    if (topic->has_more) {
        topic->width = topic->width * 2 < WIDTH_MAX ? topic->width * 2 : WIDTH_MAX;
        ask_soon(topic);
    } else {
        topic->width = WIDTH_MIN;
        /* Answers the requests that do not wait: with an empty list, or with UNAVAILABLE if Redis has failed.
         * If the request came during the round, begins another round for it, because a job may also have come
         * during the round. */
        for (struct list *link = topic->queue.next, *next; link != &topic->queue; link = next) {
            struct app_lease_wait *wait = LIST_ENTRY(link, struct app_lease_wait, link);
            next = link->next;
            if (wait->what.wait_ms == 0 && wait->round < topic->round && topic->has_failed)
                end_refused(wait, STATUS_UNAVAILABLE);
            else if (wait->what.wait_ms == 0 && wait->round < topic->round)
                end_empty(wait);
            else if (wait->what.wait_ms == 0 || !topic->is_announced)
                ask_soon(topic);
        }
    }
    free_if_idle(topic);
}

static void on_pulled(void *arg, enum status status, const struct store_pulled *pulled)
{
    struct app_lease_wait *wait = arg;
    struct lease_topic *topic = wait->topic;
    wait->is_asking = false;
    topic->asking--;
    if (status == STATUS_OK)
        note_result(topic, wait, pulled);
    else if (status == STATUS_NOT_PULL || status == STATUS_LACKING || status == STATUS_UNREADABLE)
        topic->has_more = true; /* continue the round, so that the other requests end with the same verdict */
    topic->has_failed |= status == STATUS_UNAVAILABLE || status == STATUS_UNKNOWN;
    if (status != STATUS_OK)
        end_refused(wait, status);
    else if (pulled->count > 0)
        end_leased(wait, pulled);
    else if (wait->is_over || pulled->is_repeated)
        end_empty(wait);
    if (topic->asking == 0)
        end_round(topic);
}

static void begin_round(struct lease_topic *topic)
{
    topic->has_more = topic->has_failed = false;
    topic->round++;
    /* Calls the store for the first requests of the queue, and for all requests with an idempotency key. A
     * request with a key must not wait, because an earlier request with its key may already have leased the
     * jobs.
     */
    size_t count = 0;
    for (struct list *link = topic->queue.next, *next; link != &topic->queue; link = next) {
        struct app_lease_wait *wait = LIST_ENTRY(link, struct app_lease_wait, link);
        bool is_first = count < topic->width, has_key = wait->what.once.size && !wait->was_asked;
        next = link->next;
        if (!is_first && !has_key)
            continue;
        if (has_left(wait)) {
            end_empty(wait);
            continue;
        }
        const struct app_lease *what = &wait->what;
        struct store_pull pull = {
            .topic = what->topic,
            .only = what->only,
            .max = what->max,
            .lease_ms = what->lease_ms,
            .wait_ms = what->wait_ms > 0 ? ANNOUNCE_MS : 0,
            .once = what->once,
            .schedule = topic->leases->app->schedule,
        };
        wait->is_asking = wait->was_asked = true;
        wait->asked_us = loop_now_us(topic->leases->loop);
        topic->asking++;
        store_pull(topic->leases->app->store, &pull, on_pulled, wait);
        count += is_first;
    }
    free_if_idle(topic);
}

/* Begins a round for each topic that needs a round, unless one is under way. */
static void leases_on_turn_end(void *arg)
{
    struct app_leases *leases = arg;
    for (struct list *link = leases->turn.next, *next; link != &leases->turn; link = next) {
        struct lease_topic *topic = LIST_ENTRY(link, struct lease_topic, turn_link);
        next = link->next;
        if (topic->asking > 0)
            continue;
        list_remove(link);
        begin_round(topic);
    }
}

/* ---- announcements and renewal ---- */

static void for_each_topic(struct app_leases *leases, void (*fn)(struct lease_topic *))
{
    for (size_t i = 0; i < BUCKETS; i++) {
        struct list *bucket = &leases->buckets[i];
        for (struct list *link = bucket->next, *next; link != bucket; link = next) {
            next = link->next;
            fn(LIST_ENTRY(link, struct lease_topic, link));
        }
    }
}

/* The jobs may be of any key, so all queues of the topic ask. */
static void on_wake(void *arg, struct slice name)
{
    struct app_leases *leases = arg;
    if (name.size == 0) {
        for_each_topic(leases, ask_soon);
        return;
    }
    struct list *bucket = &leases->buckets[hash_of(name) % BUCKETS];
    for (struct list *link = bucket->next; link != bucket; link = link->next) {
        struct lease_topic *topic = LIST_ENTRY(link, struct lease_topic, link);
        if (slice_equal(topic->name, name))
            ask_soon(topic);
    }
}

static void on_renewal(void *arg)
{
    struct app_leases *leases = arg;
    timer_start(leases->renewal, RENEW_MS * INT64_C(1000));
    for_each_topic(leases, ask_soon);
}

/* ---- a request ---- */

static void on_wait_end(void *arg)
{
    struct app_lease_wait *wait = arg;
    struct lease_topic *topic = wait->topic;
    wait->is_over = true;
    if (wait->is_asking)
        return;
    end_empty(wait);
    free_if_idle(topic);
}

void app_lease_leave(struct app_lease_wait *wait)
{
    on_wait_end(wait);
}

void app_lease_drop(struct app_lease_wait *wait)
{
    struct lease_topic *topic = wait->topic;
    leave_queue(wait);
    free(wait);
    free_if_idle(topic);
}

/* Returns whether the request must wait, because earlier requests already wait for jobs of this topic. */
static bool is_behind_others(const struct lease_topic *topic, const struct app_lease *what, int64_t now_us)
{
    return !list_is_empty(&topic->queue) && topic->is_announced && what->wait_ms > 0 && !what->once.size &&
           now_us - topic->announced_us < (ANNOUNCE_MS - RENEW_MS) * INT64_C(1000);
}

static bool is_refused(struct app_leases *leases, struct app_lease_wait *wait)
{
    struct app *app = leases->app;
    if (!use_case_is_sibling(wait->what.topic, on_refusal, wait) &&
        !use_case_is_unready(app, wait->what.topic, on_refusal, wait))
        return false;
    free(wait);
    return true;
}

struct app_lease_wait *app_lease(struct app *app, const struct app_lease *what, app_leased_fn *fn, void *arg)
{
    struct app_leases *leases = app->leases;
    struct app_lease_wait *wait = NEW(struct app_lease_wait);
    *wait = (struct app_lease_wait){.what = *what, .fn = fn, .arg = arg};
    list_init(&wait->link);
    if (is_refused(leases, wait))
        return NULL;
    if (leases->is_draining)
        wait->what.wait_ms = 0;
    struct lease_topic *topic = find_topic(leases, what->topic, what->only);
    if (!topic)
        topic = new_topic(leases, what->topic, what->only);
    if (!is_behind_others(topic, &wait->what, loop_now_us(leases->loop)))
        ask_soon(topic);
    wait->topic = topic;
    wait->round = topic->round;
    list_append(&topic->queue, &wait->link);
    note_waiting(wait, 1);
    if (wait->what.wait_ms > 0) {
        wait->end = timer_new(leases->loop, on_wait_end, wait);
        timer_start(wait->end, wait->what.wait_ms * 1000);
    }
    return wait;
}

/* ---- the leases of a reactor ---- */

static void drain_topic(struct lease_topic *topic)
{
    for (struct list *link = topic->queue.next, *next; link != &topic->queue; link = next) {
        struct app_lease_wait *wait = LIST_ENTRY(link, struct app_lease_wait, link);
        next = link->next;
        wait->is_over = true;
        if (!wait->is_asking && wait->what.wait_ms > 0)
            end_empty(wait);
    }
    free_if_idle(topic);
}

struct app_leases *app_leases_new(struct loop *loop, struct app *app)
{
    struct app_leases *leases = NEW(struct app_leases);
    leases->loop = loop;
    leases->app = app;
    leases->renewal = timer_new(loop, on_renewal, leases);
    for (size_t i = 0; i < BUCKETS; i++)
        list_init(&leases->buckets[i]);
    list_init(&leases->turn);
    leases->hook = hook_new(loop, LOOP_PHASE_DECIDE, leases_on_turn_end, leases);
    store_on_pull_wake(app->store, on_wake, leases);
    return leases;
}

void app_leases_free(struct app_leases *leases)
{
    if (!leases)
        return;
    assert(leases->topic_count == 0);
    hook_free(leases->hook);
    timer_free(leases->renewal);
    free(leases);
}

void app_leases_drain(struct app_leases *leases)
{
    leases->is_draining = true;
    for_each_topic(leases, drain_topic);
}

/* ---- requests that wait, for all reactors ---- */

enum { BOARD_BUCKETS = 256 };

/* A topic for which at least one worker waits. The topic's name follows the struct. */
struct lease_row {
    struct list link;
    size_t waiting;
    struct slice topic;
};

struct lease_board {
    pthread_mutex_t lock;
    struct list buckets[BOARD_BUCKETS];
};

struct lease_board *lease_board_new(void)
{
    struct lease_board *board = NEW(struct lease_board);
    pthread_mutex_init(&board->lock, NULL);
    for (size_t i = 0; i < BOARD_BUCKETS; i++)
        list_init(&board->buckets[i]);
    return board;
}

void lease_board_free(struct lease_board *board)
{
    struct list *link;
    if (!board)
        return;
    for (size_t i = 0; i < BOARD_BUCKETS; i++)
        while ((link = list_take(&board->buckets[i])))
            free(LIST_ENTRY(link, struct lease_row, link));
    pthread_mutex_destroy(&board->lock);
    free(board);
}

static struct lease_row *row_find(struct lease_board *board, struct slice topic)
{
    struct list *bucket = &board->buckets[hash_of(topic) % BOARD_BUCKETS];
    for (struct list *link = bucket->next; link != bucket; link = link->next) {
        struct lease_row *row = LIST_ENTRY(link, struct lease_row, link);
        if (slice_equal(row->topic, topic))
            return row;
    }
    return NULL;
}

static struct lease_row *row_new(struct lease_board *board, struct slice topic)
{
    struct lease_row *row = memory_new(sizeof *row + topic.size);
    char *copy = (char *)(row + 1);
    memcpy(copy, topic.data, topic.size);
    row->topic = slice_from(copy, topic.size);
    list_append(&board->buckets[hash_of(topic) % BOARD_BUCKETS], &row->link);
    return row;
}

void lease_board_add(struct lease_board *board, struct slice topic, int change)
{
    pthread_mutex_lock(&board->lock);
    struct lease_row *row = row_find(board, topic);
    if (!row)
        row = row_new(board, topic);
    row->waiting += (size_t)change;
    if (row->waiting == 0) {
        list_remove(&row->link);
        free(row);
    }
    pthread_mutex_unlock(&board->lock);
}

size_t lease_board_waiting(struct lease_board *board, struct slice topic)
{
    pthread_mutex_lock(&board->lock);
    const struct lease_row *row = row_find(board, topic);
    size_t waiting = row ? row->waiting : 0;
    pthread_mutex_unlock(&board->lock);
    return waiting;
}
