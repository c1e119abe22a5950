/* job_parse.h - texts that clients send: one job, a patch of a job, and many jobs in one text. */
#ifndef DUEPOST_JOB_JOB_PARSE_H
#define DUEPOST_JOB_JOB_PARSE_H

#include "job/job.h"
#include "job/job_members.h"
#include "job/text/json.h"
#include "job/text/members.h"

/* ---- one job ---- */

/* Checks that text is a valid JSON object within the limits of a job. If INVALID, one fault was added to
 * errors. NO_MEMORY means that there is no memory to check the text. */
enum status job_parse_document(struct slice text, struct job_errors *) MUST_USE;

/* Parses such an object by a table of its members. Strings with escapes are decoded into room, which must
 * have space for text.size bytes. */
enum status job_parse_members(const struct members *, struct slice text, void *of, struct buffer *room,
                              struct job_errors *) MUST_USE;

/* Does the same as job_parse_named, for a job that was accepted earlier: the limits of its due time and
 * expiry, which are relative to now, are not checked. If errors already has faults, the result is INVALID. */
enum status job_parse_changed(struct slice id, struct slice text, int64_t now_ms, struct job *,
                              struct job_errors *) MUST_USE;

/* Parses the job of a schedule: a job without an id, for this topic. Adds faults to errors. */
enum status job_parse_template(struct slice topic, struct slice text, int64_t now_ms, struct job *,
                               struct job_errors *) MUST_USE;

/* ---- a patch ----
 *
 * Changes some members of a job by a JSON merge patch (RFC 7396).
 *
 * null removes a member; headers are merged by name, in any case; body is replaced as a whole. delay and
 * dueAt replace each other, and so do ttl and expiresAt. delay counts from now, ttl from the job's creation.
 * If the patch has a url with another scheme, host or port, it must also replace or remove the hidden values
 * of the old job; otherwise it is refused. */

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
 * client that may patch the url could read these values at its own server. recurring.c calls this
 * function, too. */
void job_patch_check_hidden(const struct member_values *old, const struct member_values *values,
                            const struct job_patched *, struct job_errors *);

/* ---- many jobs ----
 *
 * Cuts the text of many jobs into one text for each job.
 *
 * The text is a JSON array, or NDJSON with one job per line. The text is valid when it is JSON and has 1 to
 * JOB_CUTTER_MAX jobs. Whether the text is valid is known only after the last call. The caller passes each
 * job to job_parse, which also refuses JSON that duepost does not allow, such as duplicate members. A call
 * takes time in proportion to the piece that it cuts, so the caller can do other work between the calls. */

enum { JOB_CUTTER_MAX = 10000 };

struct job_cutter {
    struct slice text, rest; /* rest: remaining lines */
    struct json_cursor items;
    bool has_lines;
    size_t lines, jobs; /* so far */
};

/* Begins to cut text, which begins with '[' unless has_lines is true (NDJSON). Borrows text. */
void job_cutter_init(struct job_cutter *, struct slice text, bool has_lines);

/* Cuts the next job. If OK, *job is its text without white space around it, or empty for a blank line, which
 * is not a job. NOT_FOUND means that there are no more jobs. INVALID means that the text is not valid, and
 * errors has the reason. NO_MEMORY means that there is no memory to check the job. */
enum status job_cutter_next(struct job_cutter *, struct slice *job, struct job_errors *) MUST_USE;

#endif
