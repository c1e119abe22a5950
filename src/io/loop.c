#include "io/loop.h"

#include <assert.h>
#include <ev.h>
#include <pthread.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/system.h"

#define SECOND_US INT64_C(1000000)

struct loop {
    struct ev_loop *ev;
    struct ev_check turn_begin;
    struct ev_prepare turn_end;
    int64_t began_us; /* when the loop was made */
    int64_t turn_us;  /* when the turn began */
    struct ev_async posted;
    struct list hooks[LOOP_PHASE_COUNT];
    pthread_mutex_t lock; /* guards posts, the only data that threads share */
    struct list posts;
};

struct post {
    struct list link;
    loop_fn *fn;
    void *arg;
};

struct timer {
    struct ev_timer ev;
    struct loop *loop;
    loop_fn *fn;
    void *arg;
    int64_t at_us; /* when an armed timer fires */
};

struct watch {
    struct ev_io ev;
    struct loop *loop;
    watch_fn *fn;
    void *arg;
};

struct hook {
    struct list link;
    loop_fn *fn;
    void *arg;
};

static void on_turn_begin(struct ev_loop *ev, struct ev_check *check, int events)
{
    (void)check, (void)events;
    struct loop *loop = ev_userdata(ev);
    loop->turn_us = clock_steady_us();
}

static void loop_on_turn_end(struct ev_loop *ev, struct ev_prepare *prepare, int events)
{
    (void)prepare, (void)events;
    struct loop *loop = ev_userdata(ev);
    for (int phase = 0; phase < LOOP_PHASE_COUNT; phase++) {
        struct list *hooks = &loop->hooks[phase];
        for (struct list *link = hooks->next; link != hooks; link = link->next) {
            struct hook *hook = LIST_ENTRY(link, struct hook, link);
            hook->fn(hook->arg);
        }
    }
}

static void on_posted(struct ev_loop *ev, struct ev_async *async, int events)
{
    (void)async, (void)events;
    struct loop *loop = ev_userdata(ev);
    struct list posts;
    pthread_mutex_lock(&loop->lock);
    list_move(&loop->posts, &posts);
    pthread_mutex_unlock(&loop->lock);
    for (struct list *link; (link = list_take(&posts));) {
        struct post *post = LIST_ENTRY(link, struct post, link);
        post->fn(post->arg);
        free(post);
    }
}

struct loop *loop_new(void)
{
    struct loop *loop = NEW(struct loop);
    loop->ev = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOSIGMASK);
    assert(loop->ev);
    ev_set_userdata(loop->ev, loop);
    for (int phase = 0; phase < LOOP_PHASE_COUNT; phase++)
        list_init(&loop->hooks[phase]);
    list_init(&loop->posts);
    pthread_mutex_init(&loop->lock, NULL);
    loop->began_us = loop->turn_us = clock_steady_us();
    ev_check_init(&loop->turn_begin, on_turn_begin);
    ev_set_priority(&loop->turn_begin, EV_MAXPRI);
    ev_check_start(loop->ev, &loop->turn_begin);
    ev_prepare_init(&loop->turn_end, loop_on_turn_end);
    ev_prepare_start(loop->ev, &loop->turn_end);
    ev_async_init(&loop->posted, on_posted);
    ev_async_start(loop->ev, &loop->posted);
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    for (struct list *link; (link = list_take(&loop->posts));)
        free(LIST_ENTRY(link, struct post, link));
    ev_check_stop(loop->ev, &loop->turn_begin);
    ev_prepare_stop(loop->ev, &loop->turn_end);
    ev_async_stop(loop->ev, &loop->posted);
    ev_loop_destroy(loop->ev);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}

void loop_run(struct loop *loop)
{
    ev_run(loop->ev, 0);
}

void loop_stop(struct loop *loop)
{
    ev_break(loop->ev, EVBREAK_ALL);
}

int64_t loop_now_us(struct loop *loop)
{
    return loop->turn_us;
}

void loop_post(struct loop *loop, loop_fn *fn, void *arg)
{
    struct post *post = NEW(struct post);
    post->fn = fn;
    post->arg = arg;
    pthread_mutex_lock(&loop->lock);
    list_append(&loop->posts, &post->link);
    pthread_mutex_unlock(&loop->lock);
    ev_async_send(loop->ev, &loop->posted);
}

