#include "worker/permit.h"

#include "base/memory.h"
#include "worker/hold.h"
#include "worker/receiver_report.h"

/* ---- one part ---- */

static void give(struct permit_part *part, int64_t probe)
{
    part->is_given = true;
    part->probe = probe;
    receiver_enter(part->receiver);
}

static void leave(struct permit_part *part)
{
    struct receiver *receiver = part->receiver;
    part->receiver = NULL;
    part->is_given = false;
    receiver_leave(receiver);
}

static void drop_part(struct permit_part *part)
{
    if (part->receiver && !part->is_given) {
        receiver_withdraw(part->receiver);
        part->receiver = NULL;
    }
    if (!part->receiver)
        return;
    if (part->probe)
        receiver_return_probe(part->receiver, part->probe);
    leave(part);
}

static enum permit_answer hold(struct permit_part *part, int64_t wait_ms, bool is_by_breaker)
{
    struct receiver *receiver = part->receiver;
    char *name = is_by_breaker ? slice_dup(slice_of(receiver->name)) : NULL;
    part->permit->wait_ms = wait_ms;
    part->receiver = NULL;
    receiver_settle(receiver);
    permit_drop(part->permit); /* ends both parts of the permit, because the job is held */
    part->permit->held_by = name;
    return PERMIT_HELD;
}

static receiver_probe_fn permit_on_probe;

static enum permit_answer ask_part(struct permit *permit, struct permit_part *part, const char *name)
{
    struct receiver *receiver = receivers_find(permit->receivers, name);
    *part = (struct permit_part){.permit = permit, .receiver = receiver};
    if (receiver->is_open) {
        if (!receiver_may_be_asked(receiver))
            return hold(part, hold_by_breaker_ms(receiver), true);
        receiver_ask_probe(receiver, permit_on_probe, part);
        return PERMIT_ASKED;
    }
    if (receiver_is_full(receiver))
        return hold(part, hold_by_limit_ms(receiver), false);
    give(part, 0);
    return PERMIT_GIVEN;
}

/* ---- both ---- */

/* Requests the permit's part for the whole receiver. name may end with a path, which is ignored. */
static enum permit_answer ask_host(struct permit *permit, const char *name)
{
    char host[RECEIVER_HOST_SIZE];
    struct slice text = receiver_host_of(slice_of(name));
    memcpy(host, text.data, text.size);
    host[text.size] = '\0';
    return ask_part(permit, &permit->host, host);
}

enum permit_answer permit_ask(struct permit *permit, struct receivers *receivers, const char *name,
                              permit_fn *fn, void *arg)
{
    *permit = (struct permit){.receivers = receivers, .fn = fn, .arg = arg};
    if (receiver_path_of(slice_of(name)).size > 0) {
        enum permit_answer answer = ask_part(permit, &permit->path, name);
        if (answer != PERMIT_GIVEN)
            return answer;
    }
    return ask_host(permit, name);
}

/* Receives Redis's answer for the part that asked for the right to probe. */
static void permit_on_probe(void *arg, bool may_send, int64_t probe)
{
    struct permit_part *part = arg;
    struct permit *permit = part->permit;
    enum permit_answer answer = PERMIT_GIVEN;
    if (!may_send) {
        answer = hold(part, hold_by_breaker_ms(part->receiver), true);
    } else {
        give(part, probe);
        if (part == &permit->path)
            answer = ask_host(permit, part->receiver->name);
    }
    if (answer != PERMIT_ASKED)
        permit->fn(permit->arg, answer == PERMIT_GIVEN ? -1 : permit->wait_ms);
}

bool permit_is_probe(const struct permit *permit)
{
    return permit->path.probe || permit->host.probe;
}

static void end_part(struct permit_part *part, const struct attempt_result *result)
{
    if (!part->is_given)
        return;
    receiver_note(part->receiver, result, part->probe);
    leave(part);
}

void permit_end(struct permit *permit, const struct attempt_result *result)
{
    end_part(&permit->path, result);
    end_part(&permit->host, result);
}

void permit_drop(struct permit *permit)
{
    drop_part(&permit->path);
    drop_part(&permit->host);
    free(permit->held_by);
    permit->held_by = NULL;
}
