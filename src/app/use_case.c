#include "app/app_private.h"

#include "app/jobs.h"
#include "io/local_address.h"
#include "io/time_zones.h"
#include "job/delivery/callback.h"
#include "job/job_id.h"
#include "job/job_parse.h"
#include "job/target/url.h"
#include "job/text/job_errors.h"
#include "job/text/json.h"
#include "job/topic/topic_patterns.h"
#include "store/store.h"

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

bool app_resolve_due(const struct app *app, struct job *job, struct job_errors *errors)
{
    const struct time_zone *zone;
    struct problem problem;
    if (!job->is_due_local) {
        if (job->timezone.size)
            job_errors_add(errors, "timezone", "is for a dueAt without an offset from UTC");
        return job->timezone.size == 0;
    }
    if (time_zones_find(app->zones, job->timezone, &zone, &problem) != STATUS_OK) {
        job_errors_add(errors, "timezone", problem.text);
        return false;
    }
    int64_t local_s = job->due_at_ms / 1000;
    job->due_at_ms = 1000 * time_zone_to_utc(zone, local_s) + job->due_at_ms % 1000;
    job->is_due_local = false;
    return true;
}

enum status app_parse_job(const struct app *app, struct slice id, struct slice text, struct job *job,
                          struct job_errors *errors)
{
    int64_t now_ms = app_now_ms(app);
    enum status status =
        id.size ? job_parse_named(id, text, now_ms, job, errors) : job_parse(text, now_ms, job, errors);
    if (status == STATUS_OK && !app_resolve_due(app, job, errors)) {
        job_fini(job);
        status = STATUS_INVALID;
    }
    return status;
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

struct app_verdict use_case_verdict(const struct app *app, struct slice id, enum status status,
                                    struct problem *why)
{
    struct app_verdict verdict = {.end = status};
    if (status == STATUS_UNAVAILABLE || status == STATUS_INVALID || status == STATUS_REPLACED ||
        status == STATUS_FAILED) { /* the caller's input is valid, so Redis did not answer as it should */
        verdict.end = STATUS_UNAVAILABLE;
        if (is_ready(app->store, id, why))
            problem_set(why, "Redis is unavailable at the moment");
        verdict.why = slice_of(why->text);
    }
    return verdict;
}

void use_case_end(const struct app *app, struct slice id, enum status status, const struct stored_job *job,
                  app_verdict_fn *fn, void *arg)
{
    struct problem why;
    if (status == STATUS_NO_URL) {
        use_case_refuse_field("url", "is required, because neither the job nor its topic has a url", fn, arg);
        return;
    }
    struct app_verdict verdict = use_case_verdict(app, id, status, &why);
    if (job)
        verdict.job = *job;
    if (status == STATUS_QUOTA)
        verdict.quota = *store_quota(app->store, id);
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

/* ---- targets ---- */

static bool is_allowed(const struct app *app, const struct url *url, const struct address *address,
                       char why[TARGET_WHY_SIZE])
{
    const struct target_policy *targets = app->targets;
    bool is_local =
        target_policy_asks_local(targets, url->port) && address_is_local(address->is_v6, address->bytes);
    bool is_own = target_policy_refuses(targets, address, url->port, is_local) ||
                  store_is_redis(app->store, address, url->port);
    if (!is_own && target_policy_permits(targets, url->host, address, url->port, is_local))
        return true;
    if (is_own)
        target_explain_ours(address, url->port, why);
    else
        target_explain(address, why);
    return false;
}

/* Returns whether localhost is allowed. localhost always means this host, and no name server is asked (RFC
 * 6761, 6.3). It is allowed if its IPv4 address or its IPv6 address is allowed. */
static bool is_localhost_allowed(const struct app *app, const struct url *url, char why[TARGET_WHY_SIZE])
{
    static const struct address v4 = {false, {127, 0, 0, 1}}, v6 = {true, {[15] = 1}};
    return is_allowed(app, url, &v6, why) || is_allowed(app, url, &v4, why);
}

bool target_is_allowed(const struct app *app, struct slice text, char why[TARGET_WHY_SIZE])
{
    struct url url;
    const char *detail;
    if (url_parse(text, &url, &detail) != STATUS_OK)
        return true; /* a job without a url is allowed, because the topic's url was checked when it was set */
    if (url.host_is_address)
        return is_allowed(app, &url, &url.address, why);
    return !url_host_is_localhost(url.host) || is_localhost_allowed(app, &url, why);
}

bool target_is_callback_allowed(const struct app *app, struct slice value, char why[TARGET_WHY_SIZE])
{
    struct callback callback;
    if (value.size == 0 || !callback_read(value, &callback))
        return true;
    bool is_allowed = target_is_allowed(app, callback.url, why);
    callback_fini(&callback);
    return is_allowed;
}

const char *target_refused_member(const struct app *app, const struct job *job, char why[TARGET_WHY_SIZE])
{
    if (!target_is_allowed(app, job->url, why))
        return "url";
    if (!target_is_callback_allowed(app, job->on_delivered, why))
        return "onDelivered";
    if (!target_is_callback_allowed(app, job->on_dead, why))
        return "onDead";
    return target_is_callback_allowed(app, job->on_attempt, why) ? NULL : "onAttempt";
}

/* ---- the record of a job, which may be damaged ---- */

static bool is_deliverable(const struct job *job)
{
    struct url url;
    const char *ignored;
    return job->url.size == 0 || job->lacks.size || url_parse(job->url, &url, &ignored) == STATUS_OK;
}

bool app_job_read(const struct stored_job *stored, struct job *job)
{
    /* Answers contain the body unchanged, and all other members as they were read. */
    if (job_read_checked(stored->id, stored->record, job) == STATUS_OK) {
        if (is_deliverable(job))
            return true;
        job_fini(job);
    }
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS, .reason = SLICE("unreadable")};
    job_key_parse(stored->id, &job->topic, &job->job_id);
    return false;
}

bool app_job_lacks_body(const struct stored_job *stored, const struct job *job)
{
    struct json_cursor cursor;
    struct slice key, value;
    if (stored->is_body_left_out)
        return true;
    if (job->body.size || job->has_body_base64 || !json_open(stored->record, &cursor))
        return false;
    while (json_next_member(&cursor, &key, &value))
        if (slice_equal(key, SLICE("\"bodyLeftOut\"")))
            return slice_equal(value, SLICE("true"));
    return false;
}

/* All code that makes a job dead writes the reason into the record, except recover.lua, which cannot. So
 * if a record has no reason, recover.lua has found the job's consumer lost; or the job has died just now by
 * its expiry, and is not ended yet (read.lua). */
struct slice app_job_reason(const struct job *job, int64_t at_ms)
{
    bool is_expired = job_expires_ms(job, job->created_ms) == at_ms;
    return job->reason.size ? job->reason : is_expired ? SLICE("expired") : SLICE("consumer_lost");
}
