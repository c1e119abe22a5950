#include "store/recurring.h"

#include <assert.h>

#include "base/memory.h"
#include "job/job_id.h"
#include "store/reply.h"
#include "store/shard_private.h"

enum {
    SCHEDULES_MAX = 100, /* maximum number of schedules in one page */
    FIRST_OF_PAGE = 2,   /* index of the first schedule in a reply */
    FIRST_OF_FIRES = 3,
    SCHEDULE_PARTS = 4,
    FIRES_PARTS = 5, /* the last part is the progress (recurrence_progress.h) */
};

/* ---- reading ---- */

static enum store_fired fired_of(struct slice word)
{
    static const struct {
        const char *word;
        enum store_fired outcome;
    } words[] = {
        {"fire", STORE_FIRED_DONE},        {"skip", STORE_FIRED_SKIPPED},
        {"overlap", STORE_FIRED_OVERLAP},  {"conflict", STORE_FIRED_CONFLICT},
        {"noUrl", STORE_FIRED_NO_URL},     {"full", STORE_FIRED_FULL},
        {"noGroup", STORE_FIRED_NO_GROUP}, {"unsendable", STORE_FIRED_UNSENDABLE},
        {"hold", STORE_FIRED_HELD},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (slice_equal(word, slice_of(words[i].word)))
            return words[i].outcome;
    return STORE_FIRED_NEVER;
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
        };
        read_entry(redis_reply_text(redis_reply_at(reply, at + 3)), schedule);
        if (parts == FIRES_PARTS)
            schedule->progress = redis_reply_text(redis_reply_at(reply, at + 4));
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

static struct store_recurring_cursor next_of(const struct recurring_walk *walk, bool has_more,
                                             const struct store_recurring *last)
{
    size_t shard = walk->list.from.shard;
    if (has_more)
        return (struct store_recurring_cursor){shard, last->id};
    bool has_next_shard =
        walk->list.id.size + walk->list.topic.size == 0 && shard + 1 < store_shards(walk->store);
    return (struct store_recurring_cursor){has_next_shard ? shard + 1 : 0, {NULL, 0}};
}

static void on_page(void *arg, enum status status, const struct redis_reply *reply)
{
    struct recurring_walk *walk = arg;
    struct store_recurring_cursor next = {.shard = 0};
    struct store_recurring schedules[SCHEDULES_MAX];
    size_t count = 0, kept = 0;
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_OF_PAGE)
        status = reply_refuse("recurring");
    if (status == STATUS_OK) {
        count = read_schedules(reply, walk->list.from.shard, FIRST_OF_PAGE, SCHEDULE_PARTS, SCHEDULES_MAX,
                               schedules);
        next = next_of(walk, count > 0 && redis_reply_integer(redis_reply_at(reply, 1)) == 1,
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
    struct script_call *call = shard_call(shard, SCRIPT_RECURRING);
    script_call_text(call, list->id);
    script_call_text(call, list->topic);
    script_call_text(call, list->from.id);
    script_call_number(call, list->max < SCHEDULES_MAX ? (int64_t)list->max : SCHEDULES_MAX);
    script_call_text(call, list->prefix);
    script_call_send(call, shard->reads, on_page, walk);
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

struct fires_call {
    size_t shard;
    shard_fires_fn *fn;
    void *arg;
};

static void on_fires(void *arg, enum status status, const struct redis_reply *reply)
{
    struct fires_call *call = arg;
    struct store_recurring schedules[SHARD_FIRES_MAX];
    struct shard_fires fires = {.schedules = schedules, .later_ms = -1};
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_OF_FIRES)
        status = reply_refuse("fires");
    if (status == STATUS_OK) {
        fires.now_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000;
        fires.due = redis_reply_integer(redis_reply_at(reply, 1));
        fires.later_ms = redis_reply_integer(redis_reply_at(reply, 2));
        fires.count =
            read_schedules(reply, call->shard, FIRST_OF_FIRES, FIRES_PARTS, SHARD_FIRES_MAX, schedules);
    }
    call->fn(call->arg, status, &fires);
    free(call);
}

void shard_fires(struct shard *shard, size_t max, shard_fires_fn *fn, void *arg)
{
    struct fires_call *fires = NEW(struct fires_call);
    struct script_call *call = shard_call(shard, SCRIPT_FIRES);
    *fires = (struct fires_call){shard->number, fn, arg};
    script_call_number(call, (int64_t)max);
    script_call_send(call, shard->worker, on_fires, fires);
}

/* ---- define, undefine ---- */

struct define {
    struct batch_item item;
    struct store_define call;
    store_recurring_fn *fn;
    void *arg;
};

void store_define(struct store *store, const struct store_define *call, store_recurring_fn *fn, void *arg)
{
    struct define *define = NEW(struct define);
    struct shard *shard = store_shard_of(store, call->id);
    define->item.bytes = call->id.size + call->record.size + BATCH_ITEM_OVERHEAD;
    define->call = *call;
    define->fn = fn;
    define->arg = arg;
    batch_add(&shard->batches[SHARD_BATCH_DEFINE], &define->item);
}

static void add_time(struct script_call *call, int64_t time_ms, const char *otherwise)
{
    if (time_ms < 0)
        script_call_text(call, slice_of(otherwise));
    else
        script_call_number(call, time_ms);
}

static void define_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct store_define *define = &((const struct define *)item)->call;
    script_call_text(call, define->id);
    script_call_text(call, define->tag.size ? define->tag : SLICE("-"));
    script_call_text(call, define->record);
    add_time(call, define->next_ms, define->next_ms == STORE_RECURRING_KEEP ? "=" : "-");
}

static void define_end_item(struct batch_item *item, enum status status, int64_t now_us,
                            const struct redis_reply *result)
{
    struct define *define = (struct define *)item;
    (void)now_us;
    if (status == STATUS_OK && redis_reply_integer(result) != 1)
        status = STATUS_STALE;
    define->fn(define->arg, status);
    free(define);
}

const struct batch_kind define_kind = {SCRIPT_DEFINE, OWNER_CALLS_MAX, true,
                                       NULL,          define_add_item, define_end_item};

struct undefine {
    struct batch_item item;
    struct slice id, tag;
    store_recurring_fn *fn;
    void *arg;
};

void store_undefine(struct store *store, struct slice id, struct slice tag, store_recurring_fn *fn, void *arg)
{
    struct undefine *undefine = NEW(struct undefine);
    struct shard *shard = store_shard_of(store, id);
    undefine->item.bytes = id.size + tag.size + BATCH_ITEM_OVERHEAD;
    undefine->id = id;
    undefine->tag = tag;
    undefine->fn = fn;
    undefine->arg = arg;
    batch_add(&shard->batches[SHARD_BATCH_UNDEFINE], &undefine->item);
}

static void undefine_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct undefine *undefine = (const struct undefine *)item;
    script_call_text(call, undefine->id);
    script_call_text(call, undefine->tag.size ? undefine->tag : SLICE("*"));
}

