/* Tests a reactor's copy of the receivers' records, its reports, permits and holds. */
#include "base/system.h"
#include "support/suite.h"
#include "worker/permit.h"
#include "worker/receivers.h"
#include "worker/world.h"

/* ---- attempts ---- */

static struct receivers *receivers;
static int64_t begin_us;
static int64_t told_ms; /* answer to the last request for a permit; -2: no answer has come */

static void on_permit(void *arg, int64_t wait_ms)
{
    (void)arg;
    told_ms = wait_ms;
}

static enum permit_answer ask(struct permit *permit)
{
    return permit_ask(permit, receivers, WORLD_RECEIVER, on_permit, NULL);
}

/* Returns whether the permit waits for Redis's answer about the right to probe. */
static bool is_awaited(const struct permit *permit)
{
    return (permit->path.receiver && !permit->path.is_given) ||
           (permit->host.receiver && !permit->host.is_given);
}

static void end_badly(struct permit *permit)
{
    struct attempt_result result = {.error = FAILURE_CONNECT};
    permit_end(permit, &result);
}

/* The permit of an attempt that runs until the end of the test. A running attempt keeps its receiver in the
 * copy. */
static struct permit running;

static void on_turn_end(void *arg)
{
    receivers_send_reports(arg);
}

static void setup(void)
{
    world_begin();
    begin_us = clock_boot_us();
    told_ms = -2;
    receivers = receivers_new(NULL, NULL, NULL);
    hook_new(NULL, LOOP_PHASE_DECIDE, on_turn_end, receivers);
    ck_assert_int_eq(ask(&running), PERMIT_GIVEN);
}

static void teardown(void)
{
    permit_drop(&running);
    receivers_free(receivers);
}

/* Notes the version of the records that the reply of a claim has reported. The claim was sent just now. */
static void hear(int64_t version)
{
    receivers_note_version(receivers, 0, version, clock_boot_us());
}

/* The breaker is open in Redis, and the copy has read this. */
static void learn_open(int64_t version, int64_t left_ms)
{
    world_pass(1000000);
    hear(version);
    world_answer_reading(STATUS_OK, version, world_open(left_ms));
}

static void check_permit(enum permit_answer expected)
{
    struct permit permit;
    ck_assert_int_eq(ask(&permit), expected);
    permit_drop(&permit);
}

/* ---- answers that arrive in the wrong order ---- */

START_TEST(an_answer_to_a_report_is_not_believed_when_a_newer_one_was_read)
{
    struct permit permit;
    ask(&permit);
    end_badly(&permit);
    world_end_turn();
    hear(9);
    world_answer_reading(STATUS_OK, 9, world_closed());
    world_answer_report(STATUS_OK, 8, 0, world_open(30000));
    check_permit(PERMIT_GIVEN);
}
END_TEST

START_TEST(what_was_read_is_not_believed_when_a_report_had_a_newer_answer)
{
    struct permit permit;
    ask(&permit);
    end_badly(&permit);
    hear(8);
    world_end_turn();
    world_answer_report(STATUS_OK, 9, 0, world_closed());
    world_answer_reading(STATUS_OK, 8, world_open(30000));
    check_permit(PERMIT_GIVEN);
}
END_TEST

START_TEST(what_is_newer_is_believed_whether_reports_succeed_or_not)
{
    struct permit permit;
    ask(&permit);
    end_badly(&permit);
    world_end_turn();
    hear(9);
    world_answer_reading(STATUS_OK, 9, world_open(30000));
    world_answer_report(STATUS_UNAVAILABLE, 0, 0, world_closed());
    check_permit(PERMIT_HELD);
    world_pass(1000000);
    hear(10);
    world_answer_reading(STATUS_OK, 10, world_closed());
    check_permit(PERMIT_GIVEN);
}
END_TEST

