#include "qstash/handler.h"

#include <stdio.h>

static unsigned tell(char text[ANSWER_TEXT_SIZE], unsigned status, const char *sentence)
{
    snprintf(text, ANSWER_TEXT_SIZE, "%s", sentence);
    return status;
}

unsigned answer_of_verdict(const struct app_verdict *verdict, char text[ANSWER_TEXT_SIZE])
{
    struct job_error error;
    size_t at = 0;
    switch (verdict->end) {
    case STATUS_INVALID:
        if (job_errors_take(verdict->errors, &at, &error))
            snprintf(text, ANSWER_TEXT_SIZE, "%s: %s", error.field, error.detail);
        return 400;
    case STATUS_NOT_REACHED:
        return tell(text, 403, "the token has no access to the topic qstash");
    case STATUS_NOT_FOUND:
        return tell(text, 404, "not found");
    case STATUS_LEASED:
        return tell(text, 409, "the message is being delivered");
    case STATUS_FULL:
        return tell(text, 507, "there are too many messages already, or Redis has no memory left");
    case STATUS_NO_MEMORY:
        return tell(text, 503, "there is not enough memory for this request; nothing changed");
    case STATUS_UNKNOWN:
        return tell(text, 503, "the outcome is unknown: Redis did not answer");
    case STATUS_UNDURABLE:
        return tell(
            text, 503,
            "the request is carried out, but not durable yet: too few replicas of Redis have confirmed it");
    case STATUS_NO_HISTORY:
        return tell(text, 404, "this server keeps no history");
    case STATUS_LACKING:
        return tell(text, 409, "the data in Redis needs a later version of duepost than this process has");
    case STATUS_UNREADABLE:
        return tell(text, 409, "the record of the message cannot be read");
    case STATUS_TOO_LARGE:
        return tell(text, 413, "the messages to all endpoints together are over 4 MiB");
    default:
        snprintf(text, ANSWER_TEXT_SIZE, "%.*s; nothing changed", SLICE_ARG(verdict->why));
        return 503;
    }
}

void answer_refuse_verdict(struct exchange *exchange, const struct app_verdict *verdict)
{
    char text[ANSWER_TEXT_SIZE];
    unsigned status = answer_of_verdict(verdict, text);
    exchange_refuse(exchange, status, "%s", text);
}

void answer_done(struct exchange *exchange, const struct app_verdict *verdict)
{
    if (verdict->end == STATUS_OK)
        exchange_answer(exchange, 200, NULL, 0, SLICE(""));
    else
        answer_refuse_verdict(exchange, verdict);
}

void answer_write_error(struct buffer *body, struct slice error)
{
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "error", error);
    json_end_object(&json);
}
