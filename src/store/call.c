/* call.c - calls of scripts: the shard of a call, its arguments, the runs that batches send, and the parts of
 * replies that several scripts have in common. */
#include <assert.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "job/job_id.h"
#include "store/store_private.h"

/* ---- finding shards ---- */

size_t shard_number(const struct shard *shard)
{
    return shard->number;
}

size_t store_shard_number(const struct store *store, struct slice topic)
{
    return shard_number(store_shard_of(store, topic));
}

size_t store_shards(const struct store *store)
{
    return store->options.shards;
}

struct shard *store_shard(const struct store *store, size_t number)
{
    return store->members[number].shard;
}

struct shard *store_shard_of(const struct store *store, struct slice id)
{
    if (store->options.shards == 1)
        return store_shard(store, 0);
    return store_shard(store, crc16(topic_owner(id)) % store->options.shards);
}

/* ---- what several calls have in common ---- */

void shard_recheck(const struct shard *shard)
{
    if (shard->events.on_recheck)
        shard->events.on_recheck(shard->events.arg);
}

int64_t shard_part(const struct shard *shard, int64_t bound)
{
    return store_options_part(shard->options, bound);
}

void shard_add_max_jobs(const struct shard *shard, struct script_args *args)
{
    script_args_number(args, shard_part(shard, shard->options->max_jobs));
}

void shard_add_limits(const struct shard *shard, struct script_args *args)
{
    shard_add_max_jobs(shard, args);
    script_args_number(args, shard->options->idempotency_window_ms);
}

void shard_add_first_wait(const struct shard *shard, struct script_args *args)
{
    script_args_number(args, shard->options->breaker_wait_ms);
}

void shard_bound_age(const struct shard *shard, struct stored_job *job)
{
    int64_t age_ms = shard->options->dead_max_age_ms, until_ms = job->at_ms + age_ms;
    if (job->state == JOB_STATE_DEAD && age_ms && (job->until_ms == 0 || until_ms < job->until_ms))
        job->until_ms = until_ms;
}

void shard_next_nonce(struct shard *shard, const char *mark, struct nonce *nonce)
{
    snprintf(nonce->text, sizeof nonce->text, "%s%s%llx", mark, shard->nonce_prefix,
             (unsigned long long)++shard->claims);
}

enum { FEW = 8 }; /* calls that may wait for others */

/* Longest wait until enough replicas have a change. After this time, the change is made, but not durable. */
#define REPLICAS_DEADLINE "1000" /* ms */

/* A run of a script that was sent, and its calls in the order of its arguments. */
struct batch_run {
    struct batch *batch;
    struct list calls;
    /* The script's reply, kept until WAIT confirms that enough replicas have its changes. */
    struct redis_reply *reply;
    char follow_count[24]; /* last argument of a run with follow-ups: '+' and their number */
};

/* ---- calls ---- */

struct slice store_call_argument(const struct store_call *call, size_t index)
{
    return script_args_all(&call->args)[index];
}

void store_call_text(struct store_call *call, struct slice text)
{
    script_args_text(&call->args, text);
    call->bytes += text.size;
}

void store_call_secret(struct store_call *call, struct slice owner, struct slice text)
{
    store_call_text(call, sealed_values_seal(&call->secrets, owner, text));
}

void store_call_number(struct store_call *call, int64_t number)
{
    script_args_number(&call->args, number);
}

void store_call_when(struct store_call *call, struct job_when when)
{
    script_args_when(&call->args, when);
}

void store_call_fill_run(struct store_call *call, bool takes_reply)
{
    call->bytes += BATCH_BYTES_MAX;
    call->takes_reply = takes_reply;
}

void store_call_follow(struct store_call *call, const struct shard_follow_ups *follow)
{
    call->follow = *follow;
    for (size_t i = 0; i < follow->count; i++)
        call->bytes += follow->jobs[i].id.size + follow->jobs[i].record.size + BATCH_CALL_OVERHEAD;
}

void store_call_clear(struct store_call *call)
{
    script_args_fini(&call->args);
    call->args = (struct script_args){.count = 0};
    call->bytes = BATCH_CALL_OVERHEAD;
}

