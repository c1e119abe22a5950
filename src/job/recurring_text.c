/* recurring_text.c - reads and writes definitions: a client's text, the record, and the text for clients. */
#include <assert.h>

#include "job/form.h"
#include "job/group_jobs.h"
#include "job/job_id.h"
#include "job/job_members.h"
#include "job/job_parse.h"
#include "job/json.h"
#include "job/recurring_members.h"

/* ---- a client's text ---- */

/* Parses a client's definition, a text that json_check has accepted. */
static void parse_members(struct slice text, const struct recurring_rules *rules, struct recurring *recurring,
                          struct job_errors *errors)
{
    struct member_parse parse = {.table = &recurring_members,
                                 .of = recurring,
                                 .text = &recurring->text,
                                 .errors = errors,
                                 .context = rules};
    members_parse(&parse, text);
    if (!recurring->has_cron && !recurring->has_every)
        job_errors_add(errors, "cron", "is required if every is absent");
}

enum status recurring_parse(struct slice topic, struct slice text, int64_t now_ms,
                            struct recurring *recurring, struct job *job, struct job_errors *errors)
{
    job_errors_clear(errors);
    return recurring_parse_changed(topic, text, now_ms, recurring, job, errors);
}

enum status recurring_parse_changed(struct slice topic, struct slice text, int64_t now_ms,
                                    struct recurring *recurring, struct job *job, struct job_errors *errors)
{
    enum status job_status = STATUS_INVALID;
    struct recurring_rules rules = {.topic = topic, .now_ms = now_ms, .job = job, .status = &job_status};
    memset(recurring, 0, sizeof *recurring);
    buffer_init_fallible(&recurring->text, text.size);
    enum status status = job_parse_document(text, errors);
    if (status == STATUS_OK)
        parse_members(text, &rules, recurring, errors);
    if (recurring->text.failed || (status == STATUS_OK && job_status == STATUS_NO_MEMORY))
        status = STATUS_NO_MEMORY;
    else if (status == STATUS_OK && errors->count > 0)
        status = STATUS_INVALID;
    if (status == STATUS_OK) {
        recurring->group = job->group;
        return STATUS_OK;
    }
    if (status == STATUS_NO_MEMORY)
        job_errors_clear(errors);
    if (job_status == STATUS_OK)
        job_fini(job);
    recurring_fini(recurring);
    return status;
}

/* ---- records ---- */

/* Returns whether the members of a record are a complete definition. */
static bool is_whole(struct recurring *recurring)
{
    struct problem ignored;
    return recurring->created_ms && recurring->has_cron != recurring->has_every &&
           (!recurring->has_every || recurring->every_ms >= RECURRENCE_EVERY_MIN_MS) &&
           (!recurring->has_cron ||
            cron_parse(recurring->cron_text, &recurring->cron, &ignored) == STATUS_OK) &&
           (recurring->timezone.size == 0 || time_zone_name_is_valid(recurring->timezone)) &&
           recurring->job.size >= 2 && recurring->job.data[0] == '{';
}

enum status recurring_read(struct slice record, struct recurring *recurring)
{
    *recurring = (struct recurring){.grace_ms = RECURRING_GRACE_MS};
    buffer_init(&recurring->text, 4 * (size_t)(CRON_TEXT_MAX + TIME_ZONE_NAME_MAX));
    if (members_read(&recurring_members, record, recurring, &recurring->text, &recurring->carried,
                     &recurring->lacks) &&
        recurring->lacks.size == 0 && is_whole(recurring))
        return STATUS_OK;
    recurring_fini(recurring);
    *recurring = (struct recurring){.grace_ms = RECURRING_GRACE_MS};
    return needs_find(record, &recurring->lacks) ? STATUS_OK : STATUS_INVALID;
}

enum status recurring_read_job(const struct recurring *recurring, struct slice topic, struct job *job)
{
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS, .topic = topic};
    buffer_init(&job->text, recurring->job.size);
    if (members_read(&job_members, recurring->job, job, &job->text, &job->carried, &job->lacks)) {
        job->group = recurring->group;
        return STATUS_OK;
    }
    job_fini(job);
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS, .topic = topic};
    return needs_find(recurring->job, &job->lacks) ? STATUS_OK : STATUS_INVALID;
}

static struct members members_before_job(void)
{
    struct members table = recurring_members;
    table.count = RECURRING_JOB;
    return table;
}

