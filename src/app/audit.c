#include "app/audit.h"

#include "base/log.h"

/* Returns the word that the log line has for the outcome, or NULL if there is nothing to log. */
static const char *outcome_of(enum status status)
{
    if (status == STATUS_OK)
        return "done";
    if (status == STATUS_UNDURABLE)
        return "not_durable";
    return status == STATUS_UNKNOWN ? "unknown" : NULL;
}

void audit(const struct app_caller *caller, const char *event, const char *kind, struct slice name,
           enum status status)
{
    const char *outcome = outcome_of(status);
    char from[APP_FROM_SIZE];
    if (!outcome)
        return;
    caller->write_from(caller->peer, from);
    log_audit(event, LOG_TEXT("who", caller->name), LOG_TEXT("from", from), LOG_SLICE(kind, name),
              LOG_TEXT("outcome", outcome));
}

void audit_one_of_many(const struct app_caller *caller, const char *event, struct slice id,
                       enum status status)
{
    const char *outcome = outcome_of(status);
    if (outcome)
        log_debug(event, LOG_TEXT("who", caller->name), LOG_SLICE("job", id), LOG_TEXT("outcome", outcome));
}

void audit_removal(const struct app_caller *caller, struct slice filter, int64_t removed)
{
    char from[APP_FROM_SIZE];
    if (removed == 0)
        return;
    caller->write_from(caller->peer, from);
    if (removed < 0)
        log_audit("history_removed", LOG_TEXT("who", caller->name), LOG_TEXT("from", from),
                  LOG_SLICE("filter", filter), LOG_TEXT("outcome", "unknown"));
    else
        log_audit("history_removed", LOG_TEXT("who", caller->name), LOG_TEXT("from", from),
                  LOG_SLICE("filter", filter), LOG_NUMBER("removed", removed), LOG_TEXT("outcome", "done"));
}

void audit_bulk(const struct app_caller *caller, const char *event, struct slice filter,
                const struct app_bulk_counts *counts)
{
    char from[APP_FROM_SIZE];
    caller->write_from(caller->peer, from);
    log_audit(event, LOG_TEXT("who", caller->name), LOG_TEXT("from", from), LOG_SLICE("filter", filter),
              LOG_NUMBER("matched", counts->matched), LOG_NUMBER("done", counts->done),
              LOG_NUMBER("skipped", counts->skipped), LOG_NUMBER("unknown", counts->unknown));
}
