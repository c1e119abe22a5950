#include "io/freeze_guard.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"

/* Setting the timer costs a system call. If the guard is entered again within this time, the timer is not set
 * again. */
#define REARM_US INT64_C(100000)

/* timer_create(2) documents this name, which older versions of glibc lack. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* This signal is used neither by glibc nor by our libraries. */
#define GUARD_SIGNAL (SIGRTMIN + 5)

struct freeze_guard {
    void (*take_away)(void *arg, const void *what);
    void *arg;
    bool has_timer;
    timer_t timer;
    int64_t armed_us;
    const void *_Atomic inside; /* the call that is being sent; NULL: no send is under way */
    const void *_Atomic struck;
};

static _Thread_local struct freeze_guard *_Atomic guard_here;

static void on_strike(int number)
{
    (void)number;
    int kept = errno;
    struct freeze_guard *guard = atomic_load(&guard_here);
    const void *what = guard ? atomic_load(&guard->inside) : NULL;
    if (what) {
        atomic_store(&guard->struck, what);
        guard->take_away(guard->arg, what);
    }
    errno = kept;
}

static void catch_strikes(void)
{
    struct sigaction action = {.sa_handler = on_strike, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(GUARD_SIGNAL, &action, NULL);
}

/* Creates the timer. Its signal goes to the thread that sends; other threads may continue. */
static void start_timer(struct freeze_guard *guard)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, catch_strikes);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = GUARD_SIGNAL};
    event.sigev_notify_thread_id = gettid();
    int result = timer_create(CLOCK_BOOTTIME, &event, &guard->timer);
    assert(result == 0);
    guard->has_timer = true;
    atomic_store(&guard_here, guard);
}

struct freeze_guard *freeze_guard_new(void (*take_away)(void *arg, const void *what), void *arg)
{
    struct freeze_guard *guard = NEW(struct freeze_guard);
    guard->take_away = take_away;
    guard->arg = arg;
    return guard;
}

void freeze_guard_free(struct freeze_guard *guard)
{
    if (!guard)
        return;
    if (guard->has_timer)
        timer_delete(guard->timer);
    if (atomic_load(&guard_here) == guard)
        atomic_store(&guard_here, NULL);
    free(guard);
}

void freeze_guard_enter(struct freeze_guard *guard, const void *what)
{
    int64_t now_us = clock_boot_us();
    if (!guard->has_timer)
        start_timer(guard);
    if (guard->armed_us == 0 || now_us - guard->armed_us > REARM_US) {
        const struct itimerspec strike = {.it_value = {.tv_nsec = FREEZE_GUARD_US * 1000}};
        timer_settime(guard->timer, 0, &strike, NULL);
        guard->armed_us = now_us;
    }
    atomic_store(&guard->inside, what);
}

void freeze_guard_leave(struct freeze_guard *guard)
{
    atomic_store(&guard->inside, NULL);
}

bool freeze_guard_has_struck(struct freeze_guard *guard, const void *what)
{
    if (atomic_load(&guard->struck) != what)
        return false;
    atomic_store(&guard->struck, NULL);
    return true;
}
