#include "cli/bench/bench.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"

enum {
    BODY_MAX = 64 * 1024,
    HEAD_MAX = 128, /* start of a body: the series, number and due time of the job */
    PADDING = 120,  /* bytes that fill a body up to about 200 bytes */
};

struct bench_receiver {
    struct bench_receiver_options options;
    struct local_receiver *server;

    pthread_mutex_t lock; /* protects the members below */
    uint32_t series;
    size_t count;
    bool *has_come;   /* has_come[n]: the job with the number n has come */
    int64_t *late_us; /* lateness of the jobs that have a due time */
    size_t late_count;
    struct bench_received received;
};

/* ---- bodies ---- */

void bench_receiver_write_body(struct buffer *text, const char *key, uint32_t series, size_t number,
                               int64_t due_ms)
{
    buffer_printf(text, "{\"bench\":\"%s\",\"series\":%" PRIu32 ",\"number\":%zu,\"due\":%" PRId64, key,
                  series, number, due_ms);
    buffer_printf(text, ",\"padding\":\"%0*d\"}", PADDING, 0);
}

/* Reads a body that bench_receiver_write_body has written. */
static bool read_body(const struct bench_receiver *receiver, struct slice body, uint32_t *series,
                      size_t *number, int64_t *due_ms)
{
    char head[HEAD_MAX + 1] = "", key[BENCH_KEY_SIZE];
    memcpy(head, body.data ? body.data : "", body.size < HEAD_MAX ? body.size : HEAD_MAX);
    /* NOLINTNEXTLINE(cert-err34-c): bodies of other senders do not have this key */
    return sscanf(head, "{\"bench\":\"%16[0-9a-f]\",\"series\":%" SCNu32 ",\"number\":%zu,\"due\":%" SCNd64,
                  key, series, number, due_ms) == 4 &&
           strcmp(key, receiver->options.key) == 0;
}

/* ---- jobs ---- */

static void answer_status(struct http_request *request, unsigned status)
{
    http_answer(request, &(struct http_answer){.status = status});
}

static void on_request(void *arg, struct http_request *request)
{
    struct bench_receiver *receiver = arg;
    uint32_t series;
    size_t number;
    int64_t due_ms;
    if (!read_body(receiver, http_request_body(request), &series, &number, &due_ms)) {
        answer_status(request, 404);
        return;
    }
    pthread_mutex_lock(&receiver->lock);
    bool is_counted = series == receiver->series && number < receiver->count;
    if (is_counted && receiver->has_come[number]) {
        receiver->received.repeats++;
    } else if (is_counted) {
        receiver->has_come[number] = true;
        receiver->received.jobs++;
        receiver->received.last_us = clock_steady_us();
        if (due_ms)
            receiver->late_us[receiver->late_count++] = clock_wall_us() - due_ms * 1000;
    }
    pthread_mutex_unlock(&receiver->lock);
    answer_status(request, 204);
}

/* ---- start and stop ---- */

struct bench_receiver *bench_receiver_start(const struct bench_receiver_options *options,
                                            struct problem *problem)
{
    struct bench_receiver *receiver = NEW(struct bench_receiver);
    receiver->options = *options;
    pthread_mutex_init(&receiver->lock, NULL);
    receiver->server =
        local_receiver_start(&(struct local_receiver_options){.place = options->place,
                                                              .max_body_bytes = BODY_MAX,
                                                              .advice = "set --receiver-listen",
                                                              .on_request = on_request,
                                                              .arg = receiver},
                             problem);
    if (receiver->server)
        return receiver;
    bench_receiver_stop(receiver);
    return NULL;
}

void bench_receiver_stop(struct bench_receiver *receiver)
{
    if (!receiver)
        return;
    local_receiver_stop(receiver->server);
    pthread_mutex_destroy(&receiver->lock);
    free(receiver->has_come);
    free(receiver->late_us);
    free(receiver);
}

void bench_receiver_write_url(const struct bench_receiver *receiver, struct buffer *url)
{
    local_receiver_write_origin(receiver->server, url);
    buffer_append_byte(url, '/');
}

/* ---- series ---- */

void bench_receiver_begin(struct bench_receiver *receiver, uint32_t series, size_t count)
{
    pthread_mutex_lock(&receiver->lock);
    free(receiver->has_come);
    free(receiver->late_us);
    receiver->series = series;
    receiver->count = count;
    receiver->has_come = NEW_ARRAY(bool, count);
    receiver->late_us = NEW_ARRAY(int64_t, count);
    receiver->late_count = 0;
    receiver->received = (struct bench_received){.jobs = 0};
    pthread_mutex_unlock(&receiver->lock);
}

struct bench_received bench_receiver_count(struct bench_receiver *receiver)
{
    pthread_mutex_lock(&receiver->lock);
    struct bench_received received = receiver->received;
    pthread_mutex_unlock(&receiver->lock);
    return received;
}

size_t bench_receiver_missing(struct bench_receiver *receiver)
{
    size_t number = 0;
    pthread_mutex_lock(&receiver->lock);
    while (number < receiver->count && receiver->has_come[number])
        number++;
    pthread_mutex_unlock(&receiver->lock);
    return number;
}

static int compare_us(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* Returns a quantile in milliseconds of times that are sorted. */
static double quantile_ms(const int64_t *us, size_t count, unsigned percent)
{
    size_t at = (count - 1) * percent / 100;
    return (double)us[at] / 1e3;
}

struct bench_lateness bench_receiver_lateness(struct bench_receiver *receiver, int64_t offset_ms)
{
    struct bench_lateness lateness = {.jobs = 0};
    pthread_mutex_lock(&receiver->lock);
    size_t count = receiver->late_count;
    int64_t *us = receiver->late_us;
    if (count > 0) {
        qsort(us, count, sizeof *us, compare_us);
        lateness = (struct bench_lateness){.jobs = count,
                                           .p50_ms = quantile_ms(us, count, 50) + (double)offset_ms,
                                           .p99_ms = quantile_ms(us, count, 99) + (double)offset_ms,
                                           .max_ms = quantile_ms(us, count, 100) + (double)offset_ms};
    }
    for (size_t i = 0; i < count && us[i] + offset_ms * 1000 < 0; i++)
        lateness.early++;
    pthread_mutex_unlock(&receiver->lock);
    return lateness;
}
