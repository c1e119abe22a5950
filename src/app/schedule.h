/* schedule.h - a schedule as clients see it: its definition, its next times and its last outcome. */
#ifndef DUEPOST_APP_SCHEDULE_H
#define DUEPOST_APP_SCHEDULE_H

#include "app/app.h"
#include "job/recurring.h"

enum { APP_SCHEDULE_TIMES = 5 };

/* The outcome of a schedule's last time. */
enum app_fired {
    APP_FIRED_NEVER,    /* the schedule has not reached its first time yet */
    APP_FIRED_DONE,     /* the job was created */
    APP_FIRED_SKIPPED,  /* the time was missed, and the schedule skips missed times */
    APP_FIRED_OVERLAP,  /* the job of the last occurrence had not ended, and the schedule allows no overlap */
    APP_FIRED_CONFLICT, /* another job had the id */
    APP_FIRED_NO_URL,   /* neither the job nor the topic had a url */
    APP_FIRED_FULL, /* Redis has the maximum number of jobs; the schedule fires as soon as there is room */
    APP_FIRED_NO_GROUP,   /* the schedule's group does not exist */
    APP_FIRED_UNSENDABLE, /* the job does not fit an endpoint of its group */
    APP_FIRED_HELD, /* the definition, its time zone or its group cannot be read; duepost tries again every
                       few seconds */
};

/* Slices are valid until the callback returns. */
struct app_schedule {
    struct slice id; /* topic/scheduleId */
    struct slice tag;
    const struct recurring
        *recurring;        /* NULL: the definition cannot be read, or needs a later version of duepost */
    const struct job *job; /* job of the definition; NULL if recurring is NULL */
    bool needs_later;
    int64_t times_ms[APP_SCHEDULE_TIMES]; /* next times, without jitter */
    size_t time_count;
    struct {
        enum app_fired outcome;
        bool is_missed;        /* true: the outcome is for missed times, which duepost noticed later than the
                                  schedule's grace allows */
        int64_t time_ms;       /* time of the occurrence */
        int64_t at_ms;         /* time at which the outcome was written */
        struct slice id;       /* id of the last job that the schedule created; empty: unknown */
        struct stored_job job; /* current state of this job; id is empty if the job is unknown or gone */
        /* If the last occurrence was sent to a group: its jobs; the member job is then not used */
        const struct app_sent_job *sent;
        size_t sent_count;
    } last;
};

typedef void app_schedule_fn(void *arg, const struct app_schedule *);

#endif
