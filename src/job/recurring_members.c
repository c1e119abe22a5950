/* recurring_members.c - the table of a definition's members, and additional rules for them. */
#include "job/recurring_members.h"

#include "base/time_zone.h"
#include "base/timestamp.h"
#include "job/job_id.h"
#include "job/job_members.h"
#include "job/job_parse.h"
#include "job/json.h"
#include "job/member.h"

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
    static const char *const names[] = {"topic", "jobId", "delay", "dueAt", "expiresAt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_equal(name, slice_of(names[i])))
            return true;
    return false;
}

static void refuse_members(struct slice text, struct job_errors *errors)
{
    struct member_values values;
    members_find(&job_members, MEMBER_SENT, text, &values, NULL);
    for (size_t i = 0; i < job_members.count; i++)
        if (values.of[i].size && !member_is_null(values.of[i]) && is_refused(job_members.rows[i].name))
            job_errors_add_named(errors, "", job_members.rows[i].name, "cannot be set in a schedule's job");
}

void recurring_add_job_errors(const struct job_errors *from, struct job_errors *to)
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
    struct job_errors errors;
    if (!rules)
        return;
    job_errors_clear(&errors);
    *rules->status = STATUS_INVALID;
    if (recurring->job.size == 0 || recurring->job.data[0] != '{') {
        recurring_refuse(parse, member, "must be an object: a job without topic, jobId, delay and dueAt");
        return;
    }
    refuse_members(recurring->job, &errors);
    *rules->status = job_parse_template(rules->topic, recurring->job, rules->now_ms, rules->job, &errors);
    recurring_add_job_errors(&errors, parse->errors);
}

static bool is_group_sound(const void *of)
{
    const struct recurring *recurring = of;
    return topic_is_valid(recurring->group); /* for some forms (form.h), the group is a sibling topic */
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
    [RECURRING_MISFIRE] = {NAMED("misfire"), MEMBER_TEXT, EVERYWHERE, FIELD(misfire_word),
                           HAS(misfire_word.size), .check = check_misfire},
    [RECURRING_OVERLAP] = {NAMED("overlap"), MEMBER_TEXT, EVERYWHERE, FIELD(overlap_word),
                           HAS(overlap_word.size), .check = check_overlap},
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
