#include "job/delivery/callback_job.h"

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "job/delivery/callback.h"
#include "job/delivery/delivery_form.h"
#include "job/job_id.h"
#include "job/text/json.h"

enum callback_event { ON_DELIVERED, ON_DEAD, ON_ATTEMPT };

static const char *const event_names[] = {"onDelivered", "onDead", "onAttempt"};
static const char *const outcome_words[] = {[CALLBACK_DELIVERED] = "delivered",
                                            [CALLBACK_DEAD] = "dead",
                                            [CALLBACK_FAILED] = "failed",
                                            [CALLBACK_AGAIN] = "again"};

/* ---- the set ---- */

void callback_jobs_init(struct callback_jobs *jobs)
{
    jobs->count = 0;
    for (size_t i = 0; i < CALLBACK_JOBS_MAX; i++) {
        buffer_init(&jobs->items[i].id, JOB_KEY_MAX);
        buffer_init_fallible(&jobs->items[i].record, JOB_RECORD_MAX);
    }
}

void callback_jobs_fini(struct callback_jobs *jobs)
{
    for (size_t i = 0; i < CALLBACK_JOBS_MAX; i++) {
        buffer_fini(&jobs->items[i].id);
        buffer_fini(&jobs->items[i].record);
    }
}

void callback_jobs_clear(struct callback_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        jobs->items[i].delay_ms = 0;
        buffer_clear(&jobs->items[i].id);
        buffer_clear(&jobs->items[i].record);
    }
    jobs->count = 0;
}

/* ---- where to ---- */

/* Returns the callback for this event: the job's own, else its topic's. The result is empty if neither has
 * one. */
static struct slice callback_of(enum callback_event event, const struct job *job,
                                const struct topic_settings *settings)
{
    static const struct slice none = {NULL, 0};
    const struct slice own[] = {job ? job->on_delivered : none, job ? job->on_dead : none,
                                job ? job->on_attempt : none};
    const struct slice topics[] = {settings ? settings->on_delivered : none,
                                   settings ? settings->on_dead : none,
                                   settings ? settings->on_attempt : none};
    return own[event].size ? own[event] : topics[event];
}

bool callback_jobs_are_wanted(const struct job *job, const struct topic_settings *settings)
{
    bool has_any = callback_of(ON_DELIVERED, job, settings).size ||
                   callback_of(ON_DEAD, job, settings).size || callback_of(ON_ATTEMPT, job, settings).size;
    return has_any && (job->form.size || !topic_is_sibling(job->topic));
}

/* ---- the document ---- */

/* Returns the answer without an incomplete character at its end. */
static struct slice whole_characters(struct slice answer)
{
    for (size_t left = 1; left < 4 && left <= answer.size; left++) {
        uint8_t byte = (uint8_t)answer.data[answer.size - left];
        if ((byte & 0xc0) == 0x80)
            continue;
        return utf8_size(byte) > left ? slice_from(answer.data, answer.size - left) : answer;
    }
    return answer;
}

static void add_answer(struct json_writer *json, const struct callback_report *report)
{
    struct slice answer = report->answer;
    bool is_cut = report->is_answer_cut;
    if (answer.size > CALLBACK_ANSWER_MAX) {
        answer.size = CALLBACK_ANSWER_MAX;
        is_cut = true;
    }
    struct slice text = is_cut ? whole_characters(answer) : answer;
    if (utf8_is_sound_text(text.data, text.size)) {
        json_add_text(json, "answer", text);
    } else {
        json_put_name(json, "answerBase64");
        buffer_append_byte(json_put(json), '"');
        base64_append(json->out, answer);
        buffer_append_byte(json->out, '"');
    }
    if (is_cut)
        json_add_bool(json, "answerTruncated", true);
}

static void put_attempt(struct json_writer *json, int number, const struct attempt_result *result)
{
    json_put_object(json);
    json_add_number(json, "number", number);
    json_add_time(json, "at", result->at_ms);
    json_add_number(json, "durationMs", result->duration_ms);
    attempt_result_add(json, result);
    json_end_object(json);
}

static void add_times(struct json_writer *json, const struct callback_report *report)
{
    if (report->job)
        json_add_time(json, "createdAt", report->job->created_ms);
    if (report->due_ms)
        json_add_time(json, "dueAt", report->due_ms);
    json_add_time(json, "endedAt", report->ended_ms);
    if (report->due_ms && report->attempt)
        json_add_number(json, "lateMs",
                        report->claimed_ms > report->due_ms ? report->claimed_ms - report->due_ms : 0);
    if (report->attempt)
        json_add_number(json, "durationMs", report->attempt->duration_ms);
    if (report->outcome == CALLBACK_FAILED || report->outcome == CALLBACK_AGAIN)
        json_add_number(json, "waitMs", report->wait_ms);
}

/* Adds the body, or null if another program wrote the record and the body is not JSON. */
static void add_body(struct json_writer *json, const struct job *job)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    bool is_json = json_check(job->body, &limits, &fault) != STATUS_INVALID || fault.is_json;
    if (job->has_body_base64)
        json_add_text(json, "bodyBase64", job->body_base64);
    else if (job->body.size)
        json_add_raw(json, "body", is_json ? job->body : SLICE("null"));
}

