#include "worker/hold.h"

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "base/system.h"
#include "store/clock.h"
#include "store/store.h"
#include "worker/sweep.h"

#define EACH_US INT64_C(2000) /* minimum time between two jobs of a row (hold.h) */

#define BREAKER_ROW_US   INT64_C(200000) /* time in which the 100 jobs of a row come back */
#define BREAKER_LEAST_US INT64_C(60000000)
#define BREAKER_MOST_US  INT64_C(600000000)

#define LIMIT_FIRST_US INT64_C(50000)
#define LIMIT_EACH_US  INT64_C(20000) /* time between two jobs of a row if the limit is 1 */

#define ASKED_US  INT64_C(250000)  /* how long a job is held while another attempt asks to probe */
#define PROBED_US INT64_C(1000000) /* how long a job is held at first while a probe is under way */

#define UNSERVED_FIRST_US INT64_C(5000000)
#define UNSERVED_MOST_US  INT64_C(600000000)
#define WARN_US           INT64_C(10000000)

/* Appends a job to a row. *row_us is the time at which the last job of the row comes back. Returns the time
 * until the new job comes back, at least first_us, or -1 if this time would be longer than most_us. A manual
 * clock stops at each time at which a job comes back, so there all jobs of a row come back together. */
static int64_t take_place(int64_t *row_us, int64_t now_us, int64_t first_us, int64_t each_us, int64_t most_us)
{
    if (clock_is_manual())
        return first_us;
    int64_t hold_us = *row_us + each_us - now_us;
    if (hold_us < first_us)
        hold_us = first_us;
    if (hold_us > most_us)
        return -1;
    *row_us = now_us + hold_us;
    return hold_us;
}

static int64_t random_us(int64_t least_us, int64_t most_us)
{
    return least_us + (int64_t)((double)(most_us - least_us) * random_bits() / UINT32_MAX);
}

/* ---- the breaker ---- */

/* Returns the time until the receiver may be probed. While a probe is under way, returns the time until the
 * next check whether the probe is over. This time is short at first, and grows while the probe runs. */
static int64_t probe_left_us(const struct receiver *receiver, int64_t now_us)
{
    int64_t left_us = receiver->probe_us - now_us;
    int64_t soon_us = receiver->wait_ms * 1000 < PROBED_US ? receiver->wait_ms * 1000 : PROBED_US;
    int64_t taken_us = now_us - receiver->probed_us;
    if (receiver->probe == 0)
        return left_us;
    if (taken_us < soon_us)
        taken_us = soon_us;
    return taken_us < left_us ? taken_us : left_us;
}

int64_t hold_by_breaker_ms(struct receiver *receiver)
{
    int64_t now_us = clock_wait_us(), left_us = probe_left_us(receiver, now_us);
    metrics_count(receiver->receivers->metrics, METRICS_COUNTER_HELD_BY_BREAKER, 1);
    if (left_us <= 0) /* the wait is over, and another attempt is asking Redis for the right to probe */
        left_us = ASKED_US;
    int64_t hold_us = take_place(&receiver->row_us, now_us, left_us, EACH_US, left_us + BREAKER_ROW_US);
    if (hold_us < 0)
        hold_us = random_us(BREAKER_LEAST_US, BREAKER_MOST_US);
    return (hold_us + 999) / 1000;
}

/* ---- the limit ---- */

int64_t hold_by_limit_ms(struct receiver *receiver)
{
    int64_t now_us = clock_wait_us(), each_us = LIMIT_EACH_US / receiver->limit;
    int64_t most_us = receiver_row_ms((now_us - receiver->since_us) / 1000) * 1000;
    metrics_count(receiver->receivers->metrics, METRICS_COUNTER_HELD_BY_LIMIT, 1);
    int64_t hold_us =
        take_place(&receiver->row_us, now_us, LIMIT_FIRST_US, each_us > EACH_US ? each_us : EACH_US, most_us);
    return (hold_us >= 0 ? hold_us : random_us(most_us / 4 * 3, most_us)) / 1000;
}

/* ---- unserved ---- */

int64_t hold_unserved_ms(struct unserved *unserved, int64_t now_us)
{
    int64_t hold_us = take_place(&unserved->row_us, now_us, UNSERVED_FIRST_US, EACH_US, UNSERVED_MOST_US);
    return (hold_us >= 0 ? hold_us : UNSERVED_MOST_US) / 1000;
}

void unserved_warn(struct unserved *unserved, int64_t now_us, enum unserved_why why, struct slice name,
                   struct slice lacks)
{
    static const struct {
        const char *event, *field, *advice;
    } words[UNSERVED_WHYS] = {
        [UNSERVED_JOB_LACKS] = {"job_needs_later_version", "job",
                                "run the version of duepost that wrote the job"},
        [UNSERVED_TOPIC_LACKS] =
            {"topic_needs_later_version", "topic",
             "run the version of duepost that wrote the topic's settings, or DELETE the settings"},
        [UNSERVED_JOB_SHUT] = {"job_needs_encryption_key", "job",
                               "add the key to the file of encryption-keys of this process"},
        [UNSERVED_TOPIC_SHUT] =
            {"topic_needs_encryption_key", "topic",
             "add the key to the file of encryption-keys of this process; or DELETE the topic's settings"},
        [UNSERVED_SETTINGS] = {"settings_unreadable", "topic", "PUT or DELETE the topic's settings"},
        [UNSERVED_NO_KEY] = {"topic_without_identity_key", "topic",
                             "set identity-key-file with a key for auth.algorithm of the topic"},
        [UNSERVED_NO_URL] = {"topic_without_url", "topic",
                             "set the topic's url, or its delivery to pull; jobs without a url wait"},
    };
    if (slice_starts_with(lacks, SLICE(JOB_LACKS_KEY)))
        why = why == UNSERVED_JOB_LACKS     ? UNSERVED_JOB_SHUT
              : why == UNSERVED_TOPIC_LACKS ? UNSERVED_TOPIC_SHUT
                                            : why;
    int64_t since_us = now_us - unserved->warned[why].us;
    if (unserved->warned[why].us && since_us < WARN_US) {
        unserved->warned[why].quiet++;
        return;
    }
    log_warning(words[why].event, LOG_SLICE(words[why].field, name), LOG_SLICE("needs", lacks),
                LOG_NUMBER("more", unserved->warned[why].quiet), LOG_TEXT("do", words[why].advice));
    unserved->warned[why].us = now_us;
    unserved->warned[why].quiet = 0;
}

