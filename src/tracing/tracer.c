#include "tracing/tracer.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/hex.h"
#include "base/memory.h"
#include "base/random.h"
#include "tracing/span_queue.h"

enum { QUEUE_MAX = 4096 /* maximum number of waiting spans, which need ten megabytes */, TRACE_BYTES = 16 };

struct tracer {
    int64_t one_in;
    size_t many;
    void (*wake)(void *arg);
    void *arg;
    struct span_queue *queue;
    _Atomic uint64_t exported, dropped;
};

struct tracer *tracer_new(int64_t one_in, size_t many, void (*wake)(void *arg), void *arg)
{
    struct tracer *tracer = NEW(struct tracer);
    assert(one_in > 0);
    tracer->one_in = one_in;
    tracer->many = many;
    tracer->wake = wake;
    tracer->arg = arg;
    tracer->queue = span_queue_new(QUEUE_MAX);
    return tracer;
}

void tracer_free(struct tracer *tracer)
{
    span_queue_free(tracer->queue);
    free(tracer);
}

bool tracer_begin(struct tracer *tracer, struct slice parent, char context[TRACE_PARENT_BYTES])
{
    uint8_t random[TRACE_BYTES + TRACE_SPAN_BYTES];
    char id[2 * TRACE_BYTES], trace[TRACE_PARENT_BYTES + 1];
    uint32_t dice;
    random_fill(random, sizeof random);
    random[0] |= 1; /* an id must not be all 0 */
    random[TRACE_BYTES] |= 1;
    if (parent.size) {
        trace_parent_next(parent, random + TRACE_BYTES, context);
        return trace_parent_is_sampled(parent);
    }
    memcpy(&dice, random + 2, sizeof dice);
    bool is_sampled = dice % (uint32_t)tracer->one_in == 0;
    hex_write(id, random, TRACE_BYTES);
    snprintf(trace, sizeof trace, "00-%.*s-0000000000000000-%s", (int)sizeof id, id,
             is_sampled ? "01" : "00");
    trace_parent_next(slice_from(trace, TRACE_PARENT_BYTES), random + TRACE_BYTES, context);
    return is_sampled;
}

void tracer_record(struct tracer *tracer, const struct span *span)
{
    size_t count = span_queue_put(tracer->queue, span);
    if (count == 0)
        tracer_note_sent(tracer, 0, 1);
    if (count >= tracer->many)
        tracer->wake(tracer->arg);
}

struct tracer_counts tracer_count(const struct tracer *tracer)
{
    return (struct tracer_counts){
        .exported = atomic_load_explicit(&tracer->exported, memory_order_relaxed),
        .dropped = atomic_load_explicit(&tracer->dropped, memory_order_relaxed),
    };
}

size_t tracer_waiting(struct tracer *tracer)
{
    return span_queue_count(tracer->queue);
}

bool tracer_take(struct tracer *tracer, struct span *span)
{
    return span_queue_take(tracer->queue, span);
}

void tracer_note_sent(struct tracer *tracer, size_t exported, size_t dropped)
{
    atomic_fetch_add_explicit(&tracer->exported, exported, memory_order_relaxed);
    atomic_fetch_add_explicit(&tracer->dropped, dropped, memory_order_relaxed);
}