static void write_document(struct buffer *out, enum callback_event event, bool has_body,
                           const struct callback_report *report)
{
    struct json_writer json = json_writer_to(out);
    struct slice topic, job_id;
    slice_cut(report->id, '/', &topic, &job_id);
    json_put_object(&json);
    json_add_text(&json, "callback", slice_of(event_names[event]));
    json_add_text(&json, "topic", topic);
    json_add_text(&json, "jobId", job_id);
    json_add_text(&json, "outcome", slice_of(outcome_words[report->outcome]));
    if (report->outcome == CALLBACK_DEAD)
        json_add_text(&json, "reason", report->reason);
    if (report->attempt)
        attempt_result_add(&json, report->attempt);
    json_add_number(&json, "attempts", report->attempts);
    if (report->round)
        json_add_number(&json, "round", report->round);
    add_times(&json, report);
    /* The attempts that duepost knows at this moment: this attempt and the previous one. */
    json_add_array(&json, "lastAttempts");
    int previous = report->attempts - (report->attempt != NULL);
    if (report->previous && previous > 0)
        put_attempt(&json, previous, report->previous);
    if (report->attempt)
        put_attempt(&json, report->attempts, report->attempt);
    json_end_array(&json);
    if (report->result.size)
        json_add_raw(&json, "result", report->result);
    if (report->attempt && report->attempt->error == FAILURE_NONE)
        add_answer(&json, report);
    if (report->job && report->job->labels.count > 0)
        json_add_texts(&json, "labels", report->job->labels.items, report->job->labels.count);
    if (report->job && report->job->key.size)
        json_add_text(&json, "key", report->job->key);
    if (report->job && job_priority(report->job) != JOB_PRIORITY_DEFAULT)
        json_add_number(&json, "priority", job_priority(report->job));
    if (has_body && report->job)
        add_body(&json, report->job);
    json_end_object(&json);
}

/* ---- the jobs ---- */

static void write_id(struct buffer *id, enum callback_event event, const struct callback_report *report)
{
    struct slice topic, job_id;
    slice_cut(report->id, '/', &topic, &job_id);
    buffer_append(id, topic);
    buffer_append(id, SLICE(CALLBACK_SIBLING "/"));
    buffer_append(id, job_id);
    buffer_append_byte(id, '~');
    buffer_append(id, slice_of(event == ON_ATTEMPT ? "attempt" : outcome_words[report->outcome]));
    buffer_append_byte(id, '~');
    buffer_append(id, report->nonce);
}

static void write_record(struct slice id, struct buffer *record, const struct callback *to,
                         struct slice document, const struct callback_report *report)
{
    struct job job = {.url = to->url, .method = to->method, .body = document, .timeout_ms = JOB_TIMEOUT_MS};
    slice_cut(id, '/', &job.topic, &job.job_id);
    job.has_headers = to->header_count > 0;
    job.header_count = to->header_count;
    memcpy(job.headers, to->headers, to->header_count * sizeof *to->headers);
    if (report->job) {
        job.trace_parent = report->job->trace_parent;
        job.trace_state = report->job->trace_state;
    }
    job_write(&job, record);
}

static bool has_own_callbacks(const struct callback_report *report)
{
    return report->form && report->form->write_callback;
}

/* Writes the callback with duepost's own document as its body. */
static bool write_standard(struct callback_job *job, enum callback_event event, const struct callback *to,
                           const struct callback_report *report)
{
    struct buffer document;
    buffer_init_fallible(&document, JOB_RECORD_MAX);
    write_document(&document, event, to->has_body, report);
    write_id(&job->id, event, report);
    write_record(buffer_slice(&job->id), &job->record, to, buffer_slice(&document), report);
    bool is_whole = !document.failed && !job->record.failed;
    buffer_fini(&document);
    return is_whole;
}

/* Adds the callback of an event, if the job or its topic has one. A value that another program wrote is
 * ignored. */
static bool add_job(struct callback_jobs *jobs, enum callback_event event,
                    const struct topic_settings *settings, const struct callback_report *report)
{
    struct slice value = callback_of(event, report->job, settings);
    struct callback to;
    if (value.size == 0 || !callback_read(value, &to))
        return true;
    struct callback_job *added = &jobs->items[jobs->count++];
    bool is_whole = has_own_callbacks(report)
                        ? report->form->write_callback(report, event == ON_DEAD, to.url, added)
                        : write_standard(added, event, &to, report);
    callback_fini(&to);
    return is_whole;
}

bool callback_jobs_write(struct callback_jobs *jobs, const struct topic_settings *settings,
                         const struct callback_report *report)
{
    struct slice topic, job_id;
    callback_jobs_clear(jobs);
    if (!job_key_parse(report->id, &topic, &job_id) ||
        (topic_is_sibling(topic) && !has_own_callbacks(report)))
        return true;
    if (report->attempt && !add_job(jobs, ON_ATTEMPT, settings, report))
        return false;
    if (report->outcome == CALLBACK_FAILED || report->outcome == CALLBACK_AGAIN)
        return true;
    return add_job(jobs, report->outcome == CALLBACK_DEAD ? ON_DEAD : ON_DELIVERED, settings, report);
}
