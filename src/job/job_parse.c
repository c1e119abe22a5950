/* job_parse.c - parses a client's JSON into a job.
 *
 *   1. json_check tests that the text is valid and within its limits
 *   2. the table (job_members.c) reads its members
 *
 * The value of body is not parsed, because the receiver must get the same bytes that the client sent. */
#include "job/job_parse.h"

#include <assert.h>
#include <stdio.h>

#include "job/job_id.h"
#include "job/json.h"

enum status job_parse_document(struct slice text, struct job_errors *errors)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    struct json_cursor top;
    char detail[JOB_ERROR_TEXT_SIZE];
    enum status status = json_check(text, &limits, &fault);
    if (text.size == 0) {
        job_errors_add(errors, "", "is empty: a JSON object is required");
    } else if (status == STATUS_INVALID) {
        snprintf(detail, sizeof detail, "%s, at byte %zu", fault.detail, fault.offset);
        job_errors_add(errors, "", detail);
    } else if (status == STATUS_OK && (!json_open(text, &top) || top.close != '}')) {
        job_errors_add(errors, "", "must be an object");
        status = STATUS_INVALID;
    }
    return status;
}

static enum status parse_text(struct slice text, const struct job_rules *rules, struct job *job,
                              struct job_errors *errors)
{
    struct member_parse parse = {
        .table = &job_members, .of = job, .text = &job->text, .errors = errors, .context = rules};
    *job = (struct job){.topic = rules->topic, .job_id = rules->job_id};
    buffer_init_fallible(&job->text, text.size);
    enum status status = job_parse_document(text, errors);
    if (status == STATUS_OK)
        members_parse(&parse, text);
    if (job->text.failed)
        status = STATUS_NO_MEMORY;
    else if (status == STATUS_OK && errors->count > 0)
        status = STATUS_INVALID;
    if (status != STATUS_OK)
        job_fini(job);
    return status;
}

enum status job_parse(struct slice text, int64_t now_ms, struct job *job, struct job_errors *errors)
{
    struct job_rules rules = {.now_ms = now_ms};
    job_errors_clear(errors);
    return parse_text(text, &rules, job, errors);
}

static enum status parse_named(struct slice id, struct slice text, struct job_rules *rules, struct job *job,
                               struct job_errors *errors)
{
    bool is_id = job_key_parse(id, &rules->topic, &rules->job_id);
    assert(is_id);
    return parse_text(text, rules, job, errors);
}

enum status job_parse_named(struct slice id, struct slice text, int64_t now_ms, struct job *job,
                            struct job_errors *errors)
{
    struct job_rules rules = {.now_ms = now_ms};
    job_errors_clear(errors);
    if (job_id_has_dots(id))
        job_errors_add(errors, "jobId", "no part between slashes may be . or ..");
    return parse_named(id, text, &rules, job, errors);
}

enum status job_parse_changed(struct slice id, struct slice text, int64_t now_ms, struct job *job,
                              struct job_errors *errors)
{
    struct job_rules rules = {.now_ms = now_ms, .is_changed = true};
    return parse_named(id, text, &rules, job, errors);
}

enum status job_parse_template(struct slice topic, struct slice text, int64_t now_ms, struct job *job,
                               struct job_errors *errors)
{
    struct job_rules rules = {.now_ms = now_ms, .topic = topic};
    return parse_text(text, &rules, job, errors);
}