START_TEST(a_redis_that_has_lost_what_it_said_is_believed_again)
{
    struct permit permit;
    ask(&permit);
    learn_open(9, 30000);
    check_permit(PERMIT_HELD);
    world_pass(1000000);
    end_badly(&permit);
    world_end_turn();
    world_answer_report(STATUS_OK, 5, 0, world_closed());
    check_permit(PERMIT_GIVEN);
    ck_assert_int_eq(world_reading()->version, 0); /* all records are read again */
    world_answer_reading(STATUS_OK, 5, world_open(30000));
    check_permit(PERMIT_HELD);
    world_pass(1000000);
    hear(4);
    world_answer_reading(STATUS_OK, 4, world_closed());
    check_permit(PERMIT_GIVEN);
}
END_TEST

/* ---- probes ---- */

/* Requests a permit, and answers with the right to probe with this number. */
static void get_probe(struct permit *permit, int64_t number)
{
    ck_assert_int_eq(ask(permit), PERMIT_ASKED);
    world_end_turn();
    struct receiver_record receiver = world_open(30000);
    receiver.probe = number;
    world_answer_report(STATUS_OK, number, number, receiver);
    ck_assert_int_eq(told_ms, -1);
}

START_TEST(a_probe_that_tells_nothing_gives_back_its_right_with_its_cause)
{
    struct permit probe;
    struct attempt_result result = {.error = FAILURE_DNS};
    learn_open(9, 0);
    get_probe(&probe, 10);
    permit_end(&probe, &result);
    world_end_turn();
    const struct store_report *report = &world_asked()->report;
    ck_assert_int_eq(report->probe, 10);
    ck_assert(slice_equal(report->cause, SLICE("dns")));
    ck_assert(!report->is_reachable && !report->failures);
    world_answer_report(STATUS_OK, 11, 0, world_open(30000));
    ck_assert(!world_asked()->fn);
}
END_TEST

START_TEST(a_probe_that_was_not_sent_gives_back_its_right_without_a_cause)
{
    struct permit probe;
    learn_open(9, 0);
    get_probe(&probe, 10);
    permit_drop(&probe);
    world_end_turn();
    ck_assert_int_eq(world_asked()->report.probe, 10);
    ck_assert_uint_eq(world_asked()->report.cause.size, 0);
    world_answer_report(STATUS_OK, 11, 0, world_open(0));
}
END_TEST

START_TEST(a_failure_of_another_attempt_is_not_taken_for_the_probes)
{
    struct permit probe, other;
    struct attempt_result result = {.error = FAILURE_TARGET_REFUSED};
    ask(&other);
    learn_open(9, 0);
    get_probe(&probe, 10);
    permit_end(&probe, &result);
    end_badly(&other);
    world_end_turn();
    const struct store_report *report = &world_asked()->report;
    ck_assert_int_eq(report->failures, 1);
    ck_assert_int_eq(report->probe, 0);
    ck_assert(slice_equal(report->cause, SLICE("connect")));
    world_answer_report(STATUS_OK, 11, 0, world_open(30000));
    world_end_turn();
    ck_assert_int_eq(report->failures, 0);
    ck_assert_int_eq(report->probe, 10);
    ck_assert(slice_equal(report->cause, SLICE("target_refused")));
    world_answer_report(STATUS_OK, 12, 0, world_open(30000));
}
END_TEST

/* ---- paths ---- */

#define PATH WORLD_RECEIVER "/a"

static enum permit_answer ask_for(struct permit *permit, const char *name)
{
    return permit_ask(permit, receivers, name, on_permit, NULL);
}

/* The breaker of the path is open in Redis, and the copy has read this. */
static void learn_open_path(int64_t version, int64_t left_ms)
{
    struct receiver_record receiver = world_open(left_ms);
    receiver.name = slice_of(PATH);
    world_pass(1000000);
    hear(version);
    world_answer_reading(STATUS_OK, version, receiver);
}

