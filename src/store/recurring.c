#include "store/recurring.h"

#include <assert.h>

#include "base/memory.h"
#include "job/job_id.h"
#include "store/store_private.h"

enum {
    SCHEDULES_MAX = 100, /* maximum number of schedules in one page */
    FIRST_OF_PAGE = 2,   /* index of the first schedule in a reply */
    FIRST_OF_FIRES = 3,
    SCHEDULE_PARTS = 6,
    FIRES_PARTS = 5, /* the last part is the progress (recurrence.h) */
};

/* ---- reading ---- */

static enum fired fired_of(struct slice word)
{
    static const struct {
        const char *word;
        enum fired outcome;
    } words[] = {
        {"fire", FIRED_DONE},         {"skip", FIRED_SKIPPED},     {"overlap", FIRED_OVERLAP},
        {"conflict", FIRED_CONFLICT}, {"noUrl", FIRED_NO_URL},     {"full", FIRED_FULL},
        {"quota", FIRED_QUOTA},       {"noGroup", FIRED_NO_GROUP}, {"unsendable", FIRED_UNSENDABLE},
        {"hold", FIRED_HELD},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (slice_equal(word, slice_of(words[i].word)))
            return words[i].outcome;
    return FIRED_NEVER;
}

static int64_t take_number(struct slice *text)
{
    struct slice word;
    uint64_t number = 0;
    slice_cut(*text, ' ', &word, text);
    return slice_to_number(word, INT64_MAX, &number) ? (int64_t)number : 0;
}

/* Reads an entry of the key fired, see scripts/lib/schedules.lua. */
static void read_entry(struct slice text, struct store_recurring *schedule)
{
    struct slice word;
    slice_cut(text, ' ', &schedule->tag, &text);
    slice_cut(text, ' ', &word, &text);
    schedule->last.outcome = fired_of(word);
    schedule->last.is_missed = take_number(&text) != 0;
    schedule->last.time_ms = take_number(&text);
    schedule->last.at_ms = take_number(&text);
    schedule->last.job = text;
}

/* Reads the schedules of a shard's reply from index first on. Each schedule has this number of parts. Returns
 * the number of schedules. */
static size_t read_schedules(const struct redis_reply *reply, size_t shard, size_t first, size_t parts,
                             size_t max, struct store_recurring *schedules)
{
    size_t count = 0;
    for (size_t at = first; at + parts <= redis_reply_size(reply) && count < max; at += parts) {
        struct store_recurring *schedule = &schedules[count++];
        *schedule = (struct store_recurring){
            .shard = shard,
            .id = redis_reply_text(redis_reply_at(reply, at)),
            .next_ms = redis_reply_integer(redis_reply_at(reply, at + 1)),
            .record = redis_reply_text(redis_reply_at(reply, at + 2)),
            .now_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000,
            .missed_ms = -1,
        };
        read_entry(redis_reply_text(redis_reply_at(reply, at + 3)), schedule);
        if (parts == FIRES_PARTS) {
            schedule->progress = redis_reply_text(redis_reply_at(reply, at + 4));
        } else {
            schedule->missed_ms = redis_reply_integer(redis_reply_at(reply, at + 4));
            schedule->delivered_ms = redis_reply_integer(redis_reply_at(reply, at + 5));
        }
    }
    return count;
}

struct recurring_walk {
    const struct store *store;
    struct store_recurrings list; /* from.shard is the shard of the current call */
    store_recurrings_fn *fn;
    void *arg;
};

static void recurring_ask(struct recurring_walk *);

static struct recurring_cursor next_of(const struct recurring_walk *walk, bool has_more, size_t count,
                                       const struct store_recurring *last)
{
    size_t shard = walk->list.from.shard;
    if (has_more)
        return walk->list.until_ms
                   ? (struct recurring_cursor){.shard = shard, .place = walk->list.from.place + count}
                   : (struct recurring_cursor){.shard = shard, .id = last->id};
    bool has_next_shard =
        walk->list.id.size + walk->list.topic.size == 0 && shard + 1 < store_shards(walk->store);
    return (struct recurring_cursor){.shard = has_next_shard ? shard + 1 : 0};
}

static void on_page(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct recurring_walk *walk = call->arg;
    struct recurring_cursor next = {.shard = 0};
    struct store_recurring schedules[SCHEDULES_MAX];
    size_t count = 0, kept = 0;
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_OF_PAGE)
        status = reply_refuse("recurring");
    if (status == STATUS_OK) {
        count = read_schedules(reply, walk->list.from.shard, FIRST_OF_PAGE, SCHEDULE_PARTS, SCHEDULES_MAX,
                               schedules);
        next = next_of(walk, count > 0 && redis_reply_integer(redis_reply_at(reply, 1)) == 1, count,
                       schedules + (count > 0 ? count - 1 : 0));
        for (size_t i = 0; i < count; i++)
            if (reply_has_id(schedules[i].id))
                schedules[kept++] = schedules[i];
    }
    if (status == STATUS_OK && walk->list.id.size && kept == 0) {
        status = STATUS_NOT_FOUND;
        schedules[0] =
            (struct store_recurring){.now_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000};
    }
    if (status == STATUS_OK && count == 0 && next.shard > walk->list.from.shard) {
        walk->list.from = next;
        recurring_ask(walk);
        return;
    }
    walk->fn(walk->arg, status, schedules, kept, next);
    free(walk);
}

