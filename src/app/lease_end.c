/* lease_end.c - ends leases for workers, and returns jobs whose worker did not receive them. */
#include <stdlib.h>

#include "app/app_private.h"
#include "app/lease.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "base/system.h"
#include "job/job_id.h"
#include "job/token.h"
#include "store/pull.h"

/* ---- ends ---- */

/* Names of the events in the log. */
static const char *const events[] = {
    [LEASE_END_COMPLETE] = "lease_completed", [LEASE_END_RETRY] = "lease_retried",
    [LEASE_END_BURY] = "lease_buried",        [LEASE_END_EXTEND] = "lease_extended",
    [LEASE_END_RELEASE] = "lease_released",
};

struct lease_ending {
    struct app *app;
    const struct app_caller *caller;
    struct lease_end what;
    struct retry_schedule schedule; /* a copy of the default retry schedule, because a reload frees the
                                       schedule in the options */
    app_lease_ended_fn *fn;
    void *arg;
};

static enum job_state state_after(enum lease_end_kind kind, const struct lease_ended *ended)
{
    switch (kind) {
    case LEASE_END_COMPLETE:
        return JOB_STATE_DELIVERED;
    case LEASE_END_RETRY:
        return ended->is_dead                 ? JOB_STATE_DEAD
               : ended->at_ms > ended->now_ms ? JOB_STATE_DELAYED
                                              : JOB_STATE_READY;
    case LEASE_END_BURY:
        return JOB_STATE_DEAD;
    case LEASE_END_EXTEND:
        return JOB_STATE_LEASED;
    case LEASE_END_RELEASE:
        break;
    }
    return JOB_STATE_READY;
}

static void on_refusal(void *arg, const struct app_verdict *verdict)
{
    struct lease_ending *ending = arg;
    ending->fn(ending->arg, verdict, NULL);
}

static void on_pull_ended(void *arg, enum status status, const struct lease_ended *found)
{
    struct lease_ending *ending = arg;
    struct app_verdict verdict = {.end = status_is_done(status) ? status : STATUS_NOT_HELD};
    audit_one_of_many(ending->caller, events[ending->what.kind], ending->what.id, status);
    if (status_is_done(status) || status == STATUS_STALE) {
        struct lease_ended ended = *found;
        if (status_is_done(status)) {
            ended.has_state = true;
            ended.state = state_after(ending->what.kind, found);
        }
        ending->fn(ending->arg, &verdict, &ended);
    } else {
        use_case_end(ending->app, ending->what.id, status, NULL, on_refusal, ending);
    }
    free(ending);
}

enum app_lease_right app_lease_admit(struct app *app, const struct lease_end *end)
{
    enum { OFTEN_PER_MINUTE = 60 };
    int64_t wait_ns;
    struct token_rate *rate = &app->token_rates[hash_of(end->token) % APP_TOKEN_RATES];
    if (!store_knows_token(app->store, end->id, end->token))
        return APP_LEASE_UNKNOWN;
    if (rate->period_ns == 0)
        *rate = (struct token_rate){.period_ns = INT64_C(60000000000),
                                    .step_ns = INT64_C(60000000000) / OFTEN_PER_MINUTE};
    return token_rate_take(rate, clock_boot_us() * 1000, &wait_ns) ? APP_LEASE_MAY_END : APP_LEASE_TOO_OFTEN;
}

void app_lease_end(struct app *app, const struct app_caller *caller, const struct lease_end *what,
                   app_lease_ended_fn *fn, void *arg)
{
    struct lease_ending *ending = NEW(struct lease_ending);
    *ending = (struct lease_ending){
        .app = app, .caller = caller, .what = *what, .schedule = *app->schedule, .fn = fn, .arg = arg};
    struct problem why;
    if (!store_is_recording_for(app->store, what->id, &why)) {
        fn(arg, &(struct app_verdict){.end = STATUS_UNAVAILABLE, .why = slice_of(why.text)}, NULL);
        free(ending);
        return;
    }
    ending->what.schedule = &ending->schedule;
    store_pull_end(app->store, &ending->what, on_pull_ended, ending);
}

/* ---- answers ---- */

enum { GRANT_IDS_MAX = LEASE_JOBS_MAX * JOB_KEY_MAX };

struct app_grant {
    struct app *app;
    struct buffer text; /* the token, then the ids */
    size_t token_bytes;
    size_t id_bytes[LEASE_JOBS_MAX];
    size_t count;
    size_t pending; /* jobs whose release is under way */
    bool is_kept;
};

static void grant_free(struct app_grant *grant)
{
    buffer_fini(&grant->text);
    free(grant);
}

struct app_grant *app_grant_new(struct app *app, const struct app_leased *leased)
{
    struct app_grant *grant = NEW(struct app_grant);
    grant->app = app;
    grant->count = leased->count;
    grant->is_kept = leased->is_kept;
    grant->token_bytes = leased->token.size;
    buffer_init(&grant->text, leased->token.size + GRANT_IDS_MAX);
    buffer_append(&grant->text, leased->token);
    for (size_t i = 0; i < leased->count; i++) {
        grant->id_bytes[i] = leased->jobs[i].id.size;
        buffer_append(&grant->text, leased->jobs[i].id);
    }
    return grant;
}

static void on_returned(void *arg, enum status status, const struct lease_ended *ended)
{
    struct app_grant *grant = arg;
    (void)ended;
    if (status_is_done(status))
        metrics_count(grant->app->metrics, METRICS_COUNTER_LEASES_RETURNED, 1);
    else
        log_debug("lease_not_returned",
                  /* A failed release needs no handling: the job comes back when its lease expires. */
                  LOG_NUMBER("status", status));
    if (--grant->pending == 0)
        grant_free(grant);
}

void app_grant_end(struct app_grant *grant, bool was_sent)
{
    /* If the request had an idempotency key, the leases are kept, because the worker can get them with a
     * second request. If the store is NULL, the process is ending. */
    if (was_sent || grant->is_kept || grant->count == 0 || !grant->app->store) {
        grant_free(grant);
    } else {
        struct slice text = buffer_slice(&grant->text);
        struct lease_end end = {.kind = LEASE_END_RELEASE,
                                .token = slice_from(text.data, grant->token_bytes)};
        text = slice_skip(text, grant->token_bytes);
        grant->pending = grant->count;
        log_info("leases_returned", LOG_TEXT("why", "the worker did not get the answer"),
                 LOG_NUMBER("jobs", grant->count));
        for (size_t i = 0; i < grant->count; i++) {
            end.id = slice_from(text.data, grant->id_bytes[i]);
            text = slice_skip(text, end.id.size);
            store_pull_end(grant->app->store, &end, on_returned, grant);
        }
    }
}
