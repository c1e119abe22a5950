/* request_headers.h - headers of a request that several HTTP APIs obey: Accept, If-Match, If-None-Match and
 * Idempotency-Key. */
#ifndef DUEPOST_HTTP_REQUEST_HEADERS_H
#define DUEPOST_HTTP_REQUEST_HEADERS_H

#include "http/exchange.h"
#include "job/job.h"

/* ---- Accept ----
 *
 * The header Accept of a request: RFC 9110, section 12.5.1. */

enum { ACCEPT_WEIGHT_MAX = 1000 }; /* q=1 */

/* Returns the weight (q) that the header gives to a media type, in thousandths. If several items name the
 * type, the largest weight counts; if none does, returns 0. Ranges such as "text" with any subtype are
 * ignored. An item whose parameter "version" is not in versions is ignored, too. versions ends with NULL; if
 * versions itself is NULL, every version is accepted. */
int accept_weight(const struct exchange *, struct slice type, const char *const *versions);

/* ---- ETag, If-Match and If-None-Match ----
 *
 * Versions of a job: ETag in answers, If-Match and If-None-Match in requests (RFC
 * 9110, 8.8.3, 13.1.1 and 13.1.2).
 *
 * A proxy that compresses answers changes their ETag: nginx and HAProxy make it weak (W/"tag"), Apache and
 * Caddy append the coding ("tag-gzip"). These forms count as the tag itself, also for If-Match. duepost never
 * sends a weak tag, so no other answer can have had such a tag. */

struct etag {
    char text[JOB_TAG_SIZE + 2]; /* the tag in quotes */
};

/* Returns the header for a job with this tag. The value of the header is in etag. */
struct http_header etag_header(const char tag[JOB_TAG_SIZE], struct etag *);

/* Reads If-Match into exchange->seen, as job_tags_match expects it. Returns false after answering 400. */
bool etag_read_match(struct exchange *);

/* Reads If-Match or If-None-Match into exchange->seen. Returns false after answering 400. */
bool etag_read_matches(struct exchange *);

/* Reads If-None-Match into exchange->seen, which stays empty without it. Returns false after answering 400.
 */
bool etag_read_none_match(struct exchange *);

/* Answers 412, because the job does not match the tags of the request. */
void etag_refuse(struct exchange *);

/* ---- Idempotency-Key ----
 *
 * The header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header).
 *
 * A key belongs to a topic. The first request with a key schedules a job, and the same script writes the key
 * and the job to Redis. Within a configured time, a repeated request finds the key there and gets the same
 * answer. */

/* Reads the header into exchange->once, which is valid until the exchange ends. member is the
 * idempotencyKey of the job, which stands for the header, or empty. Without both, once is empty. content
 * identifies the request: its body, or the name of the job or schedule that it runs. Returns false after
 * answering 400, or 409 while another request with this key is being answered. */
bool idempotency_begin(struct exchange *, struct slice topic, struct slice content, struct slice member);

/* Appends the fingerprint, the topic and the key, as exchange->once has them, for one of many jobs. */
void idempotency_write(struct buffer *once, struct slice topic, struct slice content, struct slice key);

#endif
