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
#include "job/job_members.h"
#include "job/target/url.h"
#include "job/text/job_errors.h"
#include "job/text/json.h"
#include "job/text/member.h"

/* ---- one job ---- */

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

enum status job_parse_members(const struct members *table, struct slice text, void *of, struct buffer *room,
                              struct job_errors *errors)
{
    struct member_parse parse = {.table = table, .of = of, .text = room, .errors = errors};
    job_errors_clear(errors);
    enum status status = job_parse_document(text, errors);
    if (status == STATUS_OK)
        members_parse(&parse, text);
    if (room->failed)
        return STATUS_NO_MEMORY;
    return status == STATUS_OK && errors->count > 0 ? STATUS_INVALID : status;
}

static enum status parse_text(struct slice text, const struct job_rules *rules, struct job *job,
                              struct job_errors *errors)
{
    struct member_parse parse = {
        .table = &job_members, .of = job, .text = &job->text, .errors = errors, .context = rules};
    job_init(job);
    job->topic = rules->topic;
    job->job_id = rules->job_id;
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
    struct job_rules rules = {.now_ms = now_ms, .is_posted = true};
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

/* Changes some members of a job:
 *
 *   1. finds the members of the record and of the patch
 *   2. merges them into the text of a job
 *   3. reads that text by the rules for any job
 *   4. adds the members that the client did not send, such as createdAt, and protects hidden values */

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

void job_patch_check_hidden(const struct member_values *old, const struct member_values *values,
                            const struct job_patched *patched, struct job_errors *errors)
{
    static const char again[] =
        "must be sent again, or be null, because url changes to another scheme, host or port";
    struct url from, to;
    const char *ignored;
    if (!patched->has_url || patched->job.url.size == 0)
        return;
    /* A job without a url was sent to the url of its topic, which this function does not know. */
    if (url_parse(patched->old.url, &from, &ignored) == STATUS_OK &&
        url_parse(patched->job.url, &to, &ignored) == STATUS_OK && url_is_same_origin(&from, &to))
        return;
    if (keeps_hidden_header(old->of[JOB_HEADERS], values->of[JOB_HEADERS]))
        job_errors_add(errors, "headers", again);
}

enum status job_patch(const struct job_patch *patch, struct buffer *text, struct job_patched *patched,
                      struct job_errors *errors)
{
    struct member_values old, values;
    struct buffer plain;
    job_errors_clear(errors);
    if (job_read(patch->id, patch->record, &patched->old) != STATUS_OK)
        return STATUS_UNREADABLE;
    if (patched->old.lacks.size) {
        job_fini(&patched->old);
        return STATUS_LACKING;
    }
    struct slice record = patch->record;
    buffer_init_fallible(&plain, JOB_RECORD_MAX);
    if (patched->old.opened.data) { /* the record is sealed */
        job_write_plain(&patched->old, &plain);
        record = buffer_slice(&plain);
    }
    enum status status = plain.failed ? STATUS_NO_MEMORY : job_parse_document(patch->text, errors);
    if (status == STATUS_OK) {
        members_find(&job_members, MEMBER_PATCHED, record, &old, NULL);
        members_find(&job_members, MEMBER_PATCHED, patch->text, &values, errors);
        members_merge(&job_members, &old, &values, text, errors);
        status = job_parse_changed(patch->id, buffer_slice(text), patch->now_ms, &patched->job, errors);
    }
    if (status != STATUS_OK) {
        job_fini(&patched->old);
        buffer_fini(&plain);
        return status;
    }
    members_keep(&job_members, &patched->job, &patched->old);
    patched->job.unknown = patched->old.unknown;
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
    buffer_fini(&plain);
    if (errors->count > 0)
        job_patched_fini(patched);
    return errors->count > 0 ? STATUS_INVALID : STATUS_OK;
}

void job_patched_fini(struct job_patched *patched)
{
    job_fini(&patched->job);
    job_fini(&patched->old);
}

/* ---- many jobs ---- */

void job_cutter_init(struct job_cutter *cutter, struct slice text, bool has_lines)
{
    *cutter = (struct job_cutter){.text = text, .rest = text, .has_lines = has_lines};
    bool is_array = has_lines || (json_open(text, &cutter->items) && cutter->items.close == ']');
    assert(is_array);
}

static enum status cutter_refuse(struct job_errors *errors, const char *detail)
{
    job_errors_clear(errors);
    job_errors_add(errors, "", detail);
    return STATUS_INVALID;
}

static enum status refuse_at(const struct job_cutter *cutter, struct job_errors *errors, const char *detail,
                             const char *at)
{
    char text[JOB_ERROR_TEXT_SIZE];
    size_t offset = (size_t)(at - cutter->text.data);
    if (cutter->has_lines)
        snprintf(text, sizeof text, "%s, at byte %zu, in line %zu", detail, offset, cutter->lines);
    else
        snprintf(text, sizeof text, "%s, at byte %zu", detail, offset);
    return cutter_refuse(errors, text);
}

static enum status refuse_count(struct job_errors *errors)
{
    char text[JOB_ERROR_TEXT_SIZE];
    snprintf(text, sizeof text, "must have 1 to %d jobs", JOB_CUTTER_MAX);
    return cutter_refuse(errors, text);
}

static enum status check(struct job_cutter *cutter, struct slice job, struct job_errors *errors)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    if (cutter->jobs++ == JOB_CUTTER_MAX)
        return refuse_count(errors);
    enum status status = json_check(job, &limits, &fault);
    if (status == STATUS_NO_MEMORY)
        return status;
    if (status != STATUS_OK && !fault.is_json)
        return refuse_at(cutter, errors, fault.detail, job.data + fault.offset);
    return STATUS_OK;
}

static enum status cutter_end(const struct job_cutter *cutter, struct job_errors *errors)
{
    return cutter->jobs ? STATUS_NOT_FOUND : refuse_count(errors);
}

enum status job_cutter_next(struct job_cutter *cutter, struct slice *job, struct job_errors *errors)
{
    if (cutter->has_lines) {
        if (cutter->rest.size == 0)
            return cutter_end(cutter, errors);
        slice_cut(cutter->rest, '\n', job, &cutter->rest);
        cutter->lines++;
        if (job->size && job->data[job->size - 1] == '\r')
            job->size--;
        *job = slice_trim(*job);
        return job->size ? check(cutter, *job, errors) : STATUS_OK;
    }
    if (json_next_item(&cutter->items, job))
        return check(cutter, *job, errors);
    if (!cutter->items.is_ended) {
        bool is_short = cutter->items.at == cutter->items.end;
        return refuse_at(cutter, errors, is_short ? "ends too early" : "is not valid JSON", cutter->items.at);
    }
    /* Only white space may follow the array's closing bracket. */
    const char *last = slice_end(cutter->text), *at = cutter->items.at + 1;
    while (at < last && strchr(" \t\r\n", *at) && *at)
        at++;
    return at == last ? cutter_end(cutter, errors) : refuse_at(cutter, errors, "is not valid JSON", at);
}
