#include "qstash/message_job.h"

#include "base/base64.h"
#include "job/text/json.h"
#include "qstash/qstash.h"
#include "qstash/run.h"

enum { RECORD_ROOM = 1024 }; /* size of a job's record without the job's texts */

/* The waits of a message without a retry expression: min(86400, e^(2.5 n)) seconds before retry n. */
static const struct retry_schedule waits = {5, {12000, 148000, 1808000, 22026000, 86400000}};

void message_texts_init(struct message_texts *texts)
{
    buffer_init_fallible(&texts->base64, JOB_RECORD_MAX);
    buffer_init(&texts->data, JOB_FORM_DATA_MAX);
    buffer_init(&texts->callbacks, (size_t)4 * JOB_URL_MAX);
}

void message_texts_fini(struct message_texts *texts)
{
    buffer_fini(&texts->base64);
    buffer_fini(&texts->data);
    buffer_fini(&texts->callbacks);
}

static void set_times(struct job *job, const struct settings *settings)
{
    job->has_due_at = settings->has_not_before;
    job->due_at_ms = settings->not_before_ms;
    job->has_delay = settings->has_delay && !job->has_due_at;
    job->delay_ms = job->has_delay ? settings->delay_ms : 0;
    job->has_retry = true;
    job->has_schedule = settings->retry_delay.size == 0;
    job->retry = settings->retries;
    job->schedule = waits;
    job->retry_wait = settings->retry_delay;
    job->has_timeout = settings->has_timeout;
    job->timeout_ms = settings->has_timeout ? settings->timeout_ms : JOB_TIMEOUT_MS;
}

/* Returns whether the body is a JSON object or array, which is stored unchanged in the record. Any other body
 * is stored as base64. */
static bool is_json(struct slice body)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault ignored;
    if (body.size < 2)
        return false;
    char first = body.data[0], last = body.data[body.size - 1];
    return ((first == '{' && last == '}') || (first == '[' && last == ']')) &&
           json_check(body, &limits, &ignored) == STATUS_OK;
}

/* Sets the body. The body of a GET is stored, because answers show it, but it is not sent
 * (worker/attempt_request.c). */
static void set_body(struct job *job, struct slice body, struct buffer *base64)
{
    if (body.size == 0)
        return;
    if (is_json(body)) {
        job->body = body;
        return;
    }
    base64_append(base64, body);
    job->body_base64 = buffer_slice(base64);
    job->has_body_base64 = true;
}

static struct slice put_url(struct buffer *text, struct slice url)
{
    size_t start = text->size;
    if (url.size == 0)
        return SLICE("");
    buffer_append_json(text, url);
    return slice_from(text->data + start, text->size - start);
}

/* Sets the urls of the callbacks. A call of a run has no callback after each attempt, only one when it is
 * delivered or dead. */
static void set_callbacks(struct job *job, const struct message_request *request, struct buffer *text)
{
    const struct settings *settings = request->settings;
    bool is_call = run_is_call(&request->data.run);
    buffer_reserve(text, text->max);
    struct slice callback = put_url(text, settings->callback.url);
    job->on_attempt = is_call ? SLICE("") : callback;
    job->on_delivered = is_call ? callback : SLICE("");
    job->on_dead = is_call ? callback : put_url(text, settings->failure_callback.url);
}

const char *message_job_make(const struct message_request *request, struct slice topic, int64_t now_ms,
                             struct message_texts *texts, struct job *job)
{
    const struct settings *settings = request->settings;
    *job = (struct job){.topic = topic,
                        .url = request->url,
                        .method = settings->method,
                        .labels = settings->labels,
                        .form = SLICE(QSTASH_FORM),
                        .trace_parent = request->trace_parent,
                        .trace_state = request->trace_state};
    set_times(job, settings);
    set_body(job, request->body, &texts->base64);
    form_data_write(&texts->data, &request->data, settings);
    job->form_data = buffer_slice(&texts->data);
    job->has_headers = settings->header_count > 0;
    job->header_count = settings->header_count;
    memcpy(job->headers, settings->headers, settings->header_count * sizeof *settings->headers);
    job->workflow = run_has_job(&request->data.run) ? request->data.run.id : SLICE("");
    set_callbacks(job, request, &texts->callbacks);
    if (texts->data.failed)
        return "the settings of the callbacks are over 16 KiB";
    if (job->has_due_at && job->due_at_ms > now_ms + JOB_DELAY_MAX_MS)
        return "invalid Upstash-Not-Before: it must be at most 10 years ahead";
    return NULL;
}

size_t message_job_bytes(const struct job *job)
{
    size_t sum = RECORD_ROOM + 2 * job->url.size + job->body.size + job->body_base64.size +
                 job->form_data.size + job->on_attempt.size + job->on_delivered.size + job->on_dead.size;
    for (size_t i = 0; i < job->header_count; i++)
        sum += 2 * (job->headers[i].name.size + job->headers[i].value.size) + 6;
    return sum + job->labels.count * (2 * JOB_LABEL_MAX + 3);
}
