/* recurrence.c - finds the times of a schedule. The search takes one span of time after the other; in a span,
 * the time zone's offset from UTC does not change.
 *
 * A cron expression has local times. In one span of a zone, local times and real times differ by a constant.
 * At the beginning of a span, clocks were set forward (local times are skipped: a gap) or back (local times
 * are repeated: an overlap). */
#include "job/recurrence.h"

#include "base/hash.h"
#include "base/timestamp.h"

#define SECOND_MS INT64_C(1000)
#define LAST_S    (TIMESTAMP_MAX_MS / SECOND_MS)
/* More than the longest gap between two times of a schedule: 29 February falls on each day of the week within
 * 40 years, or within 52 years around the year 2100. */
#define HORIZON_S (INT64_C(60) * 366 * 86400)
#define GAP_MAX_S INT64_C(10800) /* as in cron(8); a larger change counts as a correction of the clock */

uint64_t recurrence_seed(struct slice id)
{
    return hash_long_of(id);
}

/* ---- the cron expression of a schedule, and its time zone ---- */

/* For an expression with a fixed minute and hour: finds the first time in a span that is later than
 * after_s. The span begins with a gap or an overlap of local time: if skew_s is positive, the skew_s
 * seconds before the first local second of the span are skipped; if it is negative, its first -skew_s
 * seconds are a repetition. */
static bool find_fixed(const struct cron *cron, const struct time_zone_span *span, int64_t skew_s,
                       int64_t after_s, int64_t until_s, int64_t *next_s)
{
    int64_t local_s, from_s = after_s + span->offset_s;
    if (skew_s > 0 && skew_s <= GAP_MAX_S && after_s < span->from_s) {
        int64_t first_s = span->from_s + span->offset_s;
        if (cron_next(cron, first_s - skew_s - 1, first_s, &local_s)) {
            *next_s = span->from_s;
            return true;
        }
    }
    if (skew_s < 0 && span->from_s + span->offset_s - skew_s - 1 > from_s)
        from_s = span->from_s + span->offset_s - skew_s - 1;
    if (!cron_next(cron, from_s, until_s + span->offset_s, &local_s))
        return false;
    *next_s = local_s - span->offset_s;
    return true;
}

static bool find_wild(const struct cron *cron, const struct time_zone_span *span, int64_t after_s,
                      int64_t until_s, int64_t *next_s)
{
    int64_t local_s;
    if (!cron_next(cron, after_s + span->offset_s, until_s + span->offset_s, &local_s))
        return false;
    *next_s = local_s - span->offset_s;
    return true;
}

/* Returns how much local time is skipped at the beginning of a span. A negative value means that local time
 * is repeated. */
static int64_t skew_of(const struct time_zone *zone, const struct time_zone_span *span)
{
    return span->from_s == INT64_MIN || span->from_s <= 0
               ? 0
               : span->offset_s - time_zone_span(zone, span->from_s - 1).offset_s;
}

static int64_t min_s(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the first time of the cron expression that is later than after_s, or INT64_MAX. */
static int64_t cron_next_in_zone(const struct cron *cron, const struct time_zone *zone, int64_t after_s)
{
    int64_t end_s = min_s(after_s + HORIZON_S, LAST_S + 1), next_s;
    struct time_zone_span span = time_zone_span(zone, after_s);
    while (after_s < end_s) {
        int64_t until_s = min_s(span.until_s, end_s);
        bool is_found = cron->is_wild
                            ? find_wild(cron, &span, after_s, until_s, &next_s)
                            : find_fixed(cron, &span, skew_of(zone, &span), after_s, until_s, &next_s);
        if (is_found)
            return next_s;
        if (until_s == end_s)
            break;
        after_s = until_s - 1; /* the search continues with the first second of the next span */
        span = time_zone_span(zone, until_s);
    }
    return INT64_MAX;
}

/* ---- all schedules ---- */

static int64_t every_next_ms(const struct recurrence *recurrence, int64_t after_ms)
{
    int64_t passed_ms = after_ms - recurrence->base_ms;
    if (passed_ms < 0)
        return recurrence->base_ms;
    return recurrence->base_ms + (passed_ms / recurrence->every_ms + 1) * recurrence->every_ms;
}

int64_t recurrence_next_ms(const struct recurrence *recurrence, int64_t after_ms)
{
    int64_t next_ms;
    if (after_ms < recurrence->first_ms)
        after_ms = recurrence->first_ms - 1;
    if (after_ms >= TIMESTAMP_MAX_MS)
        return RECURRENCE_NEVER_MS;
    if (recurrence->every_ms) {
        next_ms = every_next_ms(recurrence, after_ms);
    } else {
        int64_t after_s = after_ms / SECOND_MS - (after_ms % SECOND_MS < 0);
        int64_t next_s = cron_next_in_zone(&recurrence->cron, recurrence->zone, after_s);
        next_ms = next_s == INT64_MAX ? RECURRENCE_NEVER_MS : next_s * SECOND_MS;
    }
    return next_ms > recurrence->last_ms || next_ms > TIMESTAMP_MAX_MS ? RECURRENCE_NEVER_MS : next_ms;
}

/* Mixes the bits of a number, so that similar numbers have independent results. This is the finalizer of
 * MurmurHash3. */
static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 33) * UINT64_C(0xff51afd7ed558ccd);
    bits = (bits ^ bits >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return bits ^ bits >> 33;
}

int64_t recurrence_jitter_ms(const struct recurrence *recurrence, int64_t at_ms)
{
    if (recurrence->jitter_ms == 0)
        return 0;
    int64_t gap_ms = recurrence_next_ms(recurrence, at_ms) - at_ms;
    uint64_t choices = (uint64_t)min_s(recurrence->jitter_ms + 1, gap_ms);
    return (int64_t)(mix(recurrence->seed ^ mix((uint64_t)at_ms)) % choices);
}
