/* Tests use cases that answer from the history. */
#include "app/lists.h"

#include <stdio.h>

#include "app/fake_history.h"
#include "app/fake_store.h"
#include "app/jobs.h"
#include "app/why.h"
#include "base/system.h"
#include "support/suite.h"

#define ID SLICE("orders-1/a")
#define RECORD                                                                                               \
    "{\"createdAt\":1000,\"url\":\"http://127.0.0.1/"                                                        \
    "x\",\"delay\":60,\"attempts\":3,\"reason\":\"gone\",\"body\":1}"
#define NO_BODY "{\"createdAt\":1000,\"url\":\"http://127.0.0.1/x\",\"bodyLeftOut\":true}"
#define LINES   "1 2000 10 503\n2 3000 34 200\n"

static struct app *app;
static struct history_row row;

static void begin(void)
{
    app = fake_app();
    app->history = fake_history();
    row = (struct history_row){
        .topic = SLICE("orders-1"),
        .job_id = SLICE("a"),
        .id = ID,
        .state = JOB_STATE_DELIVERED,
        .created_ms = 1000,
        .ended_ms = 5000,
        .record = SLICE(RECORD),
        .lines = SLICE(LINES),
    };
}

static void end(void)
{
    fake_history_expect_none();
    fake_end();
}

/* ---- one job ---- */

static void ask(void)
{
    fake_forget();
    app_read(app, ID, fake_on_verdict, &fake_verdict);
}

static void miss(void)
{
    struct fake_call *call = fake_take("read_kept");
    call->fn.read(call->arg, STATUS_NOT_FOUND, NULL);
}

static void find(enum status status, const struct history_row *found)
{
    struct fake_history_call call = fake_history_take("find");
    ck_assert(slice_equal(call.id, ID));
    call.fn.found(call.arg, status, found, status == STATUS_OK ? "" : "it is down");
}

START_TEST(a_job_that_redis_has_is_not_looked_up)
{
    static const struct stored_job stored = {.id = {"orders-1/a", 10}, .state = JOB_STATE_READY};
    ask();
    struct fake_call *call = fake_take("read_kept");
    call->fn.read(call->arg, STATUS_OK, &stored);
    fake_expect(STATUS_OK);
}
END_TEST

START_TEST(a_job_that_redis_does_not_have_is_read_from_the_history)
{
    ask();
    miss();
    find(STATUS_OK, &row);
    fake_expect(STATUS_OK);
    ck_assert_int_eq(fake_verdict.state, JOB_STATE_DELIVERED);
    ck_assert_int_eq(fake_verdict.at_ms, 5000);
    ck_assert_str_eq(fake_verdict.record, RECORD);
}
END_TEST

START_TEST(a_job_that_nobody_has_is_not_found)
{
    ask();
    miss();
    find(STATUS_OK, NULL);
    fake_expect(STATUS_NOT_FOUND);
}
END_TEST

START_TEST(without_an_answer_of_the_database_nothing_is_known)
{
    ask();
    miss();
    find(STATUS_UNAVAILABLE, NULL);
    fake_expect(STATUS_HISTORY_UNAVAILABLE);
    ck_assert_str_eq(fake_verdict.why, "it is down");
    ask();
    miss();
    find(STATUS_FULL, NULL);
    fake_expect(STATUS_HISTORY_UNAVAILABLE);
}
END_TEST