/* ---- resuming ---- */

enum {
    STEP_MAX = 500,     /* number of ids that one call reads, which takes Redis less than 5 ms */
    CLOSED_MAX = 10000, /* maximum number of receivers of which a shard keeps records */
    /* 100,000 jobs must be resumed within 10 s. With this lateness, the steps take a third of Redis's
     * time. */
    LATE_MS = PACE_LATE_MS / 2,
};
#define SECOND_CALL_US INT64_C(1000000)

/* A receiver whose breaker has closed. */
struct closed {
    struct list link;
    bool is_last_time;
    char name[];
};

struct resumer_lane {
    struct shard *shard;
    struct pace *pace;
    struct list closed; /* receivers to resume; a call for the first receiver may be under way */
    struct list later;  /* receivers for which a second call is made, after SECOND_CALL_US */
    struct timer *second_call;
    size_t count;
};

struct resumer {
    size_t lane_count;
    struct resumer_lane *lanes;
};

static struct closed *first_of(const struct list *list)
{
    return LIST_ENTRY(list->next, struct closed, link);
}

static void closed_free(struct resumer_lane *lane, struct closed *closed)
{
    list_remove(&closed->link);
    free(closed);
    lane->count--;
    clock_note_work(-1);
}

static void ask_later(struct resumer_lane *lane, struct closed *closed)
{
    list_remove(&closed->link);
    list_append(&lane->later, &closed->link);
    timer_arm(lane->second_call, SECOND_CALL_US);
}

static void on_resumed(void *arg, enum status status, size_t count)
{
    struct resumer_lane *lane = arg;
    struct closed *closed = first_of(&lane->closed);
    if (shard_is_newer(lane->shard)) {
        closed_free(lane, closed); /* the jobs come back at the end of their hold */
    } else if (status != STATUS_OK) {
        ask_later(lane, closed);
    } else if (count < STEP_MAX && closed->is_last_time) {
        closed_free(lane, closed);
    } else if (count < STEP_MAX) {
        closed->is_last_time = true;
        ask_later(lane, closed);
    }
    if (list_is_empty(&lane->closed))
        pace_end(lane->pace);
    else
        pace_continue(lane->pace, LATE_MS);
}

static void resumer_step(void *arg)
{
    struct resumer_lane *lane = arg;
    shard_resume(lane->shard, slice_of(first_of(&lane->closed)->name), STEP_MAX, on_resumed, lane);
}

static void on_second_call(void *arg)
{
    struct resumer_lane *lane = arg;
    for (struct list *link; (link = list_take(&lane->later));)
        list_append(&lane->closed, link);
    pace_run(lane->pace);
}

struct resumer *resumer_new(struct loop *loop, struct store *store)
{
    struct resumer *resumer = NEW(struct resumer);
    resumer->lane_count = store_shards(store);
    resumer->lanes = NEW_ARRAY(struct resumer_lane, resumer->lane_count);
    for (size_t i = 0; i < resumer->lane_count; i++) {
        struct resumer_lane *lane = &resumer->lanes[i];
        lane->shard = store_shard(store, i);
        lane->pace = pace_new(loop, resumer_step, lane);
        lane->second_call = timer_new(loop, on_second_call, lane);
        list_init(&lane->closed);
        list_init(&lane->later);
    }
    return resumer;
}

void resumer_resume(struct resumer *resumer, struct slice receiver)
{
    for (size_t i = 0; i < resumer->lane_count; i++) {
        struct resumer_lane *lane = &resumer->lanes[i];
        if (lane->count == CLOSED_MAX)
            continue; /* the list is full, so the jobs come back at the end of their hold */
        struct closed *closed = memory_new(sizeof *closed + receiver.size + 1);
        memcpy(closed->name, receiver.data, receiver.size);
        list_append(&lane->closed, &closed->link);
        lane->count++;
        clock_note_work(1);
        pace_run(lane->pace);
    }
}

void resumer_free(struct resumer *resumer)
{
    if (!resumer)
        return;
    for (size_t i = 0; i < resumer->lane_count; i++) {
        struct resumer_lane *lane = &resumer->lanes[i];
        for (struct list *link; (link = list_take(&lane->closed)) || (link = list_take(&lane->later));)
            free(LIST_ENTRY(link, struct closed, link));
        timer_free(lane->second_call);
        pace_free(lane->pace);
    }
    free(resumer->lanes);
    free(resumer);
}
