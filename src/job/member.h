/* member.h - members that jobs and the settings of topics have in common: each is read from its raw value,
 * and what is wrong with it is added to errors under name. */
#ifndef DUEPOST_JOB_MEMBER_H
#define DUEPOST_JOB_MEMBER_H

#include "job/job_errors.h"

/* Whether it says nothing: null. */
bool member_is_absent(struct slice value);

/* A number of seconds, or a text such as "15m" or "1h30m" (see duration.h), exact; finer than a millisecond
 * is rounded up. */
void member_seconds(struct job_errors *, const char *name, struct slice value, int64_t min_ms, int64_t max_ms,
                    int64_t *ms);

void member_integer(struct job_errors *, const char *name, struct slice value, int64_t min, int64_t max,
                    int64_t *number);

/* At most RETRY_SCHEDULE_MAX waits. */
void member_schedule(struct job_errors *, const char *name, struct slice value, struct retry_schedule *);

/* A url, without the quotes and escapes of JSON, by url_parse's rules. That which url_show has made is
 * refused: who sends back what was shown would lose what was not. Whether it is one. */
bool member_url(struct job_errors *, const char *name, struct slice text);

/* An object of at most JOB_HEADERS_MAX headers, none of them refused, into headers, which has room for as
 * many; what is told is their number. Hidden values are refused, as in urls. They borrow value, and those
 * with escapes text, all of whose room is reserved then, so that it never moves. text has room for value, or
 * for MEMBER_HEADERS_TEXT_MAX; it fails where there is no memory, and what is told then is of no use. */
enum { MEMBER_HEADERS_TEXT_MAX = 8 * JOB_HEADER_BYTES_MAX };
size_t member_headers(struct job_errors *, const char *name, struct slice value, struct job_header *headers,
                      struct buffer *text);

/* What stands for a value that is not shown. */
#define MEMBER_HIDDEN "***"

/* Whether people may see the value: Content-Type's. */
bool member_header_is_shown(struct slice name);

/* As an object. is_hidden: for people, with no value but those that may be seen. */
void member_write_headers(struct buffer *, const struct job_header *headers, size_t count, bool is_hidden);

/* NULL: there is none with this name, in whatever case. */
const struct slice *member_find_header(const struct job_header *headers, size_t count, struct slice name);

#endif
