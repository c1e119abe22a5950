#include "app/use_case.h"

#include "app/target_check.h"
#include "job/job_errors.h"
#include "job/job_id.h"
#include "job/topic_patterns.h"

bool app_caller_reaches(const struct app_caller *caller, struct slice topic)
{
    return caller->topics.size == 0 || topic_patterns_match(caller->topics, topic);
}

bool app_caller_reaches_group(const struct app_caller *caller, struct slice group)
{
    if (topic_is_sibling(group)) /* a group of a form of delivery (form.h) is named like a sibling topic, so
                                    the right to this topic decides */
        return app_caller_reaches(caller, group);
    return caller->groups.size ? topic_patterns_match(caller->groups, group) : caller->topics.size == 0;
}

void use_case_count_accepted(const struct app *app, struct slice id)
{
    struct slice topic, job_id;
    slice_cut(id, '/', &topic, &job_id);
    metrics_accepted(app->metrics, topic);
}

static enum app_end end_of(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return APP_DONE;
    case STATUS_EXISTS:
        return APP_EXISTS;
    case STATUS_REPEATED:
        return APP_REPEATED;
    case STATUS_REUSED:
        return APP_KEY_REUSED;
    case STATUS_NOT_FOUND:
        return APP_NOT_FOUND;
    case STATUS_LEASED:
        return APP_LEASED;
    case STATUS_EXPIRED:
        return APP_EXPIRED;
    case STATUS_NO_URL:
        return APP_INVALID;
    case STATUS_NOT_PULL:
        return APP_NOT_PULL;
    case STATUS_UNREADABLE:
        return APP_UNREADABLE;
    case STATUS_LACKING:
        return APP_LACKING;
    case STATUS_STALE:
        return APP_MISMATCH;
    case STATUS_FULL:
        return APP_FULL;
    case STATUS_NO_MEMORY:
        return APP_NO_MEMORY;
    case STATUS_UNKNOWN:
        return APP_UNKNOWN;
    case STATUS_UNDURABLE:
        return APP_UNDURABLE;
    default:
        return APP_UNAVAILABLE;
    }
}

int64_t app_now_ms(const struct app *app)
{
    return store_now_ms(app->store);
}

void use_case_refuse(enum app_end end, app_verdict_fn *fn, void *arg)
{
    fn(arg, &(struct app_verdict){.end = end});
}

void use_case_refuse_field(const char *field, const char *detail, app_verdict_fn *fn, void *arg)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    job_errors_add(&errors, field, detail);
    fn(arg, &(struct app_verdict){.end = APP_INVALID, .errors = &errors});
}

void use_case_refuse_expiry(bool has_ttl, app_verdict_fn *fn, void *arg)
{
    use_case_refuse_field(has_ttl ? "ttl" : "expiresAt", JOB_EXPIRES_TOO_SOON, fn, arg);
}

static bool is_ready(const struct store *store, struct slice id, struct problem *why)
{
    return id.size ? store_is_ready_for(store, id, why) : store_is_ready(store, why);
}

void use_case_end(const struct app *app, struct slice id, enum status status, const struct stored_job *job,
                  app_verdict_fn *fn, void *arg)
{
    struct app_verdict verdict = {.end = end_of(status)};
    struct problem why;
    if (status == STATUS_NO_URL) {
        use_case_refuse_field("url", "is required, because neither the job nor its topic has a url", fn, arg);
        return;
    }
    if (job)
        verdict.job = *job;
    if (verdict.end == APP_UNAVAILABLE) {
        if (is_ready(app->store, id, &why))
            problem_set(&why, "Redis is unavailable at the moment");
        verdict.why = slice_of(why.text);
    }
    fn(arg, &verdict);
}

bool use_case_is_unready(const struct app *app, struct slice id, app_verdict_fn *fn, void *arg)
{
    struct problem why;
    if (is_ready(app->store, id, &why))
        return false;
    fn(arg, &(struct app_verdict){.end = APP_UNAVAILABLE, .why = slice_of(why.text)});
    return true;
}

bool use_case_is_target_refused(const struct app *app, const struct job *job, app_verdict_fn *fn, void *arg)
{
    char why[TARGET_WHY_SIZE];
    const char *member = target_refused_member(app, job, why);
    if (member)
        use_case_refuse_field(member, why, fn, arg);
    return member != NULL;
}

bool use_case_is_sibling(struct slice id, app_verdict_fn *fn, void *arg)
{
    struct slice topic, job_id;
    slice_cut(id, '/', &topic, &job_id);
    if (!topic_is_sibling(topic))
        return false;
    fn(arg, &(struct app_verdict){.end = APP_SIBLING, .topic = topic_owner(topic)});
    return true;
}
