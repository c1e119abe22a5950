#include "worker/permit.h"

/* ---- answers ---- */

static enum permit_answer give(struct permit *permit, int64_t probe)
{
    permit->is_given = true;
    permit->probe = probe;
    receiver_enter(permit->receiver);
    return PERMIT_GIVEN;
}

static enum permit_answer hold(struct permit *permit, int64_t wait_ms)
{
    struct receiver *receiver = permit->receiver;
    permit->wait_ms = wait_ms;
    permit->receiver = NULL;
    receiver_settle(receiver);
    return PERMIT_HELD;
}

static enum permit_answer ask_breaker(struct permit *permit, int64_t timeout_ms)
{
    if (!receiver_may_be_asked(permit->receiver))
        return hold(permit, receiver_hold_by_breaker(permit->receiver));
    receiver_ask_probe(permit->receiver, permit, timeout_ms);
    return PERMIT_ASKED;
}

void permit_give(struct permit *permit, int64_t probe)
{
    give(permit, probe);
    permit->fn(permit->arg, -1);
}

void permit_hold(struct permit *permit)
{
    hold(permit, receiver_hold_by_breaker(permit->receiver));
    permit->fn(permit->arg, permit->wait_ms);
}

/* ---- its life ---- */

enum permit_answer permit_ask(struct permit *permit, struct receivers *receivers, const char *name,
                              int64_t timeout_ms, permit_fn *fn, void *arg)
{
    struct receiver *receiver = receivers_find(receivers, name);
    *permit = (struct permit){.receiver = receiver, .fn = fn, .arg = arg};
    if (receiver_is_open(receiver))
        return ask_breaker(permit, timeout_ms);
    if (receiver_is_full(receiver))
        return hold(permit, receiver_hold_by_limit(receiver));
    return give(permit, 0);
}

static void leave(struct permit *permit)
{
    struct receiver *receiver = permit->receiver;
    permit->receiver = NULL;
    permit->is_given = false;
    receiver_leave(receiver);
}

void permit_end(struct permit *permit, const struct attempt_result *result)
{
    if (!permit->is_given)
        return;
    receiver_note(permit->receiver, result, permit->probe);
    leave(permit);
}

bool permit_is_awaited(const struct permit *permit)
{
    return permit->receiver && !permit->is_given;
}

void permit_drop(struct permit *permit)
{
    if (permit_is_awaited(permit)) {
        receiver_take_back_asker(permit->receiver);
        permit->receiver = NULL;
    }
    if (!permit->receiver)
        return;
    if (permit->probe)
        receiver_return_probe(permit->receiver, permit->probe);
    leave(permit);
}
