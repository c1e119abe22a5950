/* forecast.h - the use case of GET /forecast: what becomes due, what will begin, and whether the limits keep
 * up. Nothing is written. */
#ifndef DUEPOST_APP_FORECAST_H
#define DUEPOST_APP_FORECAST_H

#include "app/app.h"
#include "job/forecast_plan.h"

enum {
    APP_FORECAST_STEPS = 300,      /* a step that the client does not choose gives at most as many */
    APP_FORECAST_STEPS_MAX = 1000, /* maximum number of steps in an answer */
    APP_FORECAST_SCHEDULES = 20,
};
#define APP_FORECAST_STEP_MIN_MS INT64_C(1000)
#define APP_FORECAST_STEP_MAX_MS (INT64_C(7) * 86400 * 1000)
#define APP_FORECAST_MS          (INT64_C(86400) * 1000)      /* default of the length */
#define APP_FORECAST_MAX_MS      (INT64_C(35) * 86400 * 1000) /* "to" is at most so long after now */

struct app_forecast_call {
    int64_t from_ms, to_ms, step_ms; /* 0: the default. A time before now counts as now */
    struct slice topic;              /* only this topic; empty: all that the caller has a right to */
    bool has_duration;
    int64_t duration_ms; /* taken instead of the measured durations of attempts */
};

/* A schedule with many jobs. */
struct app_forecast_schedule {
    char *id; /* topic/scheduleId */
    int64_t jobs;
};

struct app_forecast {
    int64_t now_ms;
    struct forecast_steps steps;
    int64_t cell_ms; /* the length of the cells in which jobs were counted */
    const struct forecast_result *result;
    int64_t waiting;   /* jobs that wait now and are due before the end */
    int64_t scheduled; /* jobs that schedules will create before the end */
    int64_t schedules; /* number of schedules with such jobs */
    uint64_t measured; /* attempts whose durations were measured; 0: none */
    double duration_ms;
    int64_t max_in_flight; /* maximum number of attempts of all processes that are known */
    /* The schedules with the most jobs that are due within the steps. */
    const struct app_forecast_schedule *most;
    size_t most_count;
};

/* The forecast is NULL unless the verdict is OK. INVALID: the errors of the parameters. A reactor computes
 * one forecast at a time; others wait, and beyond a number of them the verdict is UNAVAILABLE. */
typedef void app_forecast_fn(void *arg, const struct app_verdict *, const struct app_forecast *);
void app_forecast(struct app *, const struct app_caller *, const struct app_forecast_call *,
                  app_forecast_fn *, void *arg);

#endif
