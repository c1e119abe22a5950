/* job_id.h - what may name a job. */
#ifndef DUEPOST_JOB_JOB_ID_H
#define DUEPOST_JOB_JOB_ID_H

#include "base/slice.h"

/* 1 to 128 of A-Z a-z 0-9 . _ - and neither "." nor "..". */
bool topic_is_valid(struct slice);

/* UTF-8 of 1 to 255 bytes without control characters, and neither "." nor "..". It may hold slashes. */
bool job_id_is_valid(struct slice);

/* One that begins so names a notice: bury() in scripts/lib makes it, and its body holds all of a dead job,
 * what the API does not show included. So nobody is shown the body of a job with such an id, whoever made it.
 */
#define JOB_ID_NOTICE "dead~"
bool job_id_is_notice(struct slice);

/* topic/jobId, cut at its first slash; false when it is not one. */
bool job_key_parse(struct slice key, struct slice *topic, struct slice *job_id);

/* A new id: 26 letters and digits that sort by time (48 bits of ms, 80 random bits, Crockford's base 32). */
enum { JOB_ID_NEW_SIZE = 26 };
void job_id_make(int64_t now_ms, const uint8_t random[10], char text[JOB_ID_NEW_SIZE]);

#endif
