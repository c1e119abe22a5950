/* job_patch.h - changes some members of a job by a JSON merge patch (RFC 7396).
 *
 * null takes a member away; headers are merged by name, in any case; body is replaced as a whole. Of delay
 * and dueAt, and of ttl and expiresAt, the one that comes takes the place of the other. delay counts from
 * now, ttl from when the job was created. A url of another origin takes nothing along that is not shown. */
#ifndef DUEPOST_JOB_JOB_PATCH_H
#define DUEPOST_JOB_JOB_PATCH_H

#include "job/job.h"

struct job_patch {
    struct slice id;     /* topic/jobId */
    struct slice record; /* the job as it is */
    struct slice text;   /* what the client sent */
    int64_t now_ms;
    int64_t due_ms; /* of a job that waits; else 0 */
};

struct job_patched {
    struct job job; /* with what is kept of the old one */
    struct job old;
    bool is_moved; /* it is due at another time, see job_due_ms, now */
    bool has_url;  /* the patch has one */
};

/* text: where the new members are put together. INVALID: errors says all that is wrong. UNREADABLE: somebody
 * else wrote the record. LACKING: it needs a later version. NO_MEMORY: errors says nothing. OK: the jobs
 * borrow patch->record and text, and are for job_patched_fini. */
enum status job_patch(const struct job_patch *, struct buffer *text, struct job_patched *,
                      struct job_errors *) MUST_USE;

void job_patched_fini(struct job_patched *);

#endif
