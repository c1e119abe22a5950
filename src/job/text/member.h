/* member.h - parses values that clients send. Each function reads one value from its raw JSON and returns
 * whether the value is valid. If not, the function adds the fault to errors, under name. */
#ifndef DUEPOST_JOB_TEXT_MEMBER_H
#define DUEPOST_JOB_TEXT_MEMBER_H

#include "base/buffer.h"
#include "job/request.h"
#include "job/retry.h"
#include "job/text/job_errors.h"

/* Returns whether a value is null, which means that the member is absent, or that a patch removes it. */
bool member_is_null(struct slice value);

/* Parses a number of seconds, or a text such as "15m" or "1h30m" (see duration.h), exactly. Fractions of a
 * millisecond are rounded up. */
bool member_seconds(struct job_errors *, const char *name, struct slice value, int64_t min_ms, int64_t max_ms,
                    int64_t *ms);

bool member_integer(struct job_errors *, const char *name, struct slice value, int64_t min, int64_t max,
                    int64_t *number);

/* Parses an array of at most RETRY_SCHEDULE_MAX waits. */
bool member_schedule(struct job_errors *, const char *name, struct slice value, struct retry_schedule *);

/* Checks a url, without the quotes and escapes of JSON, by url_parse's rules. Refuses a url in which the mask
 * of url_show stands for the query: if a client sent back a url that it has read, the real query would be
 * lost. */
bool member_url(struct job_errors *, const char *name, struct slice text);

/* Parses an object of at most JOB_HEADERS_MAX headers into headers, which has room for this number. Reserved
 * names and masks of hidden values are refused. The headers borrow value. Headers with escapes are decoded
 * into the buffer "text", and borrow its bytes. Memory for all of them is reserved first, so that the bytes
 * never move. The maximum size of text must be at least the size of value, or MEMBER_HEADERS_TEXT_MAX. If
 * there is no memory, text is marked as failed, and the result is undefined. */
enum { MEMBER_HEADERS_TEXT_MAX = 8 * JOB_HEADER_BYTES_MAX };
bool member_headers(struct job_errors *, const char *name, struct slice value, struct job_header *headers,
                    size_t *count, struct buffer *text);

#endif
