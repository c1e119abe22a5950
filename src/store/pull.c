/* pull.c - leases jobs of pull topics. */
#include "store/pull.h"

#include <assert.h>
#include <stdio.h>

#include "base/encoding.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/topic/topic_sealed.h"
#include "store/store_private.h"

enum {
    PULL_TRIES_MAX = 10, /* maximum number of calls for one request; if all jobs of a call have expired, the
                            next call follows */
    FIRST_PULLED = 5,    /* index of the first job in a result */
    PULLED_PARTS = 5,    /* id, due time, time of the lease, deadline, record */
    /* Each job that a request may lease counts as this size in its batch: 2048 jobs are a full call, which
     * takes Redis 10 to 20 ms. */
    LEASED_WEIGHT = BATCH_BYTES_MAX / 2048,
};

struct pull {
    struct store_call call;
    struct store_pull what;
    struct nonce nonce;
    int64_t sent_us; /* time at which the call was sent (CLOCK_BOOTTIME) */
    unsigned tries;
    /* Owned: '!', the nonce of the stored answer that the next call removes, a space, and what.once;
     * empty: the next call removes no answer. */
    struct buffer forgetting;
};

/* ---- sending ---- */

/* Creates a nonce that cannot be guessed, because it is the token of the leases. */
static void make_token(struct nonce *nonce)
{
    unsigned char random[15];
    random_fill(random, sizeof random);
    nonce->text[0] = 'p';
    hex_write(nonce->text + 1, random, sizeof random);
    nonce->text[1 + 2 * sizeof random] = '\0';
}

static void pull_send_call(struct pull *pull)
{
    struct store_call *call = &pull->call;
    claim_abandon_lost(call->shard);
    make_token(&pull->nonce);
    pull->sent_us = clock_boot_us();
    metrics_count(call->shard->options->metrics, METRICS_COUNTER_CLAIMS, 1);
    store_call_clear(call);
    store_call_text(call, pull->what.topic);
    store_call_number(call, (int64_t)pull->what.max);
    store_call_text(call, slice_of(pull->nonce.text));
    store_call_number(call, pull->what.lease_ms);
    store_call_number(call, pull->what.wait_ms);
    if (pull->forgetting.size > 0)
        store_call_text(call, buffer_slice(&pull->forgetting));
    else
        store_call_text(call, pull->what.once.size ? pull->what.once : SLICE("-"));
    store_call_text(call, pull->what.only);
    call->bytes += pull->what.max * LEASED_WEIGHT;
    store_call_send(call);
}

/* ---- the answer ---- */

/* The jobs in one result of lease.lua. */
struct pull_result {
    struct job *jobs;
    struct pulled_job *given;
    size_t count;
    struct pulled *unfit; /* jobs that the worker does not get */
    size_t unfit_count;
    bool has_stored;   /* lease.lua has stored the jobs under the idempotency key: some have not expired */
    bool is_forgotten; /* the jobs are those of an earlier answer, which this call has removed from its
                          idempotency key */
    /* OK: this process can use the settings of the topic. Otherwise LACKING or UNREADABLE; the worker then
     * gets no job. */
    enum status settings;
    struct store_pulled pulled;
};

/* Buries a job that has expired, has no retry left or cannot be read, or releases a job that needs a later
 * version. If this process dies first, the lease runs out. */
static void end_unfit(const struct pull *pull, const struct pulled *unfit, int64_t now_ms)
{
    struct pull_ending_facts facts = {
        .cause = PULL_CAUSE_UNFIT, .now_ms = now_ms, .schedule = pull->what.schedule};
    pull_end(pull->call.shard, unfit, &facts, NULL, NULL);
}

/* Returns whether a job has no retry left, see ending_is_exhausted. If the settings cannot be read, lease.lua
 * leases no job. A repeated answer has jobs whose attempts have begun already. */
static bool is_exhausted(const struct pull *pull, const struct pulled *pulled, const struct job *job,
                         bool is_repeated)
{
    struct topic_settings settings;
    if (job->attempts == 0 || is_repeated ||
        topic_settings_read_for(pull->what.topic, pulled->settings, &settings) != STATUS_OK)
        return false;
    bool is_exhausted = ending_is_exhausted(job, &settings, pull->what.schedule);
    topic_settings_fini(&settings);
    return is_exhausted;
}

/* Returns whether this process can use the settings. lease.lua knows all but whether the process can open
 * those that are sealed. */