static void recurring_ask(struct recurring_walk *walk)
{
    const struct store_recurrings *list = &walk->list;
    struct shard *shard = store_shard(walk->store, list->from.shard);
    struct store_call *call = store_call_alone(shard, SCRIPT_RECURRING, shard->reads, on_page, NULL, walk);
    store_call_text(call, list->id);
    store_call_text(call, list->topic);
    store_call_text(call, list->from.id);
    store_call_number(call, list->max < SCHEDULES_MAX ? (int64_t)list->max : SCHEDULES_MAX);
    store_call_text(call, list->prefix);
    if (list->until_ms) {
        store_call_number(call, (int64_t)list->from.place);
        store_call_number(call, list->until_ms);
    }
    store_call_send(call);
}

void store_recurrings(struct store *store, const struct store_recurrings *list, store_recurrings_fn *fn,
                      void *arg)
{
    struct recurring_walk *walk = NEW(struct recurring_walk);
    struct slice named = list->id.size ? list->id : list->topic;
    *walk = (struct recurring_walk){.store = store, .list = *list, .fn = fn, .arg = arg};
    if (named.size)
        walk->list.from.shard = store_shard_of(store, named)->number;
    assert(walk->list.from.shard < store_shards(store));
    recurring_ask(walk);
}

/* ---- schedules whose time has come ---- */

static void fires_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct store_recurring schedules[SHARD_FIRES_MAX];
    struct shard_fires fires = {.schedules = schedules, .later_ms = -1};
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_OF_FIRES)
        status = reply_refuse("fires");
    if (status == STATUS_OK) {
        fires.now_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000;
        fires.due = redis_reply_integer(redis_reply_at(reply, 1));
        fires.later_ms = redis_reply_integer(redis_reply_at(reply, 2));
        fires.count = read_schedules(reply, call->shard->number, FIRST_OF_FIRES, FIRES_PARTS, SHARD_FIRES_MAX,
                                     schedules);
    }
    CALL_FN(call, shard_fires_fn)(call->arg, status, &fires);
}

void shard_fires(struct shard *shard, size_t max, shard_fires_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_FIRES, shard->worker, fires_end, ANY_FN(fn), arg);
    store_call_number(call, (int64_t)max);
    store_call_send(call);
}

/* ---- define, undefine ---- */

static void add_time(struct store_call *call, int64_t time_ms, const char *otherwise)
{
    if (time_ms < 0)
        store_call_text(call, slice_of(otherwise));
    else
        store_call_number(call, time_ms);
}

static void define_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    if (status == STATUS_OK && redis_reply_integer(result) != 1)
        status = STATUS_STALE;
    CALL_FN(call, store_recurring_fn)(call->arg, status);
}

void store_define(struct store *store, const struct store_define *define, store_recurring_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, define->id);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_DEFINE, define_end, ANY_FN(fn), arg);
    store_call_text(call, define->id);
    store_call_text(call, define->tag.size ? define->tag : SLICE("-"));
    store_call_text(call, define->record);
    add_time(call, define->next_ms, define->next_ms == STORE_RECURRING_KEEP ? "=" : "-");
    store_call_number(call, define->expect_by_ms);
    store_call_number(call, define->jitter_ms);
    store_call_send(call);
}

static void undefine_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    int64_t code = redis_reply_integer(result);
    if (status == STATUS_OK && code != 1)
        status = code == RESULT_NOT_FOUND ? STATUS_NOT_FOUND : STATUS_STALE;
    CALL_FN(call, store_recurring_fn)(call->arg, status);
}

void store_undefine(struct store *store, struct slice id, struct slice tag, store_recurring_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, id);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_UNDEFINE, undefine_end, ANY_FN(fn), arg);
    store_call_text(call, id);
    store_call_text(call, tag.size ? tag : SLICE("*"));
    store_call_send(call);
}

