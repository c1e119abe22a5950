#include "api/submission.h"

#include <assert.h>
#include <stdio.h>

#include "api/problem.h"
#include "api/target_check.h"
#include "api/view.h"
#include "base/clock.h"
#include "base/random.h"
#include "http/access.h"
#include "job/job_id.h"

enum { SPELLING_MAX = 4096, CONSEQUENCE_MAX = 320 };

void submission_init(struct submission *submission, struct exchange *exchange, struct slice text,
                     submission_fn *fn, void *arg)
{
    *submission = (struct submission){.exchange = exchange, .text = text, .fn = fn, .arg = arg};
    buffer_init_fallible(&submission->stored, JOB_RECORD_MAX);
}

void submission_fini(struct submission *submission)
{
    buffer_fini(&submission->stored);
}

/* ---- before it is sent ---- */

static unsigned write_no_memory(struct buffer *members)
{
    problem_write(members, "There is no memory for the job; nothing changed.");
    return 503;
}

/* 0: nothing stands against it. Else members say what does, and there is no job. */
static unsigned judge(const struct submission *submission, struct job *job, struct buffer *members)
{
    const struct api *api = api_of(submission->exchange);
    struct job_errors errors;
    struct problem why;
    char refusal[TARGET_WHY_SIZE];
    unsigned status = 0;
    switch (job_parse(submission->text, clock_wall_ms(), job, &errors)) {
    case STATUS_OK:
        break;
    case STATUS_NO_MEMORY:
        return write_no_memory(members);
    default:
        problem_write_errors(members, "job", &errors);
        return 400;
    }
    if (!access_has_topic(submission->exchange, job->topic)) {
        problem_write(members, "Token %s does not reach topic %.*s.", access_name(submission->exchange),
                      SLICE_ARG(job->topic));
        status = 403;
    } else if (!target_is_allowed(api, job->url, refusal)) {
        target_write_refused(members, refusal);
        status = 400;
    } else if (!store_is_ready_for(api->options.store, job->topic, &why)) {
        problem_write(members, "%s; nothing changed.", why.text);
        status = 503;
    }
    if (status)
        job_fini(job);
    return status;
}

/* For its key and its record: numbers and times may be spelt longer there. */
static bool make_room(struct submission *submission)
{
    buffer_reserve(&submission->stored, JOB_KEY_MAX + submission->text.size + SPELLING_MAX);
    return !submission->stored.failed;
}

bool submission_check(struct submission *submission, struct job *job, struct verdict *verdict)
{
    struct buffer *members = exchange_members(submission->exchange);
    unsigned status = judge(submission, job, members);
    if (status == 0 && !make_room(submission)) {
        job_fini(job);
        status = write_no_memory(members);
    }
    *verdict = (struct verdict){.status = status, .members = buffer_slice(members)};
    return status == 0;
}

/* ---- its outcome ---- */

static void say(const struct submission *submission, unsigned status, struct slice key,
                const struct buffer *members)
{
    submission->fn(submission->arg, &(struct verdict){status, key, buffer_slice(members)});
}

static void say_placed(const struct submission *submission, unsigned status, const struct store_job *job)
{
    struct buffer *members = exchange_members(submission->exchange);
    view_write_placed(members, job->id, job->state, job->at_ms);
    say(submission, status, job->id, members);
}

/* The id is taken: OK by the same job, EXISTS by another one. */
static enum status compare(const struct submission *submission, struct slice record)
{
    struct job asked, there;
    struct job_errors errors;
    bool is_same = false;
    enum status status = job_parse(submission->text, clock_wall_ms(), &asked, &errors);
    if (status != STATUS_OK)
        return status == STATUS_NO_MEMORY ? status : STATUS_EXISTS;
    if (job_read(submission->key, record, &there) == STATUS_OK) {
        is_same = job_is_same(&asked, &there);
        job_fini(&there);
    }
    job_fini(&asked);
    return is_same ? STATUS_OK : STATUS_EXISTS;
}

