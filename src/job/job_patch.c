/* job_patch.c - changes some members of a job:
 *
 *   1. finds the members of the record and of the patch
 *   2. merges them into the text of a job
 *   3. reads that text by the rules for any job
 *   4. adds the members that the client did not send, such as createdAt, and protects hidden values */
#include "job/job_patch.h"

#include "job/job_members.h"
#include "job/job_parse.h"
#include "job/json.h"
#include "job/json_merge.h"
#include "job/member.h"
#include "job/url.h"

/* ---- the new job ---- */

/* Names the member that is to blame if the job would expire before it is due. */
static void blame_times(const struct member_values *old, const struct member_values *values,
                        struct job_patched *patched)
{
    if (member_is_changed(old, values, JOB_TTL) || member_is_changed(old, values, JOB_EXPIRES_AT)) {
        patched->late_member = patched->job.has_ttl ? "ttl" : "expiresAt";
        patched->late_detail = JOB_EXPIRES_TOO_SOON;
    } else {
        patched->late_member = values->of[JOB_DUE_AT].size ? "dueAt" : "delay";
        patched->late_detail = "must be before the job expires";
    }
}

/* ---- hidden values ---- */

/* Returns whether the patched job still has an old header whose value is hidden. */
static bool keeps_hidden_header(struct slice old, struct slice patch)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = old.size && !member_is_null(patch) && json_open(old, &cursor);
    while (is_open && json_next_member(&cursor, &key, &value))
        if (!header_is_shown(slice_from(key.data + 1, key.size - 2)) &&
            !json_has_member(patch, key, JSON_NAMES_NO_CASE))
            return true;
    return false;
}

/* Returns whether the origin of the job's new url differs from that of its old url. Also returns true if the
 * job had no url: such a job is sent to the url of its topic, which this function does not know. */
static bool is_moved_elsewhere(const struct job_patched *patched)
{
    struct url from, to;
    const char *ignored;
    return patched->has_url && patched->job.url.size > 0 &&
           !(url_parse(patched->old.url, &from, &ignored) == STATUS_OK &&
             url_parse(patched->job.url, &to, &ignored) == STATUS_OK && url_is_same_origin(&from, &to));
}

void job_patch_check_hidden(const struct member_values *old, const struct member_values *values,
                            const struct job_patched *patched, struct job_errors *errors)
{
    static const char again[] =
        "must be sent again, or be null, because url changes to another scheme, host or port";
    if (!is_moved_elsewhere(patched))
        return;
    if (keeps_hidden_header(old->of[JOB_HEADERS], values->of[JOB_HEADERS]))
        job_errors_add(errors, "headers", again);
}

enum status job_patch(const struct job_patch *patch, struct buffer *text, struct job_patched *patched,
                      struct job_errors *errors)
{
    struct member_values old, values;
    job_errors_clear(errors);
    if (job_read(patch->id, patch->record, &patched->old) != STATUS_OK)
        return STATUS_UNREADABLE;
    if (patched->old.lacks.size) {
        job_fini(&patched->old);
        return STATUS_LACKING;
    }
    enum status status = job_parse_document(patch->text, errors);
    if (status == STATUS_OK) {
        members_find(&job_members, MEMBER_PATCHED, patch->record, &old, NULL);
        members_find(&job_members, MEMBER_PATCHED, patch->text, &values, errors);
        members_merge(&job_members, &old, &values, text, errors);
        status = job_parse_changed(patch->id, buffer_slice(text), patch->now_ms, &patched->job, errors);
    }
    if (status != STATUS_OK) {
        job_fini(&patched->old);
        return status;
    }
    members_keep(&job_members, &patched->job, &patched->old);
    patched->job.carried = patched->old.carried;
    patched->has_url = values.of[JOB_URL].size > 0;
    patched->has_callback =
        values.of[JOB_ON_DELIVERED].size || values.of[JOB_ON_DEAD].size || values.of[JOB_ON_ATTEMPT].size;
    patched->has_retries = member_is_changed(&old, &values, JOB_RETRY) ||
                           member_is_changed(&old, &values, JOB_RETRY_SCHEDULE) ||
                           member_is_changed(&old, &values, JOB_RETRY_WAIT);
    patched->is_moved =
        member_is_changed(&old, &values, JOB_DELAY) || member_is_changed(&old, &values, JOB_DUE_AT);
    blame_times(&old, &values, patched);
    job_patch_check_hidden(&old, &values, patched, errors);
    if (errors->count > 0)
        job_patched_fini(patched);
    return errors->count > 0 ? STATUS_INVALID : STATUS_OK;
}

void job_patched_fini(struct job_patched *patched)
{
    job_fini(&patched->job);
    job_fini(&patched->old);
}
