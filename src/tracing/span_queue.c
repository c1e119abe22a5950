#include "tracing/span_queue.h"

#include <pthread.h>

#include "base/memory.h"

struct span_queue {
    pthread_mutex_t lock;
    size_t max, first, count;
    struct span spans[];
};

struct span_queue *span_queue_new(size_t max)
{
    struct span_queue *queue = memory_new(sizeof *queue + max * sizeof(struct span));
    queue->max = max;
    pthread_mutex_init(&queue->lock, NULL);
    return queue;
}

void span_queue_free(struct span_queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

size_t span_queue_put(struct span_queue *queue, const struct span *span)
{
    size_t count = 0;
    pthread_mutex_lock(&queue->lock);
    if (queue->count < queue->max) {
        queue->spans[(queue->first + queue->count) % queue->max] = *span;
        count = ++queue->count;
    }
    pthread_mutex_unlock(&queue->lock);
    return count;
}

bool span_queue_take(struct span_queue *queue, struct span *span)
{
    pthread_mutex_lock(&queue->lock);
    bool is_taken = queue->count > 0;
    if (is_taken) {
        *span = queue->spans[queue->first];
        queue->first = (queue->first + 1) % queue->max;
        queue->count--;
    }
    pthread_mutex_unlock(&queue->lock);
    return is_taken;
}

size_t span_queue_count(struct span_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t count = queue->count;
    pthread_mutex_unlock(&queue->lock);
    return count;
}
