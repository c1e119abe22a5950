/* recurring.c - a client's definition of a schedule: the table of its members, reading its text, and patches.
 */
#include "job/schedule/recurring.h"

#include "base/time_zone.h"
#include "base/timestamp.h"
#include "job/job_id.h"
#include "job/job_members.h"
#include "job/job_parse.h"
#include "job/text/json.h"
#include "job/text/member.h"

/* The context for the table's checks. */
struct recurring_rules {
    struct slice topic;
    int64_t now_ms;
    struct job *job;     /* the parsed job, if *status is OK */
    enum status *status; /* result of parsing the job */
};

/* ---- rules for a client's definition that the kinds of members (members.h) do not cover ---- */

static void recurring_refuse(struct member_parse *parse, const struct member *member, const char *detail)
{
    job_errors_add(parse->errors, member->path, detail);
}

static void check_cron(struct member_parse *parse, const struct member *member)
{
    struct recurring *recurring = parse->of;
    struct problem problem;
    if (cron_parse(recurring->cron_text, &recurring->cron, &problem) != STATUS_OK)
        recurring_refuse(parse, member, problem.text);
}

static void check_timezone(struct member_parse *parse, const struct member *member)
{
    const struct recurring *recurring = parse->of;
    if (!time_zone_name_is_valid(recurring->timezone) || time_zone_name_is_of_host(recurring->timezone))
        recurring_refuse(parse, member, TIME_ZONE_NAME_EXPECTED);
}

static void check_end_at(struct member_parse *parse, const struct member *member)
{
    const struct recurring *recurring = parse->of;
    if (recurring->has_start_at && recurring->end_at_ms < recurring->start_at_ms)
        recurring_refuse(parse, member, "must not be before startAt");
}

static void check_windows(struct member_parse *parse, const struct member *member)
{
    struct recurring *recurring = parse->of;
    struct windows windows;
    struct problem problem;
    if (member_is_null(recurring->windows))
        recurring->windows = SLICE("");
    else if (windows_parse_local(recurring->windows, &windows, &problem) != STATUS_OK)
        recurring_refuse(parse, member, problem.text);
}

static bool are_windows_sound(const void *of)
{
    const struct recurring *recurring = of;
    struct windows windows;
    struct problem problem;
    return windows_parse(recurring->windows, &windows, &problem) == STATUS_OK;
}

static void check_misfire(struct member_parse *parse, const struct member *member)
{
    const struct recurring *recurring = parse->of;
    enum misfire ignored;
    if (!misfire_parse(recurring->misfire_word, &ignored))
        recurring_refuse(parse, member, "must be one, skip or all");
}

static void check_overlap(struct member_parse *parse, const struct member *member)
{
    const struct recurring *recurring = parse->of;
    enum overlap ignored;
    if (!overlap_parse(recurring->overlap_word, &ignored))
        recurring_refuse(parse, member, "must be allow or skip");
}

/* Returns whether a member of a job is not allowed in a schedule, because the schedule sets id, topic and
 * times. */
