#include "app/jobs.h"

#include <assert.h>

#include "app/app_private.h"
#include "base/seal.h"
#include "app/wait.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/job_id.h"

enum { SPELLING_MAX = 4096, GATE_MAX = 2048 };

void app_submission_init(struct app_submission *submission, struct app *app, app_verdict_fn *fn, void *arg)
{
    *submission = (struct app_submission){.app = app, .fn = fn, .arg = arg};
    buffer_init_fallible(&submission->stored, JOB_RECORD_MAX);
    buffer_init(&submission->gate, GATE_MAX);
}

void app_submission_fini(struct app_submission *submission)
{
    buffer_fini(&submission->stored);
    buffer_fini(&submission->gate);
}

/* ---- before sending ---- */

bool app_submission_admit(struct app_submission *submission, const struct app_caller *caller,
                          const struct job *job, size_t text_bytes)
{
    if (!app_caller_reaches(caller, job->topic)) {
        submission->fn(submission->arg,
                       &(struct app_verdict){.end = STATUS_NOT_REACHED, .topic = job->topic});
        return false;
    }
    if (use_case_is_target_refused(submission->app, job, submission->fn, submission->arg) ||
        use_case_is_unready(submission->app, job->topic, submission->fn, submission->arg))
        return false;
    /* Reserves room for the id and the record. The record may be longer than the request, because it may
     * write numbers and times with more characters. */
    size_t bytes = text_bytes + SPELLING_MAX;
    buffer_reserve(&submission->stored, JOB_KEY_MAX + bytes + (seal_is_on() ? SEAL_SIZE(bytes) : 0));
    if (submission->stored.failed) {
        use_case_refuse(STATUS_NO_MEMORY, submission->fn, submission->arg);
        return false;
    }
    return true;
}

/* ---- outcome ---- */

static struct slice record_of(const struct app_submission *submission)
{
    return slice_skip(buffer_slice(&submission->stored), submission->id.size);
}

/* Reads the job of this submission from its record. The record still lacks its beginning, the opening
 * brace and createdAt, which the script writes. */
static enum status read_sent(const struct app_submission *submission, struct buffer *text, struct job *job)
{
    struct slice record = record_of(submission);
    buffer_init_fallible(text, record.size + JOB_OPENING_MAX);
    buffer_append(text, SLICE("{\"createdAt\":1,"));
    buffer_append(text, record);
    return text->failed ? STATUS_NO_MEMORY : job_read(submission->id, buffer_slice(text), job);
}

/* Compares the stored job that has this id with the job that the client sent. Returns OK if they are equal,
 * and EXISTS if not. */
static enum status compare_jobs(const struct app_submission *submission, struct slice record)
{
    struct job sent, there;
    struct buffer text;
    bool is_same = false;
    enum status status = read_sent(submission, &text, &sent);
    if (status == STATUS_OK) {
        if (job_read(submission->id, record, &there) == STATUS_OK) {
            is_same = job_is_same(&sent, &there);
            job_fini(&there);
        }
        job_fini(&sent);
    }
    buffer_fini(&text);
    return status == STATUS_NO_MEMORY ? status : is_same ? STATUS_OK : STATUS_EXISTS;
}

static void end_same(const struct app_submission *submission)
{
    submission->fn(submission->arg, &(struct app_verdict){.end = STATUS_SAME, .job = submission->same});
}

static void on_kept(void *arg, enum status status, int64_t due_ms, const struct stored_job *job)
{
    const struct app_submission *submission = arg;
    (void)due_ms;
    if (status == STATUS_OK || status == STATUS_REPEATED)
        end_same(submission);
    else
        use_case_end(submission->app, submission->id, status, job, submission->fn, submission->arg);
}

static void end_exists(struct app_submission *submission, const struct stored_job *job)
{
    enum status status = compare_jobs(submission, job->record);
    submission->same = (struct stored_job){.id = submission->id, .state = job->state, .at_ms = job->at_ms};
    if (status != STATUS_OK) {
        use_case_end(submission->app, submission->id, status, job, submission->fn, submission->arg);
    } else if (submission->once.size) {
        /* Stores the answer under the idempotency key before the answer is sent. Otherwise, if the client did
         * not get the answer and the job had already ended, a repeated request would schedule the job a
         * second time. */
        struct store_schedule call = {.id = submission->id,
                                      .when = {true, submission->same.at_ms},
                                      .record = SLICE(""),
                                      .once = submission->once};
        store_schedule(submission->app->store, &call, on_kept, submission);
    } else {
        end_same(submission);
    }
}

static void on_scheduled(void *arg, enum status status, int64_t due_ms, const struct stored_job *job)
{
    struct app_submission *submission = arg;
    struct stored_job placed = {.state = JOB_STATE_DELAYED, .id = submission->id, .at_ms = due_ms};
    struct slice topic, job_id;
    if (status == STATUS_EXISTS) {
        end_exists(submission, job);
        return;
    }
    if (status == STATUS_OK) {
        job_key_parse(submission->id, &topic, &job_id);
        metrics_accepted(submission->app->metrics, topic);
    } else if (status == STATUS_REPEATED || status == STATUS_THROTTLED) {
        placed.id = job->id;
        metrics_count(submission->app->metrics, METRICS_COUNTER_THROTTLED, status == STATUS_THROTTLED);
    } else if (status == STATUS_EXPIRED) {
        use_case_refuse_expiry(submission->has_ttl, submission->fn, submission->arg);
        return;
    }
    use_case_end(submission->app, submission->id, status, &placed, submission->fn, submission->arg);
}

/* ---- sending ---- */