static enum status check_settings(const struct pull *pull, struct slice text)
{
    struct topic_settings settings;
    if (!topic_settings_are_sealed(text))
        return STATUS_OK;
    enum status status = topic_settings_read_for(pull->what.topic, text, &settings);
    if (status != STATUS_OK)
        return status == STATUS_NO_MEMORY ? STATUS_OK : STATUS_UNREADABLE;
    status = settings.lacks.size ? STATUS_LACKING : STATUS_OK;
    topic_settings_fini(&settings);
    return status;
}

static void add_pulled(const struct pull *pull, const struct redis_reply *result, size_t at,
                       struct pull_result *to)
{
    struct pulled pulled = {
        .id = redis_reply_text(redis_reply_at(result, at)),
        .record = redis_reply_text(redis_reply_at(result, at + 4)),
        .settings = redis_reply_text(redis_reply_at(result, 4)),
        .due_ms = redis_reply_integer(redis_reply_at(result, at + 1)),
        .leased_ms = redis_reply_integer(redis_reply_at(result, at + 2)),
    };
    struct slice nonce = redis_reply_text(redis_reply_at(result, 0));
    struct job *job = &to->jobs[to->count];
    snprintf(pulled.nonce.text, sizeof pulled.nonce.text, "%.*s", SLICE_ARG(nonce));
    bool is_job = job_read(pulled.id, pulled.record, job) == STATUS_OK;
    bool is_expired = is_job && job_is_expired(job, pulled.leased_ms);
    to->has_stored |= !is_expired;
    if (!is_job || job->lacks.size || is_expired || to->settings != STATUS_OK ||
        is_exhausted(pull, &pulled, job, to->pulled.is_repeated)) {
        if (is_job)
            job_fini(job);
        to->unfit[to->unfit_count++] = pulled;
        return;
    }
    to->given[to->count++] = (struct pulled_job){
        .job = job,
        .id = pulled.id,
        .settings = pulled.settings,
        .due_ms = pulled.due_ms,
        .leased_ms = pulled.leased_ms,
        .until_ms = redis_reply_integer(redis_reply_at(result, at + 3)),
    };
    if (!to->pulled.is_repeated)
        metrics_lateness(pull->call.shard->options->metrics, (pulled.leased_ms - pulled.due_ms) * 1000, 0);
}

static enum status status_of(int64_t code)
{
    switch (code) {
    case RESULT_NOT_PULL:
        return STATUS_NOT_PULL;
    case RESULT_REUSED:
        return STATUS_REUSED;
    case RESULT_LACKING:
        return STATUS_LACKING;
    case RESULT_UNREADABLE:
        return STATUS_UNREADABLE;
    default:
        return reply_refuse("lease");
    }
}

static void pull_tell(struct pull *pull, enum status status, const struct store_pulled *pulled)
{
    CALL_FN(&pull->call, store_pull_fn)(pull->call.arg, status, pulled);
    buffer_fini(&pull->forgetting);
}

static void pull_result_read(const struct pull *pull, const struct redis_reply *result,
                             struct pull_result *to)
{
    size_t count = (redis_reply_size(result) - FIRST_PULLED) / PULLED_PARTS;
    to->pulled.is_repeated = redis_reply_integer(redis_reply_at(result, 1)) == 1;
    to->is_forgotten = redis_reply_integer(redis_reply_at(result, 1)) == 2;
    /* After an answer has been removed from its key, the next call leases other jobs. */
    to->pulled.has_more = to->is_forgotten || redis_reply_integer(redis_reply_at(result, 2)) == 1;
    to->pulled.next_ms = redis_reply_integer(redis_reply_at(result, 3));
    to->jobs = memory_resize(NULL, (count + 1) * sizeof *to->jobs); /* job_read sets all members */
    to->given = NEW_ARRAY(struct pulled_job, count + 1);
    to->unfit = NEW_ARRAY(struct pulled, count + 1);
    to->settings = count ? check_settings(pull, redis_reply_text(redis_reply_at(result, 4))) : STATUS_OK;
    for (size_t i = 0; i < count; i++)
        add_pulled(pull, result, FIRST_PULLED + i * PULLED_PARTS, to);
}

static void pull_result_fini(struct pull_result *to)
{
    for (size_t i = 0; i < to->count; i++)
        job_fini(&to->jobs[i]);
    free(to->jobs);
    free(to->given);
    free(to->unfit);
}