static void check_report(const char *name, const char *cause)
{
    const struct store_report *report = &world_asked()->report;
    world_end_turn();
    ck_assert(world_asked()->fn);
    ck_assert(slice_equal(report->name, slice_of(name)));
    ck_assert(slice_equal(report->cause, slice_of(cause)));
    ck_assert_int_eq(report->failures, 1);
    world_answer_report(STATUS_UNAVAILABLE, 0, 0, world_closed());
    ck_assert(!world_asked()->fn);
}

START_TEST(of_a_path_that_fails_the_others_go_on)
{
    struct permit held, given;
    learn_open_path(9, 30000);
    ck_assert_int_eq(ask_for(&held, PATH), PERMIT_HELD);
    ck_assert(!is_awaited(&held) && held.wait_ms > 0);
    permit_drop(&held);
    ck_assert_int_eq(ask_for(&given, WORLD_RECEIVER "/b"), PERMIT_GIVEN);
    permit_drop(&given);
}
END_TEST

START_TEST(a_failure_is_reported_of_its_path_or_of_its_receiver)
{
    static const struct {
        struct attempt_result result;
        const char *name, *cause;
    } cases[] = {
        {{.status = 503}, PATH, "503"},
        {{.error = FAILURE_RESET, .was_sent = true}, PATH, "reset"},
        {{.error = FAILURE_TIMEOUT, .was_sent = true, .duration_ms = 1000}, PATH, "timeout"},
        {{.error = FAILURE_TIMEOUT, .duration_ms = 1000}, WORLD_RECEIVER, "timeout"},
        {{.error = FAILURE_RESET}, WORLD_RECEIVER, "reset"},
        {{.error = FAILURE_CONNECT}, WORLD_RECEIVER, "connect"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct permit permit;
        ck_assert_int_eq(ask_for(&permit, PATH), PERMIT_GIVEN);
        permit_end(&permit, &cases[i].result);
        check_report(cases[i].name, cases[i].cause);
    }
}
END_TEST

START_TEST(a_paths_probe_is_given_back_when_its_receiver_holds_the_job)
{
    struct permit permit;
    struct receiver_record path = world_open(30000);
    learn_open(8, 30000);
    learn_open_path(9, 0);
    ck_assert_int_eq(ask_for(&permit, PATH), PERMIT_ASKED);
    world_end_turn();
    path.name = slice_of(PATH);
    path.probe = 10;
    world_answer_report(STATUS_OK, 10, 10, path);
    ck_assert_int_ge(told_ms, 0);
    world_end_turn();
    ck_assert(slice_equal(world_asked()->report.name, slice_of(PATH)));
    ck_assert_int_eq(world_asked()->report.probe, 10);
    ck_assert_uint_eq(world_asked()->report.cause.size, 0);
    world_answer_report(STATUS_OK, 11, 0, path);
    permit_drop(&permit);
}
END_TEST

START_TEST(a_permit_that_is_dropped_while_it_waits_gives_back_what_comes)
{
    struct permit permit;
    struct receiver_record path = world_open(30000);
    learn_open_path(9, 0);
    ck_assert_int_eq(ask_for(&permit, PATH), PERMIT_ASKED);
    ck_assert(is_awaited(&permit));
    permit_drop(&permit);
    ck_assert(!is_awaited(&permit));
    world_end_turn();
    path.name = slice_of(PATH);
    path.probe = 10;
    world_answer_report(STATUS_OK, 10, 10, path);
    ck_assert_int_eq(told_ms, -2);
    world_end_turn();
    ck_assert_int_eq(world_asked()->report.probe, 10);
    world_answer_report(STATUS_OK, 11, 0, path);
}
END_TEST

/* ---- time for which jobs are held ---- */

static int64_t held_ms(void)
{
    struct permit permit;
    ck_assert_int_eq(ask(&permit), PERMIT_HELD);
    permit_drop(&permit);
    return permit.wait_ms;
}

START_TEST(a_permit_names_the_receiver_whose_breaker_holds_the_job)
{
    struct permit permit;
    learn_open(9, 60000);
    ck_assert_int_eq(ask(&permit), PERMIT_HELD);
    ck_assert_str_eq(permit.held_by, WORLD_RECEIVER);
    permit_drop(&permit);
    world_pass(1000000);
    hear(10);
    world_answer_reading(STATUS_OK, 10, world_limited(1));
    ck_assert_int_eq(ask(&permit), PERMIT_HELD); /* held by the limit */
    ck_assert_ptr_null(permit.held_by);
}
END_TEST

START_TEST(the_first_jobs_come_back_when_the_receiver_may_be_probed)
{
    learn_open(9, 20000);
    ck_assert_int_eq(held_ms(), 20000);
    for (int i = 1; i <= 100; i++)
        ck_assert_int_eq(held_ms(), 20000 + 2 * i);
    world_pass(15 * INT64_C(1000000));
    learn_open(10, 10000); /* a second later, the reactor reads the same record again */
    ck_assert_int_eq(held_ms(), 10000);
}
END_TEST

START_TEST(all_other_jobs_wait_for_one_to_ten_minutes)
{
    int64_t shortest_ms = INT64_MAX, longest_ms = 0;
    learn_open(9, 500000);
    for (int i = 0; i <= 100; i++)
        ck_assert_int_le(held_ms(), 500200);
    for (int i = 0; i < 10000; i++) {
        int64_t hold_ms = held_ms();
        shortest_ms = hold_ms < shortest_ms ? hold_ms : shortest_ms;
        longest_ms = hold_ms > longest_ms ? hold_ms : longest_ms;
    }
    ck_assert_int_ge(shortest_ms, 60000);
    ck_assert_int_le(shortest_ms, 65000);
    ck_assert_int_ge(longest_ms, 595000);
    ck_assert_int_le(longest_ms, 600000);
}
END_TEST

static size_t closed_count;
static void on_closed(void *arg, struct slice name)
{
    ck_assert_ptr_eq(arg, receivers);
    ck_assert(slice_equal(name, SLICE(WORLD_RECEIVER)));
    closed_count++;
}

START_TEST(a_breaker_that_closes_is_announced_once)
{
    closed_count = 0;
    receivers_on_closed(receivers, on_closed, receivers);
    learn_open(9, 60000);
    ck_assert_uint_eq(closed_count, 0);
    for (int version = 10; version < 12; version++) {
        world_pass(1000000);
        hear(version);
        world_answer_reading(STATUS_OK, version, world_closed());
        ck_assert_uint_eq(closed_count, 1);
    }
}
END_TEST

START_TEST(while_another_attempt_asks_to_probe_jobs_come_back_in_a_moment)
{
    struct permit asker;
    learn_open(9, 0);
    ck_assert_int_eq(ask(&asker), PERMIT_ASKED);
    ck_assert_int_eq(held_ms(), 250);
    ck_assert_int_eq(held_ms(), 252);
    permit_drop(&asker);
}
END_TEST

START_TEST(while_a_probe_runs_jobs_come_back_the_less_often_the_longer_it_takes)
{
    struct receiver_record receiver;
    learn_open(9, 30000);
    world_pass(1000000);
    hear(10);
    receiver = world_open(25000);
    receiver.probe = 1;
    world_answer_reading(STATUS_OK, 10, receiver);
    ck_assert_int_eq(held_ms(), 1000);
    world_pass(4 * INT64_C(1000000));
    ck_assert_int_eq(held_ms(), 4000);
    world_pass(18 * INT64_C(1000000));
    ck_assert_int_eq(held_ms(), 3000); /* in 3 s, another probe may begin */
}
END_TEST

START_TEST(what_a_limit_holds_comes_back_in_a_row)
{
    world_pass(1000000);
    hear(9);
    world_answer_reading(STATUS_OK, 9, world_limited(1));
    ck_assert_int_eq(held_ms(), 50);
    ck_assert_int_eq(held_ms(), 70);
    for (int i = 0; i < 40000; i++)
        ck_assert_int_le(held_ms(), RECEIVER_ROW_MIN_MS);
    world_pass(INT64_C(3600000000));
    hear(10);
    world_answer_reading(STATUS_OK, 10, world_limited(1));
    ck_assert_int_eq(held_ms(), 50);
    int64_t longest_ms = 0;
    for (int i = 0; i < 40000; i++) {
        int64_t hold_ms = held_ms();
        longest_ms = hold_ms > longest_ms ? hold_ms : longest_ms;
    }
    ck_assert_int_le(longest_ms, RECEIVER_ROW_MAX_MS);
    ck_assert_int_ge(longest_ms, RECEIVER_ROW_MAX_MS - 1000);
}
END_TEST

START_TEST(what_a_limit_holds_does_not_wait_for_what_the_breaker_held)
{
    learn_open(9, 60000);
    for (int i = 0; i < 5000; i++)
        held_ms();
    world_pass(1000000);
    hear(10);
    world_answer_reading(STATUS_OK, 10, world_limited(1));
    ck_assert_int_eq(held_ms(), 50);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("receivers");
    TCase *answers = tcase_create("answers that arrive in the wrong order");
    tcase_add_checked_fixture(answers, setup, teardown);
    tcase_add_test(answers, an_answer_to_a_report_is_not_believed_when_a_newer_one_was_read);
    tcase_add_test(answers, what_was_read_is_not_believed_when_a_report_had_a_newer_answer);
    tcase_add_test(answers, what_is_newer_is_believed_whether_reports_succeed_or_not);
    tcase_add_test(answers, a_redis_that_has_lost_what_it_said_is_believed_again);
    suite_add_tcase(suite, answers);
    TCase *probes = tcase_create("probes");
    tcase_add_checked_fixture(probes, setup, teardown);
    tcase_add_test(probes, a_probe_that_tells_nothing_gives_back_its_right_with_its_cause);
    tcase_add_test(probes, a_probe_that_was_not_sent_gives_back_its_right_without_a_cause);
    tcase_add_test(probes, a_failure_of_another_attempt_is_not_taken_for_the_probes);
    suite_add_tcase(suite, probes);
    TCase *paths = tcase_create("paths");
    tcase_add_checked_fixture(paths, setup, teardown);
    tcase_add_test(paths, of_a_path_that_fails_the_others_go_on);
    tcase_add_test(paths, a_failure_is_reported_of_its_path_or_of_its_receiver);
    tcase_add_test(paths, a_paths_probe_is_given_back_when_its_receiver_holds_the_job);
    tcase_add_test(paths, a_permit_that_is_dropped_while_it_waits_gives_back_what_comes);
    suite_add_tcase(suite, paths);
    TCase *holds = tcase_create("for how long jobs are held");
    tcase_add_checked_fixture(holds, setup, teardown);
    tcase_set_timeout(holds, 30);
    tcase_add_test(holds, a_permit_names_the_receiver_whose_breaker_holds_the_job);
    tcase_add_test(holds, all_other_jobs_wait_for_one_to_ten_minutes);
    tcase_add_test(holds, a_breaker_that_closes_is_announced_once);
    tcase_add_test(holds, the_first_jobs_come_back_when_the_receiver_may_be_probed);
    tcase_add_test(holds, while_another_attempt_asks_to_probe_jobs_come_back_in_a_moment);
    tcase_add_test(holds, while_a_probe_runs_jobs_come_back_the_less_often_the_longer_it_takes);
    tcase_add_test(holds, what_a_limit_holds_comes_back_in_a_row);
    tcase_add_test(holds, what_a_limit_holds_does_not_wait_for_what_the_breaker_held);
    suite_add_tcase(suite, holds);
    return suite;
}
