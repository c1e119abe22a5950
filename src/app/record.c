/* record.c - reads the record of a job, which may be damaged. */
#include "app/jobs.h"
#include "job/job_id.h"
#include "job/target/url.h"
#include "job/text/json.h"

/* Returns whether the body is valid JSON: answers get it unchanged, and all other members as job_read has
 * read them. If there is no memory for the check, returns true, so that a lack of memory does not make a job
 * unreadable. */
static bool has_sound_body(const struct job *job)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault ignored;
    return job->body.size == 0 || json_check(job->body, &limits, &ignored) != STATUS_INVALID;
}

static bool is_deliverable(const struct job *job)
{
    struct url url;
    const char *ignored;
    return job->url.size == 0 || job->lacks.size || url_parse(job->url, &url, &ignored) == STATUS_OK;
}

bool app_job_read(const struct stored_job *stored, struct job *job)
{
    if (job_read(stored->id, stored->record, job) == STATUS_OK) {
        if (is_deliverable(job) && has_sound_body(job))
            return true;
        job_fini(job);
    }
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS, .reason = SLICE("unreadable")};
    job_key_parse(stored->id, &job->topic, &job->job_id);
    return false;
}

bool app_job_lacks_body(const struct stored_job *stored, const struct job *job)
{
    struct json_cursor cursor;
    struct slice key, value;
    if (stored->is_body_left_out)
        return true;
    if (job->body.size || job->has_body_base64 || !json_open(stored->record, &cursor))
        return false;
    while (json_next_member(&cursor, &key, &value))
        if (slice_equal(key, SLICE("\"bodyLeftOut\"")))
            return slice_equal(value, SLICE("true"));
    return false;
}

/* All code that makes a job dead writes the reason into the record, except recover.lua, which cannot. So
 * if a record has no reason, recover.lua has found the job's consumer lost; or the job has died just now by
 * its expiry, and is not ended yet (read.lua). */
struct slice app_job_reason(const struct job *job, int64_t at_ms)
{
    bool is_expired = job_expires_ms(job, job->created_ms) == at_ms;
    return job->reason.size ? job->reason : is_expired ? SLICE("expired") : SLICE("consumer_lost");
}
