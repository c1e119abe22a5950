/* recurring_patch.c - changes some members of a definition:
 *
 *   1. finds the members of the record and of the patch, and the members of the job in each of them
 *   2. merges the jobs, then the definitions, into the text of a definition
 *   3. reads that text by the rules for any definition
 *   4. adds the members that are kept from the old definition, and protects hidden values */
#include "job/job_members.h"
#include "job/job_parse.h"
#include "job/job_patch.h"
#include "job/json.h"
#include "job/member.h"
#include "job/recurring_members.h"

struct patching {
    struct slice topic;
    struct recurring old;
    struct job_patched jobs;
    struct member_values old_values, values;         /* values of the definition */
    struct member_values old_job_values, job_values; /* values of its job */
    struct slice old_group;                          /* JSON; empty: none */
    struct buffer job_text;                          /* the merged job */
    struct job_errors job_errors;
};

/* Adds the old group to the old members of the job. The group is stored in the definition, not in the record
 * of the job. A url in the patch removes the old group, and a group removes the old url. */
static void merge_group(struct patching *patching)
{
    struct slice group = patching->job_values.of[JOB_GROUP], url = patching->job_values.of[JOB_URL];
    patching->old_job_values.of[JOB_GROUP] = patching->old_group;
    if (url.size && !member_is_null(url))
        patching->old_job_values.of[JOB_GROUP] = (struct slice){NULL, 0};
    if (group.size && !member_is_null(group))
        patching->old_job_values.of[JOB_URL] = (struct slice){NULL, 0};
}

/* If the patch has a job, merges it into the known members of the old job. If the patch's value of "job" is
 * not an object, the parser refuses it later. */
static void merge_job(struct patching *patching)
{
    struct slice *patch = &patching->values.of[RECURRING_JOB];
    members_find(&job_members, MEMBER_PATCHED, patching->old.job, &patching->old_job_values, NULL);
    patching->job_values = (struct member_values){.of = {{NULL, 0}}};
    if (patch->size && patch->data[0] != '{')
        return;
    if (patch->size)
        members_find(&job_members, MEMBER_PATCHED | MEMBER_SCHEDULED, *patch, &patching->job_values,
                     &patching->job_errors);
    merge_group(patching);
    members_merge(&job_members, &patching->old_job_values, &patching->job_values, &patching->job_text,
                  &patching->job_errors);
    *patch = buffer_slice(&patching->job_text);
}

static enum status patch_old(struct patching *patching, struct slice record, struct slice patch,
                             int64_t now_ms, struct buffer *text, struct recurring *recurring,
                             struct job_errors *errors)
{
    struct member_values stored;
    members_find(&recurring_members, MEMBER_STORED, record, &stored, NULL);
    patching->old_group = stored.of[RECURRING_GROUP];
    members_find(&recurring_members, MEMBER_PATCHED, record, &patching->old_values, NULL);
    members_find(&recurring_members, MEMBER_PATCHED, patch, &patching->values, errors);
    merge_job(patching);
    recurring_add_job_errors(&patching->job_errors, errors);
    members_merge(&recurring_members, &patching->old_values, &patching->values, text, errors);
    if (text->failed || patching->job_text.failed)
        return STATUS_NO_MEMORY;
    enum status status = recurring_parse_changed(patching->topic, buffer_slice(text), now_ms, recurring,
                                                 &patching->jobs.job, errors);
    if (status != STATUS_OK)
        return status;
    recurring->created_ms = patching->old.created_ms;
    recurring->carried = patching->old.carried;
    patching->jobs.job.carried = patching->jobs.old.carried;
    patching->jobs.has_url = patching->job_values.of[JOB_URL].size > 0;
    job_errors_clear(&patching->job_errors);
    job_patch_check_hidden(&patching->old_job_values, &patching->job_values, &patching->jobs,
                           &patching->job_errors);
    recurring_add_job_errors(&patching->job_errors, errors);
    if (errors->count == 0)
        return STATUS_OK;
    job_fini(&patching->jobs.job);
    recurring_fini(recurring);
    return STATUS_INVALID;
}

enum status recurring_patch(struct slice topic, struct slice record, struct slice patch, int64_t now_ms,
                            struct buffer *text, struct recurring *recurring, struct job *job,
                            struct job_errors *errors)
{
    struct patching patching = {.topic = topic};
    job_errors_clear(errors);
    if (recurring_read(record, &patching.old) != STATUS_OK)
        return STATUS_UNREADABLE;
    if (patching.old.lacks.size ||
        recurring_read_job(&patching.old, topic, &patching.jobs.old) != STATUS_OK) {
        recurring_fini(&patching.old);
        return patching.old.lacks.size ? STATUS_LACKING : STATUS_UNREADABLE;
    }
    buffer_init_fallible(&patching.job_text, patching.old.job.size + patch.size + JOB_URL_MAX);
    enum status status = patching.jobs.old.lacks.size ? STATUS_LACKING : job_parse_document(patch, errors);
    if (status == STATUS_OK)
        status = patch_old(&patching, record, patch, now_ms, text, recurring, errors);
    if (status == STATUS_OK)
        *job = patching.jobs.job;
    buffer_fini(&patching.job_text);
    job_fini(&patching.jobs.old);
    recurring_fini(&patching.old);
    return status;
}