START_TEST(an_outage_of_redis_is_not_asked_of_the_history)
{
    ask();
    struct fake_call *call = fake_take("read_kept");
    call->fn.read(call->arg, STATUS_UNAVAILABLE, NULL);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

START_TEST(attempts_are_read_from_the_history)
{
    fake_forget();
    app_attempts(app, ID, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("attempts");
    call->fn.attempts(call->arg, STATUS_NOT_FOUND, SLICE(""));
    find(STATUS_OK, &row);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.lines, LINES);
}
END_TEST

/* ---- why ---- */

static struct app_finding finding;

static void on_finding(void *arg, const struct app_finding *found)
{
    (void)arg;
    finding = *found;
}

static void ask_why(void)
{
    fake_forget();
    app_why(app, ID, on_finding, fake_on_verdict, &fake_verdict);
    miss();
    find(STATUS_OK, &row);
    fake_expect(STATUS_OK);
}

START_TEST(why_says_how_a_job_ended)
{
    ask_why();
    ck_assert_int_eq(finding.why, APP_WHY_DELIVERED);
    ck_assert_int_eq(finding.attempts, 2);
    ck_assert_int_eq(finding.last_attempt.status, 200);
    ck_assert_int_eq(finding.last_attempt.duration_ms, 34);
    ck_assert_int_eq(finding.ended_ms, 5000);
    ck_assert(finding.is_of_history && !finding.is_body_left_out);
    row.state = JOB_STATE_CANCELLED;
    row.lines = SLICE("");
    ask_why();
    ck_assert_int_eq(finding.why, APP_WHY_CANCELLED);
    row.state = JOB_STATE_DEAD;
    row.record = SLICE(NO_BODY);
    ask_why();
    ck_assert_int_eq(finding.why, APP_WHY_DEAD);
    ck_assert(finding.is_body_left_out);
}
END_TEST

/* ---- run ---- */

static void run(bool is_resend)
{
    static struct app_run call;
    call = (struct app_run){ID, is_resend};
    fake_forget();
    app_run(app, &fake_all, &call, fake_on_verdict, &fake_verdict);
    struct fake_call *asked = fake_take("run");
    asked->fn.run(asked->arg, STATUS_NOT_FOUND, 0);
}

static void run_from_history(bool is_resend)
{
    run(is_resend);
    miss();
    find(STATUS_OK, &row);
}

START_TEST(a_dead_job_of_the_history_is_scheduled_anew)
{
    row.state = JOB_STATE_DEAD;
    run_from_history(false);
    struct fake_call *call = fake_take("schedule");
    ck_assert_str_eq(call->id, "orders-1/a");
    ck_assert(!call->when.is_absolute && call->when.ms == 0);
    ck_assert_ptr_nonnull(strstr(call->record, "\"url\":\"http://127.0.0.1/x\""));
    ck_assert_ptr_nonnull(strstr(call->record, "\"body\":1"));
    ck_assert_ptr_null(strstr(call->record, "attempts"));
    ck_assert_ptr_null(strstr(call->record, "reason"));
    ck_assert_ptr_null(strstr(call->record, "createdAt"));
    call->fn.scheduled(call->arg, STATUS_OK, 9000, NULL);
    fake_expect(STATUS_OK);
    ck_assert_int_eq(fake_verdict.at_ms, 9000);
    fake_expect_log("job_run who=ops");
}
END_TEST

START_TEST(a_delivered_job_is_sent_again_only_on_request)
{
    run_from_history(false);
    fake_expect(STATUS_ENDED);
    ck_assert_int_eq(fake_verdict.state, JOB_STATE_DELIVERED);
    run_from_history(true);
    struct fake_call *call = fake_take("schedule");
    call->fn.scheduled(call->arg, STATUS_OK, 9000, NULL);
    fake_expect(STATUS_OK);
}
END_TEST

START_TEST(a_job_on_its_way_to_the_history_is_judged_as_redis_has_it)
{
    static const struct stored_job delivered = {
        .id = {"orders-1/a", 10}, .state = JOB_STATE_DELIVERED, .record = {RECORD, sizeof RECORD - 1}};
    static const struct stored_job waiting = {.id = {"orders-1/a", 10}, .state = JOB_STATE_DELAYED};
    run(false);
    struct fake_call *call = fake_take("read_kept");
    call->fn.read(call->arg, STATUS_OK, &delivered);
    fake_expect(STATUS_ENDED);
    run(true);
    call = fake_take("read_kept");
    call->fn.read(call->arg, STATUS_OK, &waiting);
    fake_expect(STATUS_EXISTS);
    run(true);
    call = fake_take("read_kept");
    call->fn.read(call->arg, STATUS_UNKNOWN, NULL);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

/* ---- a redrive of the history ---- */

static struct app_bulk redrive;

/* Begins a redrive. Its first page has the jobs a and b, which died at 5000 and 6000. */
static void begin_redrive(struct app_bulk call, bool has_more)
{
    static struct history_row rows[2];
    rows[0] = row;
    rows[0].state = JOB_STATE_DEAD;
    rows[1] = rows[0];
    rows[1].id = SLICE("orders-1/b");
    rows[1].ended_ms = 6000;
    redrive = call;
    redrive.action = APP_REDRIVE;
    redrive.list.filter.states = 1U << JOB_STATE_DEAD;
    redrive.list.is_of_history = true;
    redrive.list.max = APP_PAGE_MAX;
    redrive.filter = SLICE("source=history");
    fake_forget();
    app_redrive_history(app, &fake_all, &redrive, fake_on_verdict, &fake_verdict);
    struct fake_history_call asked = fake_history_take("list");
    ck_assert_uint_eq(asked.list.filter.states, 1U << JOB_STATE_DEAD);
    ck_assert(!asked.list.has_bodies);
    size_t count = asked.list.max < 2 ? asked.list.max : 2;
    struct history_page page = {rows, count, {has_more, 6000, 77}};
    asked.fn.page(asked.arg, STATUS_OK, &page, "");
}

/* Answers the read of a job: Redis does not have it, and the history has its last end. */
static void read_last_end(const char *id, int64_t ended_ms)
{
    static struct history_row last;
    struct fake_call *call = fake_take("read_kept");
    ck_assert_str_eq(call->id, id);
    call->fn.read(call->arg, STATUS_NOT_FOUND, NULL);
    struct fake_history_call asked = fake_history_take("find");
    last = row;
    last.state = JOB_STATE_DEAD;
    last.ended_ms = ended_ms;
    asked.fn.found(asked.arg, STATUS_OK, &last, "");
}

static void expect_counts(size_t done, size_t skipped, size_t unknown)
{
    ck_assert_uint_eq(fake_verdict.counts.done, done);
    ck_assert_uint_eq(fake_verdict.counts.skipped, skipped);
    ck_assert_uint_eq(fake_verdict.counts.unknown, unknown);
}

START_TEST(a_redrive_of_the_history_skips_a_job_that_has_ended_again)
{
    begin_redrive((struct app_bulk){.limit = 0}, true);
    read_last_end("orders-1/a", 5000);
    struct fake_call *call = fake_take("read_kept");
    call->fn.read(call->arg, STATUS_NOT_FOUND, NULL);
    struct fake_history_call asked = fake_history_take("find");
    static struct history_row later;
    later = row; /* job b was delivered after its death */
    later.ended_ms = 7000;
    asked.fn.found(asked.arg, STATUS_OK, &later, "");
    call = fake_take("schedule");
    ck_assert_str_eq(call->id, "orders-1/a");
    call->fn.scheduled(call->arg, STATUS_OK, 9000, NULL);
    fake_expect(STATUS_OK);
    expect_counts(1, 1, 0);
    ck_assert_ptr_nonnull(strstr(fake_verdict.cursor, ".6000.77"));
    fake_expect_log("jobs_redriven who=ops");
}
END_TEST

START_TEST(a_redrive_of_the_history_runs_a_dead_job_that_redis_still_has)
{
    static const struct stored_job dead = {.id = {"orders-1/a", 10},
                                           .state = JOB_STATE_DEAD,
                                           .at_ms = 5000,
                                           .record = {RECORD, sizeof RECORD - 1}};
    static const struct stored_job waits = {.id = {"orders-1/b", 10}, .state = JOB_STATE_DELAYED};
    begin_redrive((struct app_bulk){.limit = 0}, false);
    struct fake_call *call = fake_take("read_kept");
    call->fn.read(call->arg, STATUS_OK, &dead);
    call = fake_take("read_kept");
    call->fn.read(call->arg, STATUS_OK, &waits);
    call = fake_take("run");
    ck_assert_str_eq(call->id, "orders-1/a");
    ck_assert_str_ne(call->tags, "");
    call->fn.run(call->arg, STATUS_OK, 9000);
    fake_expect(STATUS_OK);
    expect_counts(1, 1, 0);
    ck_assert_str_eq(fake_verdict.cursor, "");
}
END_TEST

START_TEST(a_redrive_of_the_history_at_a_rate_keeps_its_limit_over_pages)
{
    begin_redrive((struct app_bulk){.limit = 3, .step_us = 1000000}, true);
    read_last_end("orders-1/a", 5000);
    read_last_end("orders-1/b", 6000);
    struct fake_call *first = fake_take("schedule"), *second = fake_take("schedule");
    ck_assert(first->when.is_absolute && second->when.is_absolute);
    ck_assert_int_eq(second->when.ms - first->when.ms, 1000);
    int64_t begun_ms = first->when.ms;
    first->fn.scheduled(first->arg, STATUS_OK, begun_ms, NULL);
    second->fn.scheduled(second->arg, STATUS_UNKNOWN, 0, NULL);
    fake_expect(STATUS_UNKNOWN);
    expect_counts(1, 0, 1);
    struct app_bulk next = {.limit = 3, .step_us = 1000000};
    static char cursor[FAKE_TEXT_MAX];
    snprintf(cursor, sizeof cursor, "%s", fake_verdict.cursor);
    ck_assert(app_cursor_parse(app, slice_of(cursor), &next.list.from));
    ck_assert_uint_eq(next.list.from.progress.left, 1);
    ck_assert_int_eq(next.list.from.progress.due_ms, begun_ms + 2000);
    begin_redrive(next, true);
    read_last_end("orders-1/a", 5000);
    struct fake_call *third = fake_take("schedule");
    ck_assert_int_eq(third->when.ms, begun_ms + 2000);
    third->fn.scheduled(third->arg, STATUS_OK, third->when.ms, NULL);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.cursor, "");
}
END_TEST

START_TEST(a_dry_redrive_of_the_history_only_counts)
{
    begin_redrive((struct app_bulk){.is_dry_run = true}, false);
    fake_expect(STATUS_OK);
    ck_assert_uint_eq(fake_verdict.counts.matched, 2);
    expect_counts(0, 0, 0);
    fake_expect_none();
}
END_TEST

START_TEST(a_job_that_cannot_run_again_is_refused)
{
    static const struct {
        const char *record;
        enum status end;
    } cases[] = {
        {NO_BODY, STATUS_NO_BODY},
        {"no record", STATUS_UNREADABLE},
        {"{\"createdAt\":1,\"url\":\"http://h/\",\"needs\":[\"wings\"]}", STATUS_LACKING},
        {"{\"createdAt\":1,\"url\":\"http://h/\",\"expiresAt\":\"2020-01-01T00:00:00.000Z\"}",
         STATUS_EXPIRED},
    };
    row.state = JOB_STATE_DEAD;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        row.record = slice_of(cases[i].record);
        run_from_history(false);
        if (cases[i].end == STATUS_EXPIRED) { /* schedule.lua judges the expiry */
            struct fake_call *call = fake_take("schedule");
            call->fn.scheduled(call->arg, STATUS_EXPIRED, 0, NULL);
        }
        fake_expect(cases[i].end);
    }
    row.record = SLICE(RECORD);
    row.is_body_left_out = true;
    run_from_history(false);
    fake_expect(STATUS_NO_BODY);
    run(false);
    miss();
    find(STATUS_OK, NULL);
    fake_expect(STATUS_NOT_FOUND);
    run(false);
    miss();
    find(STATUS_UNAVAILABLE, NULL);
    fake_expect(STATUS_HISTORY_UNAVAILABLE);
    fake_expect_log("");
}
END_TEST

