/* cron.h - cron expressions in the grammar of Debian's cron (crontab(5)).
 *
 *     minute hour day-of-month month day-of-week          30 4 1,15 * mon-fri
 *     second minute hour day-of-month month day-of-week   0 30 4 1,15 * 5
 *     @hourly @daily @midnight @weekly @monthly @yearly @annually
 *
 * A field is a list of values, ranges (9-17) and asterisks; ranges and asterisks may have a step (9-17/2).
 * Months and days of the week may be names of three letters, in any case. 0 and 7 are Sunday. If neither the
 * field for the day of the month nor the field for the day of the week begins with an asterisk, a day matches
 * when one of the two fields matches. Otherwise, both fields must match.
 *
 * These functions do not use time zones. Times are local: the seconds since 1970-01-01T00:00:00 on a wall
 * clock. recurrence.h applies time zones. */
#ifndef DUEPOST_JOB_SCHEDULE_CRON_H
#define DUEPOST_JOB_SCHEDULE_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"

enum { CRON_TEXT_MAX = 255 }; /* bytes */

/* A parsed expression. Each field is a set of bits: bit n is set if the value n matches. */
struct cron {
    uint64_t seconds, minutes, hours, days, months, weekdays;
    bool is_any_day, is_any_weekday; /* the field begins with an asterisk */
    bool is_wild; /* minute or hour begins with an asterisk; recurrence.h says what this changes */
};

/* Parses an expression. If INVALID, problem names the field, the text found and the values allowed. A date
 * that never comes, such as 31 February, is INVALID. */
enum status cron_parse(struct slice text, struct cron *, struct problem *) MUST_USE;

/* Finds the first matching time that is later than after_s and earlier than limit_s. Returns false if there
 * is no such time. after_s must be in the years 1 to 9999. */
bool cron_next(const struct cron *, int64_t after_s, int64_t limit_s, int64_t *next_s);

/* Counts the matching times from from_s on that are earlier than limit_s. The time that this takes grows with
 * the number of days, and not with that of the times. */
int64_t cron_count(const struct cron *, int64_t from_s, int64_t limit_s);

/* ---- words ----
 *
 * A cron expression in English words: "every 15 minutes from 09:00 to 17:45, on Monday to
 * Friday". */

enum { CRON_WORDS_MAX = 1024 }; /* bytes; enough for each expression */

/* Appends the words for an expression. Two expressions that match the same times have the same words, even if
 * they are written differently. */
void cron_write_words(const struct cron *, struct buffer *);

#endif
