/* attempt_request.c - builds and sends the request of an attempt, checks its target address, and converts its
 * result. */
#include "base/encoding.h"
#include "base/system.h"
#include "job/lease_text.h"
#include "job/request.h"
#include "job/target/url.h"
#include "worker/attempt_private.h"
#include "worker/reach.h"
#include "store/clock.h"

/* ---- allowed addresses ---- */

static struct http_client *attempt_client(const struct attempt *attempt)
{
    return identity_client(attempt->used_identity, attempt->context->identities);
}

bool attempt_may_connect(void *arg, const struct sockaddr *address)
{
    struct attempt *attempt = arg;
    const struct reach reach = {
        .targets = attempt->context->policy->targets,
        .store = attempt->context->store,
        .url = &attempt->url,
        .has_proxy = http_client_has_proxy(attempt_client(attempt)),
        .proxy = identity_proxy(attempt->used_identity),
    };
    return reach_permits(&reach, address, attempt->refusal);
}

/* ---- headers ---- */

/* Adds the trace headers. The attempt is a span of its own; its parent is the request that created the
 * job. If has_own is true, the job's own header traceparent is sent instead. */
static void add_trace(struct attempt *attempt, bool has_own, struct header_lines *lines)
{
    const struct job *job = &attempt->job;
    char parent[TRACE_PARENT_BYTES];
    uint8_t span[TRACE_SPAN_BYTES];
    if (attempt->context->policy->tracer) {
        attempt_span_begin(attempt, parent);
    } else {
        random_fill(span, sizeof span);
        span[0] |= 1; /* a span id must not be all 0 */
        trace_parent_next(job->trace_parent, span, parent);
    }
    if (has_own)
        return;
    header_lines_add(lines, SLICE("traceparent"), slice_from(parent, sizeof parent));
    if (job->trace_state.size)
        header_lines_add(lines, SLICE("tracestate"), job->trace_state);
}

bool attempt_may_defer(const struct attempt *attempt)
{
    const struct topic_settings *settings = attempt->settings;
    return settings && settings->is_deferring && !settings->batch_size && attempt->job.form.size == 0 &&
           attempt->job.workflow.size == 0;
}

/* Writes the url under which the attempt can be ended: behind it, complete, retry, bury or extend. */
static void write_end_url(const struct attempt *attempt, struct buffer *url)
{
    struct slice own = attempt->context->policy->own_url;
    if (own.size == 0)
        return;
    buffer_append(url, own);
    buffer_append(url, SLICE("/topics/"));
    percent_append(url, attempt->job.topic);
    buffer_append_byte(url, '/');
}

void attempt_write_headers(struct attempt *attempt, struct slice payload, size_t batch_count,
                           struct header_lines *lines)
{
    const struct job *job = &attempt->job;
    struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX];
    size_t count = topic_defaults_headers(attempt->settings, job, headers);
    char token_room[DEFER_TOKEN_MAX], url_room[JOB_URL_MAX + 3 * JOB_TOPIC_MAX + sizeof "/topics//"];
    struct buffer token = buffer_of(token_room, sizeof token_room);
    struct buffer end_url = buffer_of(url_room, sizeof url_room);
    if (batch_count == 0 && attempt_may_defer(attempt)) {
        shard_defer_token(attempt->context->shard, &attempt->lease, attempt->claimed_ms, &token);
        write_end_url(attempt, &end_url);
    }
    const struct form_attempt facts = {
        .job = job,
        .id = attempt->lease.id,
        .url = topic_defaults_url(attempt->settings, job),
        .payload = payload,
        .settings = attempt->settings,
        .keys = attempt->context->policy->keys,
        .now_ms = clock_is_manual() ? clock_wall_ms() : attempt->claimed_ms, /* receivers compare it */
        .workflow_ms = attempt->workflow_ms,
        .headers = headers,
        .header_count = count,
        .batch_count = batch_count,
        .batch_id = slice_of(attempt->lease.nonce.text),
        .token = buffer_slice(&token),
        .end_url = buffer_slice(&end_url),
    };
    attempt->form->write_headers(&facts, lines);
    for (size_t i = 0; i < count; i++)
        header_lines_add(lines, headers[i].name, headers[i].value);
    const struct identity_facts identity = {
        .settings = attempt->settings,
        .url = &attempt->url,
        .topic = job->topic,
        .keys = attempt->context->policy->identity_keys,
        .issuer = attempt->context->policy->own_url,
        .seconds = facts.now_ms / 1000,
    };
    if (!headers_find(headers, count, SLICE("Authorization")))
        identity_write(attempt->used_identity, &identity, lines);
    if (job->trace_parent.size || attempt->context->policy->tracer)
        add_trace(attempt, headers_find(headers, count, SLICE("traceparent")), lines);
}

