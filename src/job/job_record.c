/* job_record.c - writes a job into its record, and reads a job from a record.
 *
 * A record is text that some version of duepost wrote. Other texts usually do not have the form of a record
 * and are refused. The rules for clients are not checked again. */
#include "job/carried.h"
#include "job/job.h"
#include "job/job_id.h"
#include "job/job_members.h"
#include "job/json.h"
#include "job/retry_expression.h"
#include "job/trace.h"

/* Maximum size of all decoded strings of a record together. */
enum {
    TEXT_MAX = JOB_URL_MAX + JOB_HEADER_BYTES_MAX + TRACE_STATE_MAX + JOB_LABELS_MAX * JOB_LABEL_MAX +
               RETRY_EXPRESSION_MAX + JOB_WORKFLOW_MAX
};

/* Writes the names of the features that earlier versions must not ignore. If this version does not know one
 * of the names that the job already has, writes nothing: then the member "needs" is carried unchanged. */
static void put_needs(const struct job *job, struct json_writer *json)
{
    struct needs_writer needs = {json, false};
    if (job->lacks.size)
        return;
    if (job->method != JOB_METHOD_POST)
        needs_add(&needs, "method");
    if (job->has_body_base64)
        needs_add(&needs, "bodyBase64");
    if (job->rounds > 0)
        needs_add(&needs, "rounds");
    if (job->on_delivered.size || job->on_dead.size || job->on_attempt.size)
        needs_add(&needs, "callbacks");
    if (job->form.size)
        needs_add(&needs, "form");
    if (job->workflow.size)
        needs_add(&needs, "workflow");
#ifdef DUEPOST_TEST_NEXT
    if (slice_starts_with(job->next, SLICE("needed")))
        needs_add(&needs, "next");
#endif
    needs_end(&needs);
}

/* For a new job, the opening brace and createdAt are not written. Carried members come before the body. */
void job_write(const struct job *job, struct buffer *out)
{
    const struct members before_body = {.rows = job_members.rows, .count = JOB_BODY_BASE64};
    struct json_writer json = json_writer_to(out);
    if (job->created_ms)
        json_put_object(&json);
    members_write(&before_body, job, MEMBERS_FOR_REDIS, &json);
    put_needs(job, &json);
    carried_write(&job->carried, &json);
    members_put(&job_members.rows[JOB_BODY_BASE64], job, MEMBERS_FOR_REDIS, &json);
    members_put(&job_members.rows[JOB_BODY], job, MEMBERS_FOR_REDIS, &json);
    json_end_object(&json);
}

/* Reads only the id, and the unknown name in "needs". A later version may give the other members values that
 * this version cannot read. */
static enum status read_lacking(struct slice id, struct slice record, struct job *job)
{
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS};
    job_key_parse(id, &job->topic, &job->job_id);
    return needs_find(record, &job->lacks) ? STATUS_OK : STATUS_INVALID;
}

enum status job_read(struct slice id, struct slice record, struct job *job)
{
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS};
    buffer_init(&job->text, TEXT_MAX);
    bool is_id = job_key_parse(id, &job->topic, &job->job_id);
    bool is_read = members_read(&job_members, record, job, &job->text, &job->carried, &job->lacks);
    if (is_id && is_read && job->created_ms &&
        job->url.data) /* each record has the member url, even if it is empty */
        return STATUS_OK;
    job_fini(job);
    return read_lacking(id, record, job);
}

bool job_is_same(const struct job *a, const struct job *b)
{
    return a->lacks.size == 0 && b->lacks.size == 0 && members_are_same(&job_members, a, b);
}