/* Returns whether the answer that is stored under the idempotency key has no job that the worker can use. */
static bool is_key_used_up(const struct pull *pull, const struct pull_result *to)
{
    return pull->what.once.size && to->count == 0 && to->has_stored && !to->is_forgotten;
}

/* Makes the next call remove the answer that is stored under the idempotency key, so that this request, or
 * its repetition, leases other jobs. The jobs that the worker cannot use are buried or released only after
 * that call. If this process dies before it, a repeated request gets the same answer. */
static void forget_answer(struct pull *pull, const struct redis_reply *result)
{
    buffer_printf(&pull->forgetting, "!%.*s ", SLICE_ARG(redis_reply_text(redis_reply_at(result, 0))));
    buffer_append(&pull->forgetting, pull->what.once);
    pull_send_call(pull);
}

/* Calls back with the jobs. If all jobs of this call have expired or are otherwise unfit for the worker,
 * calls lease.lua again for other jobs instead. */
static void tell_jobs(struct pull *pull, const struct redis_reply *result, struct pull_result *to)
{
    for (size_t i = 0; i < to->unfit_count; i++)
        end_unfit(pull, &to->unfit[i], to->pulled.now_ms);
    if (to->count == 0 && to->pulled.has_more && ++pull->tries < PULL_TRIES_MAX) {
        pull_send_call(pull);
        return;
    }
    to->pulled.jobs = to->given;
    to->pulled.count = to->count;
    to->pulled.token = to->count ? redis_reply_text(redis_reply_at(result, 0)) : SLICE("");
    if (to->count == 0 && to->pulled.has_more)
        to->pulled.next_ms = to->pulled.now_ms;
    pull_tell(pull, STATUS_OK, &to->pulled);
}

static void pull_on_result(struct pull *pull, const struct redis_reply *result)
{
    struct pull_result to = {.pulled = {.now_ms = pull->call.now_us / 1000}};
    pull_result_read(pull, result, &to);
    buffer_clear(&pull->forgetting);
    if (to.settings != STATUS_OK) {
        for (size_t i = 0; i < to.unfit_count; i++)
            end_unfit(pull, &to.unfit[i], to.pulled.now_ms);
        pull_tell(pull, to.settings, NULL);
    } else if (is_key_used_up(pull, &to)) {
        forget_answer(pull, result);
    } else {
        tell_jobs(pull, result, &to);
    }
    pull_result_fini(&to);
}

static bool is_result(const struct redis_reply *result)
{
    size_t size = redis_reply_size(result);
    return size >= FIRST_PULLED && (size - FIRST_PULLED) % PULLED_PARTS == 0 &&
           (size - FIRST_PULLED) / PULLED_PARTS <= LEASE_JOBS_MAX;
}

static void pull_end_call(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct pull *pull = (struct pull *)call;
    /* A worker repeats a request with an idempotency key, and then gets the jobs of the first one. */
    if (status == STATUS_UNKNOWN && !pull->what.once.size)
        claim_note_lost(call->shard, LEASE_OF_WORKER, &pull->nonce, pull->what.lease_ms, pull->sent_us);
    if (status != STATUS_OK)
        pull_tell(pull, status, NULL);
    else if (is_result(result))
        pull_on_result(pull, result);
    else
        pull_tell(pull, status_of(redis_reply_integer(result)), NULL);
}

/* ---- the call ---- */

void store_pull(struct store *store, const struct store_pull *what, store_pull_fn *fn, void *arg)
{
    struct pull *pull = NEW(struct pull);
    assert(what->max > 0 && what->max <= LEASE_JOBS_MAX);
    assert(what->lease_ms >= LEASE_MIN_MS && what->lease_ms <= LEASE_MAX_MS);
    assert(what->wait_ms >= 0);
    store_call_init(&pull->call, store_shard_of(store, what->topic), SHARD_BATCH_PULL, pull_end_call,
                    ANY_FN(fn), arg);
    pull->what = *what;
    buffer_init(&pull->forgetting, STORE_NONCE_MAX + 2 + what->once.size);
    pull_send_call(pull);
}

void store_on_pull_wake(struct store *store, store_pull_wake_fn *fn, void *arg)
{
    for (size_t i = 0; i < store_shards(store); i++) {
        struct shard *shard = store_shard(store, i);
        shard->on_pull_wake.fn = fn;
        shard->on_pull_wake.arg = arg;
    }
}
