#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/fake_store.h"
#include "base/log.h"
#include "base/system.h"
#include "job/retry.h"
#include "job/target/target.h"
#include "store/alert.h"
#include "store/store.h"
#include "support/errors.h"
#include "support/suite.h"

enum { CALLS_MAX = 64 };

struct store {
    bool is_ready;
    size_t shards, count, taken;
    struct fake_call calls[CALLS_MAX];
};

static struct store fake;
static size_t fired; /* entries in the list of what fired */

static void copy(char to[FAKE_TEXT_MAX], struct slice text)
{
    ck_assert_uint_lt(text.size, FAKE_TEXT_MAX);
    if (text.size)
        memcpy(to, text.data, text.size);
    to[text.size] = '\0';
}

static struct fake_call *add_call(const char *name, struct slice id, void *arg)
{
    ck_assert_uint_lt(fake.count, CALLS_MAX);
    struct fake_call *call = &fake.calls[fake.count++];
    *call = (struct fake_call){.name = name, .arg = arg};
    copy(call->id, id);
    return call;
}

void fake_begin(void)
{
    fake.is_ready = true;
    fake.shards = 1;
    fake.count = fake.taken = fired = 0;
    fake_forget();
}

void fake_set_ready(bool is_ready)
{
    fake.is_ready = is_ready;
}

void fake_set_shards(size_t shards)
{
    fake.shards = shards;
}

struct fake_call *fake_take(const char *name)
{
    ck_assert_msg(fake.taken < fake.count, "%s was not called", name);
    ck_assert_str_eq(fake.calls[fake.taken].name, name);
    return &fake.calls[fake.taken++];
}

bool fake_has_call(void)
{
    return fake.taken < fake.count;
}

void fake_expect_none(void)
{
    ck_assert_msg(fake.taken == fake.count, "%s was called", fake.calls[fake.taken].name);
}

/* ---- store.h ---- */

size_t store_shard_number(const struct store *store, struct slice topic)
{
    (void)store, (void)topic;
    return 0;
}

size_t store_shards(const struct store *store)
{
    return store->shards;
}

bool store_is_ready(const struct store *store, struct problem *why)
{
    if (!store->is_ready)
        problem_set(why, "the fake is away");
    return store->is_ready;
}

bool store_is_ready_for(const struct store *store, struct slice id, struct problem *why)
{
    ck_assert_uint_gt(id.size, 0);
    return store_is_ready(store, why);
}

bool store_is_recording_for(const struct store *store, struct slice id, struct problem *why)
{
    ck_assert_uint_gt(id.size, 0);
    return store_is_ready(store, why);
}

bool store_is_redis(const struct store *store, const struct address *address, uint16_t port)
{
    (void)store, (void)address;
    return port == 6379;
}

int64_t store_now_ms(const struct store *store)
{
    (void)store;
    return clock_wall_ms();
}

const struct topic_quota *store_quota(const struct store *store, struct slice id)
{
    static const struct topic_quota quota = {
        .topic = SLICE_INIT("mail"), .max = 3, .pending = 4, .wait_ms = 1500};
    (void)store, (void)id;
    return &quota;
}

const struct redis_info *store_redis_info(const struct store *store)
{
    static const struct redis_info known = {.is_known = true, .version = "7.2.0", .role = "master"}, unknown;
    return store->is_ready ? &known : &unknown;
}

void store_durability_configured(const struct store *store, char text[DURABILITY_TEXT_MAX])
{
    (void)store;
    snprintf(text, DURABILITY_TEXT_MAX, "auto");
}

void redis_info_durability(const struct redis_info *info, char text[DURABILITY_TEXT_MAX])
{
    (void)info;
    snprintf(text, DURABILITY_TEXT_MAX, "fsync");
}

void store_schedule(struct store *store, const struct store_schedule *call, store_scheduled_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("schedule", call->id, arg);
    (void)store;
    copy(kept->record, call->record);
    copy(kept->once, call->once);
    kept->when = call->when;
    kept->fn.scheduled = fn;
}

/* Members of the call: id is that of the first job; record has the id and the record of each job, one job per
 * line. */
void store_schedule_all(struct store *store, const struct store_schedule *jobs, size_t count,
                        store_scheduled_all_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("schedule_all", jobs[0].id, arg);
    size_t size = 0;
    (void)store;
    for (size_t i = 0; i < count; i++)
        size += (size_t)snprintf(kept->record + size, FAKE_TEXT_MAX - size, "%.*s %.*s\n",
                                 SLICE_ARG(jobs[i].id), SLICE_ARG(jobs[i].record));
    kept->when = jobs[0].when;
    kept->max = count;
    kept->fn.all_scheduled = fn;
}

