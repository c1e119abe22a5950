/* Tests the model of the forecast (job/forecast.h), and the counts of the jobs of schedules
 * (job/schedule/occurrences.h). */
#include "job/forecast.h"

#include <stdio.h>

#include "job/schedule/occurrences.h"
#include "support/suite.h"

#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)

enum { CELLS = 24 };
static uint32_t due[CELLS], begun[CELLS], backlog[CELLS];
static int64_t late_ms[CELLS];
static struct forecast_summary summary;
static const struct forecast_grid grid = {
    .now_ms = 24 * HOUR, .origin_ms = 24 * HOUR, .cell_ms = HOUR, .cells = CELLS};

static void run(const struct forecast_bounds *bounds, int64_t overdue)
{
    struct forecast_demand demand = {.overdue = overdue, .overdue_since_ms = 23 * HOUR, .due = due};
    struct forecast_course course = {begun, backlog, late_ms};
    forecast_queue(&grid, bounds, &demand, &course, &summary);
    int64_t all = overdue, done = 0;
    for (size_t i = 0; i < CELLS; i++) {
        all += due[i], done += begun[i];
        ck_assert_int_eq(backlog[i], all - done);
        ck_assert_int_eq(late_ms[i] > 0, backlog[i] > 0);
    }
    ck_assert_int_eq(summary.left, all - done);
}

static void set_due(size_t cell, uint32_t jobs)
{
    memset(due, 0, sizeof due);
    due[cell] = jobs;
}

static void check_begun(const char *expected)
{
    char found[512] = "";
    for (size_t i = 0; i < CELLS; i++)
        if (begun[i])
            snprintf(found + strlen(found), sizeof found - strlen(found), "%zu:%u ", i, begun[i]);
    ck_assert_str_eq(found, expected);
}

START_TEST(without_bounds_each_job_begins_when_it_is_due)
{
    set_due(3, 100000);
    run(&(struct forecast_bounds){.max_in_flight = 10}, 7);
    check_begun("0:7 3:100000 ");
    ck_assert_int_eq(summary.peak_backlog, 0);
    ck_assert_int_eq(summary.cause, FORECAST_NONE);
    ck_assert_uint_eq(summary.drained_cell, CELLS);
}
END_TEST

/* The first job begins at once, and one more each 36 s: within an hour 100, of which the last one is in the
 * 3564th second. */
START_TEST(a_rate_lets_jobs_begin_one_after_the_other)
{
    struct forecast_bounds bounds = {.rate_jobs = 100, .rate_per_ms = HOUR, .rate_burst = 1};
    set_due(2, 250);
    run(&bounds, 0);
    check_begun("2:100 3:100 4:50 ");
    ck_assert_int_eq(summary.peak_backlog, 150);
    ck_assert_uint_eq(summary.peak_cell, 2);
    ck_assert_uint_eq(summary.drained_cell, 4);
    ck_assert_int_eq(summary.cause, FORECAST_RATE);
    ck_assert_int_eq(late_ms[2], HOUR);
    ck_assert_int_eq(late_ms[3], 2 * HOUR);
    bounds.rate_burst = 30;
    run(&bounds, 0);
    check_begun("2:129 3:100 4:21 ");
    bounds.rate_spent_us = 1000 * (26 * HOUR + 29 * 36000);
    run(&bounds, 0);
    check_begun("2:100 3:100 4:50 ");
}
END_TEST

START_TEST(a_rate_with_windows_begins_a_window_with_an_attempt)
{
    struct forecast_bounds bounds = {.rate_jobs = 100, .rate_per_ms = 90 * MINUTE, .is_rate_window = true};
    set_due(2, 250);
    run(&bounds, 0);
    check_begun("2:100 3:100 5:50 ");
    bounds.rate_began_ms = 24 * HOUR + 45 * MINUTE;
    bounds.rate_begun = 90;
    run(&bounds, 0);
    check_begun("2:110 3:100 5:40 ");
}
END_TEST

/* 2 places and 90 s for each attempt are 80 attempts an hour; the first two begin at once. */
START_TEST(places_are_free_after_the_duration_of_an_attempt)
{
    struct forecast_bounds bounds = {.max_in_flight = 2, .duration_ms = 90000};
    set_due(0, 200);
    run(&bounds, 0);
    check_begun("0:81 1:80 2:39 ");
    ck_assert_int_eq(summary.cause, FORECAST_IN_FLIGHT);
    bounds.is_fifo = true;
    run(&bounds, 0);
    ck_assert_uint_eq(begun[0], 40);
    ck_assert_int_eq(summary.cause, FORECAST_ORDER);
    ck_assert(
        forecast_is_free(&grid, &(struct forecast_bounds){.max_in_flight = 2, .duration_ms = 90000}, 79));
    ck_assert(
        !forecast_is_free(&grid, &(struct forecast_bounds){.max_in_flight = 2, .duration_ms = 90000}, 81));
}
END_TEST

START_TEST(a_pause_holds_all)
{
    set_due(5, 3);
    run(&(struct forecast_bounds){.is_paused = true}, 4);
    check_begun("");
    ck_assert_int_eq(late_ms[0], 2 * HOUR);
    ck_assert_int_eq(summary.left, 7);
    ck_assert_int_eq(summary.cause, FORECAST_PAUSED);
}
END_TEST

START_TEST(the_head_of_a_line_waits)
{
    set_due(1, 3);
    run(&(struct forecast_bounds){.is_fifo = true, .closed_until_ms = 24 * HOUR + 200 * MINUTE}, 1);
    check_begun("3:4 ");
    ck_assert_int_eq(summary.cause, FORECAST_ORDER);
}
END_TEST

