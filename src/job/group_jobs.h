/* group_jobs.h - turns a job that is sent to a group into one job for each endpoint. */
#ifndef DUEPOST_JOB_GROUP_JOBS_H
#define DUEPOST_JOB_GROUP_JOBS_H

#include "job/fingerprint.h"
#include "job/group.h"
#include "job/job_errors.h"

enum { GROUP_JOBS_BYTES_MAX = 4 * 1024 * 1024 }; /* limit of all records together */

struct group_jobs {
    size_t count;
    struct {
        size_t name, record, end; /* positions in text */
    } parts[GROUP_ENDPOINTS_MAX];
    struct buffer text; /* owned: names of the endpoints and records, one after another */
    struct slice lacks; /* LACKING: the need of the group that this version does not know; valid as long as
                           the group's text */
    /* INVALID: the member of the job that does not fit an endpoint, and why. */
    const char *field;
    char detail[JOB_ERROR_TEXT_SIZE];
};

void group_jobs_init(struct group_jobs *);
void group_jobs_fini(struct group_jobs *);

/* Writes the jobs, which have the ids <topic>/<jobId>~<endpoint>. text is the text of the group in Redis.
 * INVALID: the job does not fit an endpoint. FULL: the records are over GROUP_JOBS_BYTES_MAX. UNREADABLE: the
 * group cannot be read. LACKING: the group needs a later version. */
enum status group_jobs_write(struct group_jobs *, struct slice text, const struct job *job) MUST_USE;

/* Adds one job, with the id <topic>/<jobId>~<endpoint>. The statuses INVALID, FULL and NO_MEMORY are as for
 * group_jobs_write. */
enum status group_jobs_add(struct group_jobs *, struct slice endpoint, const struct job *) MUST_USE;

/* Return the endpoint and the record of a job. */
struct slice group_jobs_endpoint(const struct group_jobs *, size_t index);
struct slice group_jobs_record(const struct group_jobs *, size_t index);

/* Writes the mark of a send: a fingerprint of the job, without its trace, and of the name of its group. */
enum status group_jobs_mark(const struct job *, char mark[FINGERPRINT_SIZE]) MUST_USE;

#endif
