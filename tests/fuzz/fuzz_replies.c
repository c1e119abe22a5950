/* fuzz_replies.c - calls of the store, with any answers of a Redis, a Sentinel or a node of a Cluster. Each
 * call must end with its callback, and the callback's data must be valid. The links to Redis are fakes, which
 * keep the commands. The input begins with a byte that selects the call, and a store with one Redis, with
 * Sentinels or with a Cluster. The answers follow, in RESP. After the last answer, every further command
 * counts as lost. */
#include <stdio.h>

#include "api/api_private.h"
#include "app/app_private.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "fuzz_resp.h"
#include "io/resolver.h"
#include "job/group.h"
#include "job/target/receiver.h"
#include "job/text/json.h"
#include "job/topic/topic_settings.h"
#include "store/store.h"
#include "store/pull.h"
#include "store/shard.h"
#include "store/workflow.h"

/* ---- the loop ---- */

enum { THINGS_MAX = 512, SENT_MAX = 1000 };

struct timer {
    loop_fn *fn;
    void *arg;
    bool is_used, is_running;
};

struct hook {
    loop_fn *fn;
    void *arg;
    bool is_used;
};

static struct timer timers[THINGS_MAX];
static struct hook hooks[THINGS_MAX];

struct hook *hook_new(struct loop *loop, enum loop_phase phase, loop_fn *fn, void *arg)
{
    size_t i = 0;
    (void)loop, (void)phase;
    while (hooks[i].is_used)
        i++;
    hooks[i] = (struct hook){fn, arg, true};
    return &hooks[i];
}

void hook_free(struct hook *hook)
{
    if (hook)
        hook->is_used = false;
}

struct timer *timer_new(struct loop *loop, loop_fn *fn, void *arg)
{
    size_t i = 0;
    (void)loop;
    while (timers[i].is_used)
        i++;
    timers[i] = (struct timer){fn, arg, true, false};
    return &timers[i];
}

void timer_start(struct timer *timer, int64_t after_us)
{
    (void)after_us;
    timer->is_running = true;
}

void timer_start_aligned(struct timer *timer, int64_t after_us)
{
    timer_start(timer, after_us);
}

void timer_stop(struct timer *timer)
{
    timer->is_running = false;
}

bool timer_is_armed(const struct timer *timer)
{
    return timer->is_running;
}

void timer_arm(struct timer *timer, int64_t after_us)
{
    if (!timer->is_running)
        timer_start(timer, after_us);
}

void timer_free(struct timer *timer)
{
    if (timer)
        timer->is_used = timer->is_running = false;
}

static void fire_timers(void)
{
    bool was_running[THINGS_MAX];
    for (size_t i = 0; i < THINGS_MAX; i++)
        was_running[i] = timers[i].is_running;
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (!was_running[i] || !timers[i].is_running)
            continue;
        timers[i].is_running = false;
        timers[i].fn(timers[i].arg);
    }
}

struct resolver *resolver_start(struct loop *loop, const char *host, resolver_fn *fn, void *arg)
{
    (void)loop, (void)host, (void)fn, (void)arg;
    return NULL;
}

void resolver_cancel(struct resolver *resolver)
{
    (void)resolver;
}

/* ---- the links ---- */

struct redis_link {
    struct redis_link_events events;
    redis_message_fn *on_message;
    void *message_arg;
    unsigned store; /* the store that has the link; a number */
    bool is_used;
};

struct sent {
    struct list item;
    struct redis_link *link;
    redis_reply_fn *fn;
    void *arg;
};

static unsigned current; /* the store that makes the calls now; a number */
static struct redis_link links[THINGS_MAX];
static struct list sent = {&sent, &sent};
static size_t sent_count;

struct redis_link *redis_link_new(struct loop *loop, const struct redis_address *address, int64_t deadline_us,
                                  struct redis_link_events events)
{
    size_t i = 0;
    (void)loop, (void)address, (void)deadline_us;
    while (links[i].is_used)
        i++;
    links[i] = (struct redis_link){.events = events, .store = current, .is_used = true};
    return &links[i];
}

void redis_link_free(struct redis_link *link)
{
    if (!link)
        return;
    link->is_used = false;
    for (struct list *item = sent.next; item != &sent; item = item->next) {
        struct sent *one = LIST_ENTRY(item, struct sent, item);
        if (one->link == link)
            one->link = NULL;
    }
}