static const struct time_zone *find_utc(void *arg, struct slice name)
{
    (void)arg, (void)name;
    return time_zone_utc();
}

START_TEST(windows_hold_jobs_until_they_open)
{
    static const char json[] =
        "[{\"from\":\"03:00\",\"to\":\"05:00\"},{\"from\":\"20:30\",\"to\":\"21:00\"}]";
    struct windows windows;
    struct problem problem;
    ck_assert_int_eq(windows_parse(slice_of(json), &windows, &problem), STATUS_OK);
    struct forecast_bounds bounds = {.windows = &windows, .find_zone = find_utc};
    memset(due, 0, sizeof due);
    for (size_t i = 0; i < CELLS; i++)
        due[i] = 1;
    run(&bounds, 10);
    check_begun("3:14 4:1 20:16 ");
    ck_assert_int_eq(summary.cause, FORECAST_WINDOWS);
    ck_assert_uint_eq(summary.drained_cell, CELLS);
    ck_assert_int_eq(late_ms[2], 4 * HOUR);
    /* The jobs that wait when a window opens have a credit, as in lib/rates.lua, so 11 begin in an hour. */
    bounds.rate_jobs = 10, bounds.rate_per_ms = HOUR, bounds.rate_burst = 1;
    run(&bounds, 10);
    check_begun("3:11 4:4 20:6 ");
}
END_TEST

/* ---- schedules ---- */

static struct occurrences found;

static void check_found(const struct recurrence *recurrence, int64_t apart_ms, int64_t times,
                        const char *expected)
{
    char text[512] = "";
    struct occurrences_call call = {
        .recurrence = recurrence, .after_ms = grid.now_ms, .apart_ms = apart_ms, .times_left = &times};
    found = (struct occurrences){.count = 0};
    occurrences_find(&grid, &call, &found);
    for (size_t i = 0; i < found.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%u:%u ", found.cells[i].cell,
                 found.cells[i].jobs);
    ck_assert_str_eq(text, expected);
}

static struct recurrence recurrence_of(const char *expression, const struct time_zone *zone)
{
    struct problem problem;
    struct recurrence recurrence = {.zone = zone, .first_ms = 1, .last_ms = 30 * HOUR};
    ck_assert_int_eq(cron_parse(slice_of(expression), &recurrence.cron, &problem), STATUS_OK);
    return recurrence;
}

START_TEST(times_of_schedules_are_counted)
{
    struct recurrence minutes = recurrence_of("* * * * *", time_zone_utc());
    struct problem problem;
    check_found(&minutes, -1, 0, "0:59 1:60 2:60 3:60 4:60 5:60 6:1 ");
    check_found(&minutes, -1, 1000, "0:59 1:60 2:60 3:60 4:60 5:60 6:1 ");
    check_found(&minutes, 20 * MINUTE, 1000, "0:3 1:3 2:3 3:3 4:3 5:3 ");
    ck_assert_int_eq(
        windows_parse(SLICE("[{\"from\":\"01:30\",\"to\":\"02:10\"},{\"from\":\"05:59\",\"to\":\"06:30\"}]"),
                      &minutes.windows, &problem),
        STATUS_OK);
    check_found(&minutes, -1, 1000, "1:30 2:10 5:1 6:1 ");
    check_found(&minutes, -1, 0, "1:30 2:10 5:1 6:1 ");
    struct recurrence every = {
        .every_ms = 7 * HOUR, .base_ms = HOUR, .first_ms = 1, .last_ms = RECURRENCE_NEVER_MS};
    check_found(&every, -1, 1000, "5:1 12:1 19:1 ");
}
END_TEST

/* The jitter moves jobs to later cells, and never beyond the next time. */
START_TEST(jitter_moves_jobs_as_it_does_when_they_are_created)
{
    struct recurrence recurrence = recurrence_of("59 * * * *", time_zone_utc());
    char expected[256] = "";
    uint32_t cells[CELLS] = {0};
    recurrence.jitter_ms = 50 * MINUTE;
    recurrence.seed = recurrence_seed(SLICE("orders/x"));
    for (int64_t at_ms = recurrence_next_ms(&recurrence, grid.now_ms); at_ms < RECURRENCE_NEVER_MS;
         at_ms = recurrence_next_ms(&recurrence, at_ms))
        cells[forecast_cell_of(&grid, at_ms + recurrence_jitter_ms(&recurrence, at_ms))]++;
    for (size_t i = 0; i < CELLS; i++)
        if (cells[i])
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%zu:%u ", i, cells[i]);
    ck_assert(cells[0] == 0);
    check_found(&recurrence, -1, 1000, expected);
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("forecast");
    TCase *tests = tcase_create("forecast");
    tcase_add_test(tests, without_bounds_each_job_begins_when_it_is_due);
    tcase_add_test(tests, a_rate_lets_jobs_begin_one_after_the_other);
    tcase_add_test(tests, a_rate_with_windows_begins_a_window_with_an_attempt);
    tcase_add_test(tests, places_are_free_after_the_duration_of_an_attempt);
    tcase_add_test(tests, a_pause_holds_all);
    tcase_add_test(tests, the_head_of_a_line_waits);
    tcase_add_test(tests, windows_hold_jobs_until_they_open);
    tcase_add_test(tests, times_of_schedules_are_counted);
    tcase_add_test(tests, jitter_moves_jobs_as_it_does_when_they_are_created);
    suite_add_tcase(all, tests);
    return all;
}