/* Writes the names of the features that earlier versions must not ignore. */
static void put_needs(const struct recurring *recurring, struct json_writer *json)
{
    struct needs_writer needs = {json, false};
    if (recurring->into.size || recurring->delay_ms)
        needs_add(&needs, "occurrences");
    if (recurring->group.size)
        needs_add(&needs, topic_is_sibling(recurring->group) ? "formGroups" : "groups");
    needs_end(&needs);
}

void recurring_write(const struct recurring *recurring, const struct job *job, struct buffer *out)
{
    const struct members before_job = members_before_job();
    struct json_writer json = json_writer_to(out);
    assert(recurring->created_ms && job->created_ms == 0);
    json_put_object(&json);
    members_write(&before_job, recurring, MEMBERS_FOR_REDIS, &json);
    put_needs(recurring, &json);
    carried_write(&recurring->carried, &json);
    json_put_name(&json, "job");
    buffer_append_byte(json_put(&json), '{');
    job_write_plain(job, out); /* this also writes the closing brace */
    json_end_object(&json);
}

static enum status write_jobs(const struct job *job, struct slice text, const struct delivery_forms *forms,
                              struct group_jobs *jobs)
{
    if (!topic_is_sibling(job->group))
        return group_jobs_write(jobs, text, job);
    const struct delivery_form *form = delivery_form_find(forms, job->form);
    return form && form->write_group_jobs ? form->write_group_jobs(job, text, jobs) : STATUS_LACKING;
}

enum status recurring_send(const struct recurring *recurring, struct slice id, struct slice text,
                           const struct delivery_forms *forms, struct group_jobs *jobs, char mark[])
{
    struct slice topic, job_id;
    struct job job;
    slice_cut(id, '/', &topic, &job_id);
    enum status status = recurring_read_job(recurring, topic, &job);
    if (status != STATUS_OK)
        return STATUS_UNREADABLE;
    job.job_id = job_id;
    status = job.lacks.size ? STATUS_LACKING : group_jobs_mark(&job, mark);
    if (status == STATUS_OK)
        status = write_jobs(&job, text, forms, jobs);
    job_fini(&job);
    return status;
}

struct slice recurring_job_record(const struct recurring *recurring, struct buffer *text)
{
    struct job job;
    if (recurring_read_job(recurring, SLICE(""), &job) != STATUS_OK)
        return slice_skip(recurring->job, 1);
    buffer_clear(text);
    if (job.lacks.size == 0)
        job_write(&job, text);
    job_fini(&job);
    return text->failed || text->size == 0 ? slice_skip(recurring->job, 1) : buffer_slice(text);
}

/* ---- people ---- */

static void show_job(const struct job *job, struct json_writer *json)
{
    bool is_hidden = topic_is_sibling(job->topic); /* for sibling topics, clients do not see the body */
    json_add_object(json, "job");
    for (size_t i = 0; i < job_members.count; i++)
        if (job_members.rows[i].flags & MEMBER_SENT && i != JOB_TOPIC && (i != JOB_URL || job->url.size) &&
            !(is_hidden && (i == JOB_BODY || i == JOB_BODY_BASE64)))
            members_put(&job_members.rows[i], job, MEMBERS_FOR_PEOPLE, json);
    json_end_object(json);
}

void recurring_show(const struct recurring *recurring, const struct job *job, struct json_writer *json)
{
    if (recurring->has_cron)
        json_add_text(json, "cron", recurring->cron_text);
    if (recurring->has_every)
        json_add_seconds(json, "every", recurring->every_ms);
    if (recurring->has_cron || recurring->timezone.size)
        json_add_text(json, "timezone", recurring->timezone.size ? recurring->timezone : SLICE("UTC"));
    if (recurring->has_start_at)
        json_add_time(json, "startAt", recurring->start_at_ms);
    if (recurring->has_end_at)
        json_add_time(json, "endAt", recurring->end_at_ms);
    json_add_seconds(json, "jitter", recurring->jitter_ms);
    json_add_seconds(json, "grace", recurring->grace_ms);
    json_add_text(json, "misfire", misfire_word(recurring_misfire(recurring)));
    json_add_text(json, "overlap", overlap_word(recurring_overlap(recurring)));
    json_add_bool(json, "paused", recurring->is_paused);
    if (recurring->created_ms)
        json_add_time(json, "createdAt", recurring->created_ms);
    show_job(job, json);
}