static void undefine_end_item(struct batch_item *item, enum status status, int64_t now_us,
                              const struct redis_reply *result)
{
    struct undefine *undefine = (struct undefine *)item;
    int64_t code = redis_reply_integer(result);
    (void)now_us;
    if (status == STATUS_OK && code != 1)
        status = code == RESULT_NOT_FOUND ? STATUS_NOT_FOUND : STATUS_STALE;
    undefine->fn(undefine->arg, status);
    free(undefine);
}

const struct batch_kind undefine_kind = {SCRIPT_UNDEFINE,   OWNER_CALLS_MAX,  true, NULL,
                                         undefine_add_item, undefine_end_item};

/* ---- fire ---- */

struct fire {
    struct batch_item item;
    struct store_fire call;
    store_fire_fn *fn;
    void *arg;
};

static void add_fire(struct shard *shard, enum shard_batch batch, const struct store_fire *call,
                     store_fire_fn *fn, void *arg)
{
    struct fire *fire = NEW(struct fire);
    fire->item.bytes = call->id.size + call->job.size + call->record.size + call->progress.size +
                       2 * (size_t)BATCH_ITEM_OVERHEAD;
    for (size_t i = 0; i < call->count; i++)
        fire->item.bytes += call->jobs[i].record.size + BATCH_JOB_WEIGHT;
    fire->call = *call;
    fire->fn = fn;
    fire->arg = arg;
    batch_add(&shard->batches[batch], &fire->item);
}

