/* recurrence.c - finds the times of a schedule. The search takes one span of time after the other; in a span,
 * the time zone's offset from UTC does not change.
 *
 * A cron expression has local times. In one span of a zone, local times and real times differ by a constant.
 * At the beginning of a span, clocks were set forward (local times are skipped: a gap) or back (local times
 * are repeated: an overlap). */
#include "job/schedule/recurrence.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/timestamp.h"

#define SECOND_MS         INT64_C(1000)
#define WINDOWS_SEARCH_MS (INT64_C(10) * 366 * 86400 * 1000)
#define LAST_S            (TIMESTAMP_MAX_MS / SECOND_MS)
/* More than the longest gap between two times of a schedule: 29 February falls on each day of the week within
 * 40 years, or within 52 years around the year 2100. */
#define HORIZON_S (INT64_C(60) * 366 * 86400)

/* Windows of a week in which no time of the schedule falls, several times over: they take up to a tenth of a
 * second, in which the loop does nothing else. */
enum { WINDOWS_TRIED_MAX = 1000 };
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

/* Returns how much local time is skipped at the beginning of a span. A negative value means that local time
 * is repeated. */
static int64_t skew_of(const struct time_zone *zone, const struct time_zone_span *span)
{
    return span->from_s == INT64_MIN || span->from_s <= 0
               ? 0
               : span->offset_s - time_zone_span(zone, span->from_s - 1).offset_s;
}

static int64_t recurrence_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the first time of the cron expression that is later than after_s, or INT64_MAX. */
static int64_t cron_next_in_zone(const struct cron *cron, const struct time_zone *zone, int64_t after_s)
{
    int64_t end_s = recurrence_min(after_s + HORIZON_S, LAST_S + 1), next_s;
    struct time_zone_span span = time_zone_span(zone, after_s);
    while (after_s < end_s) {
        int64_t until_s = recurrence_min(span.until_s, end_s);
        if (cron->is_wild) {
            if (cron_next(cron, after_s + span.offset_s, until_s + span.offset_s, &next_s))
                return next_s - span.offset_s;
        } else if (find_fixed(cron, &span, skew_of(zone, &span), after_s, until_s, &next_s)) {
            return next_s;
        }
        if (until_s == end_s)
            break;
        after_s = until_s - 1; /* the search continues with the first second of the next span */
        span = time_zone_span(zone, until_s);
    }
    return INT64_MAX;
}

/* ---- all schedules ---- */

static int64_t next_time_ms(const struct recurrence *recurrence, int64_t after_ms)
{
    int64_t next_ms;
    if (after_ms < recurrence->first_ms)
        after_ms = recurrence->first_ms - 1;
    if (after_ms >= TIMESTAMP_MAX_MS)
        return RECURRENCE_NEVER_MS;
    if (recurrence->every_ms) {
        int64_t passed_ms = after_ms - recurrence->base_ms;
        int64_t count = passed_ms < 0 ? 0 : passed_ms / recurrence->every_ms + 1;
        next_ms = recurrence->base_ms + count * recurrence->every_ms;
    } else {
        int64_t after_s = after_ms / SECOND_MS - (after_ms % SECOND_MS < 0);
        int64_t next_s = cron_next_in_zone(&recurrence->cron, recurrence->zone, after_s);
        next_ms = next_s == INT64_MAX ? RECURRENCE_NEVER_MS : next_s * SECOND_MS;
    }
    return next_ms > recurrence->last_ms || next_ms > TIMESTAMP_MAX_MS ? RECURRENCE_NEVER_MS : next_ms;
}

static const struct time_zone *zone_of(void *arg, struct slice name)
{
    const struct time_zone *const *zone = arg;
    (void)name;
    return *zone;
}

