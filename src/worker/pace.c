#include "worker/pace.h"

#include "base/clock.h"
#include "base/memory.h"

enum {
    SHARE_MIN = 10, /* smallest share of Redis's time, in percent */
    SHARE_MAX = 50,
    SHARE_DUE = 75,
    /* Redis needs at most 5 ms for a step. If a reply takes longer, Redis was busy with other work. The pause
     * does not grow with this additional time, because sweeps must end even if Redis is busy. */
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
    if (!pace->is_stepping && !timer_is_armed(pace->pause))
        run_step(pace);
}

static int64_t share_of(int64_t late_ms)
{
    if (late_ms >= PACE_LATE_MS)
        return SHARE_MAX;
    return SHARE_MIN + (late_ms > 0 ? (SHARE_MAX - SHARE_MIN) * late_ms / PACE_LATE_MS : 0);
}

static int64_t pause_of_share(int64_t took_us, int64_t share)
{
    int64_t step_us = took_us < STEP_US_MAX ? took_us : STEP_US_MAX;
    return step_us * (100 - share) / share;
}

int64_t pace_pause_us(int64_t took_us, int64_t late_ms)
{
    return pause_of_share(took_us, share_of(late_ms));
}

/* Returns the time that the step took. */
static int64_t end_pace_step(struct pace *pace)
{
    pace->is_stepping = false;
    return clock_boot_us() - pace->began_us;
}

void pace_again(struct pace *pace, int64_t late_ms)
{
    timer_start(pace->pause, pace_pause_us(end_pace_step(pace), late_ms));
}

void pace_again_due(struct pace *pace)
{
    timer_start(pace->pause, pause_of_share(end_pace_step(pace), SHARE_DUE));
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