void store_replace(struct store *store, const struct store_replace *call, store_replaced_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("replace", call->id, arg);
    (void)store;
    copy(kept->record, call->record);
    copy(kept->tags, call->tags);
    kept->when = call->when;
    kept->fn.replaced = fn;
}

void store_change(struct store *store, const struct store_change *call, store_changed_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("change", call->id, arg);
    (void)store;
    copy(kept->record, call->record);
    copy(kept->tags, call->tag);
    kept->when = call->when;
    kept->is_moved = call->is_moved;
    kept->fn.changed = fn;
}

void store_cancel(struct store *store, struct slice id, struct slice tags, store_cancelled_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("cancel", id, arg);
    (void)store;
    copy(kept->tags, tags);
    kept->fn.cancelled = fn;
}

void store_run(struct store *store, struct slice id, struct slice tags, struct job_when when,
               store_run_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("run", id, arg);
    (void)store;
    copy(kept->tags, tags);
    kept->when = when;
    kept->fn.run = fn;
}

void store_read(struct store *store, struct slice id, store_read_fn *fn, void *arg)
{
    (void)store;
    add_call("read", id, arg)->fn.read = fn;
}

void store_read_kept(struct store *store, struct slice id, store_read_fn *fn, void *arg)
{
    (void)store;
    add_call("read_kept", id, arg)->fn.read = fn;
}

static store_job_wake_fn *on_job_wake;
static void *on_job_wake_arg;

void store_on_job_wake(struct store *store, store_job_wake_fn *fn, void *arg)
{
    (void)store;
    on_job_wake = fn;
    on_job_wake_arg = arg;
}

void fake_job_wake(struct slice ids, bool have_ended)
{
    on_job_wake(on_job_wake_arg, ids, have_ended);
}

void store_await(struct store *store, const struct store_await *await, store_awaited_fn *fn, void *arg)
{
    (void)store;
    add_call("await", await->id, arg)->fn.awaited = fn;
}

void store_attempts(struct store *store, struct slice id, store_attempts_fn *fn, void *arg)
{
    (void)store;
    add_call("attempts", id, arg)->fn.attempts = fn;
}

enum job_state store_first_state(unsigned states)
{
    return (enum job_state)__builtin_ctz(states);
}

void store_list(struct store *store, const struct store_list *list, store_list_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("list", list->filter.topic, arg);
    (void)store;
    kept->list = *list;
    kept->fn.list = fn;
}

void store_see(struct store *store, const struct store_list *list, store_seen_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("see", list->filter.topic, arg);
    (void)store;
    kept->list = *list;
    kept->fn.seen = fn;
}

void store_count(struct store *store, const struct store_list *list, store_count_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("count", list->filter.topic, arg);
    (void)store;
    kept->list = *list;
    kept->fn.count = fn;
}

/* Members of the call: id is the topic, or the name after which the page begins. */
void store_topics(struct store *store, const struct store_topics *topics, store_topics_fn *fn, void *arg)
{
    struct fake_call *kept = add_call(topics->are_groups ? "groups" : "topics",
                                      topics->topic.size ? topics->topic : topics->from.name, arg);
    (void)store;
    kept->max = topics->max;
    kept->shard = topics->from.shard;
    kept->fn.topics = fn;
}

void store_set_topic(struct store *store, struct slice topic, struct slice old_settings,
                     struct slice new_settings, store_set_text_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("set_topic", topic, arg);
    (void)store;
    copy(kept->old_settings, old_settings);
    copy(kept->new_settings, new_settings);
    kept->fn.set = fn;
}

/* Members of the call: id is the limit, or the name after which the page begins. */
void store_limits(struct store *store, struct slice name, struct slice after, size_t max, store_limits_fn *fn,
                  void *arg)
{
    struct fake_call *kept = add_call("limits", name.size ? name : after, arg);
    (void)store;
    kept->max = max;
    kept->fn.limits = fn;
}

void store_set_limit(struct store *store, struct slice name, struct slice old_text, struct slice new_text,
                     store_set_limit_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("set_limit", name, arg);
    (void)store;
    copy(kept->old_settings, old_text);
    copy(kept->new_settings, new_text);
    kept->fn.set_limit = fn;
}

