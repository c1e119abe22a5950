/* query_timer.c - times of the queries to a Sentinel or a node of a Cluster. */
#include "io/redis/redis_private.h"

#include "base/memory.h"
#include "base/system.h"

#define INTERVAL_US INT64_C(1000000)
#define SHORT_US    INT64_C(200000)
#define HURRY_US    INT64_C(5000000) /* how long the interval stays short */

struct query_timer {
    struct timer *timer;
    int64_t sent_us, hurry_until_us; /* by clock_boot_us */
};

struct query_timer *query_timer_new(struct loop *loop, loop_fn *query, void *arg)
{
    struct query_timer *timer = NEW(struct query_timer);
    timer->timer = timer_new(loop, query, arg);
    return timer;
}

void query_timer_free(struct query_timer *timer)
{
    if (!timer)
        return;
    timer_free(timer->timer);
    free(timer);
}

void query_timer_sent(struct query_timer *timer)
{
    timer->sent_us = clock_boot_us();
    timer_start(timer->timer, timer->sent_us < timer->hurry_until_us ? SHORT_US : INTERVAL_US);
}

void query_timer_stop(struct query_timer *timer)
{
    timer_stop(timer->timer);
}

bool query_timer_is_running(const struct query_timer *timer)
{
    return timer_is_armed(timer->timer);
}

void query_timer_hurry(struct query_timer *timer)
{
    int64_t now_us = clock_boot_us();
    int64_t since_us = now_us - timer->sent_us;
    timer->hurry_until_us = now_us + HURRY_US;
    if (timer_is_armed(timer->timer))
        timer_start(timer->timer, since_us < SHORT_US ? SHORT_US - since_us : 0);
}