int64_t recurrence_next_ms(const struct recurrence *recurrence, int64_t after_ms)
{
    struct window_span spans[WINDOW_SPANS_MAX];
    int64_t next_ms = next_time_ms(recurrence, after_ms);
    const struct time_zone *zone = recurrence->zone;
    int tried = 0;
    while (recurrence->windows.count && next_ms != RECURRENCE_NEVER_MS) {
        /* A window may be too short for any time of the schedule. */
        if (windows_spans(&recurrence->windows, next_ms, zone_of, &zone, spans) == 0 ||
            next_ms - after_ms > WINDOWS_SEARCH_MS || ++tried > WINDOWS_TRIED_MAX)
            return RECURRENCE_NEVER_MS;
        if (spans[0].opens_ms <= next_ms)
            break;
        next_ms = next_time_ms(recurrence, spans[0].opens_ms - 1);
    }
    return next_ms;
}

/* ---- counts ---- */

static int64_t recurrence_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Counts the times of the cron expression from from_s on that are earlier than until_s. At the beginning of a
 * span, skipped times count as one time, as in find_fixed. */
static int64_t cron_count_in_zone(const struct cron *cron, const struct time_zone *zone, int64_t from_s,
                                  int64_t until_s)
{
    int64_t count = 0;
    while (from_s < until_s) {
        struct time_zone_span span = time_zone_span(zone, from_s);
        int64_t end_s = recurrence_min(span.until_s, until_s), local_s = from_s + span.offset_s;
        int64_t skew_s = cron->is_wild ? 0 : skew_of(zone, &span);
        if (skew_s > 0 && skew_s <= GAP_MAX_S && from_s == span.from_s &&
            cron_count(cron, local_s - skew_s, local_s) > 0) {
            count++;
            local_s++; /* a time at the moment of the change is the same one */
        }
        if (skew_s < 0)
            local_s = recurrence_max(local_s, span.from_s + span.offset_s - skew_s);
        if (local_s < end_s + span.offset_s)
            count += cron_count(cron, local_s, end_s + span.offset_s);
        from_s = end_s;
    }
    return count;
}

int64_t recurrence_count(const struct recurrence *recurrence, int64_t after_ms, int64_t until_ms)
{
    int64_t every_ms = recurrence->every_ms, base_ms = recurrence->base_ms;
    after_ms = recurrence_max(after_ms, recurrence->first_ms - 1);
    until_ms = recurrence_min(until_ms, recurrence_min(recurrence->last_ms, TIMESTAMP_MAX_MS));
    if (after_ms >= until_ms)
        return 0;
    if (every_ms)
        return (until_ms < base_ms ? 0 : (until_ms - base_ms) / every_ms + 1) -
               (after_ms < base_ms ? 0 : (after_ms - base_ms) / every_ms + 1);
    return cron_count_in_zone(&recurrence->cron, recurrence->zone,
                              after_ms / SECOND_MS - (after_ms % SECOND_MS < 0) + 1,
                              until_ms / SECOND_MS - (until_ms % SECOND_MS < 0) + 1);
}

size_t recurrence_changes(const struct recurrence *recurrence, int64_t after_ms, int64_t until_ms,
                          struct recurrence_change *changes, size_t max)
{
    const struct cron *cron = &recurrence->cron;
    int64_t until_s = recurrence_min(until_ms, TIMESTAMP_MAX_MS) / SECOND_MS;
    size_t count = 0;
    if (recurrence->every_ms)
        return 0;
    for (int64_t at_s = time_zone_span(recurrence->zone, after_ms / SECOND_MS).until_s;
         at_s <= until_s && count < max;) {
        struct time_zone_span span = time_zone_span(recurrence->zone, at_s);
        int64_t skew_s = skew_of(recurrence->zone, &span), local_s = at_s + span.offset_s;
        int64_t times = skew_s > 0 ? cron_count(cron, local_s - skew_s, local_s)
                                   : cron_count(cron, local_s, local_s - skew_s);
        bool is_moved = !cron->is_wild && skew_s <= GAP_MAX_S;
        if (times > 0)
            changes[count++] = (struct recurrence_change){
                .at_ms = at_s * SECOND_MS,
                .skew_s = skew_s,
                .times = times,
                .effect = skew_s > 0 ? (is_moved ? RECURRENCE_MOVED : RECURRENCE_SKIPPED)
                                     : (cron->is_wild ? RECURRENCE_TWICE : RECURRENCE_ONCE),
            };
        at_s = span.until_s;
    }
    return count;
}

