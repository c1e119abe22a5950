#include "api/audit.h"

#include "http/access.h"
#include "base/log.h"

/* NULL: there is nothing to tell. */
static const char *outcome_of(enum status status)
{
    if (status == STATUS_OK)
        return "done";
    return status == STATUS_UNKNOWN ? "unknown" : NULL;
}

/* event is about what has this name, which is of this kind. */
static void tell(const struct exchange *exchange, const char *event, const char *kind, struct slice name,
                 enum status status)
{
    const char *outcome = outcome_of(status);
    char from[HTTP_FROM_SIZE];
    if (!outcome)
        return;
    http_request_from(exchange->request, from);
    log_audit(event, LOG_TEXT("who", access_name(exchange)), LOG_TEXT("from", from), LOG_SLICE(kind, name),
              LOG_TEXT("outcome", outcome));
}

void audit_job(const struct exchange *exchange, const char *event, enum status status)
{
    tell(exchange, event, "job", exchange->key, status);
}

void audit_one_of_many(const struct exchange *exchange, const char *event, struct slice key,
                       enum status status)
{
    const char *outcome = outcome_of(status);
    if (outcome)
        log_debug(event, LOG_TEXT("who", access_name(exchange)), LOG_SLICE("job", key),
                  LOG_TEXT("outcome", outcome));
}

void audit_topic(const struct exchange *exchange, const char *event, enum status status)
{
    tell(exchange, event, "topic", exchange->topic, status);
}

void audit_receiver(const struct exchange *exchange, const char *event, enum status status)
{
    tell(exchange, event, "receiver", exchange->key, status);
}

void audit_bulk(const struct exchange *exchange, const char *event, const struct bulk_counts *counts)
{
    char from[HTTP_FROM_SIZE];
    http_request_from(exchange->request, from);
    log_audit(event, LOG_TEXT("who", access_name(exchange)), LOG_TEXT("from", from),
              LOG_SLICE("filter", exchange->query), LOG_NUMBER("matched", counts->matched),
              LOG_NUMBER("done", counts->done), LOG_NUMBER("skipped", counts->skipped),
              LOG_NUMBER("unknown", counts->unknown));
}
