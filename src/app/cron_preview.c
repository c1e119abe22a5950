#include "app/cron_preview.h"

#include "io/time_zones.h"
#include "job/schedule/recurrence.h"

/* Writes an interval as words, such as "every 15 minutes", in the largest unit that gives a whole number. */
static void write_every(struct buffer *out, int64_t every_ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"day", 86400000}, {"hour", 3600000}, {"minute", 60000}, {"second", 1000}, {"ms", 1}};
    size_t i = 0;
    while (every_ms % units[i].ms)
        i++;
    int64_t count = every_ms / units[i].ms;
    if (count == 1)
        buffer_printf(out, "every %s", units[i].name);
    else
        buffer_printf(out, "every %lld %s%s", (long long)count, units[i].name, units[i].ms > 1 ? "s" : "");
}

static bool read_recurrence(struct app *app, const struct app_cron_call *call, struct recurrence *recurrence,
                            struct job_errors *errors)
{
    struct problem problem;
    *recurrence = (struct recurrence){
        .every_ms = call->every_ms,
        .base_ms = call->from_ms,
        .first_ms = call->from_ms + 1,
        .last_ms = RECURRENCE_NEVER_MS,
    };
    job_errors_clear(errors);
    if (!call->every_ms && cron_parse(call->expression, &recurrence->cron, &problem) != STATUS_OK)
        job_errors_add(errors, "expression", problem.text);
    if (time_zone_name_is_of_host(call->timezone))
        job_errors_add(errors, "timezone", TIME_ZONE_NAME_EXPECTED);
    else if (time_zones_find(app->zones, call->timezone, &recurrence->zone, &problem) != STATUS_OK)
        job_errors_add(errors, "timezone", problem.text);
    return errors->count == 0;
}

bool app_cron_preview(struct app *app, const struct app_cron_call *call, struct app_cron_preview *preview,
                      struct job_errors *errors)
{
    struct recurrence recurrence;
    struct buffer words = buffer_of(preview->words, sizeof preview->words);
    if (!read_recurrence(app, call, &recurrence, errors))
        return false;
    if (call->every_ms)
        write_every(&words, call->every_ms);
    else
        cron_write_words(&recurrence.cron, &words);
    buffer_text(&words);
    preview->time_count = 0;
    for (int64_t at_ms = call->from_ms; preview->time_count < APP_CRON_TIMES;) {
        at_ms = recurrence_next_ms(&recurrence, at_ms);
        if (at_ms == RECURRENCE_NEVER_MS)
            break;
        preview->times_ms[preview->time_count++] = at_ms;
    }
    return true;
}
