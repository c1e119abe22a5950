#include "store/alert.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "store/store_private.h"

/* Positions in the replies of symptoms.lua. */
enum {
    AT_PERIOD = 1,
    AT_ALL,
    AT_OUTBOX,
    AT_TOPICS,
    AT_RECEIVERS,
    AT_SCHEDULES,
    TOPIC_PARTS = 8,
    RECEIVER_PARTS = 3
};

static struct shard *shard_of_alerts(const struct store *store)
{
    return store_shard_of(store, SLICE(ALERT_TOPIC));
}

/* ---- episodes ---- */

static void alerts_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct store_episode *episodes = NEW_ARRAY(struct store_episode, STORE_EPISODES_MAX);
    size_t count = 0;
    for (size_t i = 1; status == STATUS_OK && i + 1 < redis_reply_size(reply) && count < STORE_EPISODES_MAX;
         i += 2)
        episodes[count++] = (struct store_episode){redis_reply_text(redis_reply_at(reply, i)),
                                                   redis_reply_text(redis_reply_at(reply, i + 1))};
    CALL_FN(call, store_alerts_fn)(call->arg, status, episodes, count);
    free(episodes);
}

void store_alerts(struct store *store, store_alerts_fn *fn, void *arg)
{
    struct shard *shard = shard_of_alerts(store);
    store_call_send(store_call_alone(shard, SCRIPT_ALERTS, shard->reads, alerts_end, ANY_FN(fn), arg));
}

static void change_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    bool done[STORE_ALERT_CHANGES_MAX];
    size_t count = status == STATUS_OK ? redis_reply_size(reply) - 1 : 0;
    if (count > STORE_ALERT_CHANGES_MAX) {
        status = reply_refuse("alert");
        count = 0;
    }
    for (size_t i = 0; i < count; i++)
        done[i] = redis_reply_integer(redis_reply_at(reply, i + 1)) == 1;
    CALL_FN(call, store_change_alerts_fn)(call->arg, status, done, count);
}

void store_change_alerts(struct store *store, int64_t now_us, const struct store_alert_change *changes,
                         size_t count, store_change_alerts_fn *fn, void *arg)
{
    struct shard *shard = shard_of_alerts(store);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_ALERT, shard->worker, change_end, ANY_FN(fn), arg);
    assert(count <= STORE_ALERT_CHANGES_MAX);
    store_call_number(call, now_us);
    for (size_t i = 0; i < count; i++) {
        store_call_text(call, changes[i].name);
        store_call_text(call, changes[i].old);
        store_call_text(call, changes[i].new);
        store_call_text(call, changes[i].id);
        store_call_text(call, changes[i].record);
    }
    store_call_send(call);
}

/* ---- facts ---- */

static void read_topic(const struct redis_reply *reply, struct store_fact *fact)
{
    struct alert_facts *facts = &fact->facts;
    facts->about = ALERT_OF_TOPIC;
    facts->subject = redis_reply_text(redis_reply_at(reply, 0));
    fact->settings = redis_reply_text(redis_reply_at(reply, 1));
    facts->delivered = redis_reply_integer(redis_reply_at(reply, 2));
    facts->failed = redis_reply_integer(redis_reply_at(reply, 3));
    facts->deaths = redis_reply_text(redis_reply_at(reply, 4));
    facts->due_ms = redis_reply_integer(redis_reply_at(reply, 5));
    facts->pending = redis_reply_integer(redis_reply_at(reply, 6));
    facts->quota = redis_reply_integer(redis_reply_at(reply, 7));
    for (size_t i = TOPIC_PARTS; i < redis_reply_size(reply) && facts->dead_count < ALERT_JOBS_MAX; i++)
        facts->dead[facts->dead_count++] = redis_reply_text(redis_reply_at(reply, i));
}

