#include "job/job_cutter.h"

#include <assert.h>
#include <stdio.h>

#include "job/job_errors.h"

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

static struct slice trim(struct slice line)
{
    if (line.size && line.data[line.size - 1] == '\r')
        line.size--;
    return slice_trim(line);
}

static enum status next_line(struct job_cutter *cutter, struct slice *job, struct job_errors *errors)
{
    if (cutter->rest.size == 0)
        return cutter_end(cutter, errors);
    slice_cut(cutter->rest, '\n', job, &cutter->rest);
    cutter->lines++;
    *job = trim(*job);
    return job->size ? check(cutter, *job, errors) : STATUS_OK;
}

/* Checks the text after the array's closing bracket, which must be only white space. */
static enum status end_items(const struct job_cutter *cutter, struct job_errors *errors)
{
    const char *last = slice_end(cutter->text), *at = cutter->items.at + 1;
    while (at < last && strchr(" \t\r\n", *at) && *at)
        at++;
    return at == last ? cutter_end(cutter, errors) : refuse_at(cutter, errors, "is not valid JSON", at);
}

static enum status next_item(struct job_cutter *cutter, struct slice *job, struct job_errors *errors)
{
    if (json_next_item(&cutter->items, job))
        return check(cutter, *job, errors);
    if (cutter->items.is_ended)
        return end_items(cutter, errors);
    bool is_short = cutter->items.at == cutter->items.end;
    return refuse_at(cutter, errors, is_short ? "ends too early" : "is not valid JSON", cutter->items.at);
}

enum status job_cutter_next(struct job_cutter *cutter, struct slice *job, struct job_errors *errors)
{
    return cutter->has_lines ? next_line(cutter, job, errors) : next_item(cutter, job, errors);
}
