/* forecast.c - counts waiting jobs by due time: how many are overdue, and how many become due in each span of
 * time.
 *
 * A walk counts the jobs of all shards once, in steps. In each step, every shard that still has topics to
 * count gets one call, which takes Redis about 2 ms. In a shard with more than FORECAST_TOPICS_MAX topics,
 * the walk counts only a sample of the topics. The steps of a walk may use the stores of different
 * reactors. */
#include <string.h>

#include "base/memory.h"
#include "store/store_private.h"

/* The spans in which the script counts do not overlap: first the spans of 5 s, up to a minute; then those of
 * 5 min after the first minute, up to an hour; and so on. */
enum {
    FORECAST_TOPICS_MAX = 1024,     /* maximum number of topics of one shard that a walk examines */
    AFTER_MINUTE = FORECAST_MINUTE, /* index of the span from 1 to 5 minutes */
    AFTER_HOUR = AFTER_MINUTE + FORECAST_HOUR,
    AFTER_DAY = AFTER_HOUR + FORECAST_DAY - 1,
    SPANS = AFTER_DAY + FORECAST_WEEK - 1,
    COUNTS = 1 + SPANS + 1, /* number of counts: overdue jobs, the jobs of each span, later jobs */
    FIRST_COUNT = 6,        /* index of the first count in a reply */
};
#define JOBS_MAX (INT64_C(1) << 40) /* more jobs than a Redis can hold */
#define SECOND   INT64_C(1000)
#define MINUTE   (60 * SECOND)
#define HOUR     (60 * MINUTE)
#define DAY      (24 * HOUR)

struct shard_walk {
    struct forecast_walk *walk;
    int64_t began_ms, topics; /* time of the first step, and number of topics then */
    int64_t examined, left;   /* numbers of topics */
    int64_t waiting;          /* number of waiting jobs of the shard, in all topics */
    int64_t counts[COUNTS];
};

struct forecast_walk {
    struct shard_walk *shards;
    size_t shard_count; /* number of shards in the current walk; 0: the next step begins a new walk */
    size_t awaited;     /* number of shards that have not answered the step yet */
    enum status status;
    forecast_fn *fn;
    void *arg;
};

struct forecast_walk *forecast_walk_new(void)
{
    return NEW(struct forecast_walk);
}

void forecast_walk_free(struct forecast_walk *walk)
{
    if (!walk)
        return;
    free(walk->shards);
    free(walk);
}

/* ---- the result ---- */

static bool is_sampled(const struct shard_walk *shard)
{
    return shard->topics > FORECAST_TOPICS_MAX;
}

/* Scales the counts of the sampled topics up, so that their sum is the number of all waiting jobs of the
 * shard. */
static void extrapolate(struct shard_walk *shard)
{
    int64_t counted = 0;
    for (size_t i = 0; i < COUNTS; i++)
        counted += shard->counts[i];
    for (size_t i = 0; counted > 0 && i < COUNTS; i++)
        shard->counts[i] =
            (int64_t)((double)shard->counts[i] * (double)shard->waiting / (double)counted + 0.5);
}

static int64_t forecast_sum(const int64_t *counts, size_t count)
{
    int64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += counts[i];
    return all;
}

/* Adds the counts of a shard. hour[0] includes all jobs of the minute, day[0] those of the hour, and
 * week[0] those of the day. */
static void add_shard(struct forecast *forecast, const struct shard_walk *shard)
{
    const int64_t *spans = shard->counts + 1;
    forecast->is_sampled = forecast->is_sampled || is_sampled(shard);
    forecast->overdue += shard->counts[0];
    for (size_t i = 0; i < FORECAST_MINUTE; i++)
        forecast->minute[i] += spans[i];
    for (size_t i = 1; i < FORECAST_HOUR; i++)
        forecast->hour[i] += spans[AFTER_MINUTE + i];
    for (size_t i = 1; i < FORECAST_DAY; i++)
        forecast->day[i] += spans[AFTER_HOUR + i - 1];
    for (size_t i = 1; i < FORECAST_WEEK; i++)
        forecast->week[i] += spans[AFTER_DAY + i - 1];
    forecast->hour[0] += forecast_sum(spans, AFTER_MINUTE + 1);
    forecast->day[0] += forecast_sum(spans, AFTER_HOUR);
    forecast->week[0] += forecast_sum(spans, AFTER_DAY);
    forecast->later += shard->counts[COUNTS - 1];
}

