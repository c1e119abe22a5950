#include "cli/bench_usage.h"

#include <stdlib.h>
#include <time.h>

enum { TEXT_MAX = 16 * 1024 * 1024, TRIES_MAX = 30 };
#define STEP_NS 200000000L

/* Returns the value of a metric without labels, or -1. */
static double metric_value(struct slice text, struct slice name)
{
    for (struct slice line; text.size;) {
        slice_cut(text, '\n', &line, &text);
        if (slice_starts_with(line, name) && line.size > name.size && line.data[name.size] == ' ')
            return strtod(line.data + name.size, NULL);
    }
    return -1;
}

static void read_once(struct remote *remote, struct bench_usage *usage)
{
    struct buffer text;
    struct problem problem;
    *usage = (struct bench_usage){-1, -1};
    buffer_init(&text, TEXT_MAX);
    if (remote_ask(remote, "GET", "/metrics", NULL, &text, &problem) == STATUS_OK) {
        buffer_append_byte(&text, '\0');
        usage->duepost_s = metric_value(buffer_slice(&text), SLICE("process_cpu_seconds_total"));
        usage->redis_s = metric_value(buffer_slice(&text), SLICE("duepost_redis_cpu_seconds_total"));
    }
    buffer_fini(&text);
}

void bench_usage_read(struct remote *remote, const struct bench_usage *last, struct bench_usage *now)
{
    read_once(remote, now);
    for (int i = 0; last && last->redis_s >= 0 && now->redis_s == last->redis_s && i < TRIES_MAX; i++) {
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
        read_once(remote, now);
    }
}

double bench_usage_each_us(double from_s, double to_s, size_t count)
{
    return from_s < 0 || to_s < from_s || count == 0 ? -1 : (to_s - from_s) * 1e6 / (double)count;
}