static enum http_method http_method_of(enum job_method method)
{
    static const enum http_method methods[JOB_METHODS] = {
        [JOB_METHOD_POST] = HTTP_METHOD_POST,     [JOB_METHOD_GET] = HTTP_METHOD_GET,
        [JOB_METHOD_PUT] = HTTP_METHOD_PUT,       [JOB_METHOD_PATCH] = HTTP_METHOD_PATCH,
        [JOB_METHOD_DELETE] = HTTP_METHOD_DELETE, [JOB_METHOD_HEAD] = HTTP_METHOD_HEAD,
    };
    return methods[method];
}

/* Returns whether the request needs a new connection. A receiver may close an idle connection at the moment
 * at which a request is sent on it. The request then fails with a reset, even though the receiver works.
 * Therefore a probe, and the attempt after a reset, use a new connection. */
static bool needs_fresh(const struct attempt *attempt)
{
    return permit_is_probe(&attempt->permit) || attempt->job.last_attempt.error == FAILURE_RESET;
}

struct http_call *attempt_request_send(struct attempt *attempt, int64_t timeout_ms, bool (*may_send)(void *),
                                       void (*on_done)(void *, const struct http_outcome *))
{
    struct slice payload;
    struct header_lines lines = {.text = &attempt->header_text};
    struct slice headers[HEADER_LINES_MAX];
    /* A damaged record may have a body that the method does not allow. For a step of a workflow, the body is
     * the workflow's elements; the body is empty if the elements are too long. */
    bool is_step = attempt->job.workflow.size > 0;
    if (!job_method_allows_body(attempt->job.method) || (is_step && attempt->input_kind == INPUT_LONG))
        payload = SLICE("");
    else if (is_step && attempt->input_kind == INPUT_LIST)
        payload = buffer_slice(&attempt->elements);
    else
        payload = job_payload(&attempt->job, &attempt->payload);
    attempt_write_headers(attempt, payload, 0, &lines);
    if (attempt->payload.failed || attempt->header_text.failed)
        return NULL;
    for (size_t i = 0; i < lines.count; i++)
        headers[i] = header_lines_at(&lines, i);
    struct http_call_request request = {
        .method = http_method_of(attempt->job.method),
        .url = topic_defaults_url(attempt->settings, &attempt->job),
        .headers = headers,
        .header_count = lines.count,
        .body = payload,
        .timeout_ms = timeout_ms,
        .needs_fresh = needs_fresh(attempt),
        .wants_large_answer = callback_jobs_are_wanted(&attempt->job, attempt->settings) ||
                              (attempt->settings && attempt->settings->are_results_kept),
        .wants_headers = attempt->form->wants_headers,
        .may_connect = attempt_may_connect,
        .may_send = may_send,
        .on_done = on_done,
        .arg = attempt,
    };
    return http_call(attempt_client(attempt), &request);
}

/* ---- result ---- */

struct attempt_result attempt_result_of(const struct http_outcome *http, int64_t at_ms)
{
    bool is_idle_closed = http->error == FAILURE_IDLE_CLOSED;
    return (struct attempt_result){
        .at_ms = at_ms,
        .duration_ms = http->duration_ms,
        .status = http->error == FAILURE_NONE ? http->status : 0,
        .error = is_idle_closed ? FAILURE_RESET : http->error,
        .detail = http->detail,
        .was_sent = http->was_sent,
        .is_idle_closed = is_idle_closed,
    };
}

enum metrics_result attempt_metric_of(const struct attempt_result *result, bool is_not_yet)
{
    if (result->error != FAILURE_NONE)
        return METRICS_RESULT_OF(result->error);
    switch (result->status / 100) {
    case 2:
        return is_not_yet ? METRICS_RESULT_NOT_YET : METRICS_RESULT_DELIVERED;
    case 3:
        return METRICS_RESULT_3XX;
    case 4:
        return METRICS_RESULT_4XX;
    case 5:
        return METRICS_RESULT_5XX;
    default:
        return METRICS_RESULT_OF(FAILURE_PROTOCOL); /* not an HTTP status */
    }
}