START_TEST(a_new_run_ends_as_the_store_says)
{
    static const struct stored_job there = {.id = {"orders-1/a", 10}, .state = JOB_STATE_READY, .at_ms = 7};
    row.state = JOB_STATE_DEAD;
    run_from_history(false);
    struct fake_call *call = fake_take("schedule");
    call->fn.scheduled(call->arg, STATUS_EXISTS, 0, &there);
    fake_expect(STATUS_EXISTS);
    ck_assert_int_eq(fake_verdict.state, JOB_STATE_READY);
    run_from_history(false);
    call = fake_take("schedule");
    call->fn.scheduled(call->arg, STATUS_FULL, 0, NULL);
    fake_expect(STATUS_FULL);
    run_from_history(false);
    call = fake_take("schedule");
    call->fn.scheduled(call->arg, STATUS_UNKNOWN, 0, NULL);
    fake_expect(STATUS_UNKNOWN);
    fake_expect_log("outcome=unknown");
}
END_TEST

/* ---- lists, counts, statistics, removal ---- */

static size_t listed;

static void on_job(void *arg, const struct stored_job *job)
{
    (void)arg;
    ck_assert(job->is_of_history);
    ck_assert(slice_equal(job->last_lines, SLICE("2 3000 34 200\n")));
    listed++;
}

