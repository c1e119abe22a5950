/* job_tag.h - the tag of a job, which differs after each change of the job. With a tag, a client or C code
 * can ask for a change that is made only if the job has not changed since.
 *
 * The tag is the SHA-1 of the job's state, its place (a time in ms) and its record. Scripts can also compute
 * the tag, so a conditional change is one call, and no other change can happen between check and change.
 * PATCH works the same way: C reads the job and writes the new record, and the script accepts this record
 * only if the job has not changed. */
#ifndef DUEPOST_JOB_JOB_TAG_H
#define DUEPOST_JOB_JOB_TAG_H

#include "job/job_state.h"

enum { JOB_TAG_SIZE = 41 }; /* SHA-1 in hex, because scripts in Redis can compute it, and a NUL */

/* Writes the tag. The tags of two jobs differ if their states, their places or their records differ. */
void job_tag_make(struct slice state, int64_t place_ms, struct slice record, char tag[JOB_TAG_SIZE]);

/* Writes the tag of a job's current version. The tag does not depend on the end of a lease, which changes all
 * the time. */
void job_tag_of(const struct stored_job *, char tag[JOB_TAG_SIZE]);

/* The condition of a change is a text. The text is empty for no condition, and "*" for any existing job.
 * Otherwise it is '-' and a list of tags, each after a space; the job's tag must be in the list. If the
 * text begins with JOB_TAGS_EXCLUDED, the job must not meet the condition after it. */
#define JOB_TAGS_EXCLUDED '!'

/* The condition of a cancel: the job has not ended. Its tag does not matter. */
#define JOB_TAGS_ALIVE "alive"

/* Returns whether a job with this tag meets the condition. */
bool job_tags_match(struct slice tags, const char tag[JOB_TAG_SIZE]);

#endif