bool redis_link_is_up(const struct redis_link *link)
{
    return link->is_used;
}

const char *redis_link_why(const struct redis_link *link)
{
    (void)link;
    return "";
}

void redis_link_reset(struct redis_link *link, const char *why)
{
    (void)link, (void)why;
}

void redis_link_move(struct redis_link *link, const char *why)
{
    (void)link, (void)why;
}

void redis_send(struct redis_link *link, size_t argc, const struct slice *argv, redis_reply_fn *fn, void *arg)
{
    struct sent *one = NEW(struct sent);
    assert(argc > 0 && argv[0].size > 0);
    *one = (struct sent){.link = link, .fn = fn, .arg = arg};
    list_append(&sent, &one->item);
    sent_count++;
}

void redis_subscribe(struct redis_link *link, struct slice channel, redis_message_fn *fn, void *arg)
{
    (void)channel;
    link->on_message = fn;
    link->message_arg = arg;
}

/* ---- what calls give ---- */

static unsigned called;

/* Reads all bytes of the text, so that the sanitizers check them. */
static void touch(struct slice text)
{
    static volatile char sink;
    for (size_t i = 0; i < text.size; i++)
        sink = text.data[i];
    (void)sink;
}

static void check_json(struct buffer *text)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, 100000};
    struct json_fault fault;
    assert(text->failed || json_check(buffer_slice(text), &limits, &fault) == STATUS_OK);
}

static void check_job(const struct stored_job *job)
{
    struct buffer text;
    char tag[JOB_TAG_SIZE];
    buffer_init(&text, 1 << 22);
    struct json_writer json = json_writer_to(&text);
    view_put_job(&json, job, &retry_schedule_default);
    check_json(&text);
    buffer_clear(&text);
    json = json_writer_to(&text);
    json_put_object(&json);
    view_add_placed(&json, job);
    json_end_object(&json);
    check_json(&text);
    job_tag_of(job, tag);
    touch(job->last_lines);
    buffer_fini(&text);
}

static void check_receiver(const struct receiver_record *receiver)
{
    char name[RECEIVER_NAME_SIZE];
    touch(receiver->name);
    touch(receiver->cause);
    (void)receiver_name_parse(receiver->name, name);
    assert(receiver->opened_ms >= 0 && receiver->probe_ms >= 0 && receiver->limit >= 0);
}

static void on_scheduled(void *arg, enum status status, int64_t due_ms, const struct stored_job *job)
{
    (void)arg, (void)due_ms;
    called++;
    if (status == STATUS_EXISTS)
        check_job(job);
    else if (status == STATUS_REPEATED)
        touch(job->id);
}

static void on_all_scheduled(void *arg, enum status status, const struct store_scheduled *all)
{
    (void)arg;
    called++;
    for (size_t i = 0; status == STATUS_OK && i < 2; i++) {
        assert(all[i].due_ms > 0);
        touch(all[i].repeated);
    }
}

static void on_replaced(void *arg, enum status status, const struct store_replaced *place)
{
    (void)arg;
    called++;
    assert((place != NULL) == (status == STATUS_OK));
}

static void on_changed(void *arg, enum status status, int64_t due_ms, int64_t now_ms)
{
    (void)arg, (void)status, (void)due_ms, (void)now_ms;
    called++;
}

static void on_cancelled(void *arg, enum status status, bool was_leased)
{
    (void)arg, (void)status, (void)was_leased;
    called++;
}

static void on_sent(void *arg, enum status status, const struct store_sent *send)
{
    (void)arg;
    called++;
    assert(status != STATUS_EXISTS || send->taken.size);
    for (size_t i = 0; (status == STATUS_OK || status == STATUS_REPEATED) && i < send->count; i++) {
        touch(send->jobs[i].endpoint);
        assert(send->jobs[i].state <= JOB_STATE_CANCELLED);
    }
}

static void on_unsent(void *arg, enum status status, const struct store_unsent *unsent)
{
    (void)arg;
    called++;
    assert(status != STATUS_OK || (unsent->cancelled > 0 && unsent->leased <= unsent->cancelled));
}