void store_call_free(struct store_call *call)
{
    script_args_fini(&call->args);
    sealed_values_fini(&call->secrets);
    free(call);
}

void store_call_init(struct store_call *call, struct shard *shard, enum shard_batch batch,
                     store_call_end_fn *end, any_fn *fn, void *arg)
{
    store_call_init_alone(call, shard, SCRIPT_COUNT, NULL, end, fn, arg);
    call->batch = &shard->batches[batch];
}

void store_call_init_alone(struct store_call *call, struct shard *shard, enum script_id script,
                           struct redis_link *connection, store_call_end_fn *end, any_fn *fn, void *arg)
{
    call->shard = shard;
    call->script = script;
    call->connection = connection;
    call->bytes = BATCH_CALL_OVERHEAD;
    call->end = end;
    call->fn = fn;
    call->arg = arg;
}

struct store_call *store_call_new(struct shard *shard, enum shard_batch batch, store_call_end_fn *end,
                                  any_fn *fn, void *arg)
{
    struct store_call *call = NEW(struct store_call);
    store_call_init(call, shard, batch, end, fn, arg);
    return call;
}

struct store_call *store_call_alone(struct shard *shard, enum script_id script, struct redis_link *connection,
                                    store_call_end_fn *end, any_fn *fn, void *arg)
{
    struct store_call *call = NEW(struct store_call);
    store_call_init_alone(call, shard, script, connection, end, fn, arg);
    return call;
}

/* Begins a run. Its first argument is the default limit of a topic's jobs in flight. */
static struct script_call *run_new(struct shard *shard, enum script_id script)
{
    struct script_call *run = script_call_new(script, buffer_slice(&shard->jobs_key));
    script_args_number(script_call_args(run), shard->options->max_in_flight_topic);
    metrics_count(shard->options->metrics, METRICS_COUNTER_COMMANDS, 1);
    return run;
}

static void run_add(struct script_call *run, const struct store_call *call)
{
    for (size_t i = 0; i < call->args.count; i++)
        script_args_text(script_call_args(run), store_call_argument(call, i));
}

static void end_one(struct store_call *call, enum status status, int64_t now_us,
                    const struct redis_reply *result)
{
    if (status == STATUS_OK && redis_reply_integer(result) == RESULT_AGAIN) {
        store_call_send(call);
        return;
    }
    call->is_kept = false;
    call->now_us = now_us;
    call->end(call, status, result);
    if (!call->is_kept)
        store_call_free(call);
}

static void on_alone_reply(void *arg, enum status status, const struct redis_reply *reply)
{
    end_one(arg, status, redis_reply_integer(redis_reply_at(reply, 0)), reply);
}

void store_call_send(struct store_call *call)
{
    struct batch *batch = call->batch;
    call->is_kept = true;
    if (batch) {
        list_append(&batch->calls, &call->link);
        batch->count++;
        batch->urgent += !call->may_wait;
        return;
    }
    struct script_call *run = run_new(call->shard, call->script);
    run_add(run, call);
    script_call_send(run, call->connection, on_alone_reply, call);
}

/* ---- runs ---- */

/* Returns whether the call has to be sent again, or with other arguments, before it has an outcome. */
static bool is_unfinished(const struct redis_reply *result)
{
    int64_t code = redis_reply_integer(redis_reply_size(result) > 0 ? redis_reply_at(result, 0) : result);
    return code == RESULT_AGAIN || code == RESULT_CHANGED || code == RESULT_NO_RECORD ||
           code == RESULT_NO_LINE;
}

static void end_run(struct batch_run *run, enum status status, const struct redis_reply *reply)
{
    int64_t now_us = redis_reply_integer(redis_reply_at(reply, 0));
    size_t index = 1;
    run->batch->runs--;
    for (struct list *link; (link = list_take(&run->calls)); index++) {
        struct store_call *call = LIST_ENTRY(link, struct store_call, link);
        const struct redis_reply *result = call->takes_reply ? reply : redis_reply_at(reply, index);
        enum status its_status = status;
        if (status == STATUS_OK && !result)
            its_status = STATUS_UNKNOWN;
        else if (status == STATUS_UNDURABLE && is_unfinished(result))
            its_status = STATUS_OK; /* a later run decides */
        end_one(call, its_status, now_us, result);
    }
    redis_reply_free(run->reply);
    free(run);
}

