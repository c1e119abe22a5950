/* recurrence.h - computes the times of a schedule; recurrence_progress.h decides which of them are fired. The
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
 * A schedule with "every" always counts real time. */
#ifndef DUEPOST_JOB_RECURRENCE_H
#define DUEPOST_JOB_RECURRENCE_H

#include "base/time_zone.h"
#include "job/cron.h"

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
};

/* Returns the seed of a schedule, from its topic/scheduleId. */
uint64_t recurrence_seed(struct slice id);

/* Returns the first time that is later than after_ms, or RECURRENCE_NEVER_MS. */
int64_t recurrence_next_ms(const struct recurrence *, int64_t after_ms);

/* Returns the jitter of the occurrence with the time at_ms: the number of ms from at_ms to the due time of
 * its job. The jitter is at most jitter_ms, and less than the gap to the next time. All processes compute the
 * same jitter. */
int64_t recurrence_jitter_ms(const struct recurrence *, int64_t at_ms);

#endif
