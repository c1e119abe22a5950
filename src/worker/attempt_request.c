#include "worker/attempt_request.h"

#include <assert.h>
#include <netinet/in.h>

#include "base/percent.h"
#include "base/random.h"
#include "io/local_address.h"
#include "job/member.h"
#include "job/trace.h"
#include "job/url.h"

enum { HEADER_LINES_MAX = TOPIC_DEFAULTS_HEADERS_MAX + 14 };

/* ---- allowed addresses ---- */

static bool is_allowed(struct attempt *attempt, const struct address *address, uint16_t port)
{
    const struct target_policy *targets = attempt->context->policy->targets;
    bool is_local =
        target_policy_asks_local(targets, port) && address_is_local(address->is_v6, address->bytes);
    bool is_ours = target_policy_refuses(targets, address, port, is_local) ||
                   store_is_redis(attempt->context->store, address, port);
    if (!is_ours && target_policy_permits(targets, attempt->host, address, port, is_local))
        return true;
    if (is_ours)
        target_explain_ours(address, port, attempt->refusal);
    else
        target_explain(address, attempt->refusal);
    return false;
}

/* Returns whether the url may be sent to the proxy. The proxy resolves names and checks their addresses. This
 * function checks addresses in the url, and names that always mean this host (RFC 6761, 6.3), by the same
 * rules as without a proxy. */
static bool may_ask_proxy(struct attempt *attempt)
{
    static const struct address loopback = {false, {127, 0, 0, 1}};
    struct url url;
    const char *detail;
    if (url_parse(topic_defaults_url(attempt->settings, &attempt->job), &url, &detail) != STATUS_OK)
        return false;
    if (url.host_is_address)
        return is_allowed(attempt, &url.address, url.port);
    return !url_host_is_localhost(url.host) || is_allowed(attempt, &loopback, url.port);
}

static bool may_connect(void *arg, const struct sockaddr *sockaddr)
{
    struct attempt *attempt = arg;
    struct address address = {.is_v6 = sockaddr->sa_family == AF_INET6};
    if (http_client_has_proxy(attempt->context->client))
        return may_ask_proxy(attempt);
    if (sockaddr->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)sockaddr;
        memcpy(address.bytes, &v4->sin_addr, 4);
        return is_allowed(attempt, &address, ntohs(v4->sin_port));
    }
    if (sockaddr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)sockaddr;
        memcpy(address.bytes, &v6->sin6_addr, 16);
        return v6->sin6_scope_id == 0 && is_allowed(attempt, &address, ntohs(v6->sin6_port));
    }
    return false;
}

/* ---- headers ---- */

struct header_lines {
    struct buffer *text;
    size_t starts[HEADER_LINES_MAX + 1];
    size_t count;
};

static void add_header(struct header_lines *lines, struct slice name, struct slice value)
{
    assert(lines->count < HEADER_LINES_MAX);
    lines->starts[lines->count++] = lines->text->size;
    buffer_append(lines->text, name);
    buffer_append(lines->text, SLICE(": "));
    buffer_append(lines->text, value);
}

/* Adds the trace headers. The attempt is a span of its own; its parent is the request that created the
 * job. */
static void add_trace(const struct job *job, struct header_lines *lines)
{
    char parent[TRACE_PARENT_BYTES];
    uint8_t span[TRACE_SPAN_BYTES];
    random_fill(span, sizeof span);
    span[0] |= 1; /* not all 0 */
    trace_parent_next(job->trace_parent, span, parent);
    add_header(lines, SLICE("traceparent"), slice_from(parent, sizeof parent));
    if (job->trace_state.size)
        add_header(lines, SLICE("tracestate"), job->trace_state);
}

/* Adds the headers of the signature. Their timestamp is the time of the claim, by Redis's clock. */
static void sign(const struct attempt *attempt, struct slice payload, struct header_lines *lines)
{
    const struct topic_settings *settings = attempt->settings;
    const struct signing_keys *keys =
        settings && settings->secrets.count ? &settings->secrets : attempt->context->policy->keys;
    int64_t seconds = attempt->claimed_ms / 1000;
    char id[WEBHOOK_ID_SIZE], digits[24];
    struct buffer number = {.data = digits, .capacity = sizeof digits, .max = sizeof digits - 1};
    struct buffer signature;
    if (keys->count == 0)
        return;
    webhook_id_make(attempt->lease.id, attempt->job.created_ms, id);
    buffer_append_number(&number, seconds);
    buffer_init(&signature, SIGNATURE_MAX);
    signature_write(keys, slice_of(id), seconds, payload, &signature);
    add_header(lines, SLICE("webhook-id"), slice_of(id));
    add_header(lines, SLICE("webhook-timestamp"), buffer_slice(&number));
    add_header(lines, SLICE("webhook-signature"), buffer_slice(&signature));
    lines->text->failed |= signature.failed;
    buffer_fini(&signature);
}