/* No test of use cases has alerts. */
void store_alerts(struct store *store, store_alerts_fn *fn, void *arg)
{
    (void)store, (void)fn, (void)arg;
    ck_abort_msg("no test has alerts");
}

void store_change_alerts(struct store *store, int64_t now_us, const struct store_alert_change *changes,
                         size_t count, store_change_alerts_fn *fn, void *arg)
{
    (void)store, (void)now_us, (void)changes, (void)count, (void)fn, (void)arg;
    ck_abort_msg("no test has alerts");
}

/* Members of the call: id is the topic, and old_settings the key, or the place where the page begins. */
void store_lanes(struct store *store, const struct store_lanes *lanes, store_lanes_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("lanes", lanes->topic, arg);
    (void)store;
    copy(kept->old_settings, lanes->is_one ? lanes->key : lanes->after);
    kept->max = lanes->max;
    kept->fn.lanes = fn;
}

/* Members of the call: id is the topic, and record the key. */
void store_set_lane(struct store *store, struct slice topic, struct slice key, struct slice old_text,
                    struct slice new_text, store_set_text_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("set_lane", topic, arg);
    (void)store;
    copy(kept->record, key);
    copy(kept->old_settings, old_text);
    copy(kept->new_settings, new_text);
    kept->fn.set = fn;
}

int64_t store_max_in_flight_topic(const struct store *store)
{
    (void)store;
    return 100;
}

void store_set_group(struct store *store, struct slice name, struct slice old_text, struct slice new_text,
                     store_set_text_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("set_group", name, arg);
    (void)store;
    copy(kept->old_settings, old_text);
    copy(kept->new_settings, new_text);
    kept->fn.set = fn;
}

/* Members of the call: record has the endpoint and the record of each job, one job per line; tags is the
 * group. */
static void add_send(const char *name, const struct store_send *call, store_sent_fn *fn, void *arg)
{
    struct fake_call *kept = add_call(name, call->id, arg);
    size_t size = 0;
    for (size_t i = 0; i < call->count; i++)
        size += (size_t)snprintf(kept->record + size, FAKE_TEXT_MAX - size, "%.*s %.*s\n",
                                 SLICE_ARG(call->jobs[i].endpoint), SLICE_ARG(call->jobs[i].record));
    copy(kept->tags, call->group);
    copy(kept->once, call->once);
    copy(kept->old_settings, call->mark);
    kept->when = call->when;
    kept->max = call->is_only_new;
    kept->fn.sent = fn;
}

void store_send(struct store *store, const struct store_send *call, store_sent_fn *fn, void *arg)
{
    (void)store;
    add_send("send", call, fn, arg);
}

/* Members of the call: as in add_send; max is 1 if is_only_new is set. */
void store_replace_sent(struct store *store, const struct store_send *call, store_sent_fn *fn, void *arg)
{
    (void)store;
    add_send("replace_sent", call, fn, arg);
}

void store_read_sent(struct store *store, struct slice id, struct slice group, store_sent_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("read_sent", id, arg);
    (void)store;
    copy(kept->tags, group);
    kept->fn.sent = fn;
}

/* Members of the call: id is the topic, and record the line. */
void store_note(struct store *store, struct slice name, struct slice line, store_note_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("note", name, arg);
    (void)store;
    copy(kept->record, line);
    kept->fn.note = fn;
}

void store_unsend(struct store *store, struct slice id, struct slice group, store_unsent_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("unsend", id, arg);
    (void)store;
    copy(kept->tags, group);
    kept->fn.unsent = fn;
}

void store_patterns(struct store *store, store_patterns_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("patterns", SLICE("*"), arg);
    (void)store;
    kept->fn.patterns = fn;
}

/* Members of the call: new_settings is 'version:pattern=text ...'. */
void store_set_patterns(struct store *store, const struct store_patterns *patterns, store_set_text_fn *fn,
                        void *arg)
{
    struct fake_call *kept = add_call("set_patterns", SLICE("*"), arg);
    struct buffer text;
    (void)store;
    buffer_init(&text, sizeof kept->new_settings - 1);
    buffer_append_number(&text, patterns->version);
    for (size_t i = 0; i < patterns->count; i++) {
        buffer_append(&text, i == 0 ? SLICE(":") : SLICE(" "));
        buffer_append(&text, patterns->patterns[i].name);
        buffer_append(&text, SLICE("="));
        buffer_append(&text, patterns->patterns[i].text);
    }
    copy(kept->new_settings, buffer_slice(&text));
    buffer_fini(&text);
    kept->fn.set = fn;
}

