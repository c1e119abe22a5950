/* retry.h - the waits between attempts: a schedule, or an expression. */
#ifndef DUEPOST_JOB_RETRY_H
#define DUEPOST_JOB_RETRY_H

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"

/* ---- schedules ---- */

enum { RETRY_SCHEDULE_MAX = 100 };
#define JOB_WAIT_MAX_MS (INT64_C(31536000) * 1000) /* 1 year */

struct retry_schedule {
    size_t count;
    int64_t wait_ms[RETRY_SCHEDULE_MAX];
};

/* 15s 3m 10m 30m 30m 1h 2h 6h 15h */
extern const struct retry_schedule retry_schedule_default;

/* Parses durations separated by spaces or commas. An empty text is an empty schedule. */
enum status retry_schedule_parse(struct slice text, struct retry_schedule *, struct problem *) MUST_USE;

/* Returns the wait before retry n; the first retry is 1. If the schedule has fewer than n waits, returns the
 * last one. The schedule must not be empty. */
int64_t retry_schedule_wait_ms(const struct retry_schedule *, int n);

/* Writes a JSON array of seconds. */
void retry_schedule_write(const struct retry_schedule *, struct buffer *);

/* ---- expressions ----
 *
 * Expressions that compute the wait between attempts: pow(2, retried) * 1000.
 *
 *     sum     = product {("+" | "-") product}
 *     product = factor {("*" | "/") factor}
 *     factor  = ("+" | "-") factor | number | "retried" | "(" sum ")" | function "(" sum {"," sum} ")"
 *
 * The value is a number of milliseconds. retried is the number of retries so far, 0 before the first retry.
 * Functions: pow(x, y); min and max of one or more values; abs, ceil, exp, floor, round and sqrt of one
 * value. Numbers are decimal, such as 1.5 or 2e3. White space between the parts is ignored.
 *
 * The functions are pure. An evaluation takes time in proportion to the length of the text. */

enum {
    RETRY_EXPRESSION_MAX = 256,      /* maximum size of a text in bytes */
    RETRY_EXPRESSION_DEPTH_MAX = 16, /* maximum nesting of parentheses and signs */
};

/* Checks an expression, and its values before the first "retries" retries: all must be finite numbers. If
 * INVALID, problem says what was expected and where, or which attempt would have no wait. With 0 retries,
 * only the text is checked. */
enum status retry_expression_check(struct slice text, int retries, struct problem *) MUST_USE;

/* Sets *wait_ms to the value, rounded to whole milliseconds, at least 0 and at most JOB_WAIT_MAX_MS. Returns
 * false if the text is not an expression, or its value is not a number, such as 0/0. */
bool retry_expression_wait_ms(struct slice text, int retried, int64_t *wait_ms) MUST_USE;

#endif
