/* job_record.c - writes a job into its record, and reads a job from a record.
 *
 * A record is text that some version of duepost wrote. Other texts usually do not have the form of a record
 * and are refused. The rules for clients are not checked again. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

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

/* ---- the head ---- */

enum { HEAD_MAX = 96 };
#define HEAD_OPENING "\"head\":\"1 "

/* Writes the head, a text for scripts (store/scripts/lib/head.lua), in front of the members, which begin at
 * the position at. The head is written last, because it has the size of the members. A script completes the
 * head of a new job: it replaces "+<ttl>" by the time at which the job expires. */
static void insert_head(const struct job *job, size_t at, struct buffer *out)
{
    char head[HEAD_MAX], flags[8];
    bool is_new = job->created_ms == 0;
    bool is_relative = is_new && job->has_ttl && !job->has_expires_at;
    int64_t expires_ms = is_relative ? job->ttl_ms : job_expires_ms(job, job->created_ms);
    snprintf(flags, sizeof flags, "%s%s%s%s", job->url.size ? "" : "u",
             job->on_delivered.size || job->on_attempt.size ? "c" : "", job->labels.count ? "l" : "",
             job->last_attempt.at_ms ? "a" : "");
    if (out->failed)
        return;
    size_t members_size = out->size - at;
    /* The size of the members counts from the end of the number, and includes the end of the head. */
    int size = snprintf(head, sizeof head, "%s" HEAD_OPENING "%s%lld 0 0 %s %zu \"%s", is_new ? "" : ",",
                        is_relative ? "+" : "", (long long)(expires_ms == JOB_NEVER_MS ? 0 : expires_ms),
                        flags[0] ? flags : "-", members_size + (is_new ? 2 : 1), is_new ? "," : "");
    assert(size > 0 && size < HEAD_MAX);
    if (!buffer_extend(out, (size_t)size))
        return;
    memmove(out->data + at + size, out->data + at, members_size);
    memcpy(out->data + at, head, (size_t)size);
}

struct slice job_record_complete(struct buffer *written, int64_t created_ms)
{
    char opening[JOB_OPENING_MAX + 1];
    struct slice rest = slice_skip(buffer_slice(written), JOB_OPENING_MAX), word;
    uint64_t ttl_ms;
    int size = snprintf(opening, sizeof opening, "{\"createdAt\":%lld,", (long long)created_ms);
    if (slice_starts_with(rest, SLICE(HEAD_OPENING "+"))) {
        struct slice ttl = slice_skip(rest, sizeof HEAD_OPENING);
        bool is_head = slice_cut(ttl, ' ', &word, &rest) && slice_to_number(word, JOB_TTL_MAX_MS, &ttl_ms);
        assert(is_head);
        rest = slice_from(rest.data - 1, rest.size + 1);
        size += snprintf(opening + size, sizeof opening - (size_t)size, HEAD_OPENING "%lld",
                         (long long)created_ms + (long long)ttl_ms);
    }
    assert(size > 0 && size <= JOB_OPENING_MAX);
    size_t first = written->size - rest.size - (size_t)size;
    memcpy(written->data + first, opening, (size_t)size);
    return slice_skip(buffer_slice(written), first);
}

/* ---- records ---- */

static void write_record(const struct job *job, bool has_head, struct buffer *out)
{
    const struct members before_body = {.rows = job_members.rows + JOB_TOPIC,
                                        .count = JOB_BODY_BASE64 - JOB_TOPIC};
    struct json_writer json = json_writer_to(out);
    if (job->created_ms) {
        json_put_object(&json);
        members_put(&job_members.rows[JOB_CREATED_AT], job, MEMBERS_FOR_REDIS, &json);
    }
    size_t at = out->size;
    members_write(&before_body, job, MEMBERS_FOR_REDIS, &json);
    put_needs(job, &json);
    carried_write(&job->carried, &json); /* carried members come before the body */
    if (has_head)
        insert_head(job, at, out);
    members_put(&job_members.rows[JOB_BODY_BASE64], job, MEMBERS_FOR_REDIS, &json);
    members_put(&job_members.rows[JOB_BODY], job, MEMBERS_FOR_REDIS, &json);
    json_end_object(&json);
}

void job_write(const struct job *job, struct buffer *out)
{
    write_record(job, true, out);
}

void job_write_plain(const struct job *job, struct buffer *out)
{
    write_record(job, false, out);
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
