/* Takes the answer to a call, line by line and piece by piece, from libcurl or reader.h. */
#include "io/http/client_private.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/system.h"

/* ---- Retry-After ---- */

int64_t retry_after_seconds(struct slice value)
{
    uint64_t seconds;
    while (value.size && (value.data[value.size - 1] == '\r' || value.data[value.size - 1] == '\n'))
        value.size--;
    value = slice_trim(value);
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] < '0' || value.data[i] > '9')
            return -1;
    if (value.size == 0)
        return -1;
    return slice_to_number(value, RETRY_AFTER_MAX_S, &seconds) ? (int64_t)seconds : RETRY_AFTER_MAX_S;
}

/* ---- pieces of an answer ---- */

enum {
    HEAD_MAX_BYTES = 64 * 1024, /* maximum total size of an answer's heads: interim responses (1xx), the final
                                   head and trailers */
    BODY_MAX_BYTES = 64 * 1024,
};

/* Returns the seconds until a date, or 0 for an invalid date or a date in the past. Uses curl_getdate,
 * because CURLINFO_RETRY_AFTER has a maximum of six hours in newer versions. */
static int64_t call_seconds_until(struct slice date)
{
    char text[64];
    if (date.size >= sizeof text)
        return 0;
    memcpy(text, date.data, date.size);
    text[date.size] = '\0';
    int64_t then = curl_getdate(text, NULL), now = time(NULL);
    if (then <= now)
        return 0;
    return then - now < RETRY_AFTER_MAX_S ? then - now : RETRY_AFTER_MAX_S;
}

static int64_t call_retry_after(struct slice value)
{
    int64_t seconds = retry_after_seconds(value);
    return seconds >= 0 ? seconds : call_seconds_until(value);
}

void http_call_clear_replies(struct http_call *call)
{
    for (size_t i = 0; i < HTTP_REPLIES; i++) {
        call->replies[i].is_there = false;
        call->replies[i].bytes = 0;
    }
}

static void keep_reply(struct http_call *call, enum http_reply reply, struct slice value)
{
    struct slice parts[] = {call->replies[reply].is_there ? SLICE(", ") : SLICE(""), value};
    call->replies[reply].is_there = true;
    for (size_t i = 0; i < 2; i++) {
        size_t room = HTTP_REPLY_MAX - call->replies[reply].bytes;
        size_t size = parts[i].size < room ? parts[i].size : room;
        memcpy(call->replies[reply].text + call->replies[reply].bytes, parts[i].data, size);
        call->replies[reply].bytes += size;
    }
}

static struct slice header_value(struct slice line, const char *name)
{
    struct slice value = slice_skip(line, strlen(name));
    while (value.size && (value.data[value.size - 1] == '\n' || value.data[value.size - 1] == '\r'))
        value.size--;
    return slice_trim(value);
}

/* Keeps the line of a header if the call wants it. A line that does not fit is left out. */
static void keep_line(struct http_call *call, struct slice line)
{
    struct slice text = header_value(line, "");
    size_t size = call->headers.size;
    if (!call->request.wants_headers || text.size == 0 ||
        call->headers.size + text.size + 1 > HTTP_ANSWER_HEAD_MAX)
        return;
    buffer_append(&call->headers, text);
    buffer_append_byte(&call->headers, '\n');
    if (call->headers.failed) { /* no memory */
        call->headers.failed = false;
        call->headers.size = size;
    }
}

/* Begins a head. The headers of an interim head do not count. */
static void take_status(struct http_call *call)
{
    call->status = call->reader.status;
    buffer_clear(&call->headers);
    call->has_retry_after = false;
    http_call_clear_replies(call);
}

static void take_line(struct http_call *call, struct slice line)
{
    keep_line(call, line);
    if (line.size >= 12 && slice_equal_nocase(slice_from(line.data, 12), SLICE("Retry-After:"))) {
        call->has_retry_after = true;
        call->retry_after_s = call_retry_after(slice_skip(line, strlen("Retry-After:")));
    } else if (line.size >= 14 && slice_equal_nocase(slice_from(line.data, 14), SLICE("Duepost-Again:"))) {
        keep_reply(call, HTTP_REPLY_AGAIN, header_value(line, "Duepost-Again:"));
    } else if (line.size >= 14 && slice_equal_nocase(slice_from(line.data, 14), SLICE("Duepost-Defer:"))) {
        keep_reply(call, HTTP_REPLY_DEFER, header_value(line, "Duepost-Defer:"));
    } else if (line.data[0] == '\r' || line.data[0] == '\n') {
        call->has_head = call->status >= 200;
        if (call->has_head)
            call->owner->on_head(call->owner->arg, call);
    }
}