void app_submission_write(struct app_submission *submission, struct job *job)
{
    char new_id[JOB_ID_NEW_SIZE];
    struct buffer *stored = &submission->stored;
    uint8_t random[10];
    submission->is_id_new = job->job_id.size == 0;
    if (submission->is_id_new) {
        random_fill(random, sizeof random);
        job_id_make(clock_wall_ms(), random, new_id);
        job->job_id = slice_from(new_id, JOB_ID_NEW_SIZE);
    }
    size_t id_size = job->topic.size + 1 + job->job_id.size;
    buffer_append(stored, job->topic);
    buffer_append_byte(stored, '/');
    buffer_append(stored, job->job_id);
    job_write(job, stored);
    assert(!stored->failed); /* app_submission_admit has reserved enough memory */
    submission->id = slice_from(stored->data, id_size);
    submission->has_due_at = job->has_due_at;
    submission->has_ttl = job->has_ttl;
    submission->when_ms = job->has_due_at ? job->due_at_ms : job->delay_ms;
    if (job->throttle_key.size) {
        buffer_append(&submission->gate, submission->once.size ? submission->once : SLICE("-"));
        job_write_throttle(job, &submission->gate);
    }
    if (job->debounce_key.size)
        job_write_debounce(job, &submission->gate);
}

static struct store_schedule call_of(const struct app_submission *submission)
{
    return (struct store_schedule){
        .id = submission->id,
        .when = {submission->has_due_at, submission->when_ms},
        .record = record_of(submission),
        .once = submission->gate.size ? buffer_slice(&submission->gate) : submission->once,
    };
}

static void on_debounced(void *arg, enum status status, const struct store_replaced *place)
{
    struct app_submission *submission = arg;
    struct slice topic, job_id;
    if (status == STATUS_EXPIRED) {
        use_case_refuse_expiry(submission->has_ttl, submission->fn, submission->arg);
        return;
    }
    if (status != STATUS_OK) {
        use_case_end(submission->app, submission->id, status, NULL, submission->fn, submission->arg);
        return;
    }
    job_key_parse(submission->id, &topic, &job_id);
    if (place->was_there)
        metrics_count(submission->app->metrics, METRICS_COUNTER_DEBOUNCED, 1);
    else
        metrics_accepted(submission->app->metrics, topic);
    submission->fn(
        submission->arg,
        &(struct app_verdict){.end = place->was_there ? STATUS_DEBOUNCED : STATUS_OK,
                              .job = {.id = place->id, .state = JOB_STATE_DELAYED, .at_ms = place->due_ms}});
}

/* A job with debounce replaces the one before, so a repeated request schedules no second job while the first
 * one waits, and the idempotency key of the request does not count. */
static void send_debounced(struct app_submission *submission)
{
    struct store_replace call = {
        .id = submission->id, .record = record_of(submission), .tags = buffer_slice(&submission->gate)};
    store_replace(submission->app->store, &call, on_debounced, submission);
}

static void schedule(struct app_submission *submission)
{
    struct store_schedule call = call_of(submission);
    if (submission->is_debounced)
        send_debounced(submission);
    else
        store_schedule(submission->app->store, &call, on_scheduled, submission);
}

static void on_awaited(void *arg, enum status status, bool is_there)
{
    struct app_submission *submission = arg;
    (void)is_there;
    if (status == STATUS_OK)
        schedule(submission);
    else
        use_case_end(submission->app, submission->id, STATUS_UNAVAILABLE, NULL, submission->fn,
                     submission->arg);
}

/* A wait is noted before the job is scheduled, because the job may end at once. */
void app_submission_send(struct app_submission *submission, struct job *job)
{
    app_submission_write(submission, job);
    submission->is_debounced = job->debounce_key.size > 0;
    if (submission->wait_ms == 0) {
        schedule(submission);
        return;
    }
    const struct store_await await = {
        .id = submission->id, .wait_ms = submission->wait_ms + APP_WAIT_SPARE_MS, .is_new = true};
    store_await(submission->app->store, &await, on_awaited, submission);
}

/* ---- submissions that are sent together ---- */

static_assert((int)APP_SUBMISSIONS_MAX <= (int)STORE_SCHEDULE_ALL_MAX,
              "one script schedules the jobs of all submissions");

struct submissions {
    size_t count;
    struct app_submission *submissions[APP_SUBMISSIONS_MAX];
    struct store_schedule calls[APP_SUBMISSIONS_MAX];
};

static void on_all_scheduled(void *arg, enum status status, const struct store_scheduled *all)
{
    struct submissions *together = arg;
    for (size_t i = 0; i < together->count; i++) {
        struct app_submission *submission = together->submissions[i];
        struct stored_job job = {.id = submission->id};
        if (status == STATUS_OK && all[i].repeated.size)
            job.id = all[i].repeated;
        if (status == STATUS_OK)
            on_scheduled(submission, all[i].repeated.size ? STATUS_REPEATED : STATUS_OK, all[i].due_ms, &job);
        else
            use_case_end(submission->app, submission->id, status, &job, submission->fn, submission->arg);
    }
    free(together);
}

void app_submissions_send(struct app_submission *const *submissions, size_t count)
{
    struct submissions *together = NEW(struct submissions);
    assert(count > 0 && count <= APP_SUBMISSIONS_MAX);
    for (together->count = 0; together->count < count; together->count++) {
        together->submissions[together->count] = submissions[together->count];
        together->calls[together->count] = call_of(submissions[together->count]);
    }
    store_schedule_all(submissions[0]->app->store, together->calls, count, on_all_scheduled, together);
}