static void loop_on_timer(struct ev_loop *ev, struct ev_timer *watcher, int events)
{
    (void)ev, (void)events;
    struct timer *timer = watcher->data;
    timer->fn(timer->arg);
}

struct timer *timer_new(struct loop *loop, loop_fn *fn, void *arg)
{
    struct timer *timer = NEW(struct timer);
    timer->loop = loop;
    timer->fn = fn;
    timer->arg = arg;
    ev_init(&timer->ev, loop_on_timer);
    /* Events are handled before timers, so that an event that has arrived in time is not taken for a
     * timeout. */
    ev_set_priority(&timer->ev, -1);
    timer->ev.data = timer;
    return timer;
}

void timer_start(struct timer *timer, int64_t after_us)
{
    struct ev_loop *ev = timer->loop->ev;
    if (after_us <= 0 && ev_is_pending(&timer->ev))
        return;
    timer->at_us = clock_steady_us() + after_us;
    ev_now_update(ev); /* libev would count from the start of the turn, so the timer would fire too early */
    ev_timer_stop(ev, &timer->ev);
    ev_timer_set(&timer->ev, (double)(after_us < 0 ? 0 : after_us) / 1e6, 0.);
    ev_timer_start(ev, &timer->ev);
}

void timer_start_aligned(struct timer *timer, int64_t after_us)
{
    int64_t passed_us = clock_steady_us() - timer->loop->began_us;
    int64_t early_us = (after_us < SECOND_US ? after_us : SECOND_US) / 10;
    int64_t seconds = (passed_us + after_us - early_us + SECOND_US - 1) / SECOND_US;
    timer_start(timer, seconds * SECOND_US - passed_us);
}

void timer_stop(struct timer *timer)
{
    ev_timer_stop(timer->loop->ev, &timer->ev);
}

bool timer_is_armed(const struct timer *timer)
{
    ev_timer *ev = (ev_timer *)(uintptr_t)&timer->ev; /* libev's macros lack a const */
    return ev_is_active(ev) || ev_is_pending(ev);
}

void timer_arm(struct timer *timer, int64_t after_us)
{
    if (!timer_is_armed(timer))
        timer_start(timer, after_us);
}

void timer_arm_within(struct timer *timer, int64_t after_us)
{
    if (timer_is_armed(timer)) {
        /* The first comparison saves most system calls: the turn has begun before now. */
        bool fires_by_then =
            timer->at_us <= timer->loop->turn_us + after_us || timer->at_us <= clock_steady_us() + after_us;
        if (fires_by_then)
            return;
    }
    timer_start(timer, after_us);
}

void timer_free(struct timer *timer)
{
    if (!timer)
        return;
    timer_stop(timer);
    free(timer);
}

static void on_watch(struct ev_loop *ev, struct ev_io *watcher, int events)
{
    (void)ev;
    struct watch *watch = watcher->data;
    watch->fn(watch->arg, events & (EV_READ | EV_ERROR), events & EV_WRITE);
}

struct watch *watch_new(struct loop *loop, int fd, watch_fn *fn, void *arg)
{
    struct watch *watch = NEW(struct watch);
    watch->loop = loop;
    watch->fn = fn;
    watch->arg = arg;
    ev_io_init(&watch->ev, on_watch, fd, 0);
    watch->ev.data = watch;
    return watch;
}

void watch_set(struct watch *watch, bool read, bool write)
{
    int events = (read ? EV_READ : 0) | (write ? EV_WRITE : 0);
    if (ev_is_active(&watch->ev) && (watch->ev.events & (EV_READ | EV_WRITE)) == events)
        return;
    ev_io_stop(watch->loop->ev, &watch->ev);
    if (events == 0)
        return;
    ev_io_set(&watch->ev, watch->ev.fd, events);
    ev_io_start(watch->loop->ev, &watch->ev);
}

void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    ev_io_stop(watch->loop->ev, &watch->ev);
    free(watch);
}

struct hook *hook_new(struct loop *loop, enum loop_phase phase, loop_fn *fn, void *arg)
{
    struct hook *hook = NEW(struct hook);
    hook->fn = fn;
    hook->arg = arg;
    list_append(&loop->hooks[phase], &hook->link);
    return hook;
}

void hook_free(struct hook *hook)
{
    if (!hook)
        return;
    list_remove(&hook->link);
    free(hook);
}

void loop_library(struct library *library)
{
    library_set_numbers(library, "libev", ev_version_major(), ev_version_minor());
}
