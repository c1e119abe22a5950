#include "worker/resumer.h"

#include "base/list.h"
#include "base/memory.h"
#include "store/store.h"
#include "worker/pace.h"

enum {
    STEP_MAX = 500,     /* number of ids that one call reads, which takes Redis less than 5 ms */
    CLOSED_MAX = 10000, /* maximum number of receivers of which a shard keeps records */
    /* 100,000 jobs must be resumed within 10 s. With this lateness, the steps take a third of Redis's
     * time. */
    LATE_MS = PACE_LATE_MS / 2,
};
#define AGAIN_US INT64_C(1000000)

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
    struct list later;  /* receivers for which a second call is made, after AGAIN_US */
    struct timer *again;
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
}

static void ask_later(struct resumer_lane *lane, struct closed *closed)
{
    list_remove(&closed->link);
    list_append(&lane->later, &closed->link);
    timer_arm(lane->again, AGAIN_US);
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
        pace_again(lane->pace, LATE_MS);
}

static void resumer_step(void *arg)
{
    struct resumer_lane *lane = arg;
    shard_resume(lane->shard, slice_of(first_of(&lane->closed)->name), STEP_MAX, on_resumed, lane);
}

static void on_again(void *arg)
{
    struct resumer_lane *lane = arg;
    for (struct list *link; (link = list_take(&lane->later));)
        list_append(&lane->closed, link);
    pace_run(lane->pace);
}

static void lane_init(struct loop *loop, struct resumer_lane *lane, struct shard *shard)
{
    lane->shard = shard;
    lane->pace = pace_new(loop, resumer_step, lane);
    lane->again = timer_new(loop, on_again, lane);
    list_init(&lane->closed);
    list_init(&lane->later);
}

struct resumer *resumer_new(struct loop *loop, struct store *store)
{
    struct resumer *resumer = NEW(struct resumer);
    resumer->lane_count = store_shards(store);
    resumer->lanes = NEW_ARRAY(struct resumer_lane, resumer->lane_count);
    for (size_t i = 0; i < resumer->lane_count; i++)
        lane_init(loop, &resumer->lanes[i], store_shard(store, i));
    return resumer;
}

static void lane_add(struct resumer_lane *lane, struct slice receiver)
{
    if (lane->count == CLOSED_MAX)
        return; /* the list is full, so the jobs come back at the end of their hold */
    struct closed *closed = memory_new(sizeof *closed + receiver.size + 1);
    memcpy(closed->name, receiver.data, receiver.size);
    list_append(&lane->closed, &closed->link);
    lane->count++;
    pace_run(lane->pace);
}

void resumer_resume(struct resumer *resumer, struct slice receiver)
{
    for (size_t i = 0; i < resumer->lane_count; i++)
        lane_add(&resumer->lanes[i], receiver);
}

static void lane_fini(struct resumer_lane *lane)
{
    for (struct list *link; (link = list_take(&lane->closed)) || (link = list_take(&lane->later));)
        free(LIST_ENTRY(link, struct closed, link));
    timer_free(lane->again);
    pace_free(lane->pace);
}

void resumer_free(struct resumer *resumer)
{
    if (!resumer)
        return;
    for (size_t i = 0; i < resumer->lane_count; i++)
        lane_fini(&resumer->lanes[i]);
    free(resumer->lanes);
    free(resumer);
}
