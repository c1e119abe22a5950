/* schedules.h - use cases for schedules: defines, changes, deletes, reads, lists and runs them. In code a
 * schedule is a "recurring" (job/schedule/recurring.h), because a retry schedule is something else. */
#ifndef DUEPOST_APP_SCHEDULES_H
#define DUEPOST_APP_SCHEDULES_H

#include "app/app.h"
#include "job/schedule/cron.h"
#include "job/schedule/recurring.h"
#include "job/text/job_errors.h"

/* ---- a schedule as clients see it: its definition, its next times and its last outcome ---- */

enum { APP_SCHEDULE_TIMES = 5 };

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
    struct recurring_last last;
    /* With expectBy: */
    int64_t missed_ms;    /* when the schedule is missed unless an occurrence is delivered; -1: it is not
                             expected,    or the schedule was not read */
    int64_t delivered_ms; /* when an occurrence was last delivered; 0: never, or unknown */
    bool is_missed;
    struct stored_job last_job; /* current state of its job; id is empty if the job is unknown or gone */
    /* If the last occurrence was sent to a group: its jobs; last_job is then not used */
    const struct sent_job *sent;
    size_t sent_count;
};

typedef void app_schedule_fn(void *arg, const struct app_schedule *);

/* ---- the use cases ---- */

struct app_schedule_call {
    struct slice id;   /* topic/scheduleId */
    struct slice text; /* text that the client sent: a definition, or a merge patch */
    struct slice tags; /* see job.h */
    bool is_patch;
    /* Only the server sets the following members. */
    bool is_by_server;     /* allows schedules of sibling topics */
    const struct job *job; /* used instead of the job in text; NULL: text has the job */
    struct slice into;     /* see recurring.h */
    int64_t delay_ms;      /* see recurring.h */
    bool has_paused;       /* with is_patch: changes only the member paused, to is_paused; text is not used */
    bool is_paused;
};

/* Defines a schedule, or changes one. Calls each(), unless it is NULL, with the schedule, and then fn with
 * OK; was_there says whether the schedule existed before. A schedule whose times do not change keeps its next
 * time. */
void app_schedule_define(struct app *, const struct app_caller *, const struct app_schedule_call *,
                         app_schedule_fn *each, app_verdict_fn *fn, void *arg);

/* Deletes a schedule. After the verdict OK, the schedule creates no more jobs. */
void app_schedule_delete(struct app *, const struct app_caller *, struct slice id, struct slice tags,
                         app_verdict_fn *, void *arg);

struct app_schedule_run {
    struct slice id;   /* topic/scheduleId */
    struct slice once; /* fingerprint and idempotency key of the request; empty: none */
};

/* Creates an occurrence now. The schedule's times do not change. With OK, and with REPEATED (the
 * idempotency key belongs to an earlier request), the verdict has the job. If the job is sent to a group, the
 * verdict's job has the id of the send and the first due time. */
void app_schedule_run(struct app *, const struct app_caller *, const struct app_schedule_run *,
                      app_verdict_fn *, void *arg);

/* Reads a schedule. Calls each() with the schedule and the state of its last occurrence; then calls fn. */
void app_schedule_read(struct app *, struct slice id, app_schedule_fn *each, app_verdict_fn *fn, void *arg);

/* Reads a cursor from a page; its id points into its room. Returns false if the text is not a cursor. */
bool app_schedule_cursor_parse(const struct app *, struct slice text, struct recurring_cursor *);

struct app_schedule_list {
    struct slice topic;  /* empty: all topics */
    struct slice prefix; /* prefix of the scheduleIds, or of the topics if topic is empty; may be empty */
    size_t max;          /* 1 to APP_PAGE_MAX */
    const struct recurring_cursor *from;

    /* Filters. A schedule whose definition cannot be read matches none. */
    bool has_paused, is_paused;      /* has_paused: only schedules whose "paused" is is_paused */
    int64_t after_ms, before_ms;     /* only schedules whose next time is after_ms or later, and earlier than
                                        before_ms; 0: no limit */
    const struct job_labels *labels; /* only schedules whose jobs have all these labels */
    bool has_key;                    /* only schedules whose jobs have this key; empty: no key */
    struct slice key;
};

/* Calls each() for every schedule of a page, and then fn. With filters, a page examines up to 1,000
 * schedules, so it may be short or empty although it has a cursor. Borrows the list until the callback fn. */
void app_schedules(struct app *, const struct app_schedule_list *, app_schedule_fn *each, app_verdict_fn *fn,
                   void *arg);

/* ---- times of a schedule before it is defined ----
 *
 * Use case: the times that a schedule would have, before it is defined. */

enum { APP_CRON_TIMES = 5 };

struct app_cron_call {
    struct slice expression; /* cron expression; empty: every_ms is used */
    int64_t every_ms; /* interval; the first time is from_ms + every_ms; at least RECURRENCE_EVERY_MIN_MS */
    struct slice timezone; /* empty: UTC */
    bool has_windows;
    struct slice windows; /* only times in these are returned: a JSON text of a client */
    int64_t from_ms;      /* only times later than this are returned */
};

struct app_cron_preview {
    char words[CRON_WORDS_MAX + 1];
    int64_t times_ms[APP_CRON_TIMES];
    /* Number of times: APP_CRON_TIMES, or fewer if the schedule has fewer until the end of the year 9999. */
    size_t time_count;
};

/* Returns false if the expression or the time zone is wrong. errors then has an error for each wrong value.
 */
bool app_cron_preview(struct app *, const struct app_cron_call *, struct app_cron_preview *,
                      struct job_errors *);

/* ---- a whole definition ---- */

enum { APP_PREVIEW_TIMES_MAX = 100, APP_PREVIEW_CHANGES_MAX = 16 };

struct app_schedule_preview_call {
    struct slice id;   /* topic/scheduleId; the jitter depends on it */
    struct slice text; /* the definition that the client sent */
    size_t count;      /* maximum number of times, 1 to APP_PREVIEW_TIMES_MAX */
};

/* Why a schedule has fewer times than the client asked for. */
enum app_preview_end {
    APP_PREVIEW_GOES_ON,
    APP_PREVIEW_END_AT,
    APP_PREVIEW_END_WINDOWS,
    APP_PREVIEW_END_CALENDAR
};

struct app_preview_time {
    int64_t time_ms, due_ms; /* due_ms: with the jitter */
    int64_t left_out; /* number of times before this one, later than the time before it, that are outside the
                         windows */
    bool is_moved;    /* skipped local times occur now, because clocks are set forward */
};

struct app_schedule_preview {
    int64_t now_ms;
    char words[CRON_WORDS_MAX + 1];
    bool is_paused;    /* no time is fired as long as the schedule is paused */
    bool is_exclusive; /* a time is skipped if the job of the last one has not ended: this cannot be known */
    struct app_preview_time times[APP_PREVIEW_TIMES_MAX];
    size_t time_count;
    enum app_preview_end end;
    /* Changes of the clocks up to the last time. */
    struct recurrence_change changes[APP_PREVIEW_CHANGES_MAX];
    size_t change_count;
};

/* Lists the next times that a schedule with this definition would have, by the clock of this process. Nothing
 * is written or read. INVALID: errors has the errors that a PUT of the definition would have. UNAVAILABLE:
 * the time zones cannot be read; or NO_MEMORY. */
enum status app_schedule_preview(struct app *, const struct app_schedule_preview_call *,
                                 struct app_schedule_preview *, struct job_errors *);

#endif