static struct app_list list_of(const char *topic)
{
    return (struct app_list){.is_of_history = true,
                             .filter = {.states = 1U << JOB_STATE_DELIVERED,
                                        .topic = slice_of(topic),
                                        .labels = SLICE("red"),
                                        .id_prefix = SLICE("x"),
                                        .reasons = SLICE("gone"),
                                        .statuses = SLICE("5xx"),
                                        .after_ms = 10},
                             .max = 7};
}

START_TEST(a_list_of_the_history_goes_on_where_it_ended)
{
    struct app_list list = list_of("orders-1");
    int64_t before_ms = clock_wall_ms();
    struct history_page page = {.rows = &row, .count = 1, .next = {true, 5000, 42}};
    fake_forget();
    listed = 0;
    app_list(app, &list, on_job, fake_on_verdict, &fake_verdict);
    struct fake_history_call call = fake_history_take("list");
    ck_assert(slice_equal(call.filter.topic, SLICE("orders-1")) &&
              slice_equal(call.filter.labels, SLICE("red")));
    ck_assert(slice_equal(call.filter.id_prefix, SLICE("x")) &&
              slice_equal(call.filter.reasons, SLICE("gone")));
    ck_assert(slice_equal(call.filter.statuses, SLICE("5xx")) && call.filter.after_ms == 10);
    ck_assert(call.list.has_bodies && call.list.max == 7 && !call.list.from.is_set);
    ck_assert_int_ge(call.filter.before_ms, before_ms);
    call.fn.page(call.arg, STATUS_OK, &page, "");
    fake_expect(STATUS_OK);
    ck_assert_uint_eq(listed, 1);

    char cursor[FAKE_TEXT_MAX];
    snprintf(cursor, sizeof cursor, "%s", fake_verdict.cursor);
    ck_assert(app_cursor_parse(app, slice_of(cursor), &list.from) && list.from.is_of_history);
    fake_forget();
    app_list(app, &list, on_job, fake_on_verdict, &fake_verdict);
    struct fake_history_call next = fake_history_take("list");
    ck_assert(next.list.from.is_set && next.list.from.ended_ms == 5000 && next.list.from.row == 42);
    ck_assert_int_eq(next.filter.before_ms, call.filter.before_ms);
    page = (struct history_page){.count = 0};
    next.fn.page(next.arg, STATUS_OK, &page, "");
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.cursor, "");
    app_list(app, &list, on_job, fake_on_verdict, &fake_verdict);
    next = fake_history_take("list");
    fake_forget();
    next.fn.page(next.arg, STATUS_UNAVAILABLE, NULL, "it is down");
    fake_expect(STATUS_HISTORY_UNAVAILABLE);
}
END_TEST

