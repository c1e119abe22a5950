#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *status_name(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return "ok";
    case STATUS_INVALID:
        return "invalid";
    case STATUS_EXISTS:
        return "exists";
    case STATUS_REPEATED:
        return "repeated";
    case STATUS_REUSED:
        return "reused";
    case STATUS_NOT_FOUND:
        return "not_found";
    case STATUS_LEASED:
        return "leased";
    case STATUS_EXPIRED:
        return "expired";
    case STATUS_NO_URL:
        return "no_url";
    case STATUS_UNREADABLE:
        return "unreadable";
    case STATUS_LACKING:
        return "lacking";
    case STATUS_STALE:
        return "stale";
    case STATUS_FULL:
        return "full";
    case STATUS_UNAVAILABLE:
        return "unavailable";
    case STATUS_UNKNOWN:
        return "unknown";
    case STATUS_NO_MEMORY:
        return "no_memory";
    case STATUS_FAILED:
        return "failed";
    }
    return "?";
}

void problem_set(struct problem *problem, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(problem->text, sizeof problem->text, format, values);
    va_end(values);
}
