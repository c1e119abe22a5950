/* alerts.h - use cases for alerts: lists those that have begun, and tries out the alerts of a topic. */
#ifndef DUEPOST_APP_ALERTS_H
#define DUEPOST_APP_ALERTS_H

#include "app/app.h"
#include "job/alert/alert.h"

/* An alert that has begun. */
struct app_alert {
    enum alert_kind kind;
    struct slice subject; /* topic, topic/scheduleId, receiver, or number of the shard */
    int64_t since_ms;
    int64_t count; /* DIED: how many jobs have died since then */
};

typedef void app_alert_fn(void *arg, const struct app_alert *);

/* Calls each() for every alert that has begun and that the caller has a right to, the oldest first; then
 * calls fn. Only a caller with a right to all topics sees alerts that belong to no topic. */
void app_alerts(struct app *, const struct app_caller *, app_alert_fn *each, app_verdict_fn *fn, void *arg);

/* A job that tries an alert out. */
struct app_alert_test {
    const struct alert_rule *rule;
    struct slice topic, job_id;
};

typedef void app_alert_test_fn(void *arg, const struct app_alert_test *);

/* Schedules a job for each alert of a topic or pattern, and calls each() for it; then calls fn. The verdict
 * is NOT_FOUND if there are no alerts, and FULL if too many jobs of alerts wait. */
void app_alerts_test(struct app *, const struct app_caller *, struct slice topic, app_alert_test_fn *each,
                     app_verdict_fn *fn, void *arg);

#endif
