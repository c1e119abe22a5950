/* upkeep.c - makes the calls of the carry worker and the janitor: carry, recover, forget, sweep, survey,
 * audit, mend. */
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "store/reply.h"
#include "store/shard_private.h"

enum {
    CARRY_TOPICS_MAX = 256, /* maximum number of topics in one call */
    RECOVER_MAX = 256,      /* maximum number of leases in one call */
    FIRST_DOOMED = 3,       /* index of the first doomed job (a job to bury) in the reply of recover */
    DOOMED_PARTS = 2,       /* id, record */
    FORGET_MAX = 1000,
    FORGET_SENDS_MAX = 20, /* maximum number of sends in one call; each is checked for up to 100 jobs */
    MENDED_MAX = 64,       /* maximum number of repairs that one call reports */
    SWEEP_MAX = 1024,      /* maximum number of jobs that one call removes */
    AUDIT_TOPICS_MAX = 1000,
    REOFFER_MAX = 300, /* maximum number of topics in one call, which takes Redis a few milliseconds */
    SURVEY_MAX = 2000, /* maximum number of topics in one call; the call ends earlier if it takes long */
};

/* Nonces of recovery begin with this mark, see is_recovering in scripts/lib/crashes.lua. */
#define RECOVERY_MARK "!"

/* A running call of one of the functions below. fn is the callback of this function. */
struct upkeep {
    struct nonce nonce; /* recover: nonce of the leases of doomed jobs */
    union {
        shard_carry_fn *carry;
        shard_recover_fn *recover;
        shard_forget_fn *forget;
        store_audit_fn *audit;
        shard_mend_fn *mend;
        shard_survey_fn *survey;
        shard_sweep_fn *sweep;
        shard_resume_fn *resume;
        shard_reoffer_fn *reoffer;
    } fn;
    void *arg;
};

static struct upkeep *upkeep_new(void *arg)
{
    struct upkeep *upkeep = NEW(struct upkeep);
    upkeep->arg = arg;
    return upkeep;
}

static bool has_letter(struct slice letters, char letter)
{
    return letters.size && memchr(letters.data, letter, letters.size);
}

/* Reads the letters that lib/chores.lua and carry.lua describe. */
static struct shard_chores read_chores(struct slice letters)
{
    return (struct shard_chores){
        .has_turns = has_letter(letters, 't'),
        .rests = has_letter(letters, 'r'),
        .forgets = has_letter(letters, 'f'),
        .sweeps = has_letter(letters, 's'),
        .reoffers = has_letter(letters, 'o'),
        .expires = has_letter(letters, 'e'),
        .archives = has_letter(letters, 'a'),
    };
}

static void on_carried(void *arg, enum status status, const struct redis_reply *reply)
{
    struct upkeep *upkeep = arg;
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
    upkeep->fn.carry(upkeep->arg, status, &carried);
    free(upkeep);
}

void shard_carry(struct shard *shard, const struct shard_carry *carry, shard_carry_fn *fn, void *arg)
{
    struct upkeep *upkeep = upkeep_new(arg);
    struct script_call *call = shard_call(shard, SCRIPT_CARRY);
    upkeep->fn.carry = fn;
    script_call_text(call, carry->me);
    script_call_number(call, carry->is_leaving ? -1 : !carry->is_tick ? 0 : carry->is_unwatched ? 2 : 1);
    script_call_number(call, CARRY_TOPICS_MAX);
    script_call_text(call, carry->stuck_owner);
    script_call_number(call, carry->stuck_beat);
    script_call_number(call, STORE_LEASE_MS);
    script_call_number(call, carry->patience_ms);
    script_call_number(call, carry->expected_ms);
    script_call_send(call, shard->worker, on_carried, upkeep);
}

/* Reads {now_us, leases that ran out, number of doomed jobs, id, record, ..., topic, settings, ...}. Returns
 * false if the reply cannot come from recover.lua. */
