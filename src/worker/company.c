#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/target/receiver.h"
#include "worker/attempt_private.h"

enum {
    ELEMENT_BYTES = 1024, /* room for the other members of a job in the body of the request */
    HEADERS_MAX = 32 * 1024,
};

struct company {
    size_t count, size_max;
    struct attempt *members[TOPIC_BATCH_SIZE_MAX];
    size_t bytes, bytes_max; /* size of the records */
    bool may_share;          /* other jobs may join */
    struct permit permit;
    struct identity_use identity;
    struct buffer body, header_text;
    struct http_call *call;
};

static struct attempt *leader_of(const struct company *company)
{
    return company->members[0];
}

static void company_free(struct company *company)
{
    if (company->call)
        http_call_abort(company->call);
    permit_drop(&company->permit);
    identity_drop(&company->identity);
    buffer_fini(&company->body);
    buffer_fini(&company->header_text);
    free(company);
}

/* Takes a member, whose attempt then ends by itself. */
static struct attempt *take_member(struct company *company, size_t i)
{
    struct attempt *attempt = company->members[i];
    attempt->company = NULL;
    attempt->used_identity = &attempt->identity;
    return attempt;
}

/* ---- ends ---- */

static void end_all(struct company *company, enum ending_cause cause)
{
    for (size_t i = 0; i < company->count; i++)
        attempt_end_by(take_member(company, i), cause);
    company_free(company);
}

/* All jobs are held as one job would be: they come back together. */
static void hold_all(struct company *company, int64_t hold_ms)
{
    for (size_t i = 0; i < company->count; i++) {
        struct attempt *attempt = take_member(company, i);
        if (company->permit.held_by)
            attempt->held_by = slice_dup(slice_of(company->permit.held_by));
        attempt_hold(attempt, ENDING_CAUSE_HELD, hold_ms);
    }
    company_free(company);
}

static void hold_by_identity(struct company *company, int64_t wait_ms)
{
    metrics_count(leader_of(company)->context->metrics, METRICS_COUNTER_HELD_BY_IDENTITY, company->count);
    hold_all(company, wait_ms);
}

static void company_on_done(void *arg, const struct http_outcome *http)
{
    struct company *company = arg;
    bool was_sent = http->error != FAILURE_UNSENT && http->error != FAILURE_CROWDED;
    bool is_broken = http->is_answer_cut && http->answer.size < HTTP_LARGE_ANSWER_MAX;
    bool is_split = http->error == FAILURE_NONE && http->status / 100 == 2 &&
                    (batch_has_results(http->answer) || (is_broken && batch_may_have_results(http->answer)));
    struct batch_results results = {.count = 0};
    company->call = NULL;
    if (http->certificate_until_ms)
        receivers_note_certificate(leader_of(company)->context->receivers, &leader_of(company)->url,
                                   http->certificate_until_ms);
    if (identity_is_revoked(&company->identity, http)) {
        hold_by_identity(company, 0);
        return;
    }
    if (is_split)
        batch_results_read(http->answer, http->is_answer_cut, &results);
    if (was_sent) {
        struct attempt_result result = attempt_result_of(http, leader_of(company)->claimed_ms);
        permit_end(&company->permit, &result);
    }
    for (size_t i = 0; i < company->count; i++) {
        struct attempt *attempt = take_member(company, i);
        struct batch_result own;
        if (is_split)
            batch_result_of(&results, attempt->job.job_id, &own);
        attempt->was_in_company = true;
        attempt_end_by_outcome(attempt, http, is_split ? &own : NULL);
    }
    batch_results_fini(&results);
    company_free(company);
}

/* ---- the request ---- */

static bool company_may_send(void *arg)
{
    const struct company *company = arg;
    int64_t now_us = clock_boot_us();
    for (size_t i = 0; i < company->count; i++)
        if (!attempt_may_send_at(company->members[i], now_us))
            return false; /* all are claimed again, without the one that is lost or cancelled */
    return true;
}

static bool company_may_connect(void *arg, const struct sockaddr *address)
{
    const struct company *company = arg;
    return attempt_may_connect(leader_of(company), address);
}

static bool write_body(struct company *company)
{
    buffer_reserve(&company->body, company->bytes + company->count * ELEMENT_BYTES);
    batch_body_begin(&company->body);
    for (size_t i = 0; i < company->count; i++)
        batch_body_add(&company->body, &company->members[i]->job, company->members[i]->job.attempts + 1);
    batch_body_end(&company->body);
    return !company->body.failed;
}