static bool is_refused(struct slice name)
{
    static const char *const names[] = {"topic", "jobId", "delay", "dueAt", "timezone", "expiresAt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_equal(name, slice_of(names[i])))
            return true;
    return false;
}

/* Adds the errors of a job, with "job." before their names. */
static void add_job_errors(const struct job_errors *from, struct job_errors *to)
{
    struct job_error error;
    for (size_t at = 0; job_errors_take(from, &at, &error);)
        job_errors_add_named(to, error.field[0] ? "job." : "job", slice_of(error.field), error.detail);
}

/* Parses the job in the definition. Names of its errors begin with "job.", such as job.url. */
static void check_job(struct member_parse *parse, const struct member *member)
{
    const struct recurring *recurring = parse->of;
    const struct recurring_rules *rules = parse->context;
    struct member_values values;
    struct job_errors errors;
    if (!rules)
        return;
    job_errors_clear(&errors);
    *rules->status = STATUS_INVALID;
    if (recurring->job.size == 0 || recurring->job.data[0] != '{') {
        recurring_refuse(parse, member, "must be an object: a job without topic, jobId, delay and dueAt");
        return;
    }
    members_find(&job_members, MEMBER_SENT, recurring->job, &values, NULL);
    for (size_t i = 0; i < job_members.count; i++)
        if (values.of[i].size && !member_is_null(values.of[i]) && is_refused(job_members.rows[i].name))
            job_errors_add_named(&errors, "", job_members.rows[i].name, "cannot be set in a schedule's job");
    *rules->status = job_parse_template(rules->topic, recurring->job, rules->now_ms, rules->job, &errors);
    add_job_errors(&errors, parse->errors);
}

static bool is_group_sound(const void *of)
{
    const struct recurring *recurring = of;
    return topic_is_valid(
        recurring->group); /* for some forms (delivery_form.h), the group is a sibling topic */
}

/* ---- the table ---- */

#define NAMED(text)   MEMBER_NAMED("", text)
#define FIELD(member) MEMBER_FIELD(struct recurring, member)
#define HAS(member)   MEMBER_HAS(struct recurring, member)
#define EVERYWHERE    .flags = MEMBER_EVERYWHERE

static const struct member rows[] = {
    [RECURRING_CREATED_AT] = {NAMED("createdAt"), MEMBER_INTEGER, .flags = MEMBER_STORED | MEMBER_RESOLVED,
                              FIELD(created_ms), HAS(created_ms), .max = TIMESTAMP_MAX_MS},
    [RECURRING_CRON] = {NAMED("cron"), MEMBER_TEXT, EVERYWHERE, FIELD(cron_text), HAS(has_cron), .min = 1,
                        .max = CRON_TEXT_MAX, .check = check_cron},
    [RECURRING_EVERY] = {NAMED("every"), MEMBER_SECONDS, EVERYWHERE, FIELD(every_ms), HAS(has_every),
                         .min = RECURRENCE_EVERY_MIN_MS, .max = RECURRING_EVERY_MAX_MS,
                         .rival = RECURRING_CRON},
    [RECURRING_TIMEZONE] = {NAMED("timezone"), MEMBER_TEXT, EVERYWHERE, FIELD(timezone), HAS(timezone.size),
                            .min = 1, .max = TIME_ZONE_NAME_MAX, .check = check_timezone},
    [RECURRING_START_AT] = {NAMED("startAt"), MEMBER_TIME, EVERYWHERE, FIELD(start_at_ms), HAS(has_start_at)},
    [RECURRING_END_AT] = {NAMED("endAt"), MEMBER_TIME, EVERYWHERE, FIELD(end_at_ms), HAS(has_end_at),
                          .check = check_end_at},
    [RECURRING_JITTER] = {NAMED("jitter"), MEMBER_SECONDS, EVERYWHERE, FIELD(jitter_ms), HAS(jitter_ms),
                          .max = RECURRING_JITTER_MAX_MS},
    [RECURRING_GRACE] = {NAMED("grace"), MEMBER_SECONDS, EVERYWHERE, FIELD(grace_ms), HAS(has_grace),
                         .min = RECURRING_GRACE_MIN_MS, .max = RECURRING_GRACE_MAX_MS,
                         .fallback = RECURRING_GRACE_MS},
    [RECURRING_WINDOWS] = {NAMED("windows"), MEMBER_JSON, EVERYWHERE, FIELD(windows), HAS(windows.size),
                           .check = check_windows, .is_sound = are_windows_sound},
    [RECURRING_MISFIRE] = {NAMED("misfire"), MEMBER_TEXT, EVERYWHERE, FIELD(misfire_word),
                           HAS(misfire_word.size), .check = check_misfire},
    [RECURRING_OVERLAP] = {NAMED("overlap"), MEMBER_TEXT, EVERYWHERE, FIELD(overlap_word),
                           HAS(overlap_word.size), .check = check_overlap},
    [RECURRING_EXPECT_BY] = {NAMED("expectBy"), MEMBER_SECONDS, EVERYWHERE, FIELD(expect_by_ms),
                             HAS(expect_by_ms), .min = RECURRING_EXPECT_BY_MIN_MS,
                             .max = RECURRING_EXPECT_BY_MAX_MS},
    [RECURRING_PAUSED] = {NAMED("paused"), MEMBER_BOOL, EVERYWHERE, FIELD(is_paused), HAS(is_paused)},
    [RECURRING_DELAY] = {NAMED("delay"), MEMBER_SECONDS, .flags = MEMBER_STORED, FIELD(delay_ms),
                         HAS(delay_ms), .max = JOB_DELAY_MAX_MS},
    [RECURRING_INTO] = {NAMED("into"), MEMBER_TEXT, .flags = MEMBER_STORED, FIELD(into), HAS(into.size)},
    [RECURRING_GROUP] = {NAMED("group"), MEMBER_TEXT, .flags = MEMBER_STORED, FIELD(group), HAS(group.size),
                         .is_sound = is_group_sound},
    [RECURRING_JOB] = {NAMED("job"), MEMBER_JSON, .flags = MEMBER_EVERYWHERE | MEMBER_REQUIRED, FIELD(job),
                       HAS(job.size), .check = check_job},
};

MEMBER_ROWS_FIT(rows);

const struct members recurring_members = {MEMBER_ROWS(rows), .noun = "field", .prefix = ""};

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

/* Does the same as recurring_parse, but keeps the faults that errors already has. If there are errors, the
 * result is INVALID. */
static enum status parse_changed(struct slice topic, struct slice text, int64_t now_ms,
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

enum status recurring_parse(struct slice topic, struct slice text, int64_t now_ms,
                            struct recurring *recurring, struct job *job, struct job_errors *errors)
{
    job_errors_clear(errors);
    return parse_changed(topic, text, now_ms, recurring, job, errors);
}

/* ---- patches ---- */

/* Changes some members of a definition:
 *
 *   1. finds the members of the record and of the patch, and the members of the job in each of them
 *   2. merges the jobs, then the definitions, into the text of a definition
 *   3. reads that text by the rules for any definition
 *   4. adds the members that are kept from the old definition, and protects hidden values */

struct patching {
    struct slice topic;
    struct recurring old;
    struct job_patched jobs;
    struct member_values old_values, values;         /* values of the definition */
    struct member_values old_job_values, job_values; /* values of its job */
    struct slice old_group;                          /* JSON; empty: none */
    struct buffer job_text;
    struct buffer plain; /* the old job without its seal */ /* the merged job */
    struct job_errors job_errors;
};

/* If the patch has a job, merges it into the known members of the old job. If the patch's value of "job" is
 * not an object, the parser refuses it later. */
static void merge_job(struct patching *patching)
{
    struct slice *patch = &patching->values.of[RECURRING_JOB];
    members_find(&job_members, MEMBER_PATCHED | MEMBER_SCHEDULED, patching->old.job,
                 &patching->old_job_values, NULL);
    patching->job_values = (struct member_values){.of = {{NULL, 0}}};
    if (patch->size && patch->data[0] != '{')
        return;
    if (patch->size)
        members_find(&job_members, MEMBER_PATCHED | MEMBER_SCHEDULED, *patch, &patching->job_values,
                     &patching->job_errors);
    /* The group is stored in the definition, not in the record of the job. A url in the patch removes the old
     * group, and a group removes the old url. */
    struct slice group = patching->job_values.of[JOB_GROUP], url = patching->job_values.of[JOB_URL];
    bool has_new_url = url.size && !member_is_null(url);
    patching->old_job_values.of[JOB_GROUP] = has_new_url ? (struct slice){NULL, 0} : patching->old_group;
    if (group.size && !member_is_null(group))
        patching->old_job_values.of[JOB_URL] = (struct slice){NULL, 0};
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
    add_job_errors(&patching->job_errors, errors);
    members_merge(&recurring_members, &patching->old_values, &patching->values, text, errors);
    if (text->failed || patching->job_text.failed)
        return STATUS_NO_MEMORY;
    enum status status =
        parse_changed(patching->topic, buffer_slice(text), now_ms, recurring, &patching->jobs.job, errors);
    if (status != STATUS_OK)
        return status;
    recurring->created_ms = patching->old.created_ms;
    recurring->unknown = patching->old.unknown;
    patching->jobs.job.unknown = patching->jobs.old.unknown;
    patching->jobs.has_url = patching->job_values.of[JOB_URL].size > 0;
    job_errors_clear(&patching->job_errors);
    job_patch_check_hidden(&patching->old_job_values, &patching->job_values, &patching->jobs,
                           &patching->job_errors);
    add_job_errors(&patching->job_errors, errors);
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
    buffer_init_fallible(&patching.plain, JOB_RECORD_MAX);
    if (patching.jobs.old.opened.data) { /* the job is sealed */
        buffer_append_byte(&patching.plain, '{');
        job_write_plain(&patching.jobs.old, &patching.plain);
        patching.old.job = buffer_slice(&patching.plain);
    }
    buffer_init_fallible(&patching.job_text, patching.old.job.size + patch.size + JOB_URL_MAX);
    enum status status = patching.jobs.old.lacks.size ? STATUS_LACKING : job_parse_document(patch, errors);
    if (patching.plain.failed)
        status = STATUS_NO_MEMORY;
    if (status == STATUS_OK)
        status = patch_old(&patching, record, patch, now_ms, text, recurring, errors);
    if (status == STATUS_OK)
        *job = patching.jobs.job;
    buffer_fini(&patching.job_text);
    buffer_fini(&patching.plain);
    job_fini(&patching.jobs.old);
    recurring_fini(&patching.old);
    return status;
}