START_TEST(a_cursor_that_no_page_gave_is_refused)
{
    static const char *const bad[] = {"h.",       "h.1.2",   "h.1.2.3.4", "h.0.2.3",
                                      "h.1.-2.3", "h.1.2.x", "x.1.2.3",   "h.1.2.9223372036854775808"};
    struct app_cursor cursor = {.is_set = false};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!app_cursor_parse(app, slice_of(bad[i]), &cursor), "%s", bad[i]);
    ck_assert(app_cursor_parse(app, SLICE("h.1.2.3"), &cursor));
}
END_TEST

START_TEST(a_count_has_its_outcomes)
{
    struct app_list list = list_of("orders-1");
    struct outcome_counts counts = {.dead = 1, .delivered = 20, .cancelled = 300, .is_partial = true};
    fake_forget();
    app_count(app, &list, fake_on_verdict, &fake_verdict);
    struct fake_history_call call = fake_history_take("count");
    call.fn.counts(call.arg, STATUS_OK, &counts, "");
    fake_expect(STATUS_OK);
    ck_assert_int_eq(fake_verdict.number, 321);
    ck_assert(fake_verdict.is_partial);
    fake_forget();
    app_count(app, &list, fake_on_verdict, &fake_verdict);
    call = fake_history_take("count");
    call.fn.counts(call.arg, STATUS_UNAVAILABLE, NULL, "it is down");
    fake_expect(STATUS_HISTORY_UNAVAILABLE);
}
END_TEST

START_TEST(statistics_have_each_step)
{
    static const struct outcome_steps stats = {.from_ms = 1000, .to_ms = 3000, .step_ms = 1000};
    struct outcome_counts steps[] = {{.delivered = 5}, {.dead = 2}};
    fake_forget();
    app_stats(app, &stats, fake_on_verdict, &fake_verdict);
    struct fake_history_call call = fake_history_take("stats");
    ck_assert(call.stats.from_ms == 1000 && call.stats.to_ms == 3000 && call.stats.step_ms == 1000);
    call.fn.stats(call.arg, STATUS_OK, steps, 2, "");
    fake_expect(STATUS_OK);
    fake_forget();
    app_stats(app, &stats, fake_on_verdict, &fake_verdict);
    call = fake_history_take("stats");
    call.fn.stats(call.arg, STATUS_FULL, NULL, 0, "too many calls");
    fake_expect(STATUS_HISTORY_UNAVAILABLE);
}
END_TEST

