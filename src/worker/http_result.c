#include "worker/http_result.h"

static enum attempt_error error_of(enum http_error error)
{
    static const enum attempt_error errors[] = {
        [HTTP_ERROR_NONE] = ATTEMPT_ERROR_NONE,
        [HTTP_ERROR_DNS] = ATTEMPT_ERROR_DNS,
        [HTTP_ERROR_CONNECT] = ATTEMPT_ERROR_CONNECT,
        [HTTP_ERROR_TLS] = ATTEMPT_ERROR_TLS,
        [HTTP_ERROR_TIMEOUT] = ATTEMPT_ERROR_TIMEOUT,
        [HTTP_ERROR_RESET] = ATTEMPT_ERROR_RESET,
        [HTTP_ERROR_IDLE_CLOSED] = ATTEMPT_ERROR_RESET,
        [HTTP_ERROR_REFUSED] = ATTEMPT_ERROR_TARGET_REFUSED,
        [HTTP_ERROR_TOO_LARGE] = ATTEMPT_ERROR_ANSWER_TOO_LARGE,
        [HTTP_ERROR_PROTOCOL] = ATTEMPT_ERROR_PROTOCOL,
    };
    return errors[error];
}

struct attempt_result http_result(const struct http_outcome *http, int64_t at_ms)
{
    return (struct attempt_result){
        .at_ms = at_ms,
        .duration_ms = http->duration_ms,
        .status = http->error == HTTP_ERROR_NONE ? http->status : 0,
        .error = error_of(http->error),
        .detail = http->detail,
        .was_sent = http->was_sent,
        .is_idle_closed = http->error == HTTP_ERROR_IDLE_CLOSED,
    };
}

enum metrics_result http_result_metric(const struct http_outcome *http)
{
    static const enum metrics_result errors[] = {
        [HTTP_ERROR_DNS] = METRICS_RESULT_DNS,
        [HTTP_ERROR_CONNECT] = METRICS_RESULT_CONNECT,
        [HTTP_ERROR_TLS] = METRICS_RESULT_TLS,
        [HTTP_ERROR_TIMEOUT] = METRICS_RESULT_TIMEOUT,
        [HTTP_ERROR_RESET] = METRICS_RESULT_RESET,
        [HTTP_ERROR_IDLE_CLOSED] = METRICS_RESULT_RESET,
        [HTTP_ERROR_REFUSED] = METRICS_RESULT_TARGET_REFUSED,
        [HTTP_ERROR_TOO_LARGE] = METRICS_RESULT_ANSWER_TOO_LARGE,
        [HTTP_ERROR_PROTOCOL] = METRICS_RESULT_PROTOCOL,
    };
    if (http->error != HTTP_ERROR_NONE)
        return errors[http->error];
    switch (http->status / 100) {
    case 2:
        return METRICS_RESULT_DELIVERED;
    case 3:
        return METRICS_RESULT_3XX;
    case 4:
        return METRICS_RESULT_4XX;
    case 5:
        return METRICS_RESULT_5XX;
    default:
        return METRICS_RESULT_PROTOCOL; /* no status that HTTP knows */
    }
}
