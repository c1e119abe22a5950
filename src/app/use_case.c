#include "app/use_case.h"

#include "app/target_check.h"
#include "job/job_id.h"
#include "job/text/job_errors.h"
#include "job/topic/topic_patterns.h"

bool app_caller_reaches(const struct app_caller *caller, struct slice topic)
{
    return caller->topics.size == 0 || topic_patterns_match(caller->topics, topic);
}

bool app_caller_reaches_group(const struct app_caller *caller, struct slice group)
{
    if (topic_is_sibling(group)) /* a group of a form of delivery (delivery_form.h) is named like a sibling
                                    topic, so the right to this topic decides */
        return app_caller_reaches(caller, group);
    return caller->groups.size ? topic_patterns_match(caller->groups, group) : caller->topics.size == 0;
}

void use_case_count_accepted(const struct app *app, struct slice id)
{
    struct slice topic, job_id;
    slice_cut(id, '/', &topic, &job_id);
    metrics_accepted(app->metrics, topic);
}

int64_t app_now_ms(const struct app *app)
{
    return store_now_ms(app->store);
}

void use_case_refuse(enum status end, app_verdict_fn *fn, void *arg)
{
    fn(arg, &(struct app_verdict){.end = end});
}

void use_case_refuse_field(const char *field, const char *detail, app_verdict_fn *fn, void *arg)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    job_errors_add(&errors, field, detail);
    fn(arg, &(struct app_verdict){.end = STATUS_INVALID, .errors = &errors});
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
    struct app_verdict verdict = {.end = status};
    struct problem why;
    if (status == STATUS_NO_URL) {
        use_case_refuse_field("url", "is required, because neither the job nor its topic has a url", fn, arg);
        return;
    }
    if (job)
        verdict.job = *job;
    if (status == STATUS_UNAVAILABLE || status == STATUS_INVALID || status == STATUS_REPLACED ||
        status == STATUS_FAILED) { /* the caller's input is valid, so Redis did not answer as it should */
        verdict.end = STATUS_UNAVAILABLE;
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
    fn(arg, &(struct app_verdict){.end = STATUS_UNAVAILABLE, .why = slice_of(why.text)});
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
    fn(arg, &(struct app_verdict){.end = STATUS_SIBLING, .topic = topic_owner(topic)});
    return true;
}
