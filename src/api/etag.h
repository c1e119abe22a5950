/* etag.h - versions of a job: ETag in answers, If-Match and If-None-Match in requests (RFC 9110, 8.8.3, 13.1.1 and
 * 13.1.2). */
#ifndef DUEPOST_API_ETAG_H
#define DUEPOST_API_ETAG_H

#include "api/exchange.h"

struct etag {
    char text[JOB_TAG_SIZE + 2]; /* in its quotes */
};

/* The header that names the job as it is; its value is in etag. */
struct http_header etag_header(const struct store_job *, struct etag *);

/* Reads If-Match into exchange->seen. False: it has answered 400. */
bool etag_read_match(struct exchange *);

/* The same for If-Match or If-None-Match. */
bool etag_read_matches(struct exchange *);

/* Whether the job is as the request wants it. */
bool etag_is_seen(const struct exchange *, const struct store_job *);

/* 412 */
void etag_answer_mismatch(struct exchange *);

#endif