static void remove_jobs(enum status status, size_t deleted)
{
    struct app_removal removal = {
        .topic = SLICE("orders-1"), .before_ms = 9, .filter = SLICE("topic=orders-1")};
    fake_forget();
    app_remove_history(app, &fake_all, &removal, fake_on_verdict, &fake_verdict);
    struct fake_history_call call = fake_history_take("delete");
    ck_assert(slice_equal(call.filter.topic, SLICE("orders-1")) && call.filter.before_ms == 9);
    call.fn.deleted(call.arg, status, deleted, true, status == STATUS_OK ? "" : "it is down");
}

START_TEST(a_removal_is_audited)
{
    remove_jobs(STATUS_OK, 12);
    fake_expect(STATUS_OK);
    ck_assert_int_eq(fake_verdict.number, 12);
    fake_expect_log(
        "history_removed who=ops from=192.0.2.7 filter=\"topic=orders-1\" removed=12 outcome=done");
    remove_jobs(STATUS_OK, 0);
    fake_expect_log("");
    remove_jobs(STATUS_UNAVAILABLE, 0);
    fake_expect(STATUS_HISTORY_UNAVAILABLE);
    fake_expect_log("outcome=unknown");
}
END_TEST

START_TEST(a_server_without_a_history_says_so)
{
    static const struct outcome_steps stats = {.from_ms = 1000, .to_ms = 3000, .step_ms = 1000};
    struct app_list list = list_of("orders-1");
    struct app_removal removal = {.topic = SLICE("orders-1")};
    app->history = NULL;
    ask();
    miss();
    fake_expect(STATUS_NOT_FOUND);
    run(false);
    fake_expect(STATUS_NOT_FOUND);
    fake_forget();
    app_list(app, &list, on_job, fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_NO_HISTORY);
    fake_forget();
    app_count(app, &list, fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_NO_HISTORY);
    fake_forget();
    app_stats(app, &stats, fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_NO_HISTORY);
    fake_forget();
    app_remove_history(app, &fake_all, &removal, fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_NO_HISTORY);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("history");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_job_that_redis_has_is_not_looked_up);
    tcase_add_test(tests, a_job_that_redis_does_not_have_is_read_from_the_history);
    tcase_add_test(tests, a_job_that_nobody_has_is_not_found);
    tcase_add_test(tests, without_an_answer_of_the_database_nothing_is_known);
    tcase_add_test(tests, an_outage_of_redis_is_not_asked_of_the_history);
    tcase_add_test(tests, attempts_are_read_from_the_history);
    tcase_add_test(tests, why_says_how_a_job_ended);
    tcase_add_test(tests, a_dead_job_of_the_history_is_scheduled_anew);
    tcase_add_test(tests, a_delivered_job_is_sent_again_only_on_request);
    tcase_add_test(tests, a_job_on_its_way_to_the_history_is_judged_as_redis_has_it);
    tcase_add_test(tests, a_redrive_of_the_history_skips_a_job_that_has_ended_again);
    tcase_add_test(tests, a_redrive_of_the_history_runs_a_dead_job_that_redis_still_has);
    tcase_add_test(tests, a_redrive_of_the_history_at_a_rate_keeps_its_limit_over_pages);
    tcase_add_test(tests, a_dry_redrive_of_the_history_only_counts);
    tcase_add_test(tests, a_job_that_cannot_run_again_is_refused);
    tcase_add_test(tests, a_new_run_ends_as_the_store_says);
    tcase_add_test(tests, a_list_of_the_history_goes_on_where_it_ended);
    tcase_add_test(tests, a_cursor_that_no_page_gave_is_refused);
    tcase_add_test(tests, a_count_has_its_outcomes);
    tcase_add_test(tests, statistics_have_each_step);
    tcase_add_test(tests, a_removal_is_audited);
    tcase_add_test(tests, a_server_without_a_history_says_so);
    suite_add_tcase(suite, tests);
    return suite;
}