void store_receivers(struct store *store, const struct store_receivers *receivers, store_receivers_fn *fn,
                     void *arg)
{
    struct fake_call *kept = add_call("receivers", receivers->name, arg);
    (void)store;
    kept->max = receivers->max;
    kept->shard = receivers->from.shard;
    kept->fn.receivers = fn;
}

void store_close_receiver(struct store *store, struct slice name, store_close_fn *fn, void *arg)
{
    (void)store;
    add_call("close_receiver", name, arg)->fn.closed = fn;
}

/* No test with this store looks at forecasts. */
void demand_walk_step(struct store *store, struct demand_walk *walk, demand_fn *fn, void *arg)
{
    (void)walk, (void)store, (void)fn;
    add_call("demand", SLICE(""), arg);
}

bool demand_take_count(struct slice *counts, int64_t *cell, int64_t *jobs)
{
    (void)counts, (void)cell, (void)jobs;
    return false;
}

/* The overview counts the coming jobs. No test with this store looks at them. */
struct forecast_walk *forecast_walk_new(void)
{
    return NULL;
}

void forecast_walk_free(struct forecast_walk *walk)
{
    ck_assert_ptr_null(walk);
}

void forecast_walk_step(struct forecast_walk *walk, struct store *store, forecast_fn *fn, void *arg)
{
    (void)walk, (void)store, (void)fn;
    add_call("coming", SLICE(""), arg);
}

void store_audit(struct store *store, store_audit_fn *fn, void *arg)
{
    (void)store;
    add_call("audit", SLICE(""), arg)->fn.audited = fn;
}

/* Members of the call: id is the place, and shard the part. */
void store_export(struct store *store, size_t part, struct slice place, size_t max, store_export_fn *fn,
                  void *arg)
{
    struct fake_call *kept = add_call("export", place, arg);
    (void)store;
    kept->shard = part;
    kept->max = max;
    kept->fn.exported = fn;
}

/* Members of the call: id is the name of the row, and record its kind. */
void store_import(struct store *store, const struct data_row *row, store_import_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("import", row->name, arg);
    (void)store;
    copy(kept->record, row->kind);
    kept->fn.imported = fn;
}

/* ---- pull.h ---- */

static store_pull_wake_fn *on_wake;
static void *on_wake_arg;

void store_on_pull_wake(struct store *store, store_pull_wake_fn *fn, void *arg)
{
    (void)store;
    on_wake = fn;
    on_wake_arg = arg;
}

void fake_wake(struct slice topic)
{
    on_wake(on_wake_arg, topic);
}

void store_pull(struct store *store, const struct store_pull *pull, store_pull_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("pull", pull->topic, arg);
    (void)store;
    copy(kept->once, pull->once);
    kept->max = pull->max;
    kept->lease_ms = pull->lease_ms;
    kept->wait_ms = pull->wait_ms;
    kept->fn.pulled = fn;
}

/* Members of the call: tags is the token, and record is the error. */
bool store_knows_token(struct store *store, struct slice id, struct slice token)
{
    (void)store, (void)id;
    return slice_equal(token, SLICE("of the attempt"));
}

void store_pull_end(struct store *store, const struct lease_end *end, store_pull_end_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("pull_end", end->id, arg);
    (void)store;
    copy(kept->tags, end->token);
    copy(kept->record, end->error);
    kept->action = end->kind;
    kept->lease_ms = end->lease_ms;
    kept->wait_ms = end->has_delay ? end->delay_ms : -1;
    kept->fn.pull_ended = fn;
}

/* ---- clock.h ---- */

void fake_fire(size_t count)
{
    fired += count;
}

void store_clock_step(struct store *store, const struct store_clock_step *step, store_clock_fn *fn, void *arg)
{
    struct fake_call *kept = add_call("clock_step", SLICE(""), arg);
    (void)store;
    kept->step = *step;
    kept->fn.clock = fn;
}

size_t clock_fired_count(void)
{
    return fired;
}

bool clock_take_fired(size_t max, clock_fired_fn *fn, void *arg, uint64_t *lost)
{
    const struct clock_fired entry = {.at_ms = 5,
                                      .job = SLICE_INIT("orders/a/b"),
                                      .event = SLICE_INIT("attempt"),
                                      .schedule = SLICE_INIT("orders/nightly"),
                                      .attempt = 2,
                                      .status = 503,
                                      .outcome = SLICE_INIT("retry"),
                                      .next_ms = 7};
    for (; max > 0 && fired > 0; max--, fired--)
        fn(arg, &entry);
    *lost = 3;
    return fired > 0;
}

