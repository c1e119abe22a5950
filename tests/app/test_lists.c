/* Each verdict of the use cases of many jobs. */
#include "app/lists.h"

#include <stdio.h>

#include "app/fake_store.h"
#include "support/suite.h"

static struct app *app;
static struct app_list list;
static size_t jobs;

static void begin(void)
{
    app = fake_app();
    list = (struct app_list){.states = 1U << JOB_STATE_DELAYED, .topic = SLICE("orders-1"), .max = 2};
    jobs = 0;
}

static void end(void)
{
    fake_end();
}

static void on_job(void *arg, const struct app_job *job)
{
    ck_assert_ptr_eq(arg, &fake_verdict);
    ck_assert_uint_gt(job->id.size, 0);
    jobs++;
}

/* How the store ends a call, and the verdict that this becomes. */
static const struct {
    enum status status;
    enum app_end end;
} endings[] = {
    {STATUS_UNAVAILABLE, APP_UNAVAILABLE}, {STATUS_UNKNOWN, APP_UNKNOWN}, {STATUS_NO_MEMORY, APP_NO_MEMORY}};
enum { ENDINGS = sizeof endings / sizeof *endings };

static const struct store_job stored[] = {
    {.id = {"orders-1/a", 10}, .state = JOB_STATE_DELAYED, .at_ms = 10},
    {.id = {"orders-1/b", 10}, .state = JOB_STATE_DELAYED, .at_ms = 20},
};
static const struct store_cursor behind_b = {.began_ms = 5,
                                             .state = JOB_STATE_DELAYED,
                                             .has_more = true,
                                             .is_partial = true,
                                             .score = 20,
                                             .id = {"orders-1/b", 10}};