/* ---- fire ---- */

static struct slice kind_word(enum fired kind)
{
    switch (kind) {
    case FIRED_DONE:
        return SLICE("fire");
    case FIRED_SKIPPED:
        return SLICE("skip");
    case FIRED_NO_GROUP:
        return SLICE("noGroup");
    case FIRED_UNSENDABLE:
        return SLICE("unsendable");
    case FIRED_MOVED:
        return SLICE("move");
    default:
        return SLICE("hold");
    }
}

static enum status fire_status(int64_t code)
{
    switch (code) {
    case 0:
        return STATUS_STALE;
    case RESULT_FULL:
        return STATUS_FULL;
    case RESULT_QUOTA:
        return STATUS_QUOTA;
    case RESULT_OVERLAP:
        return STATUS_LEASED;
    case RESULT_TAKEN:
        return STATUS_EXISTS;
    case RESULT_NO_URL:
        return STATUS_NO_URL;
    case RESULT_REUSED:
        return STATUS_REUSED;
    default:
        return code > 0 ? STATUS_OK : reply_refuse("fire");
    }
}

/* Reads the first answer under an idempotency key. If the job was sent to a group, the text has more than the
 * id. */
static enum status read_first_answer(const struct redis_reply *result, struct slice *job, int64_t *due_ms)
{
    struct slice rest, topic, job_id;
    bool is_repeated = slice_equal(redis_reply_text(redis_reply_at(result, 0)), SLICE("repeated"));
    slice_cut(redis_reply_text(redis_reply_at(result, 2)), '\n', job, &rest);
    *due_ms = redis_reply_integer(redis_reply_at(result, 1));
    return is_repeated && job_key_parse(*job, &topic, &job_id) ? STATUS_REPEATED : reply_refuse("fire");
}

struct fire {
    struct store_call call;
    struct slice job;
};

static void fire_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct slice job = ((struct fire *)call)->job;
    int64_t due_ms = redis_reply_integer(result);
    if (status == STATUS_OK && reply_names_quota(call->shard, result))
        status = STATUS_QUOTA;
    else if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY)
        status = read_first_answer(result, &job, &due_ms);
    else if (status == STATUS_OK)
        status = fire_status(due_ms);
    CALL_FN(call, store_fire_fn)
    (call->arg, status, job, status == STATUS_OK || status == STATUS_REPEATED ? due_ms : 0);
}

static void send_fire(struct shard *shard, enum shard_batch batch, const struct store_fire *fire,
                      store_fire_fn *fn, void *arg)
{
    struct fire *entry = NEW(struct fire);
    struct store_call *call = &entry->call;
    store_call_init(call, shard, batch, fire_end, ANY_FN(fn), arg);
    entry->job = fire->job;
    store_call_text(call, fire->id);
    store_call_text(call, fire->tag);
    add_time(call, fire->expected_ms, "-");
    add_time(call, fire->next_ms, "-");
    store_call_text(call, kind_word(fire->kind));
    store_call_number(call, fire->time_ms);
    store_call_number(call, fire->is_missed);
    store_call_number(call, fire->is_exclusive);
    if (fire->progress.size > 0)
        store_call_text(call, fire->progress);
    else
        store_call_text(call, fire->progress.data ? SLICE("-") : SLICE("="));
    store_call_text(call, fire->job);
    store_call_when(call, (struct job_when){fire->due_ms > 0, fire->due_ms});
    store_call_text(call, fire->record);
    store_call_text(call, fire->once.size ? fire->once : SLICE("-"));
    store_call_number(call, (int64_t)fire->count);
    if (fire->count > 0) {
        store_call_text(call, fire->mark);
        store_call_text(call, fire->group);
    }
    for (size_t i = 0; i < fire->count; i++) {
        store_call_text(call, fire->jobs[i].endpoint);
        store_call_text(call, fire->jobs[i].record);
    }
    call->bytes += BATCH_CALL_OVERHEAD + fire->count * BATCH_JOB_WEIGHT; /* a schedule and its jobs */
    store_call_send(call);
}

void store_fire(struct store *store, const struct store_fire *fire, store_fire_fn *fn, void *arg)
{
    send_fire(store_shard_of(store, fire->id), SHARD_BATCH_RUN_RECURRING, fire, fn, arg);
}

void shard_fire(struct shard *shard, const struct store_fire *fire, store_fire_fn *fn, void *arg)
{
    send_fire(shard, SHARD_BATCH_FIRE, fire, fn, arg);
}