static void write_headers(struct attempt *attempt, struct slice payload, struct header_lines *lines)
{
    const struct job *job = &attempt->job;
    struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX];
    size_t count = topic_defaults_headers(attempt->settings, job, headers);
    char digits[16];
    struct buffer number = {.data = digits, .capacity = sizeof digits, .max = sizeof digits - 1};
    char room[3 * JOB_ID_DERIVED_MAX + 1];
    struct buffer job_id = {.data = room, .capacity = sizeof room, .max = sizeof room - 1};
    buffer_append_number(&number, job->attempts + 1);
    if (job_needs_content_type(job) && !headers_find(headers, count, SLICE("Content-Type"))) {
        struct slice type = job_content_type(job, payload);
        add_header(lines, SLICE("Content-Type"), type);
        lines->text->failed |= type.size == 0;
    }
    if (!headers_find(headers, count, SLICE("User-Agent")))
        add_header(lines, SLICE("User-Agent"), SLICE("duepost/" DUEPOST_VERSION));
    add_header(lines, SLICE("Duepost-Topic"), job->topic);
    percent_append(&job_id, job->job_id);
    add_header(lines, SLICE("Duepost-Job-Id"), buffer_slice(&job_id));
    add_header(lines, SLICE("Duepost-Attempt"), buffer_slice(&number));
    if (job->rounds) {
        buffer_clear(&number);
        buffer_append_number(&number, job->rounds + 1);
        add_header(lines, SLICE("Duepost-Round"), buffer_slice(&number));
    }
    for (size_t i = 0; i < count; i++)
        add_header(lines, headers[i].name, headers[i].value);
#ifdef DUEPOST_TEST_NEXT
    if (job->next.size)
        add_header(lines, SLICE("Duepost-Next"), job->next);
    if (attempt->settings && attempt->settings->next.size)
        add_header(lines, SLICE("Duepost-Next-Topic"), attempt->settings->next);
#endif
    if (job->trace_parent.size && !headers_find(headers, count, SLICE("traceparent")))
        add_trace(job, lines);
    sign(attempt, payload, lines);
    lines->starts[lines->count] = lines->text->size;
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

/* Returns whether the request needs a new connection. If the receiver closes an idle connection at the moment
 * of the request, the reset proves nothing about the receiver. Therefore a probe, and the attempt after a
 * reset, use a new connection. */
static bool needs_fresh(const struct attempt *attempt)
{
    return permit_is_probe(&attempt->permit) || attempt->job.last_attempt.error == FAILURE_RESET;
}

struct http_call *attempt_request_send(struct attempt *attempt, int64_t timeout_ms, bool (*may_send)(void *),
                                       void (*on_done)(void *, const struct http_outcome *))
{
    struct slice payload = {NULL, 0};
    struct header_lines lines = {.text = &attempt->header_text};
    struct slice headers[HEADER_LINES_MAX];
    if (job_method_allows_body(attempt->job.method)) /* a damaged record may have a body */
        payload = job_payload(&attempt->job, &attempt->payload);
    write_headers(attempt, payload, &lines);
    if (attempt->payload.failed || attempt->header_text.failed)
        return NULL;
    for (size_t i = 0; i < lines.count; i++)
        headers[i] =
            slice_from(attempt->header_text.data + lines.starts[i], lines.starts[i + 1] - lines.starts[i]);
    struct http_call_request request = {
        .method = http_method_of(attempt->job.method),
        .url = topic_defaults_url(attempt->settings, &attempt->job),
        .headers = headers,
        .header_count = lines.count,
        .body = payload,
        .timeout_ms = timeout_ms,
        .needs_fresh = needs_fresh(attempt),
        .wants_large_answer = callback_jobs_are_wanted(&attempt->job, attempt->settings),
        .may_connect = may_connect,
        .may_send = may_send,
        .on_done = on_done,
        .arg = attempt,
    };
    return http_call(attempt->context->client, &request);
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