static bool read_recovered(const struct redis_reply *reply, struct shard_claimed doomed[RECOVER_MAX],
                           struct shard_recovered *recovered)
{
    int64_t now_us = redis_reply_integer(redis_reply_at(reply, 0));
    int64_t count = redis_reply_integer(redis_reply_at(reply, 1));
    if (now_us <= 0 || count < 0 || count > RECOVER_MAX ||
        !reply_count(reply, 2, FIRST_DOOMED, DOOMED_PARTS, RECOVER_MAX, &recovered->doomed_count))
        return false;
    recovered->now_ms = now_us / 1000;
    recovered->count = (size_t)count;
    recovered->is_full = count == RECOVER_MAX;
    size_t at = FIRST_DOOMED;
    for (size_t i = 0; i < recovered->doomed_count; i++, at += DOOMED_PARTS)
        doomed[i] = (struct shard_claimed){.id = redis_reply_text(redis_reply_at(reply, at)),
                                           .record = redis_reply_text(redis_reply_at(reply, at + 1))};
    for (; at + 1 < redis_reply_size(reply); at += 2)
        claim_give_settings(doomed, recovered->doomed_count, redis_reply_text(redis_reply_at(reply, at)),
                            redis_reply_text(redis_reply_at(reply, at + 1)));
    return true;
}

static void on_recovered(void *arg, enum status status, const struct redis_reply *reply)
{
    struct upkeep *upkeep = arg;
    struct shard_claimed doomed[RECOVER_MAX];
    struct shard_recovered recovered = {.nonce = &upkeep->nonce, .doomed = doomed};
    if (status == STATUS_OK && redis_reply_integer(redis_reply_at(reply, 1)) < 0)
        status = STATUS_STALE;
    if (status == STATUS_OK && !read_recovered(reply, doomed, &recovered)) {
        recovered.doomed_count = 0;
        status = reply_refuse("recover");
    }
    upkeep->fn.recover(upkeep->arg, status, &recovered);
    free(upkeep);
}

void shard_recover(struct shard *shard, int64_t expected_ms, shard_recover_fn *fn, void *arg)
{
    struct upkeep *upkeep = upkeep_new(arg);
    struct script_call *call = shard_call(shard, SCRIPT_RECOVER);
    uint32_t seed;
    random_fill(&seed, sizeof seed);
    upkeep->fn.recover = fn;
    shard_next_nonce(shard, RECOVERY_MARK, &upkeep->nonce);
    script_call_number(call, STORE_LEASE_MS);
    script_call_number(call, expected_ms);
    script_call_number(call, RECOVER_MAX);
    script_call_number(call, seed);
    script_call_text(call, slice_of(upkeep->nonce.text));
    script_call_send(call, shard->worker, on_recovered, upkeep);
}

static void on_forgotten(void *arg, enum status status, const struct redis_reply *reply)
{
    struct upkeep *upkeep = arg;
    bool is_full = redis_reply_integer(redis_reply_at(reply, 1)) == FORGET_MAX ||
                   redis_reply_integer(redis_reply_at(reply, 2)) == FORGET_SENDS_MAX;
    upkeep->fn.forget(upkeep->arg, status, is_full);
    free(upkeep);
}

void shard_forget(struct shard *shard, shard_forget_fn *fn, void *arg)
{
    struct upkeep *upkeep = upkeep_new(arg);
    struct script_call *call = shard_call(shard, SCRIPT_FORGET);
    upkeep->fn.forget = fn;
    script_call_number(call, FORGET_MAX);
    script_call_number(call, FORGET_SENDS_MAX);
    script_call_send(call, shard->worker, on_forgotten, upkeep);
}

static void on_swept(void *arg, enum status status, const struct redis_reply *reply)
{
    struct upkeep *upkeep = arg;
    struct shard_swept swept = {
        .ended = (size_t)redis_reply_integer(redis_reply_at(reply, 1)),
        .by_retention = (size_t)redis_reply_integer(redis_reply_at(reply, 2)),
        .by_age = (size_t)redis_reply_integer(redis_reply_at(reply, 3)),
        .by_number = (size_t)redis_reply_integer(redis_reply_at(reply, 4)),
        .is_full = redis_reply_integer(redis_reply_at(reply, 5)) >= 0,
        .late_ms = redis_reply_integer(redis_reply_at(reply, 5)),
    };
    upkeep->fn.sweep(upkeep->arg, status, &swept);
    free(upkeep);
}

void shard_sweep(struct shard *shard, shard_sweep_fn *fn, void *arg)
{
    struct upkeep *upkeep = upkeep_new(arg);
    struct script_call *call = shard_call(shard, SCRIPT_SWEEP);
    upkeep->fn.sweep = fn;
    script_call_number(call, SWEEP_MAX);
    script_call_number(call, shard->options->dead_max_age_ms);
    script_call_number(call, shard_part(shard, shard->options->dead_max));
    script_call_send(call, shard->worker, on_swept, upkeep);
}

static void on_resumed(void *arg, enum status status, const struct redis_reply *reply)
{
    struct upkeep *upkeep = arg;
    int64_t count = redis_reply_integer(redis_reply_at(reply, 1));
    upkeep->fn.resume(upkeep->arg, status, count > 0 ? (size_t)count : 0);
    free(upkeep);
}

