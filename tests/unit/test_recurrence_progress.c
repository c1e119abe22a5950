#include <stdio.h>

#include "support/schedule_times.h"
#include "support/suite.h"

#include "job/schedule/recurrence.h"

static struct recurrence_progress progress;
static struct recurrence_decision decision;

/* Decides what a schedule fires now. The schedule has skipped no time so far. */
static void decide(int64_t expected_ms, int64_t now_ms)
{
    recurrence_progress_read(SLICE(""), expected_ms, &progress);
    recurrence_decide(&recurrence, &progress, expected_ms, now_ms, &decision);
}

enum { MINUTE = 60000 };

START_TEST(decides_what_to_fire)
{
    static const struct {
        enum misfire misfire;
        int expected, now; /* minutes; the schedule has a time each minute */
        int grace;
        int count, first, next;
        bool is_missed;
    } cases[] = {
        {MISFIRE_ONE, 1, 0, 1, 0, 0, 1, false},
        {MISFIRE_ONE, 1, 1, 1, 1, 1, 2, false},
        {MISFIRE_ONE, 1, 2, 1, 2, 1, 3, false},
        {MISFIRE_ONE, 1, 3, 1, 1, 3, 4, true},
        {MISFIRE_ONE, 1, 101, 1, 1, 101, 102, true},
        {MISFIRE_ONE, 1, 11, 10, 11, 1, 12, false},
        {MISFIRE_SKIP, 1, 2, 1, 2, 1, 3, false},
        {MISFIRE_SKIP, 1, 3, 1, 2, 2, 4, true},
        {MISFIRE_SKIP, 1, 101, 1, 2, 100, 102, true},
        {MISFIRE_ALL, 1, 3, 1, 3, 1, 4, true},
        {MISFIRE_ALL, 1, 1000, 1, 1000, 1, 1001, true},
        {MISFIRE_ALL, 1, 1001, 1, 1000, 2, 1002, true},
        {MISFIRE_ALL, 1, 600000, 1, 1000, 599001, 600001, true},
        {MISFIRE_ONE, 1, 2000, 5000, 1000, 1001, 2001, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t base_ms = ms_of("2026-01-01T00:00:00Z");
        set_cron("* * * * *", time_zone_utc());
        recurrence.misfire = cases[i].misfire;
        recurrence.grace_ms = cases[i].grace * (int64_t)MINUTE;
        decide(base_ms + cases[i].expected * (int64_t)MINUTE, base_ms + cases[i].now * (int64_t)MINUTE);
        ck_assert_msg((int)decision.count == cases[i].count, "%zu: %zu", i, decision.count);
        for (size_t n = 0; n < decision.count; n++)
            ck_assert_int_eq(decision.times_ms[n], base_ms + (cases[i].first + (int64_t)n) * MINUTE);
        ck_assert_int_eq(decision.next_ms, base_ms + cases[i].next * (int64_t)MINUTE);
        ck_assert_int_eq(decision.is_missed, cases[i].is_missed);
    }
}
END_TEST

START_TEST(skips_a_time_of_which_nothing_is_left)
{
    set_every(86400000, ms_of("2026-01-01T00:00:00Z"));
    recurrence.misfire = MISFIRE_SKIP;
    decide(ms_of("2026-01-02T00:00:00Z"), ms_of("2026-01-02T00:01:00.001Z"));
    ck_assert(decision.count == 0 && decision.is_missed);
    ck_assert_int_eq(decision.next_ms, ms_of("2026-01-03T00:00:00Z"));
    decide(ms_of("2026-01-02T00:00:00Z"), ms_of("2026-01-02T00:01:00.000Z"));
    ck_assert(decision.count == 1 && !decision.is_missed);
}
END_TEST

START_TEST(fires_nothing_after_the_end)
{
    set_every(60000, ms_of("2026-01-01T00:00:00Z"));
    recurrence.last_ms = ms_of("2026-01-01T00:02:00Z");
    recurrence.misfire = MISFIRE_ALL;
    decide(ms_of("2026-01-01T00:01:00Z"), ms_of("2026-01-01T00:10:00Z"));
    ck_assert_uint_eq(decision.count, 2);
    ck_assert_int_eq(decision.next_ms, RECURRENCE_NEVER_MS);
}
END_TEST

/* The expected time is no longer a time of the schedule, as if the rules of its zone had changed. */
START_TEST(an_expected_time_that_is_wrong_fires_nothing)
{
    set_cron("@hourly", time_zone_utc());
    decide(ms_of("2026-01-01T00:30:00Z"), ms_of("2026-01-01T00:30:00Z"));
    ck_assert_uint_eq(decision.count, 0);
    ck_assert_int_eq(decision.next_ms, ms_of("2026-01-01T01:00:00Z"));
}
END_TEST

/* ---- a clock that steps forward and back ---- */

/* A schedule with a time each minute; all numbers are minutes. */
static int64_t zero_ms;
static int next;
static bool is_fired[5000];

static void begin_minutes(enum misfire misfire)
{
    zero_ms = ms_of("2026-01-01T00:00:00Z");
    set_cron("* * * * *", time_zone_utc());
    recurrence.misfire = misfire;
    next = 1;
    recurrence_progress_read(SLICE(""), zero_ms + MINUTE, &progress);
    memset(is_fired, 0, sizeof is_fired);
}

/* Writes and reads the progress, as if another process continued. */
static void pass_on(void)
{
    struct recurrence_progress was = progress;
    char text[RECURRENCE_PROGRESS_SIZE + 1];
    struct buffer out;
    buffer_init(&out, RECURRENCE_PROGRESS_SIZE);
    recurrence_progress_write(&progress, &out);
    ck_assert(!out.failed);
    snprintf(text, sizeof text, "%s", buffer_text(&out));
    buffer_fini(&out);
    recurrence_progress_read(slice_of(text), next < 0 ? -1 : zero_ms + next * (int64_t)MINUTE, &progress);
    ck_assert_msg(!recurrence_progress_differs(&was, &progress), "%s", text);
    ck_assert_msg(was.front_ms == progress.front_ms, "%s", text);
}

static void set_next(int64_t next_ms)
{
    next = next_ms == RECURRENCE_NEVER_MS ? -1 : (int)((next_ms - zero_ms) / MINUTE);
    recurrence_progress_set_back(&progress, &recurrence, next_ms);
    pass_on();
}

static void fire_times(int now, int64_t now_ms)
{
    recurrence_decide(&recurrence, &progress, zero_ms + next * (int64_t)MINUTE, now_ms, &decision);
    for (size_t i = 0; i < decision.count; i++) {
        int minute = (int)((decision.times_ms[i] - zero_ms) / MINUTE);
        ck_assert_msg(!is_fired[minute] && minute <= now, "%d at %d", minute, now);
        is_fired[minute] = true;
        recurrence_progress_take(&progress, &recurrence, decision.times_ms[i]);
        set_next(i + 1 < decision.count ? decision.times_ms[i + 1] : decision.next_ms);
    }
    if (decision.count > 0)
        return;
    recurrence_progress_skip(&progress, &recurrence, now_ms);
    set_next(decision.next_ms);
}

/* One second after this minute, fires the times of the schedule that are due. Checks that no time is fired
 * twice or early. */
static void at_minute(int now)
{
    int64_t now_ms = zero_ms + now * (int64_t)MINUTE + 1000;
    int was = next;
    if (progress.back_ms > now_ms) {
        set_next(recurrence_progress_next_ms(&progress, &recurrence, now_ms));
        ck_assert_msg(next > now && (was < 0 || next < was), "%d: %d after %d", now, next, was);
    } else if (next >= 0 && next <= now) {
        fire_times(now, now_ms);
    }
    ck_assert_int_lt(progress.back_ms, now_ms);
}

static void run(int from, int to)
{
    for (int now = from; now <= to; now++)
        at_minute(now);
}

static void check_fired(const char *expected)
{
    char found[1000] = "";
    for (int first = 0, last; first < 4999; first = last + 1) {
        last = first;
        if (!is_fired[first])
            continue;
        while (is_fired[last + 1])
            last++;
        snprintf(found + strlen(found), sizeof found - strlen(found), "%d-%d ", first, last);
    }
    ck_assert_str_eq(found, expected);
}

START_TEST(times_that_were_skipped_are_fired_when_the_clock_is_back)
{
    begin_minutes(MISFIRE_ONE);
    run(0, 10);
    run(70, 72);
    check_fired("1-10 70-72 ");
    at_minute(11); /* the clock has stepped back; the time of minute 11 was one second ago */
    ck_assert_int_eq(next, 12);
    run(12, 200);
    check_fired("1-10 12-200 ");
}
END_TEST

START_TEST(times_that_were_all_made_are_not_made_again)
{
    begin_minutes(MISFIRE_ALL);
    run(0, 10);
    run(70, 72);
    check_fired("1-72 ");
    run(11, 80);
    check_fired("1-80 ");
}
END_TEST

START_TEST(the_clock_may_step_several_times)
{
    begin_minutes(MISFIRE_ONE);
    run(0, 10);
    run(70, 70);
    run(10, 20);
    run(100, 101); /* the first time that was not fired is now that of minute 21 */
    run(20, 30);
    run(15, 40); /* the clock steps back to times that were already fired */
    run(1000, 1000);
    run(40, 110);
    check_fired("1-110 1000-1000 ");
}
END_TEST

START_TEST(recent_times_are_fired_and_earlier_ones_are_left)
{
    begin_minutes(MISFIRE_SKIP);
    run(0, 10);
    run(70, 70);
    check_fired("1-10 70-70 ");
    run(10, 30);
    check_fired("1-30 70-70 ");
}
END_TEST

START_TEST(a_schedule_that_has_ended_goes_on_before_its_end)
{
    begin_minutes(MISFIRE_ONE);
    recurrence.last_ms = zero_ms + 20 * (int64_t)MINUTE;
    run(0, 10);
    run(70, 70);
    ck_assert_int_eq(next, -1);
    check_fired("1-10 20-20 ");
    run(10, 70);
    check_fired("1-20 ");
    ck_assert_int_eq(next, -1);
}
END_TEST

START_TEST(the_earliest_ranges_are_forgotten)
{
    begin_minutes(MISFIRE_ONE);
    for (int i = 0; i < 2 * RECURRENCE_SKIPPED_MAX; i++)
        at_minute(100 * i + 50);
    ck_assert_uint_eq(progress.count, RECURRENCE_SKIPPED_MAX);
    memset(is_fired, 0, sizeof is_fired);
    run(0, 100 * RECURRENCE_SKIPPED_MAX + 60);
    check_fired("1551-1649 1651-1660 ");
}
END_TEST

START_TEST(a_text_that_cannot_be_read_has_no_skipped_times)
{
    static const char *const texts[] = {
        "", "x", "1", "1 x", "1 2", "1 2 3", "1 2 3 x", "-1 2 3 4", "1 2 99999999999999999999 4"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        recurrence_progress_read(slice_of(texts[i]), 9, &progress);
        ck_assert(progress.count == 0 && progress.front_ms == 9);
    }
    recurrence_progress_read(SLICE("5 20 3 4"), 9, &progress);
    ck_assert(progress.count == 1 && progress.front_ms == 20 && progress.back_ms == 5);
    recurrence_progress_read(SLICE("0 20 3 4"), -1, &progress);
    ck_assert(progress.count == 1 && progress.front_ms == RECURRENCE_NEVER_MS && progress.back_ms == -1);
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("recurrence_progress");
    TCase *tests = tcase_create("recurrence_progress");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, decides_what_to_fire);
    tcase_add_test(tests, skips_a_time_of_which_nothing_is_left);
    tcase_add_test(tests, fires_nothing_after_the_end);
    tcase_add_test(tests, an_expected_time_that_is_wrong_fires_nothing);
    tcase_add_test(tests, times_that_were_skipped_are_fired_when_the_clock_is_back);
    tcase_add_test(tests, times_that_were_all_made_are_not_made_again);
    tcase_add_test(tests, the_clock_may_step_several_times);
    tcase_add_test(tests, recent_times_are_fired_and_earlier_ones_are_left);
    tcase_add_test(tests, a_schedule_that_has_ended_goes_on_before_its_end);
    tcase_add_test(tests, the_earliest_ranges_are_forgotten);
    tcase_add_test(tests, a_text_that_cannot_be_read_has_no_skipped_times);
    suite_add_tcase(all, tests);
    return all;
}