/* Mixes the bits of a number, so that similar numbers have independent results. This is the finalizer of
 * MurmurHash3. */
static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 33) * UINT64_C(0xff51afd7ed558ccd);
    bits = (bits ^ bits >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return bits ^ bits >> 33;
}

/* ---- jitter ---- */

int64_t recurrence_jitter_ms(const struct recurrence *recurrence, int64_t at_ms)
{
    if (recurrence->jitter_ms == 0)
        return 0;
    int64_t gap_ms = recurrence_next_ms(recurrence, at_ms) - at_ms;
    uint64_t choices = (uint64_t)recurrence_min(recurrence->jitter_ms + 1, gap_ms);
    return (int64_t)(mix(recurrence->seed ^ mix((uint64_t)at_ms)) % choices);
}

/* ---- text ---- */

/* Takes the next number from the front of a text. Returns false if the text does not begin with a number. */
static bool take_number(struct slice *text, int64_t *number)
{
    struct slice word;
    uint64_t found;
    slice_cut(*text, ' ', &word, text);
    if (!slice_to_number(word, TIMESTAMP_MAX_MS, &found))
        return false;
    *number = (int64_t)found;
    return true;
}

void recurrence_progress_read(struct slice text, int64_t expected_ms, struct recurrence_progress *progress)
{
    int64_t back_ms, front_ms;
    progress->back_ms = -1;
    progress->front_ms = expected_ms < 0 ? RECURRENCE_NEVER_MS : expected_ms;
    progress->count = 0;
    if (!take_number(&text, &back_ms) || !take_number(&text, &front_ms))
        return;
    if (back_ms > 0)
        progress->back_ms = back_ms;
    /* The text may have an old front_ms: it is not rewritten if only front_ms has changed. */
    if (front_ms > progress->front_ms)
        progress->front_ms = front_ms < TIMESTAMP_MAX_MS ? front_ms : RECURRENCE_NEVER_MS;
    while (progress->count < RECURRENCE_SKIPPED_MAX) {
        struct recurrence_range *range = &progress->skipped[progress->count];
        if (!take_number(&text, &range->first_ms) || !take_number(&text, &range->last_ms))
            return;
        progress->count++;
    }
}

void recurrence_progress_write(const struct recurrence_progress *progress, struct buffer *out)
{
    if (progress->back_ms < 0 && progress->count == 0)
        return;
    int64_t front_ms = progress->front_ms < TIMESTAMP_MAX_MS ? progress->front_ms : TIMESTAMP_MAX_MS;
    buffer_printf(out, "%" PRId64 " %" PRId64, progress->back_ms < 0 ? 0 : progress->back_ms, front_ms);
    for (size_t i = 0; i < progress->count; i++)
        buffer_printf(out, " %" PRId64 " %" PRId64, progress->skipped[i].first_ms,
                      progress->skipped[i].last_ms);
}

bool recurrence_progress_differs(const struct recurrence_progress *a, const struct recurrence_progress *b)
{
    return a->back_ms != b->back_ms || a->count != b->count ||
           memcmp(a->skipped, b->skipped, a->count * sizeof *a->skipped) != 0;
}

/* ---- searches ---- */

/* Returns whether there are more than max times later than after_ms and up to now_ms. */
static bool has_more(const struct recurrence *recurrence, int64_t after_ms, int64_t now_ms, size_t max)
{
    int64_t at_ms = after_ms;
    for (size_t i = 0; i <= max; i++) {
        at_ms = recurrence_next_ms(recurrence, at_ms);
        if (at_ms > now_ms)
            return false;
    }
    return true;
}

