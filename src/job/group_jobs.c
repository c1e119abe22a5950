#include "job/group_jobs.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "job/job_id.h"

void group_jobs_init(struct group_jobs *jobs)
{
    *jobs = (struct group_jobs){.count = 0};
    buffer_init_fallible(&jobs->text, GROUP_JOBS_BYTES_MAX + JOB_RECORD_MAX);
}

void group_jobs_fini(struct group_jobs *jobs)
{
    buffer_fini(&jobs->text);
}

struct slice group_jobs_endpoint(const struct group_jobs *jobs, size_t index)
{
    return slice_from(jobs->text.data + jobs->parts[index].name,
                      jobs->parts[index].record - jobs->parts[index].name);
}

struct slice group_jobs_record(const struct group_jobs *jobs, size_t index)
{
    return slice_from(jobs->text.data + jobs->parts[index].record,
                      jobs->parts[index].end - jobs->parts[index].record);
}

/* ---- writing ---- */

/* Creates the job of this endpoint. INVALID: the job does not fit the endpoint. */
static enum status apply_endpoint(struct group_jobs *jobs, const struct group_walk *walk, struct job *job)
{
    if (!group_endpoint_apply(&walk->endpoint, job)) {
        jobs->field = "headers";
        snprintf(jobs->detail, sizeof jobs->detail,
                 "are more than 50, or more than 8192 bytes, together with those of endpoint %.*s",
                 SLICE_ARG(walk->name));
    } else if (!job_method_allows_body(job->method) && (job->body.size || job->has_body_base64)) {
        jobs->field = job->has_body_base64 ? "bodyBase64" : "body";
        snprintf(jobs->detail, sizeof jobs->detail, "cannot be sent with method %s of endpoint %.*s",
                 job_method_word(job->method), SLICE_ARG(walk->name));
    }
    return jobs->field ? STATUS_INVALID : STATUS_OK;
}

enum status group_jobs_add(struct group_jobs *jobs, struct slice endpoint, const struct job *job)
{
    struct buffer *text = &jobs->text;
    assert(jobs->count < GROUP_ENDPOINTS_MAX);
    if (job->job_id.size + 1 + endpoint.size > JOB_ID_MAX) {
        jobs->field = "jobId";
        snprintf(jobs->detail, sizeof jobs->detail, "is over 255 bytes together with ~%.*s",
                 SLICE_ARG(endpoint));
        return STATUS_INVALID;
    }
    jobs->parts[jobs->count].name = text->size;
    buffer_append(text, endpoint);
    jobs->parts[jobs->count].record = text->size;
    job_write(job, text);
    jobs->parts[jobs->count].end = text->size;
    jobs->count++;
    if (text->failed)
        return STATUS_NO_MEMORY;
    return text->size > GROUP_JOBS_BYTES_MAX ? STATUS_FULL : STATUS_OK;
}

static enum status add_jobs(struct group_jobs *jobs, const struct group *group, const struct job *job)
{
    struct group_walk *walk = NEW(struct group_walk);
    struct job *copy = NEW(struct job);
    enum status status = STATUS_OK;
    group_walk_init(walk, group);
    while (status == STATUS_OK && jobs->count < GROUP_ENDPOINTS_MAX && group_walk_next(walk)) {
        *copy = *job;
        status = apply_endpoint(jobs, walk, copy);
        if (status == STATUS_OK)
            status = group_jobs_add(jobs, walk->name, copy);
    }
    if (status == STATUS_OK && walk->status != STATUS_OK)
        status = walk->status == STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_UNREADABLE;
    group_walk_fini(walk);
    free(walk);
    free(copy);
    return status;
}

enum status group_jobs_write(struct group_jobs *jobs, struct slice text, const struct job *job)
{
    struct group group;
    enum status status = group_read(text, &group);
    if (status != STATUS_OK)
        return status == STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_UNREADABLE;
    jobs->lacks = group.lacks;
    return group.lacks.size ? STATUS_LACKING : add_jobs(jobs, &group, job);
}

enum status group_jobs_mark(const struct job *job, char mark[FINGERPRINT_SIZE])
{
    struct job *copy = NEW(struct job);
    struct buffer text;
    *copy = *job;
    copy->trace_parent = copy->trace_state = SLICE("");
    buffer_init_fallible(&text, JOB_RECORD_MAX);
    buffer_append(&text, copy->group);
    buffer_append_byte(&text, ' ');
    job_write_plain(copy, &text); /* earlier versions made the same mark of the same job */
    bool has_memory = !text.failed;
    if (has_memory)
        fingerprint_make(buffer_slice(&text), mark);
    buffer_fini(&text);
    free(copy);
    return has_memory ? STATUS_OK : STATUS_NO_MEMORY;
}
