#include "tracing/tracer.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/encoding.h"
#include "base/memory.h"
#include "base/system.h"

enum { QUEUE_MAX = 4096 /* maximum number of waiting spans, which need ten megabytes */, TRACE_BYTES = 16 };

struct tracer {
    int64_t one_in;
    size_t many;
    void (*wake)(void *arg);
    void *arg;
    _Atomic uint64_t exported, dropped;

    pthread_mutex_t lock; /* protects the queue of ended spans that wait to be sent: the members below */
    size_t first, count;
    struct span spans[QUEUE_MAX];
};

struct tracer *tracer_new(int64_t one_in, size_t many, void (*wake)(void *arg), void *arg)
{
    struct tracer *tracer = NEW(struct tracer);
    assert(one_in > 0);
    tracer->one_in = one_in;
    tracer->many = many;
    tracer->wake = wake;
    tracer->arg = arg;
    pthread_mutex_init(&tracer->lock, NULL);
    return tracer;
}

void tracer_free(struct tracer *tracer)
{
    pthread_mutex_destroy(&tracer->lock);
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
    size_t count = 0; /* 0: the queue is full */
    pthread_mutex_lock(&tracer->lock);
    if (tracer->count < QUEUE_MAX) {
        tracer->spans[(tracer->first + tracer->count) % QUEUE_MAX] = *span;
        count = ++tracer->count;
    }
    pthread_mutex_unlock(&tracer->lock);
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
    pthread_mutex_lock(&tracer->lock);
    size_t count = tracer->count;
    pthread_mutex_unlock(&tracer->lock);
    return count;
}

bool tracer_take(struct tracer *tracer, struct span *span)
{
    pthread_mutex_lock(&tracer->lock);
    bool is_taken = tracer->count > 0;
    if (is_taken) {
        *span = tracer->spans[tracer->first];
        tracer->first = (tracer->first + 1) % QUEUE_MAX;
        tracer->count--;
    }
    pthread_mutex_unlock(&tracer->lock);
    return is_taken;
}

void tracer_note_sent(struct tracer *tracer, size_t exported, size_t dropped)
{
    atomic_fetch_add_explicit(&tracer->exported, exported, memory_order_relaxed);
    atomic_fetch_add_explicit(&tracer->dropped, dropped, memory_order_relaxed);
}
