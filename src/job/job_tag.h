/* job_tag.h - names a job as it is, so that its owner can say: change it only if it is still so.
 *
 * The tag is the SHA-1 of state, place and record: a script can make it, too, so a conditional change takes
 * one call, and nothing comes in between. PATCH works the same way: C reads the job and makes the new
 * record, and the script takes it only if the job is still the one that was read. */
#ifndef DUEPOST_JOB_JOB_TAG_H
#define DUEPOST_JOB_JOB_TAG_H

#include "base/slice.h"

enum { JOB_TAG_SIZE = 41 }; /* SHA-1 in hex, which is what scripts in Redis can make, and a NUL */

/* Another tag for another state, place (a time, ms) or record. */
void job_tag_make(struct slice state, int64_t place_ms, struct slice record, char tag[JOB_TAG_SIZE]);

/* A condition of a change, as a text: empty for none, "*" for any job that exists, or '-' and tags with a
 * space before each, one of which must be the job's. JOB_TAGS_EXCLUDED in front turns it round. */
#define JOB_TAGS_EXCLUDED '!'

/* Whether a job with this tag meets the condition. */
bool job_tags_match(struct slice tags, const char tag[JOB_TAG_SIZE]);

#endif
