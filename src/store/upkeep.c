/* upkeep.c - makes the calls of the carry worker and the janitor: carry, forget, sweep, survey,
 * audit, mend. */
#include <string.h>

#include "base/memory.h"
#include "store/store_private.h"

enum {
    CARRY_TOPICS_MAX = 256, /* maximum number of topics in one call */
    FORGET_MAX = 1000,
    FORGET_SENDS_MAX = 20, /* maximum number of sends in one call; each is checked for up to 100 jobs */
    MENDED_MAX = 64,       /* maximum number of repairs that one call reports */
    SWEEP_MAX = 1024,      /* maximum number of jobs that one call removes */
    AUDIT_TOPICS_MAX = 1000,
    REOFFER_MAX = 300, /* maximum number of topics in one call, which takes Redis a few milliseconds */
    SURVEY_MAX = 2000, /* maximum number of topics in one call; the call ends earlier if it takes long */
};

static bool has_letter(struct slice letters, char letter)
{
    return letters.size && memchr(letters.data, letter, letters.size);
}

/* Reads the letters that carry.lua describes. */
static struct shard_chores read_chores(struct slice letters)
{
    return (struct shard_chores){
        .has_turns = has_letter(letters, 't'),
        .rests = has_letter(letters, 'r'),
        .forgets = has_letter(letters, 'f'),
        .sweeps = has_letter(letters, 's'),
        .reoffers = has_letter(letters, 'o'),
        .opens = has_letter(letters, 'w'),
        .alerts = has_letter(letters, 'l'),
        .expires = has_letter(letters, 'e'),
        .archives = has_letter(letters, 'a'),
        .notes = has_letter(letters, 'n'),
    };
}

static void carry_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct shard_carried carried = {
        .now_us = redis_reply_integer(redis_reply_at(reply, 0)),
        .owner = redis_reply_text(redis_reply_at(reply, 1)),
        .beat = redis_reply_integer(redis_reply_at(reply, 2)),
        .next_due_ms = redis_reply_integer(redis_reply_at(reply, 3)),
        .until_lost_ms = redis_reply_integer(redis_reply_at(reply, 4)),
        .is_full = redis_reply_integer(redis_reply_at(reply, 5)) == CARRY_TOPICS_MAX,
        .chores = read_chores(redis_reply_text(redis_reply_at(reply, 6))),
        .next_fire_ms = redis_reply_size(reply) > 7 ? redis_reply_integer(redis_reply_at(reply, 7)) : -1,
    };
    CALL_FN(call, shard_carry_fn)(call->arg, status, &carried);
}

void shard_carry(struct shard *shard, const struct shard_carry *carry, shard_carry_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_CARRY, shard->worker, carry_end, ANY_FN(fn), arg);
    store_call_text(call, carry->me);
    store_call_number(call, carry->is_leaving ? -1 : !carry->is_tick ? 0 : carry->is_unwatched ? 2 : 1);
    store_call_number(call, CARRY_TOPICS_MAX);
    store_call_text(call, carry->stuck_owner);
    store_call_number(call, carry->stuck_beat);
    store_call_number(call, STORE_LEASE_MS);
    store_call_number(call, carry->patience_ms);
    store_call_number(call, carry->expected_ms);
    store_call_send(call);
}

static void openings_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct shard_opening wanted[SHARD_OPENINGS_MAX];
    size_t count = status == STATUS_OK ? (redis_reply_size(reply) - 1) / 2 : 0;
    if (count > SHARD_OPENINGS_MAX)
        count = 0;
    for (size_t i = 0; i < count; i++)
        wanted[i] = (struct shard_opening){.topic = redis_reply_text(redis_reply_at(reply, 2 * i + 1)),
                                           .settings = redis_reply_text(redis_reply_at(reply, 2 * i + 2))};
    CALL_FN(call, shard_openings_fn)(call->arg, status, wanted, count);
}

void shard_openings(struct shard *shard, const struct shard_opening *known, size_t count,
                    shard_openings_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_OPENINGS, shard->worker, openings_end, ANY_FN(fn), arg);
    store_call_number(call, SHARD_OPENINGS_MAX);
    for (size_t i = 0; i < count; i++) {
        store_call_text(call, known[i].topic);
        store_call_text(call, known[i].settings);
        store_call_text(call, known[i].spans);
    }
    store_call_send(call);
}

static void forget_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    bool is_full = redis_reply_integer(redis_reply_at(reply, 1)) == FORGET_MAX ||
                   redis_reply_integer(redis_reply_at(reply, 2)) == FORGET_SENDS_MAX;
    CALL_FN(call, shard_forget_fn)(call->arg, status, is_full);
}

void shard_forget(struct shard *shard, shard_forget_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_FORGET, shard->worker, forget_end, ANY_FN(fn), arg);
    store_call_number(call, FORGET_MAX);
    store_call_number(call, FORGET_SENDS_MAX);
    store_call_send(call);
}

static void sweep_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct shard_swept swept = {
        .ended = (size_t)redis_reply_integer(redis_reply_at(reply, 1)),
        .by_retention = (size_t)redis_reply_integer(redis_reply_at(reply, 2)),
        .by_age = (size_t)redis_reply_integer(redis_reply_at(reply, 3)),
        .by_number = (size_t)redis_reply_integer(redis_reply_at(reply, 4)),
        .is_full = redis_reply_integer(redis_reply_at(reply, 5)) >= 0,
        .late_ms = redis_reply_integer(redis_reply_at(reply, 5)),
    };
    CALL_FN(call, shard_sweep_fn)(call->arg, status, &swept);
}