static unsigned replicas_wanted(const struct batch *batch)
{
    const struct store_options *options = batch->shard->options;
    return batch->kind->is_confirmed && options->is_durability_set ? options->durability.replicas : 0;
}

static void on_waited(void *arg, const struct redis_reply *reply)
{
    struct batch_run *run = arg;
    bool is_reached = redis_reply_integer(reply) >= replicas_wanted(run->batch);
    if (!is_reached)
        shard_recheck(run->batch->shard);
    end_run(run, is_reached ? STATUS_OK : STATUS_UNDURABLE, run->reply);
}

/* Sends WAIT on the connection that ran the script, because WAIT waits only for the writes of its own
 * connection. Call this within the callback of the script's reply, while the connection still leads to the
 * same Redis. Later replies on this connection come only after WAIT's reply. */
static void wait_for_replicas(struct batch_run *run)
{
    char replicas[8];
    snprintf(replicas, sizeof replicas, "%u", replicas_wanted(run->batch));
    struct slice argv[] = {SLICE("WAIT"), slice_of(replicas), SLICE(REPLICAS_DEADLINE)};
    redis_send(run->batch->link, 3, argv, on_waited, run);
}

static void on_reply(void *arg, enum status status, const struct redis_reply *reply)
{
    struct batch_run *run = arg;
    if (status == STATUS_UNAVAILABLE)
        redis_state_recheck(run->batch->shard->redis_state);
    if (status != STATUS_OK || replicas_wanted(run->batch) == 0) {
        end_run(run, status, reply);
        return;
    }
    run->reply = redis_reply_copy(reply);
    wait_for_replicas(run);
}

/* Adds the follow-ups of all calls, and then the number of follow-ups. The script reads
 * these arguments with FollowUps.take (scripts/lib/follow_ups.lua). Adds nothing if no call has follow-ups.
 */
static void add_follow_ups(struct batch_run *run, struct script_args *args)
{
    size_t number = 1, total = 0;
    for (struct list *link = run->calls.next; link != &run->calls; link = link->next, number++) {
        const struct shard_follow_ups *follow = &LIST_ENTRY(link, struct store_call, link)->follow;
        for (size_t i = 0; i < follow->count; i++, total++) {
            script_args_number(args, (int64_t)number);
            script_args_text(args, follow->jobs[i].id);
            script_args_number(args, follow->jobs[i].delay_ms);
            script_args_text(args, follow->jobs[i].record);
        }
    }
    if (total) {
        snprintf(run->follow_count, sizeof run->follow_count, "+%zu", total);
        script_args_text(args, slice_of(run->follow_count));
    }
}

/* Returns whether the topic of the call differs from that of the call before it. The number of such changes
 * is an estimate of the number of topics in the run, because clients usually send the jobs of a topic one
 * after another. */
static bool changes_topic(const struct store_call *call, struct slice *topic)
{
    bool is_other = call->topic.size && !slice_equal(call->topic, *topic);
    if (is_other)
        *topic = call->topic;
    return is_other;
}

static void send_run(struct batch *batch)
{
    const struct batch_kind *kind = batch->kind;
    struct batch_run *run = NEW(struct batch_run);
    struct script_call *script = run_new(batch->shard, kind->script);
    size_t calls = 0, bytes = 0, topics = 0;
    struct slice topic = SLICE("");
    run->batch = batch;
    list_init(&run->calls);
    if (kind->add_shared)
        kind->add_shared(batch->shard, script_call_args(script));
    while (calls < BATCH_CALLS_MAX && bytes < BATCH_BYTES_MAX && topics < BATCH_TOPICS_MAX &&
           !list_is_empty(&batch->calls)) {
        struct store_call *call = LIST_ENTRY(list_pop(&batch->calls), struct store_call, link);
        list_append(&run->calls, &call->link);
        batch->count--;
        batch->urgent -= !call->may_wait;
        run_add(script, call);
        calls++;
        bytes += call->bytes;
        if (changes_topic(call, &topic))
            topics += call->topic_weight ? call->topic_weight : 1;
    }
    add_follow_ups(run, script_call_args(script));
    batch->runs++;
    script_call_send(script, batch->link, on_reply, run);
}

