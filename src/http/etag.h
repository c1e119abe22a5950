/* etag.h - versions of a job: ETag in answers, If-Match and If-None-Match in requests (RFC
 * 9110, 8.8.3, 13.1.1 and 13.1.2).
 *
 * A proxy that compresses answers changes their ETag: nginx and HAProxy make it weak (W/"tag"), Apache and
 * Caddy append the coding ("tag-gzip"). These forms count as the tag itself, also for If-Match. duepost never
 * sends a weak tag, so no other answer can have had such a tag. */
#ifndef DUEPOST_HTTP_ETAG_H
#define DUEPOST_HTTP_ETAG_H

#include "http/exchange.h"
#include "job/job.h"

struct etag {
    char text[JOB_TAG_SIZE + 2]; /* the tag in quotes */
};

/* Returns the header for a job with this tag. The value of the header is in etag. */
struct http_header etag_header(const char tag[JOB_TAG_SIZE], struct etag *);

/* Reads If-Match into exchange->seen, as job_tags_match expects it. Returns false after answering 400. */
bool etag_read_match(struct exchange *);

/* Reads If-Match or If-None-Match into exchange->seen. Returns false after answering 400. */
bool etag_read_matches(struct exchange *);

/* Answers 412, because the job does not match the tags of the request. */
void etag_refuse(struct exchange *);

#endif