static void company_send(struct company *company)
{
    struct attempt *leader = leader_of(company);
    struct header_lines lines = {.text = &company->header_text};
    struct slice headers[HEADER_LINES_MAX];
    if (!write_body(company)) {
        end_all(company, ENDING_CAUSE_NO_MEMORY);
        return;
    }
    attempt_write_headers(leader, buffer_slice(&company->body), company->count, &lines);
    if (company->header_text.failed) {
        end_all(company, ENDING_CAUSE_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < lines.count; i++)
        headers[i] = header_lines_at(&lines, i);
    struct http_call_request request = {
        .url = topic_defaults_url(leader->settings, &leader->job),
        .headers = headers,
        .header_count = lines.count,
        .body = buffer_slice(&company->body),
        .timeout_ms = topic_defaults_timeout_ms(leader->settings, &leader->job),
        .needs_fresh = permit_is_probe(&company->permit) || leader->job.last_attempt.error == FAILURE_RESET,
        .wants_large_answer = true,
        .needs_large_answer = true,
        .may_connect = company_may_connect,
        .may_send = company_may_send,
        .on_done = company_on_done,
        .arg = company,
    };
    for (size_t i = 0; i < company->count; i++)
        attempt_move(company->members[i], ATTEMPT_SENDING);
    company->call = http_call(identity_client(&company->identity, leader->context->identities), &request);
}

/* ---- the permit ---- */

static void on_permit(void *arg, int64_t wait_ms)
{
    struct company *company = arg;
    if (wait_ms < 0)
        company_send(company);
    else
        hold_all(company, wait_ms);
}

static void company_ask_permit(struct company *company)
{
    struct attempt *leader = leader_of(company);
    char name[RECEIVER_NAME_SIZE];
    if (!attempt_needs_permit(leader)) {
        company_send(company);
        return;
    }
    receiver_path_name(&leader->url, name);
    enum permit_answer answer =
        permit_ask(&company->permit, leader->context->receivers, name, on_permit, company);
    if (answer != PERMIT_ASKED)
        on_permit(company, answer == PERMIT_GIVEN ? -1 : company->permit.wait_ms);
}

/* ---- the identity ---- */

static void on_identity(void *arg, int64_t wait_ms)
{
    struct company *company = arg;
    if (wait_ms < 0)
        company_ask_permit(company);
    else
        hold_by_identity(company, wait_ms);
}

static void company_go(struct company *company)
{
    struct attempt *leader = leader_of(company);
    enum identity_answer answer = identity_ask(&company->identity, leader->context->identities,
                                               leader->settings, &leader->url, on_identity, company);
    leader->used_identity = &company->identity;
    if (answer != IDENTITY_ASKED)
        on_identity(company, answer == IDENTITY_READY ? -1 : company->identity.wait_ms);
}

/* ---- gathering ---- */

/* Returns whether the job may be sent with others: it has nothing of its own that a request has once. */
static bool may_share(const struct job *job)
{
    return job->url.size == 0 && job->header_count == 0 && !job->has_timeout && !job->is_alone &&
           job->trace_parent.size == 0;
}

static struct company *company_new(const struct attempt *attempt)
{
    const struct topic_settings *settings = attempt->settings;
    struct company *company = NEW(struct company);
    company->may_share = may_share(&attempt->job);
    company->size_max = company->may_share ? (size_t)settings->batch_size : 1;
    company->bytes_max = settings->batch_bytes ? (size_t)settings->batch_bytes : TOPIC_BATCH_BYTES;
    buffer_init_fallible(&company->body, TOPIC_BATCH_BYTES_MAX + JOB_RECORD_MAX);
    buffer_init(&company->header_text, HEADERS_MAX);
    return company;
}

static bool has_room_for(const struct company *company, const struct attempt *attempt)
{
    const struct job *first = &leader_of(company)->job, *job = &attempt->job;
    return company->count < company->size_max && company->bytes + attempt->bytes <= company->bytes_max &&
           may_share(job) && slice_equal(first->topic, job->topic) && slice_equal(first->key, job->key);
}

void company_gather(struct company **company, struct attempt *attempt)
{
    bool is_for_batch = attempt && attempt->state == ATTEMPT_GATHERED;
    if (*company && !(is_for_batch && has_room_for(*company, attempt))) {
        company_go(*company);
        *company = NULL;
    }
    if (!is_for_batch)
        return;
    if (!*company)
        *company = company_new(attempt);
    (*company)->members[(*company)->count++] = attempt;
    (*company)->bytes += attempt->bytes;
    attempt->company = *company;
}

/* ---- in any state ---- */

void company_cut(struct attempt *attempt)
{
    struct company *company = attempt->company;
    if (!company) {
        attempt_cut(attempt);
        return;
    }
    if (company->call && http_call_hurry(company->call))
        return; /* company_on_done follows */
    end_all(company, ENDING_CAUSE_UNSENT);
}

void company_leave(struct attempt *attempt)
{
    struct company *company = attempt->company;
    size_t i = 0;
    if (!company)
        return;
    while (company->members[i] != attempt)
        i++;
    take_member(company, i);
    company->members[i] = company->members[--company->count];
    if (company->count == 0)
        company_free(company);
}
