/* member.h - values that clients send: each function reads one from its raw JSON. Returns whether it is
 * sound; if not, adds to errors, under name, what is wrong. */
#ifndef DUEPOST_JOB_MEMBER_H
#define DUEPOST_JOB_MEMBER_H

#include "base/buffer.h"
#include "job/header.h"
#include "job/job_errors.h"
#include "job/retry_schedule.h"

/* Whether a value is null, which says nothing, or takes a member away. */
bool member_is_null(struct slice value);

/* A number of seconds, or a text such as "15m" or "1h30m" (see duration.h), exact; finer than a millisecond
 * is rounded up. */
bool member_seconds(struct job_errors *, const char *name, struct slice value, int64_t min_ms, int64_t max_ms,
                    int64_t *ms);

bool member_integer(struct job_errors *, const char *name, struct slice value, int64_t min, int64_t max,
                    int64_t *number);

/* At most RETRY_SCHEDULE_MAX waits. */
bool member_schedule(struct job_errors *, const char *name, struct slice value, struct retry_schedule *);

/* A url, without the quotes and escapes of JSON, by url_parse's rules. That which url_show has made is
 * refused: who sends back what was shown would lose what was not. Whether it is one. */
bool member_url(struct job_errors *, const char *name, struct slice text);

/* An object of at most JOB_HEADERS_MAX headers, none of them refused, into headers, which has room for as
 * many. Hidden values are refused, as in urls. Headers borrow value; those with escapes borrow text, whose
 * room is reserved as a whole then, so that it never moves. text has room for value, or for
 * MEMBER_HEADERS_TEXT_MAX. Without memory text fails, and the result means nothing. */
enum { MEMBER_HEADERS_TEXT_MAX = 8 * JOB_HEADER_BYTES_MAX };
bool member_headers(struct job_errors *, const char *name, struct slice value, struct job_header *headers,
                    size_t *count, struct buffer *text);

#endif
