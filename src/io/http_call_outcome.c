/* The end of a call: turns libcurl's results into an outcome. */
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "io/http_call_private.h"
#include "io/http_call_tls.h"

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
        outcome->has_again = call->has_again;
        outcome->again = slice_from(call->again, call->again_bytes);
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
