#include "job/delivery/ending.h"

#include "base/seal.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "job/attempt_line.h"
#include "job/lease_text.h"
#include "job/text/json.h"
#include "job/topic/topic_settings.h"

/* ---- decision ---- */

static int64_t longer_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms > b_ms ? a_ms : b_ms;
}

static int64_t shorter_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

static void ending_bury(struct ending *ending, struct slice reason)
{
    ending->verdict = ENDING_BURY;
    ending->reason = reason;
    ending->has_record = true;
}

static void ending_release(struct ending *ending, int64_t wait_ms)
{
    ending->verdict = ENDING_RELEASE;
    ending->wait_ms = wait_ms;
}

/* Returns the wait before the next attempt. Retry-After can make a wait longer than the schedule's wait, but
 * not shorter. */
static int64_t retry_wait_ms(const struct job *job, const struct retry_schedule *schedule, int number,
                             const struct ending_input *input)
{
    const struct form_judgement *judgement = &input->judgement;
    if (judgement->has_wait)
        return judgement->wait_ms;
    int64_t asked_ms = shorter_ms(judgement->at_least_ms, ENDING_RETRY_AFTER_MAX_MS);
    int64_t wait_ms = longer_ms(job_wait_ms(job, schedule, number), asked_ms);
    return input->settings ? topic_settings_wait_ms(input->settings, wait_ms, input->random) : wait_ms;
}

/* Returns whether the job had expired when its attempt ended. The estimate is never early, because the
 * attempt began after the claim. */
static bool was_over(const struct job *job, const struct ending_input *input)
{
    return job_is_expired(job, input->now_ms + input->result->duration_ms);
}

static void decide_failure(struct ending *ending, const struct job *job, const struct ending_input *input)
{
    const struct attempt_result *result = input->result;
    const struct retry_schedule *schedule = topic_defaults_schedule(input->settings, input->schedule);
    int counted = job->attempts - job->uncounted;
    bool is_free = result->error == FAILURE_RESET && result->is_idle_closed && job->uncounted == 0;
    ending->has_record = true;
    ending->verdict = ENDING_RETRY;
    if (result->error == FAILURE_TARGET_REFUSED) {
        ending_bury(ending, SLICE("target_refused"));
    } else if (input->judgement.final.size) {
        ending_bury(ending, input->judgement.final);
    } else if (input->is_rejected) {
        ending_bury(ending, SLICE("rejected"));
    } else if (!is_free && counted >= job_max_retries(job, schedule)) {
        ending_bury(ending, SLICE("retries_exhausted"));
    } else if (was_over(job, input)) {
        ending_bury(ending, SLICE("expired"));
    } else if (is_free) {
        ending->keeps_place = true;
        ending->uncounted++;
    } else {
        ending->wait_ms = retry_wait_ms(job, schedule, counted + 1, input);
        /* In a fifo topic, a job that waits for its retry delays all jobs behind it. So it waits at most
         * until it expires. */
        if (input->settings && topic_settings_are_fifo(input->settings))
            ending->wait_ms = shorter_ms(ending->wait_ms,
                                         longer_ms(job_expires_ms(job, job->created_ms) - input->now_ms, 0));
    }
}

/* Decides for a receiver that said "not yet". If the job expires before the time for which the receiver
 * asked, it becomes due when it expires, and is then buried. */
static void decide_round(struct ending *ending, const struct job *job, const struct ending_input *input)
{
    ending->rounds++;
    ending->has_record = true;
    ending->has_line = true;
    if (ending->rounds >= JOB_ROUNDS_MAX) {
        ending_bury(ending, SLICE("rounds"));
        return;
    }
    if (was_over(job, input)) {
        ending_bury(ending, SLICE("expired"));
        return;
    }
    ending->verdict = ENDING_RETRY;
    ending->is_round = true;
    ending->attempts = 0;
    ending->uncounted = 0;
    ending->wait_ms =
        shorter_ms(input->judgement.again_ms, job_expires_ms(job, job->created_ms) - input->now_ms);
}