void shard_sweep(struct shard *shard, shard_sweep_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_SWEEP, shard->worker, sweep_end, ANY_FN(fn), arg);
    store_call_number(call, SWEEP_MAX);
    store_call_number(call, shard->options->dead_max_age_ms);
    store_call_number(call, shard_part(shard, shard->options->dead_max));
    store_call_send(call);
}

static void resume_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    int64_t count = redis_reply_integer(redis_reply_at(reply, 1));
    CALL_FN(call, shard_resume_fn)(call->arg, status, count > 0 ? (size_t)count : 0);
}

void shard_resume(struct shard *shard, struct slice receiver, size_t max, shard_resume_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_RESUME, shard->worker, resume_end, ANY_FN(fn), arg);
    store_call_text(call, receiver);
    store_call_number(call, (int64_t)max);
    store_call_send(call);
}

static int64_t late_ms(const struct redis_reply *reply)
{
    int64_t oldest_ms = redis_reply_integer(redis_reply_at(reply, 10));
    int64_t late_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000 - oldest_ms;
    return oldest_ms >= 0 && late_ms > 0 ? late_ms : 0;
}

static void audit_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct store_counts counts = {
        .jobs = redis_reply_integer(redis_reply_at(reply, 1)),
        .waiting = redis_reply_integer(redis_reply_at(reply, 2)),
        .leased = redis_reply_integer(redis_reply_at(reply, 3)),
        .dead = redis_reply_integer(redis_reply_at(reply, 4)),
        .topics = redis_reply_integer(redis_reply_at(reply, 5)),
        .ready = redis_reply_integer(redis_reply_at(reply, 6)),
        .histories = redis_reply_integer(redis_reply_at(reply, 7)),
        .kept = redis_reply_integer(redis_reply_at(reply, 8)),
        .kept_with_time = redis_reply_integer(redis_reply_at(reply, 9)),
        .late_ms = late_ms(reply),
        .due_age_ms = redis_reply_integer(redis_reply_at(reply, 11)),
        .takes_survey = redis_reply_integer(redis_reply_at(reply, 12)) != 0,
        .held = redis_reply_integer(redis_reply_at(reply, 13)),
        .pulled = redis_reply_integer(redis_reply_at(reply, 14)),
        .outbox = redis_reply_integer(redis_reply_at(reply, 15)),
        .outbox_listed = redis_reply_integer(redis_reply_at(reply, 16)),
        .outbox_bytes = redis_reply_integer(redis_reply_at(reply, 17)),
        .outbox_dropped = redis_reply_integer(redis_reply_at(reply, 18)),
        .outbox_age_ms = redis_reply_integer(redis_reply_at(reply, 19)),
    };
    CALL_FN(call, store_audit_fn)(call->arg, status, &counts);
}

void shard_audit(struct shard *shard, store_audit_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_AUDIT, shard->worker, audit_end, ANY_FN(fn), arg);
    store_call_number(call, AUDIT_TOPICS_MAX);
    store_call_send(call);
}

static void reoffer_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    CALL_FN(call, shard_reoffer_fn)
    (call->arg, status, (size_t)redis_reply_integer(redis_reply_at(reply, 1)),
     redis_reply_integer(redis_reply_at(reply, 2)) == 1);
}

void shard_reoffer(struct shard *shard, int64_t step_ms, shard_reoffer_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_REOFFER, shard->worker, reoffer_end, ANY_FN(fn), arg);
    store_call_number(call, REOFFER_MAX);
    store_call_number(call, step_ms);
    store_call_send(call);
}

static void survey_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct shard_survey survey = {
        .cursor = redis_reply_text(redis_reply_at(reply, 1)),
        .due_jobs = redis_reply_integer(redis_reply_at(reply, 2)),
        .oldest_due_ms = redis_reply_integer(redis_reply_at(reply, 3)),
    };
    if (status == STATUS_OK && survey.cursor.size > SHARD_SURVEY_CURSOR_MAX)
        status = reply_refuse("survey");
    CALL_FN(call, shard_survey_fn)(call->arg, status, &survey);
}

void shard_survey(struct shard *shard, const struct shard_survey *survey, shard_survey_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_SURVEY, shard->worker, survey_end, ANY_FN(fn), arg);
    store_call_text(call, survey->cursor);
    store_call_number(call, SURVEY_MAX);
    store_call_number(call, survey->due_jobs);
    store_call_number(call, survey->oldest_due_ms);
    store_call_send(call);
}

static void mend_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct slice mended[MENDED_MAX];
    size_t count = 0;
    for (size_t i = 2; i < redis_reply_size(reply) && count < MENDED_MAX; i++)
        mended[count++] = redis_reply_text(redis_reply_at(reply, i));
    CALL_FN(call, shard_mend_fn)
    (call->arg, status, redis_reply_text(redis_reply_at(reply, 1)), mended, count);
}

void shard_mend(struct shard *shard, struct slice walk, struct slice cursor, shard_mend_fn *fn, void *arg)
{
    struct store_call *call = store_call_alone(shard, SCRIPT_MEND, shard->worker, mend_end, ANY_FN(fn), arg);
    store_call_text(call, walk);
    store_call_text(call, cursor);
    store_call_send(call);
}
