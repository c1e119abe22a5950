/* recurrence.h - computes the times of a schedule, and decides which of them are fired. The
 * functions are pure: no clock, no I/O.
 *
 * Times are ms since 1970 in UTC. A schedule with cron follows the wall clock of its zone, as Debian's
 * cron(8) does:
 *
 * - If minute and hour are fixed, and clocks are set forward by at most 3 hours, the times that are skipped
 * occur once, at the moment of the change. After a larger change, such as a day that is left out at the date
 * line, skipped times do not occur. If a change repeats a local time, it occurs only once, before the change.
 * - If minute or hour begins with an asterisk, real time counts: skipped times do not occur, and repeated
 * times occur twice.
 *
 * A schedule with "every" always counts real time.
 *
 * If a schedule has windows, its times outside them do not occur. The windows are local times of its zone. */
#ifndef DUEPOST_JOB_SCHEDULE_RECURRENCE_H
#define DUEPOST_JOB_SCHEDULE_RECURRENCE_H

#include "base/buffer.h"
#include "base/time_zone.h"
#include "job/schedule/cron.h"
#include "job/schedule/windows.h"

#define RECURRENCE_NEVER_MS     INT64_MAX
#define RECURRENCE_EVERY_MIN_MS INT64_C(1000)

enum { RECURRENCE_FIRED_MAX = 1000 }; /* maximum number of occurrences that are fired at once */

/* Says how missed times are fired, for example after an outage. */
enum misfire {
    MISFIRE_ONE,  /* only the latest of the times up to now is fired */
    MISFIRE_SKIP, /* missed times are skipped */
    MISFIRE_ALL, /* each missed time is fired; if there are more than RECURRENCE_FIRED_MAX, only the latest of
                    them */
};

struct recurrence {
    int64_t every_ms; /* 0: cron */
    struct cron cron;
    const struct time_zone *zone; /* borrowed; time zone of the cron expression */
    int64_t base_ms;              /* for every: the times are base_ms plus multiples of every_ms */
    int64_t first_ms, last_ms;    /* no time is earlier than first_ms or later than last_ms */
    int64_t jitter_ms;            /* 0: none */
    uint64_t seed;                /* seed of the jitter; see recurrence_seed */
    int64_t grace_ms;             /* a time is missed if it is more than this late */
    enum misfire misfire;
    struct windows windows; /* times outside these windows do not occur; count 0: all occur */
};

/* Returns the seed of a schedule, from its topic/scheduleId. */
uint64_t recurrence_seed(struct slice id);

/* Returns the first time that is later than after_ms, or RECURRENCE_NEVER_MS. */
int64_t recurrence_next_ms(const struct recurrence *, int64_t after_ms);

/* Counts the times that are later than after_ms and not later than until_ms, also those outside the windows
 * of the schedule. The time that this takes grows with the number of days, and not with that of the times. */
int64_t recurrence_count(const struct recurrence *, int64_t after_ms, int64_t until_ms);

/* Says what becomes of the local times of a cron expression that a change of the clocks skips or repeats. */
enum recurrence_effect {
    RECURRENCE_MOVED,   /* skipped times: they occur once, at the change */
    RECURRENCE_SKIPPED, /* skipped times: they do not occur */
    RECURRENCE_ONCE,    /* repeated times: they occur only before the change */
    RECURRENCE_TWICE,   /* repeated times: they occur before and after the change */
};

struct recurrence_change {
    int64_t at_ms;  /* time of the change */
    int64_t skew_s; /* seconds by which clocks are set forward; negative: back */
    int64_t times;  /* number of the local times that are skipped or repeated */
    enum recurrence_effect effect;
};

/* Lists the changes of the clocks later than after_ms and not later than until_ms that skip or repeat times
 * of the schedule, at most max. Returns their number. */
size_t recurrence_changes(const struct recurrence *, int64_t after_ms, int64_t until_ms,
                          struct recurrence_change *, size_t max);

/* Returns the jitter of the occurrence with the time at_ms: the number of ms from at_ms to the due time of
 * its job. The jitter is at most jitter_ms, and less than the gap to the next time. All processes compute the
 * same jitter. */
int64_t recurrence_jitter_ms(const struct recurrence *, int64_t at_ms);

/* ---- progress ----
 *
 * How far a schedule has come: the times that are over, and those that were skipped.
 *
 * Normally a time that has passed never comes again. But if a clock was ahead and is set back, times that
 * seemed to be missed are in the future again. A time is over if its job was created or refused; such a time
 * is never fired again. A time that was skipped, because it was missed, can still be fired. */

enum {
    /* If there are more ranges, the earliest is dropped: its times then count as over. */
    RECURRENCE_SKIPPED_MAX = 16,
    RECURRENCE_PROGRESS_SIZE = 20 * 36 /* maximum size of the text in bytes */
};

struct recurrence_progress {
    int64_t front_ms; /* all times from here on have neither been fired nor skipped */
    int64_t back_ms;  /* if the clock is set back to before this time, the schedule's next time must be
                         computed again; -1: never */
    struct recurrence_range {
        int64_t first_ms, last_ms;     /* a range of skipped times: the first, the last, and all times of the
                                          schedule between them */
    } skipped[RECURRENCE_SKIPPED_MAX]; /* in ascending order; all are earlier than front_ms */
    size_t count;
};

/* Reads a text that recurrence_progress_write wrote; a text that cannot be read has no skipped times.
 * expected_ms is the schedule's next time; -1: it has none. */
void recurrence_progress_read(struct slice text, int64_t expected_ms, struct recurrence_progress *);

/* Writes "<back> <front> <first> <last> ...". Writes nothing if back_ms is -1 and there are no skipped times.
 */
void recurrence_progress_write(const struct recurrence_progress *, struct buffer *);

/* Returns whether the stored text of a must be replaced by the text of b. */
bool recurrence_progress_differs(const struct recurrence_progress *a, const struct recurrence_progress *b);

/* Returns the first time later than after_ms that is not over, or RECURRENCE_NEVER_MS. */
int64_t recurrence_progress_next_ms(const struct recurrence_progress *, const struct recurrence *,
                                    int64_t after_ms);

/* next_ms is the next time of the schedule. Sets back_ms to the latest skipped time that is earlier than
 * next_ms. */
void recurrence_progress_set_back(struct recurrence_progress *, const struct recurrence *, int64_t next_ms);

/* Notes that time_ms is over. Earlier times that had neither been fired nor skipped are skipped now. */
void recurrence_progress_take(struct recurrence_progress *, const struct recurrence *, int64_t time_ms);

/* Notes that all times up to now_ms that are not over are skipped. */
void recurrence_progress_skip(struct recurrence_progress *, const struct recurrence *, int64_t now_ms);

/* The occurrences to fire now. */
struct recurrence_decision {
    int64_t times_ms[RECURRENCE_FIRED_MAX]; /* ascending */
    size_t
        count; /* number of times in times_ms; 0: all times were skipped, or expected_ms is in the future */
    bool is_missed;  /* some of the times were missed */
    int64_t next_ms; /* the schedule's next time that is later than now, or RECURRENCE_NEVER_MS */
};

/* Decides which occurrences are fired at now_ms. expected_ms is the next time of the schedule. The caller may
 * fire only the first n occurrences; the next expected time is then times_ms[n]. Every time from expected_ms
 * to now that is neither over nor in times_ms is skipped. */
void recurrence_decide(const struct recurrence *, const struct recurrence_progress *, int64_t expected_ms,
                       int64_t now_ms, struct recurrence_decision *);

#endif
