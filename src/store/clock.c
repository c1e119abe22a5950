#include "store/clock.h"

#include "base/memory.h"
#include "base/system.h"
#include "store/store_private.h"

struct clock_walk {
    struct shard *shard;
    struct store_clock_step step;
    store_clock_fn *fn;
    void *arg;
};

static void send_step(struct clock_walk *walk, bool is_move);

static void clock_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct clock_walk *walk = call->arg;
    bool was_look = call->note == 0;
    int64_t state = redis_reply_integer(redis_reply_at(reply, 1));
    struct store_clock clock = {
        .state = state == 1   ? CLOCK_MOVED
                 : state == 2 ? CLOCK_REACHED
                              : CLOCK_BUSY,
        .now_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000,
        .next_ms = redis_reply_integer(redis_reply_at(reply, 2)),
        .in_flight = redis_reply_integer(redis_reply_at(reply, 3)),
    };
    if (status == STATUS_OK)
        clock_turn_to(redis_reply_integer(redis_reply_at(reply, 0)));
    if (status == STATUS_OK && clock_has_work())
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