static void take_body(struct http_call *call, struct slice bytes)
{
    if (call->is_large) {
        size_t room = HTTP_LARGE_ANSWER_MAX - call->large_answer.size;
        buffer_append(&call->large_answer, slice_from(bytes.data, bytes.size < room ? bytes.size : room));
    } else if (call->body_bytes < HTTP_ANSWER_MAX) {
        size_t room = HTTP_ANSWER_MAX - call->body_bytes;
        memcpy(call->answer + call->body_bytes, bytes.data, bytes.size < room ? bytes.size : room);
    }
    call->body_bytes += bytes.size;
}

bool http_call_take(struct http_call *call, enum http_read read, struct slice part)
{
    switch (read) {
    case HTTP_READ_STATUS:
    case HTTP_READ_LINE:
        if (call->head_bytes > HEAD_MAX_BYTES)
            break;
        if (read == HTTP_READ_STATUS)
            take_status(call);
        else if (!call->has_head) /* otherwise a trailer */
            take_line(call, part);
        return true;
    case HTTP_READ_BODY:
        take_body(call, part);
        if (call->body_bytes > BODY_MAX_BYTES)
            break;
        return true;
    case HTTP_READ_BAD:
        call->verdict = FAILURE_PROTOCOL;
        call->fault = "The answer is not valid HTTP/1.1";
        return false;
    case HTTP_READ_NO_MEMORY:
        return false;
    default: /* HTTP_READ_LONG */
        break;
    }
    call->verdict = FAILURE_ANSWER_TOO_LARGE;
    return false;
}

/* ---- the outcome ---- */

/* The number of CURLE_TOO_LARGE, a name that the headers of older versions lack. */
enum { CURL_TOO_LARGE = 100 };

/* Returns the failure of a call for which libcurl had no memory, or met something that is too large. libcurl
 * up to 8.5 uses one code for both. After the answer has begun, the cause is a header line above libcurl's
 * own limit of 100 KiB. Our check of head_bytes does not find such a line, because libcurl passes only
 * complete lines. (A lack of memory looks the same, but libcurl then needs at most 100 KiB.)
 */
static enum failure error_of_shortage(const struct http_call *call)
{
    curl_off_t answer_began_us = 0;
    if (!call->outcome.was_sent)
        return FAILURE_CONNECT;
    if (!call->is_plain)
        curl_easy_getinfo(call->easy, CURLINFO_STARTTRANSFER_TIME_T, &answer_began_us);
    return answer_began_us ? FAILURE_ANSWER_TOO_LARGE : FAILURE_RESET;
}

static enum failure error_of(const struct http_call *call, CURLcode code)
{
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return FAILURE_DNS;
    case CURLE_COULDNT_CONNECT:
        return call->was_refused && !call->was_opened ? FAILURE_TARGET_REFUSED : FAILURE_CONNECT;
    case CURLE_OPERATION_TIMEDOUT:
        return FAILURE_TIMEOUT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_SHUTDOWN_FAILED:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_USE_SSL_FAILED:
        return FAILURE_TLS;
    case CURLE_COULDNT_RESOLVE_PROXY:
        return FAILURE_CONNECT;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE: /* with a proxy and no request sent: the proxy has refused the tunnel */
        /* With TLS 1.3, the handshake ends for the client before the receiver has checked the client's
         * certificate. */
        if (call->head_bytes == 0 && !call->outcome.is_reused && http_call_has_alert())
            return FAILURE_TLS;
        return call->owner->proxy && !call->outcome.was_sent ? FAILURE_CONNECT : FAILURE_RESET;
    case CURLE_OUT_OF_MEMORY:
    case CURL_TOO_LARGE:
        return error_of_shortage(call);
    default:
        return FAILURE_PROTOCOL;
    }
}