static void on_groups(void *arg, enum status status, const struct topic *groups, size_t count,
                      struct topic_cursor next)
{
    struct buffer text;
    (void)arg, (void)status;
    called++;
    touch(next.name);
    for (size_t i = 0; i < count; i++) {
        buffer_init(&text, 1 << 20);
        struct json_writer json = json_writer_to(&text);
        json_put_object(&json);
        view_add_group(&json, groups[i].name, groups[i].settings);
        json_end_object(&json);
        check_json(&text);
        buffer_fini(&text);
    }
}

static void on_pulled(void *arg, enum status status, const struct store_pulled *pulled)
{
    (void)arg;
    called++;
    assert((pulled != NULL) == (status == STATUS_OK));
    if (!pulled)
        return;
    assert(pulled->count <= LEASE_JOBS_MAX && (pulled->count > 0) == (pulled->token.size > 0));
    touch(pulled->token);
    for (size_t i = 0; i < pulled->count; i++) {
        touch(pulled->jobs[i].id);
        touch(pulled->jobs[i].settings);
        assert(pulled->jobs[i].job->lacks.size == 0);
    }
}

static void on_lease_ended(void *arg, enum status status, const struct lease_ended *ended)
{
    (void)arg;
    called++;
    assert((ended != NULL) == (status_is_done(status) || status == STATUS_STALE));
    assert(!ended || ended->state <= JOB_STATE_CANCELLED);
}

static const struct retry_schedule retries = {.count = 1, .wait_ms = {5}};

static void on_lapse_ended(void *arg, enum status status)
{
    (void)arg, (void)status; /* not counted, because the number of expected callbacks is fixed before the
                                reply lists its jobs */
}

/* Ends the leases that are listed, as the carry worker does. */
static void on_lost_worker(void *arg, enum status status, const struct shard_lost *lost)
{
    struct store *store = arg;
    called++;
    assert(status == STATUS_OK || lost->count == 0);
    for (size_t i = 0; i < lost->count; i++)
        shard_end_lost(store_shard(store, 0), &lost->jobs[i], lost->now_ms, &retries, on_lapse_ended, NULL);
}

static void on_run(void *arg, enum status status, int64_t due_ms)
{
    (void)arg, (void)status, (void)due_ms;
    called++;
}

static void on_read(void *arg, enum status status, const struct stored_job *job)
{
    (void)arg;
    called++;
    if (status == STATUS_OK)
        check_job(job);
}

static void on_awaited(void *arg, enum status status, bool is_there)
{
    (void)arg, (void)status, (void)is_there;
    called++;
}

static void on_attempts(void *arg, enum status status, struct slice lines)
{
    (void)arg, (void)status;
    called++;
    touch(lines);
}

static void on_list(void *arg, enum status status, const struct stored_job *jobs, size_t count,
                    struct list_cursor next)
{
    struct buffer text;
    (void)arg;
    called++;
    assert(status == STATUS_OK || count == 0);
    for (size_t i = 0; i < count; i++)
        check_job(&jobs[i]);
    buffer_init(&text, 1 << 20);
    buffer_append_byte(&text, '"');
    cursor_write(&text, &next, &(struct app_progress){.left = 0});
    buffer_append_byte(&text, '"');
    check_json(&text);
    buffer_fini(&text);
}

static void on_seen(void *arg, enum status status, const struct store_seen *jobs, size_t count,
                    struct list_cursor next, int64_t now_ms)
{
    (void)arg, (void)status, (void)next, (void)now_ms;
    called++;
    for (size_t i = 0; i < count; i++) {
        touch(jobs[i].id);
        touch(jobs[i].tag);
    }
}

static void on_count(void *arg, enum status status, int64_t count, struct list_cursor next)
{
    (void)arg, (void)status, (void)next;
    called++;
    assert(count >= 0);
}

static void on_topics(void *arg, enum status status, const struct topic *topics, size_t count,
                      struct topic_cursor next)
{
    struct buffer text;
    (void)arg, (void)status;
    called++;
    touch(next.name);
    for (size_t i = 0; i < count; i++) {
        buffer_init(&text, 1 << 20);
        struct json_writer json = json_writer_to(&text);
        json_put_object(&json);
        json_add_text(&json, "topic", topics[i].name);
        view_add_settings(&json, topics[i].settings);
        json_add_time(&json, "oldestDueAt", topics[i].due_ms);
        json_add_time(&json, "heldUntil", topics[i].held_ms);
        json_end_object(&json);
        check_json(&text);
        buffer_fini(&text);
    }
}

