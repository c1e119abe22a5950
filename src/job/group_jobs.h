/* group_jobs.h - turns a job that is sent to a group into one job for each endpoint. */
#ifndef DUEPOST_JOB_GROUP_JOBS_H
#define DUEPOST_JOB_GROUP_JOBS_H

#include "job/fingerprint.h"
#include "job/group.h"
#include "job/job_errors.h"

enum { GROUP_JOBS_BYTES_MAX = 4 * 1024 * 1024 }; /* maximum size of all records together, in bytes */

struct group_jobs {
    size_t count;
    struct {
        size_t name, record, end; /* positions in text */
    } parts[GROUP_ENDPOINTS_MAX];
    struct buffer text; /* owned: names of the endpoints and records, one after another */
    struct slice lacks; /* If LACKING: the name in the group's "needs" that this version does not know; valid
                           as long as the group's text */
    /* If INVALID: the member of the job that does not fit an endpoint, and the reason. */
    const char *field;
    char detail[JOB_ERROR_TEXT_SIZE];
};

void group_jobs_init(struct group_jobs *);
void group_jobs_fini(struct group_jobs *);

/* Writes the jobs, which have the ids <topic>/<jobId>~<endpoint>. text is the text of the group in Redis.
 * INVALID: the job does not fit an endpoint. FULL: all records together are over GROUP_JOBS_BYTES_MAX.
 * UNREADABLE: the group cannot be read. LACKING: the group needs a later version. */
enum status group_jobs_write(struct group_jobs *, struct slice text, const struct job *job) MUST_USE;

/* Adds one job, with the id <topic>/<jobId>~<endpoint>. The statuses INVALID, FULL and NO_MEMORY are as for
 * group_jobs_write. */
enum status group_jobs_add(struct group_jobs *, struct slice endpoint, const struct job *) MUST_USE;

/* Return the endpoint's name and the record of the job with this index. */
struct slice group_jobs_endpoint(const struct group_jobs *, size_t index);
struct slice group_jobs_record(const struct group_jobs *, size_t index);

/* Writes the mark of a job that is sent to a group. The mark is a fingerprint of the job, without its trace,
 * and of the group's name. A repeated request has the same mark. */
enum status group_jobs_mark(const struct job *, char mark[FINGERPRINT_SIZE]) MUST_USE;

#endif