void shard_resume(struct shard *shard, struct slice receiver, size_t max, shard_resume_fn *fn, void *arg)
{
    struct upkeep *upkeep = upkeep_new(arg);
    struct script_call *call = shard_call(shard, SCRIPT_RESUME);
    upkeep->fn.resume = fn;
    script_call_text(call, receiver);
    script_call_number(call, (int64_t)max);
    script_call_send(call, shard->worker, on_resumed, upkeep);
}

static int64_t late_ms(const struct redis_reply *reply)
{
    int64_t oldest_ms = redis_reply_integer(redis_reply_at(reply, 10));
    int64_t late_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000 - oldest_ms;
    return oldest_ms >= 0 && late_ms > 0 ? late_ms : 0;
}

static void on_audited(void *arg, enum status status, const struct redis_reply *reply)
{
    struct upkeep *upkeep = arg;
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
    upkeep->fn.audit(upkeep->arg, status, &counts);
    free(upkeep);
}

void shard_audit(struct shard *shard, store_audit_fn *fn, void *arg)
{
    struct upkeep *upkeep = upkeep_new(arg);
    struct script_call *call = shard_call(shard, SCRIPT_AUDIT);
    upkeep->fn.audit = fn;
    script_call_number(call, AUDIT_TOPICS_MAX);
    script_call_send(call, shard->worker, on_audited, upkeep);
}

static void on_reoffered(void *arg, enum status status, const struct redis_reply *reply)
{
    struct upkeep *upkeep = arg;
    upkeep->fn.reoffer(upkeep->arg, status, (size_t)redis_reply_integer(redis_reply_at(reply, 1)),
                       redis_reply_integer(redis_reply_at(reply, 2)) == 1);
    free(upkeep);
}

void shard_reoffer(struct shard *shard, int64_t step_ms, shard_reoffer_fn *fn, void *arg)
{
    struct upkeep *upkeep = upkeep_new(arg);
    struct script_call *call = shard_call(shard, SCRIPT_REOFFER);
    upkeep->fn.reoffer = fn;
    script_call_number(call, REOFFER_MAX);
    script_call_number(call, step_ms);
    script_call_send(call, shard->worker, on_reoffered, upkeep);
}

static void on_surveyed(void *arg, enum status status, const struct redis_reply *reply)
{
    struct upkeep *upkeep = arg;
    struct shard_survey survey = {
        .cursor = redis_reply_text(redis_reply_at(reply, 1)),
        .due_jobs = redis_reply_integer(redis_reply_at(reply, 2)),
        .oldest_due_ms = redis_reply_integer(redis_reply_at(reply, 3)),
    };
    if (status == STATUS_OK && survey.cursor.size > SHARD_SURVEY_CURSOR_MAX)
        status = reply_refuse("survey");
    upkeep->fn.survey(upkeep->arg, status, &survey);
    free(upkeep);
}

void shard_survey(struct shard *shard, const struct shard_survey *survey, shard_survey_fn *fn, void *arg)
{
    struct upkeep *upkeep = upkeep_new(arg);
    struct script_call *call = shard_call(shard, SCRIPT_SURVEY);
    upkeep->fn.survey = fn;
    script_call_text(call, survey->cursor);
    script_call_number(call, SURVEY_MAX);
    script_call_number(call, survey->due_jobs);
    script_call_number(call, survey->oldest_due_ms);
    script_call_send(call, shard->worker, on_surveyed, upkeep);
}

static void on_mended(void *arg, enum status status, const struct redis_reply *reply)
{
    struct upkeep *upkeep = arg;
    struct slice mended[MENDED_MAX];
    size_t count = 0;
    for (size_t i = 2; i < redis_reply_size(reply) && count < MENDED_MAX; i++)
        mended[count++] = redis_reply_text(redis_reply_at(reply, i));
    upkeep->fn.mend(upkeep->arg, status, redis_reply_text(redis_reply_at(reply, 1)), mended, count);
    free(upkeep);
}

void shard_mend(struct shard *shard, struct slice walk, struct slice cursor, shard_mend_fn *fn, void *arg)
{
    struct upkeep *upkeep = upkeep_new(arg);
    struct script_call *call = shard_call(shard, SCRIPT_MEND);
    upkeep->fn.mend = fn;
    script_call_text(call, walk);
    script_call_text(call, cursor);
    script_call_send(call, shard->worker, on_mended, upkeep);
}