static void on_set(void *arg, enum status status)
{
    (void)arg, (void)status;
    called++;
}

static void on_patterns(void *arg, enum status status, const struct store_patterns *found)
{
    (void)arg;
    called++;
    if (status != STATUS_OK)
        return;
    assert(found->count <= STORE_PATTERNS_MAX);
    for (size_t i = 0; i < found->count; i++)
        (void)topic_settings_service(found->patterns[i].text);
}

static void on_reoffered(void *arg, enum status status, size_t count, bool is_full)
{
    (void)arg, (void)status, (void)count, (void)is_full;
    called++;
}

static void on_mended_patterns(void *arg, enum status status, size_t count)
{
    (void)arg, (void)status, (void)count;
    called++;
}

static const struct store_pattern some_pattern = {SLICE_INIT("mail-*"), SLICE_INIT("{}")};
static const struct store_patterns one_pattern = {.version = 7, .patterns = &some_pattern, .count = 1};

static void on_receivers(void *arg, enum status status, const struct receiver_record *receivers, size_t count,
                         struct receiver_cursor next)
{
    (void)arg, (void)status, (void)next;
    called++;
    for (size_t i = 0; i < count; i++)
        check_receiver(&receivers[i]);
}

static void on_news(void *arg, enum status status, const struct receiver_record *receivers, size_t count,
                    int64_t version, int64_t last)
{
    (void)version, (void)last;
    on_receivers(arg, status, receivers, count, (struct receiver_cursor){0, 0});
}

static void on_reported(void *arg, enum status status, const struct store_reported *reported)
{
    (void)arg, (void)status;
    called++;
    /* The log names the receiver whose breaker was opened. */
    assert(reported->receiver || !reported->has_opened);
    if (reported->receiver)
        check_receiver(reported->receiver);
}

static void on_closed(void *arg, enum status status, const struct receiver_record *receiver)
{
    (void)arg;
    called++;
    if (status == STATUS_OK)
        check_receiver(receiver);
}

static void on_audited(void *arg, enum status status, const struct store_counts *counts)
{
    (void)arg, (void)status, (void)counts;
    called++;
}

static void on_forecast(void *arg, enum status status, const struct forecast *forecast)
{
    called++;
    forecast_walk_free(arg);
    assert(!forecast || (status == STATUS_OK && forecast->overdue >= 0 && forecast->later >= 0));
}

static void on_claimed(void *arg, enum status status, const struct shard_claim *claim)
{
    (void)arg;
    called++;
    assert(claim->nonce && (status == STATUS_OK || claim->count == 0) && claim->count <= STORE_CLAIM_MAX);
    for (size_t i = 0; i < claim->count; i++) {
        touch(claim->jobs[i].id);
        touch(claim->jobs[i].record);
        touch(claim->jobs[i].settings);
    }
    touch(claim->passed);
    touch(claim->passed_settings);
    assert((claim->now_us / 1000 - (claim->count ? claim->jobs[0].due_ms : 0)) * 1000 !=
           1); /* the sanitizer checks that this does not overflow */
}

static void on_carried(void *arg, enum status status, const struct shard_carried *carried)
{
    (void)arg, (void)status;
    called++;
    touch(carried->owner);
}

static void on_recovered(void *arg, enum status status, const struct shard_lost *lost)
{
    (void)arg, (void)status;
    called++;
    for (size_t i = 0; i < lost->count; i++) {
        touch(lost->jobs[i].id);
        touch(lost->jobs[i].record);
        touch(lost->jobs[i].settings);
    }
}

static void on_forgotten(void *arg, enum status status, bool is_full)
{
    (void)arg, (void)status, (void)is_full;
    called++;
}

static void on_swept(void *arg, enum status status, const struct shard_swept *swept)
{
    (void)arg, (void)status, (void)swept;
    called++;
}

static void on_resumed(void *arg, enum status status, size_t count)
{
    (void)arg, (void)status, (void)count;
    called++;
}

static void on_survey(void *arg, enum status status, const struct shard_survey *survey)
{
    (void)arg, (void)status;
    called++;
    touch(survey->cursor);
    assert(status != STATUS_OK || survey->cursor.size <= SHARD_SURVEY_CURSOR_MAX);
}

static void on_mended(void *arg, enum status status, struct slice cursor, const struct slice *mended,
                      size_t count)
{
    (void)arg, (void)status;
    called++;
    touch(cursor);
    for (size_t i = 0; i < count; i++)
        touch(mended[i]);
}

