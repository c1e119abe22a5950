/* view.h - jobs and settings as the API shows them: without secrets. */
#ifndef DUEPOST_API_VIEW_H
#define DUEPOST_API_VIEW_H

#include "base/buffer.h"
#include "http/etag.h"
#include "job/job.h"
#include "store/store.h"

/* Where a job is, as further members: ,"state" and, while it waits, "dueAt". */
void view_write_place(struct buffer *, enum job_state, int64_t at_ms);

/* The members that tell a new job's name and place. key: topic/jobId. */
void view_write_placed(struct buffer *, struct slice key, enum job_state, int64_t at_ms);

/* One more member: ,"name":"2026-11-22T10:00:00.000Z". */
void view_write_time(struct buffer *, const char *name, int64_t ms);

/* What became of an attempt, as members: "at", "durationMs", and "status" or "error". */
void view_write_result(struct buffer *, const struct attempt_result *);

/* The job, which borrows from the record, and is for job_fini. False: somebody else wrote that; then what is
 * known is in it, and nothing is to be freed. */
bool view_read(const struct store_job *, struct job *);

/* Why it is dead, of one that is. */
struct slice view_reason(const struct job *);

/* One JSON object, with what its topic's settings say where the job says nothing. fallback: the schedule of
 * jobs that get none that way. */
void view_write(struct buffer *, const struct store_job *, const struct retry_schedule *fallback);

/* The ETag of a job; its value is in etag. */
static inline struct http_header view_etag(const struct store_job *job, struct etag *etag)
{
    char tag[JOB_TAG_SIZE];
    store_job_tag(job, tag);
    return etag_header(tag, etag);
}

/* Where there are more topics than were looked at, the member "partial"; where there is more, "cursor". due_ms: see cursor_write. */
void view_write_cursor(struct buffer *, const struct store_cursor *next, int64_t due_ms);

/* ,"settings":{...} of a topic, as they are stored. */
void view_write_settings(struct buffer *, struct slice text);

#endif