/* ---- the world ---- */

static struct app app;
static char log_path[64];

static void write_from(const void *peer, char text[APP_FROM_SIZE])
{
    snprintf(text, APP_FROM_SIZE, "%s", (const char *)peer);
}

const struct app_caller fake_all = {.name = "ops", .write_from = write_from, .peer = "192.0.2.7"};
const struct app_caller fake_some = {
    .name = "shop", .topics = {"orders-*", 8}, .write_from = write_from, .peer = "192.0.2.8"};

static void open_log(void)
{
    struct problem problem;
    snprintf(log_path, sizeof log_path, "/tmp/duepost-app-XXXXXX");
    int fd = mkstemp(log_path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(log_open(log_path, LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO, &problem), STATUS_OK);
}

struct app *fake_app(void)
{
    struct problem problem;
    struct target_policy *targets = target_policy_new();
    ck_assert_int_eq(target_policy_allow(targets, SLICE("127.0.0.0/8"), &problem), STATUS_OK);
    fake_begin();
    open_log();
    app = (struct app){.store = &fake,
                       .targets = targets,
                       .schedule = &retry_schedule_default,
                       .is_breaker_on = true,
                       .max_jobs = 1000,
                       .board = metrics_board_new(1)};
    app.metrics = metrics_of(app.board, 0);
    return &app;
}

void fake_end(void)
{
    metrics_board_free(app.board);
    target_policy_free((struct target_policy *)(uintptr_t)app.targets);
    unlink(log_path);
}

/* ---- verdicts ---- */

struct fake_verdict fake_verdict;

void fake_forget(void)
{
    memset(&fake_verdict, 0, sizeof fake_verdict);
}

void fake_on_verdict(void *arg, const struct app_verdict *verdict)
{
    struct fake_verdict *kept = &fake_verdict;
    ck_assert_ptr_eq(arg, kept);
    kept->count++;
    kept->end = verdict->end;
    copy(kept->id, verdict->job.id);
    copy(kept->record, verdict->job.record);
    copy(kept->why, verdict->why);
    copy(kept->topic, verdict->topic);
    copy(kept->group, verdict->group);
    kept->sent_count = verdict->sent_count;
    copy(kept->lines, verdict->lines);
    copy(kept->settings, verdict->settings);
    copy(kept->cursor, verdict->page.cursor);
    kept->state = verdict->job.state;
    kept->at_ms = verdict->job.at_ms;
    kept->number = verdict->page.count;
    kept->was_there = verdict->was_there;
    kept->was_leased = verdict->was_leased;
    kept->is_partial = verdict->page.is_partial;
    kept->counts = verdict->counts;
    ck_assert((verdict->errors != NULL) == (verdict->end == STATUS_INVALID));
    if (verdict->errors) {
        ck_assert_uint_gt(verdict->errors->count, 0);
        copy(kept->error_field, slice_of(error_at(verdict->errors, 0).field));
        copy(kept->error_detail, slice_of(error_at(verdict->errors, 0).detail));
    }
}

void fake_expect(enum status end)
{
    ck_assert_uint_eq(fake_verdict.count, 1);
    ck_assert_msg(fake_verdict.end == end, "the verdict is %d, not %d", (int)fake_verdict.end, (int)end);
    fake_expect_none();
}

void fake_expect_log(const char *text)
{
    char line[4096] = "";
    FILE *file = fopen(log_path, "r");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[size] = '\0';
    ck_assert_int_eq(truncate(log_path, 0), 0);
    if (text[0])
        ck_assert_msg(strstr(line, text), "%s is not in %s", text, line);
    else
        ck_assert_str_eq(line, "");
}

void fake_expect_metric(const char *line)
{
    struct buffer text;
    buffer_init(&text, 1 << 20);
    metrics_write(app.board, &text, METRICS_FORMAT_TEXT);
    ck_assert_msg(strstr(buffer_text(&text), line), "%s is not in %s", line, buffer_text(&text));
    buffer_fini(&text);
}

/* ---- events ---- */

void store_on_stream_wake(struct store *store, store_stream_wake_fn *fn, void *arg)
{
    (void)store, (void)fn, (void)arg;
}

void store_stream(struct store *store, const struct store_stream *what, store_streamed_fn *fn, void *arg)
{
    (void)store;
    add_call("stream", what->topic, arg)->fn.streamed = fn;
}