/* until_ms: when the certificate ends; -1: none is known. */
static void read_record(struct slice name, struct slice record, int64_t until_ms, int64_t now_ms,
                        struct store_fact *fact)
{
    struct receiver_record receiver = receiver_record_read(name, record, 0);
    fact->facts.about = ALERT_OF_RECEIVER;
    fact->facts.subject = name;
    fact->facts.opened_ms = receiver.opened_ms;
    fact->facts.cause = receiver.cause;
    fact->facts.has_certificate = until_ms >= 0;
    fact->facts.certificate_left_ms = until_ms - now_ms;
}

static void read_schedule(const struct redis_reply *reply, struct store_fact *fact)
{
    fact->facts.about = ALERT_OF_SCHEDULE;
    fact->facts.subject = redis_reply_text(redis_reply_at(reply, 0));
    fact->settings = redis_reply_text(redis_reply_at(reply, 1));
    fact->facts.missed_ms = redis_reply_integer(redis_reply_at(reply, 2));
    fact->facts.delivered_ms = redis_reply_integer(redis_reply_at(reply, 3));
}

static void symptoms_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    char number[24];
    int64_t now_us = redis_reply_integer(redis_reply_at(reply, 0));
    if (status == STATUS_OK && redis_reply_size(reply) <= AT_SCHEDULES)
        status = reply_refuse("symptoms");
    if (status != STATUS_OK) {
        CALL_FN(call, shard_symptoms_fn)(call->arg, status, 0, NULL, 0);
        return;
    }
    const struct redis_reply *topics = redis_reply_at(reply, AT_TOPICS);
    const struct redis_reply *receivers = redis_reply_at(reply, AT_RECEIVERS);
    const struct redis_reply *schedules = redis_reply_at(reply, AT_SCHEDULES);
    struct slice all = redis_reply_text(redis_reply_at(reply, AT_ALL));
    size_t topic_count = redis_reply_size(topics), schedule_count = redis_reply_size(schedules);
    size_t receiver_count = redis_reply_size(receivers) / RECEIVER_PARTS;
    size_t count = topic_count + receiver_count + schedule_count + 1;
    struct store_fact *facts = NEW_ARRAY(struct store_fact, count);
    for (size_t i = 0; i < topic_count; i++)
        read_topic(redis_reply_at(topics, i), &facts[i]);
    for (size_t i = 0; i < receiver_count; i++) {
        facts[topic_count + i].settings = all;
        read_record(redis_reply_text(redis_reply_at(receivers, RECEIVER_PARTS * i)),
                    redis_reply_text(redis_reply_at(receivers, RECEIVER_PARTS * i + 1)),
                    redis_reply_integer(redis_reply_at(receivers, RECEIVER_PARTS * i + 2)), now_us / 1000,
                    &facts[topic_count + i]);
    }
    for (size_t i = 0; i < schedule_count; i++)
        read_schedule(redis_reply_at(schedules, i), &facts[topic_count + receiver_count + i]);
    snprintf(number, sizeof number, "%zu", shard_number(call->shard));
    facts[count - 1] = (struct store_fact){.settings = all};
    facts[count - 1].facts.about = ALERT_OF_SHARD;
    facts[count - 1].facts.subject = slice_of(number);
    facts[count - 1].facts.outbox_age_ms = redis_reply_integer(redis_reply_at(reply, AT_OUTBOX));
    for (size_t i = 0; i < count; i++) {
        facts[i].facts.now_ms = now_us / 1000;
        facts[i].facts.period = redis_reply_integer(redis_reply_at(reply, AT_PERIOD));
    }
    CALL_FN(call, shard_symptoms_fn)(call->arg, status, now_us, facts, count);
    free(facts);
}

static void add_names(struct store_call *call, const struct store_alert_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        store_call_text(call, names->items[i]);
}

void shard_symptoms(struct shard *shard, const struct store_alert_subjects *subjects, shard_symptoms_fn *fn,
                    void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_SYMPTOMS, shard->reads, symptoms_end, ANY_FN(fn), arg);
    store_call_number(call, (int64_t)subjects->topics.count);
    store_call_number(call, (int64_t)subjects->schedules.count);
    store_call_number(call, subjects->before_ms);
    add_names(call, &subjects->topics);
    add_names(call, &subjects->schedules);
    add_names(call, &subjects->receivers);
    store_call_send(call);
}