void store_fire(struct store *store, const struct store_fire *call, store_fire_fn *fn, void *arg)
{
    add_fire(store_shard_of(store, call->id), SHARD_BATCH_RUN_RECURRING, call, fn, arg);
}

void shard_fire(struct shard *shard, const struct store_fire *call, store_fire_fn *fn, void *arg)
{
    add_fire(shard, SHARD_BATCH_FIRE, call, fn, arg);
}

static struct slice kind_word(enum store_fired kind)
{
    switch (kind) {
    case STORE_FIRED_DONE:
        return SLICE("fire");
    case STORE_FIRED_SKIPPED:
        return SLICE("skip");
    case STORE_FIRED_NO_GROUP:
        return SLICE("noGroup");
    case STORE_FIRED_UNSENDABLE:
        return SLICE("unsendable");
    case STORE_FIRED_MOVED:
        return SLICE("move");
    default:
        return SLICE("hold");
    }
}

static void fire_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct store_fire *fire = &((const struct fire *)item)->call;
    script_call_text(call, fire->id);
    script_call_text(call, fire->tag);
    add_time(call, fire->expected_ms, "-");
    add_time(call, fire->next_ms, "-");
    script_call_text(call, kind_word(fire->kind));
    script_call_number(call, fire->time_ms);
    script_call_number(call, fire->is_missed);
    script_call_number(call, fire->is_exclusive);
    if (fire->progress.size > 0)
        script_call_text(call, fire->progress);
    else
        script_call_text(call, fire->progress.data ? SLICE("-") : SLICE("="));
    script_call_text(call, fire->job);
    script_call_when(call, (struct store_when){fire->due_ms > 0, fire->due_ms});
    script_call_text(call, fire->record);
    script_call_text(call, fire->once.size ? fire->once : SLICE("-"));
    script_call_number(call, (int64_t)fire->count);
    if (fire->count == 0)
        return;
    script_call_text(call, fire->mark);
    script_call_text(call, fire->group);
    for (size_t i = 0; i < fire->count; i++) {
        script_call_text(call, fire->jobs[i].endpoint);
        script_call_text(call, fire->jobs[i].record);
    }
}

static enum status fire_status(int64_t code)
{
    switch (code) {
    case 0:
        return STATUS_STALE;
    case RESULT_FULL:
        return STATUS_FULL;
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

static void fire_end_item(struct batch_item *item, enum status status, int64_t now_us,
                          const struct redis_reply *result)
{
    struct fire *fire = (struct fire *)item;
    struct slice job = fire->call.job;
    int64_t due_ms = redis_reply_integer(result);
    (void)now_us;
    if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY)
        status = read_first_answer(result, &job, &due_ms);
    else if (status == STATUS_OK)
        status = fire_status(due_ms);
    fire->fn(fire->arg, status, job, status == STATUS_OK || status == STATUS_REPEATED ? due_ms : 0);
    free(fire);
}

const struct batch_kind fire_kind = {SCRIPT_FIRE,      OWNER_CALLS_MAX, false,
                                     shard_add_limits, fire_add_item,   fire_end_item};
const struct batch_kind run_recurring_kind = {SCRIPT_FIRE,      OWNER_CALLS_MAX, true,
                                              shard_add_limits, fire_add_item,   fire_end_item};