/* Returns the earliest moment, not before after_ms, after which the schedule has at most max times up to
 * now_ms. Searches by bisection, because there may be millions of times. */
static int64_t cut_times(const struct recurrence *recurrence, int64_t after_ms, int64_t now_ms, size_t max)
{
    if (!has_more(recurrence, after_ms, now_ms, max))
        return after_ms;
    /* In each step, more than max times are later than low, and at most max times are later than high. */
    int64_t low = after_ms, high = now_ms;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (has_more(recurrence, middle, now_ms, max))
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Returns the schedule's last time from first_ms to last_ms, or a time before first_ms if there is no such
 * time. */
static int64_t last_time(const struct recurrence *recurrence, int64_t first_ms, int64_t last_ms)
{
    return cut_times(recurrence, first_ms - 1, last_ms, 0);
}

/* ---- progress ---- */

int64_t recurrence_progress_next_ms(const struct recurrence_progress *progress,
                                    const struct recurrence *recurrence, int64_t after_ms)
{
    for (size_t i = 0; i < progress->count; i++) {
        const struct recurrence_range *range = &progress->skipped[i];
        if (range->last_ms <= after_ms)
            continue;
        int64_t at_ms = recurrence_next_ms(recurrence, recurrence_max(after_ms, range->first_ms - 1));
        if (at_ms <= range->last_ms)
            return at_ms;
    }
    return recurrence_next_ms(recurrence, recurrence_max(after_ms, progress->front_ms - 1));
}

void recurrence_progress_set_back(struct recurrence_progress *progress, const struct recurrence *recurrence,
                                  int64_t next_ms)
{
    progress->back_ms = -1;
    for (size_t i = progress->count; i-- > 0;) {
        const struct recurrence_range *range = &progress->skipped[i];
        if (range->first_ms >= next_ms)
            continue;
        progress->back_ms =
            range->last_ms < next_ms ? range->last_ms : last_time(recurrence, range->first_ms, next_ms - 1);
        return;
    }
}

static void remove_range(struct recurrence_progress *progress, size_t index)
{
    progress->count--;
    memmove(progress->skipped + index, progress->skipped + index + 1,
            (progress->count - index) * sizeof *progress->skipped);
}

/* Adds a range at index, unless it is empty. If there is no room, the earliest range is dropped. */
static void add_range(struct recurrence_progress *progress, size_t index, int64_t first_ms, int64_t last_ms)
{
    if (first_ms > last_ms)
        return;
    if (progress->count == RECURRENCE_SKIPPED_MAX) {
        if (index == 0)
            return;
        remove_range(progress, 0);
        index--;
    }
    memmove(progress->skipped + index + 1, progress->skipped + index,
            (progress->count - index) * sizeof *progress->skipped);
    progress->skipped[index] = (struct recurrence_range){first_ms, last_ms};
    progress->count++;
}

/* Notes the times from front_ms to last_ms as skipped. If no time of the schedule is between the last range
 * and these times, extends this range. */
static void skip_front(struct recurrence_progress *progress, const struct recurrence *recurrence,
                       int64_t last_ms)
{
    int64_t first_ms = progress->front_ms;
    struct recurrence_range *before = progress->count ? &progress->skipped[progress->count - 1] : NULL;
    last_ms = last_time(recurrence, first_ms, last_ms);
    if (first_ms > last_ms)
        return;
    if (before && recurrence_next_ms(recurrence, before->last_ms) >= first_ms)
        before->last_ms = last_ms;
    else
        add_range(progress, progress->count, first_ms, last_ms);
}

void recurrence_progress_skip(struct recurrence_progress *progress, const struct recurrence *recurrence,
                              int64_t now_ms)
{
    if (progress->front_ms > now_ms)
        return;
    skip_front(progress, recurrence, now_ms);
    progress->front_ms = recurrence_next_ms(recurrence, now_ms);
}

void recurrence_progress_take(struct recurrence_progress *progress, const struct recurrence *recurrence,
                              int64_t time_ms)
{
    if (time_ms >= progress->front_ms) {
        skip_front(progress, recurrence, time_ms - 1);
        progress->front_ms = recurrence_next_ms(recurrence, time_ms);
        return;
    }
    for (size_t i = 0; i < progress->count; i++)
        if (progress->skipped[i].first_ms <= time_ms && time_ms <= progress->skipped[i].last_ms) {
            /* A range from which an inner time is removed becomes two ranges. */
            struct recurrence_range range = progress->skipped[i];
            remove_range(progress, i);
            add_range(progress, i, recurrence_next_ms(recurrence, time_ms), range.last_ms);
            if (time_ms > range.first_ms)
                add_range(progress, i, range.first_ms, last_time(recurrence, range.first_ms, time_ms - 1));
            return;
        }
}

/* ---- decisions ---- */

/* Moves *after_ms forward until at most "room" times of the schedule are between it and last_ms. Returns the
 * number of these times. */
static size_t keep_latest(const struct recurrence *recurrence, int64_t *after_ms, int64_t last_ms,
                          size_t room)
{
    size_t count = 0;
    *after_ms = cut_times(recurrence, *after_ms, last_ms, room);
    for (int64_t at_ms = recurrence_next_ms(recurrence, *after_ms); at_ms <= last_ms;
         at_ms = recurrence_next_ms(recurrence, at_ms))
        count++;
    return count;
}

/* Lists the times after after_ms and up to now_ms that are not over. If there are more than max, lists
 * only the latest. */
static void list_times(const struct recurrence *recurrence, const struct recurrence_progress *progress,
                       int64_t after_ms, int64_t now_ms, size_t max, struct recurrence_decision *decision)
{
    struct recurrence_range ranges[RECURRENCE_SKIPPED_MAX + 1]; /* a range begins after its first_ms */
    assert(progress->count <= RECURRENCE_SKIPPED_MAX);
    size_t first = progress->count + 1;
    while (first > 0 && max > 0) {
        first--;
        bool is_front = first == progress->count;
        const struct recurrence_range *skipped = &progress->skipped[is_front ? 0 : first];
        int64_t from_ms = is_front ? progress->front_ms : skipped->first_ms;
        ranges[first].first_ms = recurrence_max(after_ms, from_ms - 1);
        ranges[first].last_ms = is_front ? now_ms : recurrence_min(now_ms, skipped->last_ms);
        max -= keep_latest(recurrence, &ranges[first].first_ms, ranges[first].last_ms, max);
    }
    for (size_t i = first; i <= progress->count; i++)
        for (int64_t at_ms = recurrence_next_ms(recurrence, ranges[i].first_ms); at_ms <= ranges[i].last_ms;
             at_ms = recurrence_next_ms(recurrence, at_ms))
            decision->times_ms[decision->count++] = at_ms;
}

void recurrence_decide(const struct recurrence *recurrence, const struct recurrence_progress *progress,
                       int64_t expected_ms, int64_t now_ms, struct recurrence_decision *decision)
{
    int64_t after_ms = expected_ms - 1; /* only times later than this are fired */
    decision->count = 0;
    decision->is_missed = expected_ms < now_ms - recurrence->grace_ms;
    if (expected_ms > now_ms) {
        decision->next_ms = recurrence_progress_next_ms(progress, recurrence, after_ms);
        return;
    }
    if (decision->is_missed && recurrence->misfire == MISFIRE_SKIP)
        after_ms = now_ms - recurrence->grace_ms - 1;
    bool is_one = decision->is_missed && recurrence->misfire == MISFIRE_ONE;
    list_times(recurrence, progress, after_ms, now_ms, is_one ? 1 : RECURRENCE_FIRED_MAX, decision);
    decision->next_ms = recurrence_progress_next_ms(progress, recurrence, now_ms);
}