static void fill_answer(struct http_call *call, CURLcode code)
{
    size_t kept = call->body_bytes < HTTP_ANSWER_MAX ? call->body_bytes : HTTP_ANSWER_MAX;
    struct slice answer = slice_from(call->answer, kept);
    if (call->is_large)
        answer = buffer_slice(&call->large_answer);
    call->outcome.answer = answer;
    call->outcome.is_answer_cut = answer.size < call->body_bytes || code != CURLE_OK;
}

/* Replaces bytes that might disturb a log, a terminal or JSON. The text may contain parts of URLs and of
 * receivers' answers. */
static void clean(char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            *text = '\'';
        else if (*text < ' ' || *text > '~')
            *text = '?';
    }
}

/* Adds the system's error text for a failed connection, because libcurl's message does not contain this
 * text. */
static void add_system_error(struct http_call *call)
{
    long number = call->open_errno;
    size_t size = strlen(call->error_text);
    if (!number && call->easy)
        curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &number);
    if (number)
        snprintf(call->error_text + size, sizeof call->error_text - size, "%s%s", size ? ": " : "",
                 strerror((int)number));
}

static void fill_detail(struct http_call *call, CURLcode code)
{
    enum failure error = call->outcome.error;
    size_t size = sizeof call->error_text;
    if (error == FAILURE_IDLE_CLOSED)
        snprintf(call->error_text, size, "A kept-alive connection was closed before an answer began");
    else if (error == FAILURE_PROTOCOL && call->fault)
        snprintf(call->error_text, size, "%s", call->fault);
    else if (error == FAILURE_ANSWER_TOO_LARGE)
        snprintf(call->error_text, size, "The answer's header section is too large");
    else if (error == FAILURE_TLS && http_call_has_alert())
        http_call_write_alert(call->error_text, size);
    else if (error == FAILURE_RESET && code == CURLE_SEND_ERROR && !call->is_plain)
        /* libcurl's message may be about an earlier step that has failed without harm. */
        snprintf(call->error_text, size, "The receiver closed the connection before it had read the request");
    else if (error == FAILURE_CONNECT && code != CURLE_OUT_OF_MEMORY)
        add_system_error(call);
    if (!call->error_text[0] && code != CURLE_OK)
        snprintf(call->error_text, size, "%s", curl_easy_strerror(code));
    clean(call->error_text);
    call->outcome.detail = slice_of(call->error_text);
    if (call->outcome.detail.size > HTTP_DETAIL_MAX)
        call->outcome.detail.size = HTTP_DETAIL_MAX;
}

void http_call_fill_outcome(struct http_call *call, CURLcode code)
{
    struct http_outcome *outcome = &call->outcome;
    curl_off_t total_us = clock_steady_us() - call->begun_us;
    if (!call->is_plain)
        curl_easy_getinfo(call->easy, CURLINFO_TOTAL_TIME_T, &total_us);
    outcome->duration_ms = total_us / 1000;
    outcome->retry_after_ms = -1;
    if (call->has_head) {
        outcome->status = call->status;
        outcome->retry_after_ms = call->has_retry_after ? call->retry_after_s * 1000 : -1;
        for (size_t i = 0; i < HTTP_REPLIES; i++) {
            outcome->replies[i].is_there = call->replies[i].is_there;
            outcome->replies[i].value = slice_from(call->replies[i].text, call->replies[i].bytes);
        }
        outcome->headers = buffer_slice(&call->headers);
        fill_answer(call, code);
    } else {
        outcome->error = call->verdict != FAILURE_NONE ? call->verdict : error_of(call, code);
        if (outcome->error == FAILURE_RESET && outcome->is_reused && call->head_bytes == 0 &&
            code != CURLE_OUT_OF_MEMORY)
            outcome->error = FAILURE_IDLE_CLOSED;
    }
    if (freeze_guard_has_struck(call->owner->guard, call) && !call->has_head) {
        outcome->error = FAILURE_UNSENT;
        outcome->was_sent = false;
    }
    if (outcome->error != FAILURE_NONE && outcome->error != FAILURE_TARGET_REFUSED)
        fill_detail(call, code);
}
