#include "worker/pace.h"

#include "base/clock.h"
#include "base/memory.h"

enum {
    PAUSE_PER_STEP = 9, /* a tenth of the time is the sweep's */
    /* Steps are sized so that Redis is done with one within 5 ms. A reply that took longer waited behind
     * other work, which is no reason to pause for longer: sweeps also have to end when Redis is busy. */
    STEP_US_MAX = 5000,
};

struct pace {
    loop_fn *step;
    void *arg;
    struct timer *pause;
    bool is_stepping;
    int64_t began_us;
};

static void run_step(void *arg)
{
    struct pace *pace = arg;
    pace->is_stepping = true;
    pace->began_us = clock_boot_us();
    pace->step(pace->arg);
}

struct pace *pace_new(struct loop *loop, loop_fn *step, void *arg)
{
    struct pace *pace = NEW(struct pace);
    pace->step = step;
    pace->arg = arg;
    pace->pause = timer_new(loop, run_step, pace);
    return pace;
}

void pace_run(struct pace *pace)
{
    if (!pace->is_stepping && !timer_is_running(pace->pause))
        run_step(pace);
}

int64_t pace_pause_us(int64_t took_us)
{
    return PAUSE_PER_STEP * (took_us < STEP_US_MAX ? took_us : STEP_US_MAX);
}

void pace_again(struct pace *pace)
{
    pace->is_stepping = false;
    timer_start(pace->pause, pace_pause_us(clock_boot_us() - pace->began_us));
}

void pace_end(struct pace *pace)
{
    pace->is_stepping = false;
    timer_stop(pace->pause);
}

void pace_free(struct pace *pace)
{
    if (!pace)
        return;
    timer_free(pace->pause);
    free(pace);
}