/* ---- workflows ---- */

static void on_begun(void *arg, enum status status, const struct workflow_begun *begun)
{
    (void)arg;
    called++;
    assert((status == STATUS_OK) == (begun != NULL));
    if (begun)
        touch(begun->first_job);
}

static void on_workflow_changed(void *arg, enum status status, int64_t made_ms)
{
    (void)arg;
    called++;
    assert(status == STATUS_OK || made_ms == 0);
}

static void on_appended(void *arg, enum status status, const struct slice *firsts)
{
    (void)arg;
    called++;
    assert(status == STATUS_OK || !firsts);
    if (firsts)
        touch(firsts[0]);
}

static void on_arrived(void *arg, enum status status, const struct workflow_input *input)
{
    struct buffer text;
    (void)arg;
    called++;
    if (status != STATUS_OK)
        return;
    bool has_none = input->kind == INPUT_OVER || input->kind == INPUT_UNREADABLE;
    assert(has_none == (input->elements.size == 0));
    buffer_init(&text, input->elements.size);
    buffer_append(&text, input->elements);
    buffer_fini(&text);
}

static void on_waiting(void *arg, enum status status, const struct workflow_waiting *waiting)
{
    (void)arg;
    called++;
    touch(waiting->kept);
    assert(status == STATUS_OK || !waiting->has_taken);
}

static void on_waiters(void *arg, enum status status, const struct workflow_waiter *waiters, size_t count,
                       struct slice next)
{
    (void)arg;
    called++;
    touch(next);
    assert(status == STATUS_OK || count == 0);
    for (size_t i = 0; i < count; i++) {
        touch(waiters[i].job);
        touch(waiters[i].text);
    }
}

static void on_notified(void *arg, enum status status, const struct workflow_notified *notified)
{
    (void)arg;
    called++;
    for (size_t i = 0; i < notified->count; i++)
        assert(status == STATUS_OK || !notified->was_waiting[i]);
}

static void touch_workflow(const struct workflow *workflow)
{
    touch(workflow->id);
    touch(workflow->settings);
    touch(workflow->result);
    touch(workflow->parent);
    touch(workflow->failed_by);
    touch(workflow->first_job);
    for (size_t i = 0; workflow->elements && i < workflow->element_count; i++) {
        touch(workflow->elements[i].text);
        touch(workflow->elements[i].job);
    }
    for (size_t i = 0; workflow->open && i < workflow->open_count; i++) {
        touch(workflow->open[i].job);
        touch(workflow->open[i].wait);
    }
}

static void on_workflow(void *arg, enum status status, const struct workflow *workflow)
{
    (void)arg;
    called++;
    assert((status == STATUS_OK) == (workflow != NULL));
    if (workflow)
        touch_workflow(workflow);
}

static void on_workflows(void *arg, enum status status, const struct workflow *workflows, size_t count,
                         struct workflow_cursor next)
{
    (void)arg;
    called++;
    touch(next.place);
    assert(count <= WORKFLOW_PAGE_MAX && (status == STATUS_OK || count == 0));
    for (size_t i = 0; i < count; i++)
        touch_workflow(&workflows[i]);
}

/* ---- the calls ---- */

#define ID  SLICE("mail/1")
#define TAG SLICE("da39a3ee5e6b4b0d3255bfef95601890afd80709")

static const struct lease lease = {{"mail/1", 6}, {"n1"}};
static const struct shard_follow_up follow_up = {{"mail~callbacks/1", 16}, 0, {"\"x\":1}", 6}};
static const struct shard_end end = {{"{}", 2}, {"", 0}, {"", 0}, {&follow_up, 1}, false};

static const struct workflow_entry some_entry = {
    .job = SLICE_INIT("mail~messages/1"), .record = SLICE_INIT("\"x\":1}"), .element = SLICE_INIT("{}")};
static const struct workflow_notice some_notice = {
    SLICE_INIT("mail~messages/2"),
    {.job = SLICE_INIT("mail~messages/3"), .record = SLICE_INIT("\"x\":1}"), .element = SLICE_INIT("{}")}};