/* Returns whether a run may be sent now. If the waiting calls fill a run, one run more than the maximum
 * may be under way. Waiting would not add calls to a full run, and the additional run keeps Redis busy
 * while this process reads the previous reply. */
static bool may_send(const struct batch *batch)
{
    bool is_full = batch->count >= BATCH_CALLS_MAX;
    return batch->count > 0 && batch->runs < batch->kind->max_runs + is_full;
}

void batch_init(struct batch *batch, const struct batch_kind *kind, struct shard *shard,
                struct redis_link *link)
{
    *batch = (struct batch){.kind = kind, .shard = shard, .link = link};
    list_init(&batch->calls);
}

bool batch_may_wait(const struct batch *batch)
{
    return batch->urgent == 0 && batch->count <= FEW;
}

void batch_flush(struct batch *batch)
{
    while (may_send(batch))
        send_run(batch);
}

void batch_fini(struct batch *batch)
{
    assert(batch->runs == 0);
    for (struct list *link; (link = list_take(&batch->calls));)
        end_one(LIST_ENTRY(link, struct store_call, link), STATUS_UNAVAILABLE, 0, NULL);
}

/* ---- parts of replies ---- */

bool reply_read_state(struct slice word, enum job_state *state)
{
    for (int i = JOB_STATE_DELAYED; i <= JOB_STATE_CANCELLED; i++) {
        if (slice_equal(word, slice_of(job_state_word((enum job_state)i)))) {
            *state = (enum job_state)i;
            return true;
        }
    }
    return false;
}

bool reply_count(const struct redis_reply *reply, size_t at, size_t first, size_t parts, size_t max,
                 size_t *count)
{
    int64_t number = redis_reply_integer(redis_reply_at(reply, at));
    size_t size = redis_reply_size(reply);
    if (number < 0 || (uint64_t)number > max || size < first || (size - first) / parts < (uint64_t)number)
        return false;
    *count = (size_t)number;
    return true;
}

static bool note_name(bool is_ours, const char *what, struct slice name)
{
    if (!is_ours)
        log_warning("name_unreadable", LOG_SLICE(what, name));
    return is_ours;
}

bool reply_has_id(struct slice id)
{
    struct slice topic, job_id;
    return note_name(job_key_parse(id, &topic, &job_id), "job", id);
}

bool reply_has_topic(struct slice topic)
{
    return note_name(topic_is_valid(topic), "topic", topic);
}

enum status reply_refuse(const char *script)
{
    log_error("reply_unreadable", LOG_TEXT("script", script));
    return STATUS_UNKNOWN;
}

bool reply_names_quota(struct shard *shard, const struct redis_reply *result)
{
    if (!slice_equal(redis_reply_text(redis_reply_at(result, 0)), SLICE("quota")))
        return false;
    shard->quota = (struct topic_quota){
        .topic = redis_reply_text(redis_reply_at(result, 1)),
        .max = redis_reply_integer(redis_reply_at(result, 2)),
        .pending = redis_reply_integer(redis_reply_at(result, 3)),
        .wait_ms = redis_reply_integer(redis_reply_at(result, 4)),
        .has_key = redis_reply_size(result) > 5,
        .key = redis_reply_text(redis_reply_at(result, 5)),
    };
    return true;
}

bool reply_read_job(const struct redis_reply *reply, struct stored_job *job)
{
    if (redis_reply_size(reply) < 3 ||
        !reply_read_state(redis_reply_text(redis_reply_at(reply, 0)), &job->state))
        return false;
    job->at_ms = redis_reply_integer(redis_reply_at(reply, 1));
    job->record = redis_reply_text(redis_reply_at(reply, 2));
    job->losses = redis_reply_integer(redis_reply_at(reply, 3));
    job->settings = redis_reply_text(redis_reply_at(reply, 4));
    job->until_ms = redis_reply_integer(redis_reply_at(reply, 5));
    job->last_lines = redis_reply_text(redis_reply_at(reply, 6));
    job->is_workers = redis_reply_size(reply) > 7;
    job->progress = redis_reply_text(redis_reply_at(reply, 7));
    return true;
}