/* ---- a step ---- */

static void end_step(struct forecast_walk *walk)
{
    struct forecast forecast = {.at_ms = walk->shards[0].began_ms};
    bool is_complete = walk->status == STATUS_OK;
    for (size_t i = 0; is_complete && i < walk->shard_count; i++)
        is_complete = walk->shards[i].left == 0;
    for (size_t i = 0; is_complete && i < walk->shard_count; i++) {
        if (is_sampled(&walk->shards[i]))
            extrapolate(&walk->shards[i]);
        add_shard(&forecast, &walk->shards[i]);
    }
    if (is_complete || walk->status != STATUS_OK) {
        free(walk->shards);
        walk->shards = NULL;
        walk->shard_count = 0;
    }
    walk->fn(walk->arg, walk->status, is_complete ? &forecast : NULL);
}

static bool read_step(struct shard_walk *shard, const struct redis_reply *reply)
{
    int64_t examined = redis_reply_integer(redis_reply_at(reply, 3));
    int64_t left = redis_reply_integer(redis_reply_at(reply, 4));
    if (redis_reply_size(reply) != FIRST_COUNT + COUNTS || left < 0 || examined < shard->examined ||
        (left > 0 && examined == shard->examined))
        return false;
    shard->began_ms = redis_reply_integer(redis_reply_at(reply, 1));
    shard->topics = redis_reply_integer(redis_reply_at(reply, 2));
    shard->examined = examined;
    shard->left = left;
    shard->waiting = redis_reply_integer(redis_reply_at(reply, 5));
    for (size_t i = 0; i < COUNTS; i++) {
        int64_t count = redis_reply_integer(redis_reply_at(reply, FIRST_COUNT + i));
        if (count < 0 || count > JOBS_MAX)
            return false;
        shard->counts[i] += count;
    }
    return true;
}

static void on_forecast(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct shard_walk *shard = call->arg;
    struct forecast_walk *walk = shard->walk;
    if (status == STATUS_OK && !read_step(shard, reply))
        status = reply_refuse("coming");
    if (status != STATUS_OK)
        walk->status = status;
    if (--walk->awaited == 0)
        end_step(walk);
}

static void add_ends(struct store_call *call, int64_t unit_ms, int64_t first, int64_t last)
{
    for (int64_t i = first; i <= last; i++)
        store_call_number(call, i * unit_ms);
}

static void ask_shard(struct shard_walk *walk, struct shard *shard)
{
    struct store_call *call = store_call_alone(shard, SCRIPT_COMING, shard->reads, on_forecast, NULL, walk);
    store_call_number(call, walk->examined);
    store_call_number(call, FORECAST_TOPICS_MAX);
    store_call_number(call, walk->began_ms);
    store_call_number(call, walk->topics);
    add_ends(call, 5 * SECOND, 1, FORECAST_MINUTE);
    add_ends(call, 5 * MINUTE, 1, FORECAST_HOUR);
    add_ends(call, HOUR, 2, FORECAST_DAY);
    add_ends(call, DAY, 2, FORECAST_WEEK);
    store_call_send(call);
}

void forecast_walk_step(struct forecast_walk *walk, struct store *store, forecast_fn *fn, void *arg)
{
    if (walk->shard_count == 0) {
        walk->shard_count = store_shards(store);
        walk->shards = NEW_ARRAY(struct shard_walk, walk->shard_count);
        for (size_t i = 0; i < walk->shard_count; i++)
            walk->shards[i] = (struct shard_walk){.walk = walk, .left = 1};
    }
    walk->status = STATUS_OK;
    walk->fn = fn;
    walk->arg = arg;
    for (size_t i = 0; i < walk->shard_count; i++)
        walk->awaited += walk->shards[i].left > 0;
    for (size_t i = 0; i < walk->shard_count; i++)
        if (walk->shards[i].left > 0)
            ask_shard(&walk->shards[i], store_shard(store, i));
}