static void decide_attempt(struct ending *ending, const struct job *job, const struct ending_input *input)
{
    const struct attempt_result *result = input->result;
    ending->attempts++;
    bool is_success = attempt_result_is_success(result) && input->judgement.final.size == 0;
    if (is_success && input->judgement.defer_ms) {
        ending->verdict = ENDING_DEFER;
        ending->wait_ms = input->judgement.defer_ms;
        ending->attempts--; /* the attempt counts when it ends */
        return;
    }
    if (is_success && input->judgement.again_ms) {
        decide_round(ending, job, input);
    } else if (is_success) {
        ending->verdict = ENDING_COMPLETE;
        ending->has_line = input->has_history || (input->settings && (input->settings->retention_ms ||
                                                                      input->settings->is_deferring ||
                                                                      input->settings->are_events_kept));
    } else {
        ending->has_line = true;
        decide_failure(ending, job, input);
    }
}

bool ending_is_exhausted(const struct job *job, const struct topic_settings *settings,
                         const struct retry_schedule *ours)
{
    int counted = job->attempts - job->uncounted;
    return counted > 0 && counted > job_max_retries(job, topic_defaults_schedule(settings, ours));
}

struct ending ending_decide(const struct job *job, const struct ending_input *input)
{
    struct ending ending = {.attempts = job->attempts, .uncounted = job->uncounted, .rounds = job->rounds};
    switch (input->cause) {
    case ENDING_CAUSE_RESULT:
        decide_attempt(&ending, job, input);
        break;
    case ENDING_CAUSE_UNSENT:
        ending_release(&ending, 0);
        ending.keeps_place = true;
        break;
    case ENDING_CAUSE_HELD:
        ending_release(&ending,
                       shorter_ms(input->hold_ms, job_expires_ms(job, job->created_ms) - input->now_ms));
        break;
    case ENDING_CAUSE_UNSERVED:
        ending_release(&ending, input->hold_ms);
        break;
    case ENDING_CAUSE_NO_MEMORY:
        ending_release(&ending, ENDING_NO_MEMORY_MS);
        break;
    case ENDING_CAUSE_EXPIRED:
        ending_bury(&ending, SLICE("expired"));
        break;
    case ENDING_CAUSE_EXHAUSTED:
        ending_bury(&ending, SLICE("retries_exhausted"));
        break;
    case ENDING_CAUSE_DONE:
        ending.verdict = ENDING_COMPLETE;
        break;
    case ENDING_CAUSE_OVER:
        ending_bury(&ending, SLICE("workflow_ended"));
        break;
    case ENDING_CAUSE_UNREADABLE:
        ending_bury(&ending, SLICE(""));
        break;
    }
    return ending;
}

/* ---- texts ---- */

enum { RESULT_TEXT_MAX = 6 * LEASE_RESULT_MAX + 2 /* bytes; JSON may need six for one */ };

void ending_texts_init(struct ending_texts *texts)
{
    buffer_init_fallible(&texts->record, JOB_RECORD_MAX);
    buffer_init_fallible(&texts->line, ATTEMPT_LINE_MAX + 1 + SEAL_SIZE(RESULT_TEXT_MAX) + 16);
    callback_jobs_init(&texts->callbacks);
}

void ending_texts_fini(struct ending_texts *texts)
{
    buffer_fini(&texts->record);
    buffer_fini(&texts->line);
    callback_jobs_fini(&texts->callbacks);
}

/* Returns headers of the answer with which the job died: the first lines, as many as fit. The result is empty
 * unless the job's form wants headers. In a record, a byte that is not UTF-8 becomes a character of three
 * bytes. */
static struct slice kept_headers(const struct ending *ending, const struct ending_input *input)
{
    struct slice line, rest = input->headers;
    size_t kept = 0, written = 0;
    if (ending->verdict != ENDING_BURY || input->cause != ENDING_CAUSE_RESULT)
        return SLICE("");
    while (rest.size && slice_cut(rest, '\n', &line, &rest)) {
        written += (utf8_is_sound_text(line.data, line.size) ? 1 : 3) * line.size + 1;
        if (written > JOB_ANSWER_HEADERS_MAX)
            break;
        kept += line.size + 1;
    }
    return slice_from(input->headers.data, kept);
}

/* Returns what a callback reports. job still has its numbers of attempts and rounds from before this
 * attempt. */