/* Begins one of the calls about workflows. */
static void begin_workflow_call(struct store *store, unsigned number)
{
    switch (number) {
    case 37:
        workflow_begin(store,
                       &(struct workflow_begin){.id = ID, .settings = SLICE("{}"), .first = some_entry},
                       on_begun, NULL);
        break;
    case 38:
        workflow_append(store, ID, &some_entry, 1, on_appended, NULL);
        break;
    case 39:
        shard_arrive(store_shard(store, 0), SLICE("mail~messages/1"), on_arrived, NULL);
        break;
    case 40:
        workflow_wait(store, &(struct workflow_wait){.id = ID, .event = SLICE("e"), .deadline = some_entry},
                      on_waiting, NULL);
        break;
    case 41:
        workflow_waiters(
            store, &(struct workflow_waiters_query){.owner = SLICE("mail"), .event = SLICE("e"), .max = 2},
            on_waiters, NULL);
        break;
    case 42:
        workflow_notify(store,
                        &(struct workflow_notify){
                            .owner = SLICE("mail"), .event = SLICE("e"), .notices = &some_notice, .count = 1},
                        on_notified, NULL);
        break;
    case 43:
        workflow_end(store, ID, WORKFLOW_SUCCEEDED, SLICE("1"), NULL, on_workflow_changed, NULL);
        break;
    case 44:
        workflow_read(store, &(struct workflow_query){.id = ID, .with_jobs = true, .texts_max = 1000},
                      on_workflow, NULL);
        break;
    default:
        workflow_list(store, &(struct workflow_list){.max = 2}, on_workflows, NULL);
    }
}

static const struct store_pull some_pull = {
    .topic = SLICE_INIT("mail"), .max = 2, .lease_ms = LEASE_MIN_MS, .wait_ms = 5};

static void end_some_lease(struct store *store, enum lease_end_kind kind)
{
    struct lease_end what = {.kind = kind,
                             .id = ID,
                             .token = SLICE("p1"),
                             .error = SLICE("no luck"),
                             .lease_ms = LEASE_MIN_MS,
                             .schedule = &retries};
    store_pull_end(store, &what, on_lease_ended, NULL);
}

/* Begins one of the calls about leases of workers. Returns how many callbacks the call must lead to. */
static unsigned begin_pull_call(struct store *store, unsigned number)
{
    switch (number) {
    case 46:
        store_pull(store, &some_pull, on_pulled, NULL);
        return 1;
    case 47:
        end_some_lease(store, LEASE_END_COMPLETE);
        end_some_lease(store, LEASE_END_EXTEND);
        end_some_lease(store, LEASE_END_RELEASE);
        return 3;
    case 48:
        end_some_lease(store, LEASE_END_RETRY);
        end_some_lease(store, LEASE_END_BURY);
        return 2;
    default:
        shard_recover(store_shard(store, 0), LEASE_OF_WORKER, FUZZ_NOW_MS, on_lost_worker, store);
        return 1;
    }
}

static const struct store_schedule some_jobs[] = {
    {.id = {"t/a", 3}, .record = {"{}", 2}},
    {.id = {"t/b", 3}, .record = {"{}", 2}},
};
static const struct store_send_job sent_job = {{"a", 1}, {"{}", 2}};

static void list_jobs(struct store *store, enum job_state state, struct slice topic)
{
    struct store_list list = {.filter = {.states = 1U << state, .topic = topic}, .max = 2};
    store_list(store, &list, on_list, NULL);
    store_see(store, &list, on_seen, NULL);
    list.filter.host = SLICE("h");
    store_count(store, &list, on_count, NULL);
}

static void up_all(void)
{
    for (size_t i = 0; i < THINGS_MAX; i++)
        if (links[i].is_used && links[i].store == current && links[i].events.on_up)
            links[i].events.on_up(links[i].events.arg);
}

enum { CALLS = 52 };

