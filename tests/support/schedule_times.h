/* schedule_times.h - for tests of schedules: a recurrence, which set_cron and set_every set, and times as
 * text. */
#ifndef DUEPOST_TESTS_SUPPORT_SCHEDULE_TIMES_H
#define DUEPOST_TESTS_SUPPORT_SCHEDULE_TIMES_H

#include "support/suite.h"

#include "base/timestamp.h"
#include "job/schedule/recurrence.h"

static struct recurrence recurrence;

static int64_t ms_of(const char *text)
{
    int64_t ms = 0;
    ck_assert_msg(timestamp_parse(slice_of(text), &ms), "%s", text);
    return ms;
}

static void set_cron(const char *text, const struct time_zone *zone)
{
    struct problem fault;
    recurrence = (struct recurrence){.zone = zone, .last_ms = RECURRENCE_NEVER_MS, .grace_ms = 60000};
    ck_assert_msg(cron_parse(slice_of(text), &recurrence.cron, &fault) == STATUS_OK, "%s: %s", text,
                  fault.text);
}

static void set_every(int64_t every_ms, int64_t base_ms)
{
    recurrence = (struct recurrence){.every_ms = every_ms,
                                     .base_ms = base_ms,
                                     .first_ms = base_ms,
                                     .last_ms = RECURRENCE_NEVER_MS,
                                     .grace_ms = 60000};
}

#endif