static struct callback_report report_of(const struct ending *ending, const struct ending_input *input,
                                        const struct job *job)
{
    const struct attempt_result *attempt = input->cause == ENDING_CAUSE_RESULT ? input->result : NULL;
    return (struct callback_report){
        .id = input->id,
        .nonce = input->nonce,
        .outcome = ending->verdict == ENDING_COMPLETE ? CALLBACK_DELIVERED
                   : ending->verdict == ENDING_BURY   ? CALLBACK_DEAD
                   : ending->is_round                 ? CALLBACK_AGAIN
                                                      : CALLBACK_FAILED,
        .reason = ending->reason.size ? ending->reason : SLICE("unreadable"),
        .job = input->cause == ENDING_CAUSE_UNREADABLE ? NULL : job,
        .attempts = job->attempts + (attempt != NULL),
        .round = job->rounds + (ending->is_round || job->rounds),
        .attempt = attempt,
        .due_ms = input->due_ms,
        .claimed_ms = input->now_ms,
        .ended_ms = input->now_ms + (attempt ? attempt->duration_ms : 0),
        .wait_ms = ending->wait_ms,
        .result = ending->verdict == ENDING_COMPLETE ? input->own_result : SLICE(""),
        .answer = input->answer,
        .headers = input->headers,
        .form = input->form,
        .is_answer_cut = input->is_answer_cut,
        .elements = input->elements,
    };
}

/* Writes the result of a delivered job: the one that a worker gave, or if the topic keeps results, the
 * receiver's answer. An answer that is not JSON becomes a string. An answer that is not
 * UTF-8, or too long, is left out. */
static void write_result(const struct ending_input *input, struct buffer *line)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    struct slice answer = input->answer;
    bool is_kept = input->settings && input->settings->are_results_kept && !input->is_answer_cut;
    size_t start = line->size;
    struct buffer result;
    if (input->own_result.size == 0 && (!is_kept || slice_trim(answer).size == 0))
        return;
    buffer_init_fallible(&result, RESULT_TEXT_MAX);
    buffer_append_byte(line, '\n');
    if (input->own_result.size) {
        buffer_append(&result, input->own_result);
    } else if (json_check(answer, &limits, &fault) == STATUS_OK) {
        buffer_append(&result, slice_trim(answer));
    } else if (utf8_is_sound_text(answer.data, answer.size)) {
        struct json_writer json = json_writer_to(&result);
        json_put_text(&json, answer);
    }
    line->failed |= result.failed;
    if (result.size)
        job_value_write(input->id, JOB_RESULT, buffer_slice(&result), line);
    else
        line->size = start;
    buffer_fini(&result);
}

bool ending_write(const struct ending *ending, const struct ending_input *input, struct job *job,
                  struct slice raw, struct ending_texts *texts)
{
    struct callback_report report = report_of(ending, input, job);
    struct attempt_result previous = job->last_attempt;
    /* This also clears failures: there may have been no memory when an earlier ending was written. */
    buffer_clear(&texts->record);
    buffer_clear(&texts->line);
    callback_jobs_clear(&texts->callbacks);
    if (ending->has_line)
        attempt_line_write(&texts->line, job->rounds + 1, job->attempts + 1, input->result, input->answer,
                           input->is_answer_cut);
    if (ending->verdict == ENDING_DEFER)
        return true;
    if (ending->verdict == ENDING_COMPLETE)
        write_result(input, &texts->line);
    if (input->cause == ENDING_CAUSE_RESULT) {
        job->last_attempt = *input->result;
        job->wait_ms = ending->wait_ms;
    }
    if (input->cause == ENDING_CAUSE_UNREADABLE) {
        buffer_append(&texts->record, raw);
    } else if (ending->has_record) {
        job->attempts = ending->attempts;
        job->uncounted = ending->uncounted;
        job->rounds = ending->rounds;
        job->reason = ending->reason;
        job->answer_headers = kept_headers(ending, input);
        job_write(job, &texts->record);
    }
    if (texts->record.failed || texts->line.failed)
        return false;
    report.previous = previous.at_ms ? &previous : NULL;
    bool has_callbacks = ending->verdict != ENDING_RELEASE && input->cause != ENDING_CAUSE_DONE &&
                         input->cause != ENDING_CAUSE_OVER && callback_jobs_are_wanted(job, input->settings);
    return !has_callbacks || callback_jobs_write(&texts->callbacks, input->settings, &report);
}