/* Begins the call with this number. Returns how many callbacks the call must lead to. */
static unsigned begin(struct store *store, unsigned number)
{
    struct shard *shard = store_shard(store, 0);
    struct job_when when = {false, 0};
    struct forecast_walk *walk;
    switch (number) {
    case 0:
        store_schedule(store, &(struct store_schedule){.id = ID, .record = SLICE("{}"), .when = when},
                       on_scheduled, NULL);
        return 1;
    case 1:
        store_replace(store, &(struct store_replace){.id = ID, .record = SLICE("{}"), .when = when},
                      on_replaced, NULL);
        return 1;
    case 2:
        store_change(store, &(struct store_change){.id = ID, .tag = TAG, .record = SLICE("{}")}, on_changed,
                     NULL);
        return 1;
    case 3:
        store_cancel(store, ID, TAG, on_cancelled, NULL);
        return 1;
    case 4:
        store_run(store, ID, SLICE(""), when, on_run, NULL);
        return 1;
    case 5:
        store_read(store, ID, on_read, NULL);
        return 1;
    case 6:
        store_read_kept(store, ID, on_read, NULL);
        return 1;
    case 7:
        store_attempts(store, ID, on_attempts, NULL);
        return 1;
    case 8:
        list_jobs(store, JOB_STATE_DELAYED, SLICE("mail"));
        return 3;
    case 9:
        list_jobs(store, JOB_STATE_LEASED, SLICE(""));
        return 3;
    case 10:
        list_jobs(store, JOB_STATE_DEAD, SLICE("mail"));
        return 3;
    case 11:
        store_topics(store, &(struct store_topics){.max = 2}, on_topics, NULL);
        return 1;
    case 12:
        store_topics(store, &(struct store_topics){.topic = SLICE("mail"), .max = 1}, on_topics, NULL);
        return 1;
    case 13:
        store_set_topic(store, SLICE("mail"), SLICE(""), SLICE("{}"), on_set, NULL);
        return 1;
    case 14:
        store_receivers(store, &(struct store_receivers){.max = 2}, on_receivers, NULL);
        return 1;
    case 15:
        store_news(store, 0, 0, on_news, NULL);
        return 1;
    case 16:
        store_report(store,
                     &(struct store_report){.name = SLICE("h:80"), .failures = 1, .cause = SLICE("503")},
                     on_reported, NULL);
        return 1;
    case 17:
        store_close_receiver(store, SLICE("h:80"), on_closed, NULL);
        return 1;
    case 18:
        store_audit(store, on_audited, NULL);
        walk = forecast_walk_new();
        forecast_walk_step(walk, store, on_forecast, walk);
        return 2;
    case 19:
        shard_claim(shard, 3, SHARD_CLAIM_CARRY, on_claimed, NULL);
        return 1;
    case 20:
        shard_complete(shard, &lease, &end, on_set, NULL);
        shard_retry(shard, &lease, 5, &end, on_set, NULL);
        shard_bury(shard, &lease, &end, on_set, NULL);
        shard_release(shard, &lease, &(struct shard_hold){.wait_ms = SHARD_NO_WAIT, .claimed_ms = 5}, on_set,
                      NULL);
        shard_renew(shard, &lease, on_set, NULL);
        return 5;
    case 21:
        shard_carry(shard, &(struct shard_carry){.me = SLICE("me"), .is_tick = true}, on_carried, NULL);
        return 1;
    case 22:
        shard_recover(shard, LEASE_OF_CONSUMER, FUZZ_NOW_MS, on_recovered, NULL);
        return 1;
    case 23:
        shard_forget(shard, on_forgotten, NULL);
        return 1;
    case 24:
        shard_sweep(shard, on_swept, NULL);
        shard_resume(shard, SLICE("h:80"), 5, on_resumed, NULL);
        return 2;
    case 25:
        shard_survey(shard, &(struct shard_survey){.oldest_due_ms = -1}, on_survey, NULL);
        return 1;
    case 26:
        shard_mend(shard, SLICE("jobs"), SLICE("0"), on_mended, NULL);
        store_schedule_all(store, some_jobs, 2, on_all_scheduled, NULL);
        return 2;
    case 27:
        shard_wait_bell(shard, on_set, NULL);
        return 1;
    case 28:
        up_all(); /* connects all links; the first answers are those about Redis's version and state, and
                     those of Sentinels and nodes of a Cluster */
        return 0;
    case 29:
        store_send(store,
                   &(struct store_send){.id = ID,
                                        .group = SLICE("g"),
                                        .mark = SLICE("m"),
                                        .when = when,
                                        .jobs = &sent_job,
                                        .count = 1},
                   on_sent, NULL);
        return 1;
    case 30:
        store_read_sent(store, ID, SLICE("g"), on_sent, NULL);
        return 1;
    case 31:
        store_unsend(store, ID, SLICE("g"), on_unsent, NULL);
        return 1;
    case 32:
        store_topics(store, &(struct store_topics){.max = 2, .are_groups = true}, on_groups, NULL);
        return 1;
    case 33:
        store_set_group(store, SLICE("g"), SLICE(""), SLICE("{}"), on_set, NULL);
        return 1;
    case 34:
        store_patterns(store, on_patterns, NULL);
        return 1;
    case 35:
        store_set_patterns(store, &one_pattern, on_set, NULL);
        shard_reoffer(shard, 0, on_reoffered, NULL);
        return 2;
    case 36:
        store_mend_patterns(store, on_mended_patterns, NULL);
        return 1;
    case CALLS - 1:
        fire_timers();
        return 0;
    case 46:
    case 47:
    case 48:
    case 49:
        return begin_pull_call(store, number);
    case 50:
        store_await(store, &(struct store_await){.id = ID, .wait_ms = 1}, on_awaited, NULL);
        return 1;
    default:
        begin_workflow_call(store, number);
        return 1;
    }
}

