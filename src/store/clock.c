#include "store/clock.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/store_private.h"

/* ---- work under way ---- */

static _Atomic int work_under_way;

void clock_note_work(int change)
{
    if (clock_is_manual())
        work_under_way += change;
}

/* ---- steps ---- */

struct clock_walk {
    struct shard *shard;
    struct store_clock_step step;
    store_clock_fn *fn;
    void *arg;
};

static void send_step(struct clock_walk *walk, bool is_move);

static void clock_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    static const enum clock_state states[] = {CLOCK_BUSY, CLOCK_MOVED, CLOCK_REACHED};
    struct clock_walk *walk = call->arg;
    bool was_look = call->note == 0;
    int64_t state = redis_reply_integer(redis_reply_at(reply, 1));
    struct store_clock clock = {
        .state = state == 1 || state == 2 ? states[state] : CLOCK_BUSY,
        .now_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000,
        .next_ms = redis_reply_integer(redis_reply_at(reply, 2)),
        .in_flight = redis_reply_integer(redis_reply_at(reply, 3)),
    };
    if (status == STATUS_OK)
        clock_turn_to(redis_reply_integer(redis_reply_at(reply, 0)));
    if (status == STATUS_OK && work_under_way > 0)
        clock.state = CLOCK_BUSY;
    if (status == STATUS_OK && was_look && clock.state == CLOCK_MOVED) {
        send_step(walk, true);
        return;
    }
    walk->fn(walk->arg, status, status == STATUS_OK ? &clock : NULL);
    free(walk);
}

/* Each step first looks and then moves the clock. In between, this process checks whether the ends of
 * attempts that Redis knows have caused more work. */
static void send_step(struct clock_walk *walk, bool is_move)
{
    struct store_call *call =
        store_call_alone(walk->shard, SCRIPT_CLOCK, walk->shard->changes, clock_end, NULL, walk);
    call->note = is_move;
    if (walk->step.is_until_idle && walk->step.to_ms == 0)
        store_call_text(call, SLICE("+inf"));
    else
        store_call_number(call, walk->step.to_ms);
    store_call_number(call, walk->step.is_until_idle);
    store_call_number(call, is_move);
    store_call_send(call);
}

void store_clock_step(struct store *store, const struct store_clock_step *step, store_clock_fn *fn, void *arg)
{
    struct clock_walk *walk = NEW(struct clock_walk);
    *walk = (struct clock_walk){.shard = store_shard(store, 0), .step = *step, .fn = fn, .arg = arg};
    send_step(walk, false);
}

/* ---- what fired ---- */

struct fired {
    struct list link;
    struct clock_fired entry;
    char *job, *schedule; /* owned: the texts of these members of entry */
};

static struct {
    pthread_mutex_t mutex;
    struct list entries;
    size_t count;
    uint64_t lost;
} fired = {.mutex = PTHREAD_MUTEX_INITIALIZER, .entries = {&fired.entries, &fired.entries}};

static void fired_free(struct fired *one)
{
    free(one->job);
    free(one->schedule);
    free(one);
}

void clock_note_fired(const struct clock_fired *entry)
{
    if (!clock_is_manual())
        return;
    struct fired *one = NEW(struct fired);
    *one =
        (struct fired){.entry = *entry, .job = slice_dup(entry->job), .schedule = slice_dup(entry->schedule)};
    one->entry.job.data = one->job;
    one->entry.schedule.data = one->schedule;
    pthread_mutex_lock(&fired.mutex);
    bool has_room = fired.count < CLOCK_FIRED_MAX;
    if (has_room) {
        list_append(&fired.entries, &one->link);
        fired.count++;
    } else {
        fired.lost++;
    }
    pthread_mutex_unlock(&fired.mutex);
    if (!has_room)
        fired_free(one);
}

size_t clock_fired_count(void)
{
    pthread_mutex_lock(&fired.mutex);
    size_t count = fired.count;
    pthread_mutex_unlock(&fired.mutex);
    return count;
}

bool clock_take_fired(size_t max, clock_fired_fn *fn, void *arg, uint64_t *lost)
{
    struct list taken;
    list_init(&taken);
    pthread_mutex_lock(&fired.mutex);
    for (size_t i = 0; i < max && fired.count > 0; i++) {
        list_append(&taken, list_take(&fired.entries));
        fired.count--;
    }
    bool is_left = fired.count > 0;
    *lost = fired.lost;
    fired.lost = 0;
    pthread_mutex_unlock(&fired.mutex);
    for (struct list *link; (link = list_take(&taken));) {
        struct fired *one = LIST_ENTRY(link, struct fired, link);
        fn(arg, &one->entry);
        fired_free(one);
    }
    return is_left;
}
