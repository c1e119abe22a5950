#include "worker/attempt_request.h"

#include <assert.h>
#include <netinet/in.h>

#include "io/local_address.h"
#include "job/member.h"

enum { HEADER_LINES_MAX = TOPIC_DEFAULTS_HEADERS_MAX + 8 };

/* ---- where it may go ---- */

static bool may_connect(void *arg, const struct sockaddr *sockaddr)
{
    const struct attempt *attempt = arg;
    const struct target_policy *targets = attempt->context->targets;
    struct address address = {.is_v6 = sockaddr->sa_family == AF_INET6};
    uint16_t port;
    if (sockaddr->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)sockaddr;
        memcpy(address.bytes, &v4->sin_addr, 4);
        port = ntohs(v4->sin_port);
    } else if (sockaddr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)sockaddr;
        memcpy(address.bytes, &v6->sin6_addr, 16);
        port = ntohs(v6->sin6_port);
        if (v6->sin6_scope_id != 0)
            return false;
    } else {
        return false;
    }
    bool is_local = target_policy_asks_local(targets, port) && address_is_local(address.is_v6, address.bytes);
    return target_policy_permits(targets, attempt->host, &address, port, is_local) &&
           !store_is_redis(attempt->context->store, &address, port);
}

/* ---- what it says ---- */

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

static void write_headers(struct attempt *attempt, struct slice payload, struct header_lines *lines)
{
    const struct job *job = &attempt->job;
    struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX];
    size_t count = topic_defaults_headers(attempt->settings, job, headers);
    char digits[16];
    struct buffer number = {.data = digits, .capacity = sizeof digits, .max = sizeof digits - 1};
    buffer_append_number(&number, job->attempts + 1);
    if (!member_find_header(headers, count, SLICE("Content-Type")))
        add_header(lines, SLICE("Content-Type"), job_content_type(job, payload));
    if (!member_find_header(headers, count, SLICE("User-Agent")))
        add_header(lines, SLICE("User-Agent"), SLICE("duepost/" DUEPOST_VERSION));
    add_header(lines, SLICE("Duepost-Topic"), job->topic);
    add_header(lines, SLICE("Duepost-Job-Id"), job->job_id);
    add_header(lines, SLICE("Duepost-Attempt"), buffer_slice(&number));
    for (size_t i = 0; i < count; i++)
        add_header(lines, headers[i].name, headers[i].value);
    lines->starts[lines->count] = lines->text->size;
}

struct http_post *attempt_request_post(struct attempt *attempt, int64_t timeout_ms, bool (*may_send)(void *),
                                       void (*on_done)(void *, const struct http_outcome *))
{
    struct slice payload = job_payload(&attempt->job, &attempt->payload);
    struct header_lines lines = {.text = &attempt->header_text};
    struct slice headers[HEADER_LINES_MAX];
    write_headers(attempt, payload, &lines);
    for (size_t i = 0; i < lines.count; i++)
        headers[i] =
            slice_from(attempt->header_text.data + lines.starts[i], lines.starts[i + 1] - lines.starts[i]);
    struct http_post_request request = {
        .url = topic_defaults_url(attempt->settings, &attempt->job),
        .headers = headers,
        .header_count = lines.count,
        .body = payload,
        .timeout_ms = timeout_ms,
        .may_connect = may_connect,
        .may_send = may_send,
        .on_done = on_done,
        .arg = attempt,
    };
    return http_post(attempt->context->client, &request);
}