/* ---- one input ---- */

static redisReader *reader;

/* Returns the next answer; NULL at the end. */
static void *next_answer(void)
{
    void *answer = NULL;
    return redisReaderGetReply(reader, &answer) == REDIS_OK ? answer : NULL;
}

static void answer_one(void)
{
    struct sent *one = LIST_ENTRY(list_pop(&sent), struct sent, item);
    redisReply *answer = one->link ? next_answer() : NULL;
    sent_count--;
    if (answer && answer->type == REDIS_REPLY_ERROR && one->link->events.on_error)
        one->link->events.on_error(one->link->events.arg, slice_from(answer->str, answer->len));
    one->fn(one->arg, (const struct redis_reply *)(const void *)answer);
    freeReplyObject(answer);
    free(one);
}

static void end_turn(void)
{
    for (size_t i = 0; i < THINGS_MAX; i++)
        if (hooks[i].is_used)
            hooks[i].fn(hooks[i].arg);
}

static void run(unsigned expected)
{
    end_turn();
    for (size_t i = 0; sent_count > 0; i++) {
        assert(i < SENT_MAX); /* the loop must end */
        answer_one();
        end_turn();
    }
    assert(called == expected);
}

/* Writes the texts about the state of Redis, as far as the answers have told it. */
static void check_facts(const struct store *store)
{
    struct problem problem;
    struct address address = {.is_v6 = false};
    char words[DURABILITY_TEXT_MAX];
    store_durability_configured(store, words);
    redis_info_durability(store_redis_info(store), words);
    if (!store_is_ready(store, &problem) || !store_is_ready_for(store, ID, &problem) ||
        store_is_refused(store, &problem))
        assert(problem.text[0]);
    (void)store_is_redis(store, &address, 6379);
}

static struct store *stores[3];

static void start_stores(void)
{
    static struct redis_address addresses[3];
    static const char *const texts[] = {"unix:/nowhere", "sentinel://127.0.0.1:1,127.0.0.1:2/main",
                                        "cluster://127.0.0.1:1"};
    struct problem problem;
    enum status status = log_open("/dev/null", LOG_FORMAT_LOGFMT, LOG_LEVEL_DEBUG, &problem);
    assert(status == STATUS_OK);
    for (size_t i = 0; i < 3; i++) {
        current = (unsigned)i;
        status = redis_address_parse(slice_of(texts[i]), &addresses[i], &problem);
        assert(status == STATUS_OK);
        struct store_options options = {
            .redis = &addresses[i],
            .prefix = "fuzz:",
            .shards = i == 2 ? 3 : 1,
            .max_in_flight_topic = 1,
            .durability = {.replicas = i == 1},
            .is_durability_set = i == 1,
            .breaker_wait_ms = 1000,
            .metrics = metrics_of(metrics_board_new(1), 0),
        };
        stores[i] = store_new(NULL, &options);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || !resp_is_modest(data + 1, size - 1))
        return 0;
    if (!stores[0])
        start_stores();
    reader = redisReaderCreate();
    redisReaderFeed(reader, (const char *)data + 1, size - 1);
    called = 0;
    current = data[0] / CALLS % 3;
    run(begin(stores[current], data[0] % CALLS));
    check_facts(stores[current]);
    for (size_t i = 0; i < THINGS_MAX; i++)
        if (links[i].on_message)
            links[i].on_message(links[i].message_arg, SLICE("wake"), input_of(data, size));
    redisReaderFree(reader);
    return 0;
}