START_TEST(a_page_goes_on_where_its_cursor_says)
{
    app_list(app, &list, on_job, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("list");
    ck_assert_uint_eq(call->list.max, 2);
    ck_assert(!call->list.from.has_more && call->list.from.began_ms == 0);
    call->fn.list(call->arg, STATUS_OK, stored, 2, behind_b);
    fake_expect(APP_DONE);
    ck_assert_uint_eq(jobs, 2);
    ck_assert(fake_verdict.is_partial);
    ck_assert(app_cursor_parse(app, slice_of(fake_verdict.cursor), &list.from));
    fake_forget();
    app_list(app, &list, on_job, fake_on_verdict, &fake_verdict);
    call = fake_take("list");
    ck_assert_int_eq(call->list.from.began_ms, 5);
    ck_assert(call->list.from.score == 20. && call->list.from.has_more);
    ck_assert(slice_equal(call->list.from.id, SLICE("orders-1/b")));
    call->fn.list(call->arg, STATUS_OK, NULL, 0, (struct store_cursor){.began_ms = 5});
    fake_expect(APP_DONE);
    ck_assert_str_eq(fake_verdict.cursor, "");
}
END_TEST

START_TEST(another_text_is_not_a_cursor)
{
    struct app_cursor cursor;
    ck_assert(!app_cursor_parse(app, SLICE("abc"), &cursor));
    ck_assert(!app_cursor_parse(app, SLICE(""), &cursor));
}
END_TEST

START_TEST(lists_and_counts_end_as_the_store_says)
{
    app_count(app, &list, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("count");
    call->fn.count(call->arg, STATUS_OK, 17, behind_b);
    fake_expect(APP_DONE);
    ck_assert_int_eq(fake_verdict.number, 17);
    for (size_t i = 0; i < ENDINGS; i++) {
        fake_forget();
        app_count(app, &list, fake_on_verdict, &fake_verdict);
        call = fake_take("count");
        call->fn.count(call->arg, endings[i].status, 0, behind_b);
        fake_expect(endings[i].end);
        fake_forget();
        app_list(app, &list, on_job, fake_on_verdict, &fake_verdict);
        call = fake_take("list");
        call->fn.list(call->arg, endings[i].status, NULL, 0, behind_b);
        fake_expect(endings[i].end);
    }
    ck_assert_uint_eq(jobs, 0);
}
END_TEST

/* ---- bulk actions ---- */

static struct app_bulk bulk;
static const struct store_seen seen[] = {
    {{"orders-1/a", 10}, {"t1", 2}}, {{"orders-1/b", 10}, {"t2", 2}}, {{"orders-1/c", 10}, {"t3", 2}}};

static void see(size_t count, int64_t now_ms)
{
    struct fake_call *call = fake_take("see");
    call->fn.seen(call->arg, STATUS_OK, seen, count, behind_b, now_ms);
}

static void cancel_many(void)
{
    fake_forget();
    bulk.list = list;
    bulk.filter = SLICE("topic=orders-1");
    app_cancel_many(app, &fake_all, &bulk, fake_on_verdict, &fake_verdict);
}

static void end_cancel(const char *tag, enum status status)
{
    struct fake_call *call = fake_take("cancel");
    ck_assert_str_eq(call->tags, tag);
    call->fn.cancelled(call->arg, status, false);
}

START_TEST(a_bulk_cancel_counts_each_outcome)
{
    bulk = (struct app_bulk){.is_dry_run = false};
    cancel_many();
    see(3, 100);
    end_cancel("t1", STATUS_OK);
    end_cancel("t2", STATUS_STALE);
    ck_assert_uint_eq(fake_verdict.count, 0);
    end_cancel("t3", STATUS_OK);
    fake_expect(APP_DONE);
    ck_assert_uint_eq(fake_verdict.counts.matched, 3);
    ck_assert_uint_eq(fake_verdict.counts.done, 2);
    ck_assert_uint_eq(fake_verdict.counts.skipped, 1);
    ck_assert_str_ne(fake_verdict.cursor, "");
    fake_expect_metric("duepost_jobs_ended_total{topic=\"orders-1\",how=\"cancelled\"} 2");
    fake_expect_log("jobs_cancelled who=ops from=192.0.2.7 filter=\"topic=orders-1\" matched=3 done=2 "
                    "skipped=1 unknown=0");
}
END_TEST

START_TEST(an_unknown_outcome_of_one_is_that_of_all)
{
    bulk = (struct app_bulk){.is_dry_run = false};
    cancel_many();
    see(2, 100);
    end_cancel("t1", STATUS_UNKNOWN);
    end_cancel("t2", STATUS_OK);
    fake_expect(APP_UNKNOWN);
    ck_assert_uint_eq(fake_verdict.counts.unknown, 1);
    ck_assert_uint_eq(fake_verdict.counts.done, 1);
}
END_TEST

START_TEST(a_dry_run_and_an_empty_page_change_nothing)
{
    bulk = (struct app_bulk){.is_dry_run = true};
    cancel_many();
    see(3, 100);
    fake_expect(APP_DONE);
    ck_assert_uint_eq(fake_verdict.counts.matched, 3);
    ck_assert_uint_eq(fake_verdict.counts.done, 0);
    bulk = (struct app_bulk){.is_dry_run = false};
    cancel_many();
    see(0, 100);
    fake_expect(APP_DONE);
    fake_expect_log("");
}
END_TEST

START_TEST(a_redrive_at_a_rate_spreads_its_jobs_over_pages)
{
    bulk = (struct app_bulk){.step_us = 500000};
    bulk.list = list;
    app_redrive(app, &fake_all, &bulk, fake_on_verdict, &fake_verdict);
    see(3, 10000);
    for (int i = 0; i < 3; i++) {
        struct fake_call *call = fake_take("run");
        ck_assert(call->when.is_absolute);
        ck_assert_int_eq(call->when.ms, 10000 + 500 * i);
        call->fn.run(call->arg, i == 1 ? STATUS_EXPIRED : STATUS_OK, 0);
    }
    fake_expect(APP_DONE);
    ck_assert_uint_eq(fake_verdict.counts.skipped, 1);
    fake_expect_log("jobs_redriven");
    ck_assert(app_cursor_parse(app, slice_of(fake_verdict.cursor), &bulk.list.from));
    ck_assert_int_eq(bulk.list.from.due_ms, 11500);
    fake_forget();
    app_redrive(app, &fake_all, &bulk, fake_on_verdict, &fake_verdict);
    see(1, 10100);
    struct fake_call *call = fake_take("run");
    ck_assert_int_eq(call->when.ms, 11500); /* behind the page before */
    call->fn.run(call->arg, STATUS_OK, 0);
    fake_expect(APP_DONE);
}
END_TEST

START_TEST(a_bulk_action_ends_as_the_store_says)
{
    bulk = (struct app_bulk){.is_dry_run = false};
    for (size_t i = 0; i < ENDINGS; i++) {
        cancel_many();
        struct fake_call *call = fake_take("see");
        call->fn.seen(call->arg, endings[i].status, NULL, 0, behind_b, 0);
        fake_expect(endings[i].end);
        ck_assert_uint_eq(fake_verdict.counts.matched, 0);
    }
    fake_set_ready(false);
    cancel_many();
    fake_expect(APP_UNAVAILABLE);
    fake_forget();
    app_redrive(app, &fake_all, &bulk, fake_on_verdict, &fake_verdict);
    fake_expect(APP_UNAVAILABLE);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("lists");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_page_goes_on_where_its_cursor_says);
    tcase_add_test(tests, another_text_is_not_a_cursor);
    tcase_add_test(tests, lists_and_counts_end_as_the_store_says);
    tcase_add_test(tests, a_bulk_cancel_counts_each_outcome);
    tcase_add_test(tests, an_unknown_outcome_of_one_is_that_of_all);
    tcase_add_test(tests, a_dry_run_and_an_empty_page_change_nothing);
    tcase_add_test(tests, a_redrive_at_a_rate_spreads_its_jobs_over_pages);
    tcase_add_test(tests, a_bulk_action_ends_as_the_store_says);
    suite_add_tcase(suite, tests);
    return suite;
}
