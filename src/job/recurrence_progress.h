/* recurrence_progress.h - how far a schedule has come: the times that are over, and those that were skipped.
 * The functions are pure: no clock, no I/O.
 *
 * Normally a time that has passed never comes again. But if a clock was ahead and is set back, times that
 * seemed to be missed are in the future again. A time is over if its job was created or refused; such a time
 * is never fired again. A time that was skipped, because it was missed, can still be fired. */
#ifndef DUEPOST_JOB_RECURRENCE_PROGRESS_H
#define DUEPOST_JOB_RECURRENCE_PROGRESS_H

#include "base/buffer.h"
#include "job/recurrence.h"

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
