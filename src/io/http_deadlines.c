#include "io/http_deadlines.h"

#include <linux/tcp.h> /* glibc's lacks tcpi_bytes_received */
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/memory.h"

/* The deadlines of each step are in one list. All deadlines of a step are equally long, so each list is in
 * the order of time. */
struct http_deadlines {
    struct loop *loop;
    struct timer *timer;
    int64_t step_us[HTTP_STEP_COUNT];
    struct list steps[HTTP_STEP_COUNT];
};

static struct http_deadline *first_of(struct list *step)
{
    return list_is_empty(step) ? NULL : LIST_ENTRY(step->next, struct http_deadline, link);
}

/* Makes the timer fire at this time, unless it fires earlier anyway. If the timer fires before the first
 * deadline has come, it is set again. */
static void wake_at(struct http_deadlines *deadlines, int64_t at_us)
{
    timer_arm_within(deadlines->timer, at_us - loop_now_us(deadlines->loop));
}

static void start(struct http_deadlines *deadlines, struct http_deadline *deadline)
{
    deadline->at_us = loop_now_us(deadlines->loop) + deadlines->step_us[deadline->step];
    list_append(&deadlines->steps[deadline->step], &deadline->link);
    wake_at(deadlines, deadline->at_us);
}

static uint64_t received_bytes(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

/* Returns whether the connection received more bytes between two checks, without completing a request line. A
 * connection that receives nothing is idle, which is allowed. */
static bool is_dribbling(struct http_deadline *deadline)
{
    uint64_t before = deadline->received_bytes;
    deadline->received_bytes = received_bytes(deadline->fd);
    return before && deadline->received_bytes > before;
}

static void strike(struct http_deadlines *deadlines, struct http_deadline *deadline)
{
    if (deadline->step != HTTP_STEP_NEXT || is_dribbling(deadline)) {
        http_deadline_cut(deadline);
        return;
    }
    list_remove(&deadline->link);
    start(deadlines, deadline);
}

static void strike_late(struct http_deadlines *deadlines, int64_t now_us)
{
    for (int step = 0; step < HTTP_STEP_COUNT; step++) {
        struct http_deadline *first;
        while ((first = first_of(&deadlines->steps[step])) && first->at_us <= now_us)
            strike(deadlines, first);
    }
}

static void deadlines_on_timer(void *arg)
{
    struct http_deadlines *deadlines = arg;
    int64_t now_us = loop_now_us(deadlines->loop);
    strike_late(deadlines, now_us);
    for (int step = 0; step < HTTP_STEP_COUNT; step++) {
        struct http_deadline *first = first_of(&deadlines->steps[step]);
        if (first)
            wake_at(deadlines, first->at_us);
    }
}

struct http_deadlines *http_deadlines_new(struct loop *loop, const int64_t step_ms[HTTP_STEP_COUNT])
{
    struct http_deadlines *deadlines = NEW(struct http_deadlines);
    deadlines->loop = loop;
    deadlines->timer = timer_new(loop, deadlines_on_timer, deadlines);
    for (int step = 0; step < HTTP_STEP_COUNT; step++) {
        deadlines->step_us[step] = step_ms[step] * 1000;
        list_init(&deadlines->steps[step]);
    }
    return deadlines;
}

void http_deadlines_free(struct http_deadlines *deadlines)
{
    timer_free(deadlines->timer);
    free(deadlines);
}

void http_deadline_init(struct http_deadline *deadline, int fd)
{
    *deadline = (struct http_deadline){.step = HTTP_STEP_WORK, .fd = fd};
    list_init(&deadline->link);
}

void http_deadline_start(struct http_deadlines *deadlines, struct http_deadline *deadline,
                         enum http_step step)
{
    http_deadline_clear(deadline);
    deadline->step = step;
    deadline->received_bytes = 0;
    if (step != HTTP_STEP_WORK)
        start(deadlines, deadline);
}

void http_deadline_clear(struct http_deadline *deadline)
{
    list_remove(&deadline->link);
    deadline->step = HTTP_STEP_WORK;
}

void http_deadline_cut(struct http_deadline *deadline)
{
    http_deadline_clear(deadline);
    shutdown(deadline->fd, SHUT_RDWR);
}

struct http_deadline *http_deadlines_cut_first(struct http_deadlines *deadlines, enum http_step step)
{
    struct http_deadline *first = first_of(&deadlines->steps[step]);
    if (first)
        http_deadline_cut(first);
    return first;
}
