/* job_patch.h - changes some members of a job by a JSON merge patch (RFC 7396).
 *
 * null removes a member; headers are merged by name, in any case; body is replaced as a whole. delay and
 * dueAt replace each other, and so do ttl and expiresAt. delay counts from now, ttl from the job's creation.
 * If the patch has a url with another scheme, host or port, it must also replace or remove the hidden values
 * of the old job; otherwise it is refused. */
#ifndef DUEPOST_JOB_JOB_PATCH_H
#define DUEPOST_JOB_JOB_PATCH_H

#include "job/job.h"
#include "job/members.h"

struct job_patch {
    struct slice id;     /* topic/jobId */
    struct slice record; /* the job's current record */
    struct slice text;   /* the client's patch */
    int64_t now_ms;
};

struct job_patched {
    struct job job; /* the patched job, including the members that only duepost sets */
    struct job old;
    bool is_moved; /* the job's due time has changed: see job_due_ms */
    /* The error of the patch if the script, which has Redis's time, finds that the job would expire before
     * it is due. */
    const char *late_member, *late_detail;
    bool has_url;      /* the patch has a url */
    bool has_callback; /* the patch has a callback, see callback.h */
    bool has_retries;  /* the patch changes how often the job is tried */
};

/* Applies the patch. text is a buffer for the new members. If OK, the jobs borrow patch->record and text. The
 * caller frees the jobs with job_patched_fini. If INVALID, errors has all faults. UNREADABLE means that
 * duepost did not write the record. LACKING means that the record needs a later version. If NO_MEMORY, errors
 * is empty. */
enum status job_patch(const struct job_patch *, struct buffer *text, struct job_patched *,
                      struct job_errors *) MUST_USE;

void job_patched_fini(struct job_patched *);

/* Adds a fault if the patched job would send hidden values to another scheme, host or port. Otherwise, a
 * client that may patch the url could read these values at its own server. recurring_patch.c calls this
 * function, too. */
void job_patch_check_hidden(const struct member_values *old, const struct member_values *values,
                            const struct job_patched *, struct job_errors *);

#endif