/* What repeating a request does whose outcome is unknown. */
static void tell_consequence(const struct submission *submission, char text[CONSEQUENCE_MAX])
{
    if (submission->once.size)
        snprintf(text, CONSEQUENCE_MAX, "Repeating it with the same Idempotency-Key is safe.");
    else if (submission->is_id_ours)
        snprintf(text, CONSEQUENCE_MAX,
                 "Repeating it without a jobId may schedule a second job; this one is %.*s.",
                 SLICE_ARG(submission->key));
    else
        snprintf(text, CONSEQUENCE_MAX, "Repeating the same request is safe: it schedules %.*s once.",
                 SLICE_ARG(submission->key));
}

static void say_failure(const struct submission *submission, enum status status)
{
    struct buffer *members = exchange_members(submission->exchange);
    char consequence[CONSEQUENCE_MAX];
    unsigned http_status = 422;
    tell_consequence(submission, consequence);
    if (status == STATUS_REUSED)
        problem_write(members, "This Idempotency-Key was used for another request.");
    else
        http_status = problem_write_status(members, api_of(submission->exchange), submission->key, status, consequence);
    say(submission, http_status, (struct slice){NULL, 0}, members);
}

static void say_exists(const struct submission *submission, const struct store_job *job)
{
    struct buffer *members;
    switch (compare(submission, job->record)) {
    case STATUS_OK:
        say_placed(submission, 200, job);
        break;
    case STATUS_NO_MEMORY:
        say_failure(submission, STATUS_NO_MEMORY);
        break;
    default:
        members = exchange_members(submission->exchange);
        problem_write_conflict(members, "Another job has this id.", job);
        say(submission, 409, (struct slice){NULL, 0}, members);
    }
}

static void on_scheduled(void *arg, enum status status, int64_t due_ms, const struct store_job *job)
{
    const struct submission *submission = arg;
    struct store_job placed = {.state = JOB_STATE_DELAYED, .id = submission->key, .at_ms = due_ms};
    struct slice topic, job_id;
    switch (status) {
    case STATUS_OK:
        job_key_parse(submission->key, &topic, &job_id);
        metrics_accepted(api_of(submission->exchange)->options.metrics, topic);
        say_placed(submission, 201, &placed);
        break;
    case STATUS_REPEATED:
        placed.id = job->id;
        say_placed(submission, 201, &placed);
        break;
    case STATUS_EXISTS:
        say_exists(submission, job);
        break;
    default:
        say_failure(submission, status);
    }
}

/* ---- sending it ---- */

static void name_job(struct submission *submission, struct job *job, char new_id[JOB_ID_NEW_SIZE])
{
    uint8_t random[10];
    submission->is_id_ours = job->job_id.size == 0;
    if (!submission->is_id_ours)
        return;
    random_fill(random, sizeof random);
    job_id_make(clock_wall_ms(), random, new_id);
    job->job_id = slice_from(new_id, JOB_ID_NEW_SIZE);
}

void submission_send(struct submission *submission, struct job *job)
{
    char new_id[JOB_ID_NEW_SIZE];
    struct buffer *stored = &submission->stored;
    name_job(submission, job, new_id);
    size_t key_size = job->topic.size + 1 + job->job_id.size;
    buffer_append(stored, job->topic);
    buffer_append_byte(stored, '/');
    buffer_append(stored, job->job_id);
    job_write(job, stored);
    assert(!stored->failed); /* see make_room */
    submission->key = slice_from(stored->data, key_size);
    struct store_schedule call = {
        .id = submission->key,
        .when = {job->has_due_at, job->has_due_at ? job->due_at_ms : job->delay_ms},
        .record = slice_skip(buffer_slice(stored), key_size),
        .once = submission->once,
    };
    store_schedule(api_of(submission->exchange)->options.store, &call, on_scheduled, submission);
}
