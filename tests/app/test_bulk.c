/* Tests each verdict of the bulk actions, and the walks of a reschedule. */
#include "app/lists.h"

#include "app/fake_store.h"
#include "support/suite.h"

static struct app *app;
static struct app_list list;

static void begin(void)
{
    app = fake_app();
    list = (struct app_list){.filter = {.states = 1U << JOB_STATE_DELAYED, .topic = SLICE("orders-1")},
                             .max = 2};
}

static void end(void)
{
    fake_end();
}

/* Each failure that the store reports, and the verdict that follows from it. */
static const struct {
    enum status status;
    enum status end;
} endings[] = {{STATUS_UNAVAILABLE, STATUS_UNAVAILABLE},
               {STATUS_UNKNOWN, STATUS_UNKNOWN},
               {STATUS_NO_MEMORY, STATUS_NO_MEMORY}};
enum { ENDINGS = sizeof endings / sizeof *endings };

static const struct list_cursor behind_b = {.began_ms = 5,
                                            .state = JOB_STATE_DELAYED,
                                            .has_more = true,
                                            .is_partial = true,
                                            .score = 20,
                                            .id = {"orders-1/b", 10}};

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
    bulk.action = APP_CANCEL;
    app_bulk(app, &fake_all, &bulk, fake_on_verdict, &fake_verdict);
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
    fake_expect(STATUS_OK);
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
    fake_expect(STATUS_UNKNOWN);
    ck_assert_uint_eq(fake_verdict.counts.unknown, 1);
    ck_assert_uint_eq(fake_verdict.counts.done, 1);
}
END_TEST

START_TEST(a_dry_run_and_an_empty_page_change_nothing)
{
    bulk = (struct app_bulk){.is_dry_run = true};
    cancel_many();
    see(3, 100);
    fake_expect(STATUS_OK);
    ck_assert_uint_eq(fake_verdict.counts.matched, 3);
    ck_assert_uint_eq(fake_verdict.counts.done, 0);
    bulk = (struct app_bulk){.is_dry_run = false};
    cancel_many();
    see(0, 100);
    fake_expect(STATUS_OK);
    fake_expect_log("");
}
END_TEST

START_TEST(a_redrive_at_a_rate_spreads_its_jobs_over_pages)
{
    bulk = (struct app_bulk){.action = APP_REDRIVE, .step_us = 500000};
    bulk.list = list;
    app_bulk(app, &fake_all, &bulk, fake_on_verdict, &fake_verdict);
    see(3, 10000);
    for (int i = 0; i < 3; i++) {
        struct fake_call *call = fake_take("run");
        ck_assert(call->when.is_absolute);
        ck_assert_int_eq(call->when.ms, 10000 + 500 * i);
        call->fn.run(call->arg, i == 1 ? STATUS_EXPIRED : STATUS_OK, 0);
    }
    fake_expect(STATUS_OK);
    ck_assert_uint_eq(fake_verdict.counts.skipped, 1);
    fake_expect_log("jobs_redriven");
    ck_assert(app_cursor_parse(app, slice_of(fake_verdict.cursor), &bulk.list.from));
    ck_assert_int_eq(bulk.list.from.progress.due_ms, 11500);
    fake_forget();
    app_bulk(app, &fake_all, &bulk, fake_on_verdict, &fake_verdict);
    see(1, 10100);
    struct fake_call *call = fake_take("run");
    ck_assert_int_eq(call->when.ms, 11500); /* later than the due time of the previous page's last job */
    call->fn.run(call->arg, STATUS_OK, 0);
    fake_expect(STATUS_OK);
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
    fake_expect(STATUS_UNAVAILABLE);
    fake_forget();
    app_bulk(app, &fake_all, &bulk, fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

/* ---- a limit that counts the jobs of all pages together ---- */

START_TEST(a_limit_counts_over_pages)
{
    bulk = (struct app_bulk){.limit = 5};
    list.max = 3;
    cancel_many();
    see(3, 100);
    end_cancel("t1", STATUS_OK);
    end_cancel("t2", STATUS_OK);
    end_cancel("t3", STATUS_OK);
    fake_expect(STATUS_OK);
    ck_assert(app_cursor_parse(app, slice_of(fake_verdict.cursor), &list.from));
    ck_assert_uint_eq(list.from.progress.left, 2);
    cancel_many();
    struct fake_call *call = fake_take("see");
    ck_assert_uint_eq(call->list.max, 2);
    ck_assert(!call->list.leaves_begun);
    call->fn.seen(call->arg, STATUS_OK, seen, 2, behind_b, 100);
    end_cancel("t1", STATUS_OK);
    end_cancel("t2", STATUS_OK);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.cursor, "");
}
END_TEST

/* ---- run and reschedule ---- */

START_TEST(a_run_of_many_passes_what_it_saw)
{
    bulk = (struct app_bulk){.action = APP_RUN, .list = list};
    app_bulk(app, &fake_all, &bulk, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("see");
    ck_assert(call->list.leaves_begun);
    call->fn.seen(call->arg, STATUS_OK, seen, 2, behind_b, 100);
    for (int i = 0; i < 2; i++) {
        call = fake_take("run");
        ck_assert_str_eq(call->tags, i ? "t2" : "t1");
        ck_assert(!call->when.is_absolute && call->when.ms == 0);
        call->fn.run(call->arg, i ? STATUS_LEASED : STATUS_OK, 100);
    }
    fake_expect(STATUS_OK);
    ck_assert_uint_eq(fake_verdict.counts.done, 1);
    ck_assert_uint_eq(fake_verdict.counts.skipped, 1);
    fake_expect_log("jobs_run who=ops");
}
END_TEST

static void reschedule(void)
{
    fake_forget();
    bulk.list = list;
    app_bulk(app, &fake_all, &bulk, fake_on_verdict, &fake_verdict);
}

/* Answers the request for a page, which must have these limits of due times, and then the calls that
 * reschedule the jobs of the page. */
static void expect_side(int64_t after_ms, int64_t before_ms, size_t count, bool has_more, int64_t due_ms)
{
    struct list_cursor next = behind_b;
    struct fake_call *call = fake_take("see");
    ck_assert_int_eq(call->list.filter.after_ms, after_ms);
    ck_assert_int_eq(call->list.filter.before_ms, before_ms);
    next.has_more = has_more;
    if (!has_more)
        next.id.size = 0;
    call->fn.seen(call->arg, STATUS_OK, seen, count, next, 100);
    for (size_t i = 0; i < count; i++) {
        call = fake_take("change");
        ck_assert_str_eq(call->record, "");
        ck_assert(call->is_moved && call->when.is_absolute);
        ck_assert_int_eq(call->when.ms, 1000);
        call->fn.changed(call->arg, STATUS_OK, due_ms, 100);
    }
}

static void go_on(void)
{
    fake_expect(STATUS_OK);
    ck_assert(app_cursor_parse(app, slice_of(fake_verdict.cursor), &list.from));
    reschedule();
}

START_TEST(a_reschedule_walks_before_the_new_time_and_then_after_it)
{
    bulk = (struct app_bulk){.action = APP_RESCHEDULE, .has_due_at = true, .at_ms = 1000};
    reschedule();
    expect_side(0, 1000, 2, true, 1000);
    go_on();
    expect_side(0, 1000, 2, false,
                1003); /* no further jobs fit into the ms 1000, so the last job is due at 1003 */
    go_on();
    expect_side(1004, 0, 1, true, 1004);
    go_on();
    expect_side(1005, 0, 0, false, 0);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.cursor, "");
}
END_TEST

START_TEST(the_newest_first_is_the_other_way_round)
{
    bulk = (struct app_bulk){.action = APP_RESCHEDULE, .has_due_at = true, .at_ms = 1000};
    list.is_newest_first = true;
    list.filter.after_ms = 10;
    list.filter.before_ms = 5000;
    reschedule();
    expect_side(1001, 5000, 0, false, 0);
    expect_side(10, 1000, 2, false, 1000); /* no job is due after the new time, so the call continues with the
                                              jobs that are due before it */
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.cursor, "");
}
END_TEST

START_TEST(a_side_without_times_is_left_out)
{
    bulk = (struct app_bulk){.action = APP_RESCHEDULE, .has_due_at = true, .at_ms = 1000};
    list.filter.after_ms = 2000;
    reschedule();
    expect_side(2000, 0, 0, false, 0);
    fake_expect(STATUS_OK);
    list.filter.after_ms = 0;
    list.filter.before_ms = 900;
    reschedule();
    expect_side(0, 900, 1, false, 1000);
    go_on();
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.cursor, "");
    ck_assert_uint_eq(fake_verdict.counts.matched, 0);
}
END_TEST

START_TEST(a_delay_counts_from_the_first_page_by_the_clock_of_the_store)
{
    bulk = (struct app_bulk){.action = APP_RESCHEDULE, .at_ms = 899};
    reschedule();
    struct fake_call *call = fake_take("see");
    ck_assert_uint_eq(call->list.max, 1);
    call->fn.seen(call->arg, STATUS_OK, seen, 1, behind_b, 100);
    expect_side(0, 1000, 2, true, 1000);
    go_on();
    expect_side(0, 1000, 1, false, 1000);
    fake_expect(STATUS_OK);
    fake_forget();
    reschedule(); /* the cursor still has the time 1000 */
    call = fake_take("see");
    call->fn.seen(call->arg, STATUS_UNAVAILABLE, NULL, 0, behind_b, 0);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

START_TEST(a_limit_below_the_size_of_a_page_holds_for_a_reschedule_by_delay)
{
    bulk = (struct app_bulk){.action = APP_RESCHEDULE, .at_ms = 899, .limit = 1};
    reschedule();
    struct fake_call *call = fake_take("see");
    call->fn.seen(call->arg, STATUS_OK, seen, 1, behind_b, 100);
    call = fake_take("see");
    ck_assert_uint_eq(call->list.max, 1);
    call->fn.seen(call->arg, STATUS_OK, seen, 1, behind_b, 100);
    call = fake_take("change");
    call->fn.changed(call->arg, STATUS_OK, 1000, 100);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.cursor, "");
}
END_TEST

START_TEST(dead_jobs_are_brought_back_at_the_new_time)
{
    bulk = (struct app_bulk){.action = APP_RESCHEDULE, .has_due_at = true, .at_ms = 1000};
    list.filter.states = 1U << JOB_STATE_DEAD;
    list.filter.after_ms = 7;
    reschedule();
    struct fake_call *call = fake_take("see");
    ck_assert(call->list.filter.after_ms == 7 && call->list.filter.before_ms == 0);
    call->fn.seen(call->arg, STATUS_OK, seen, 1, behind_b, 100);
    call = fake_take("run");
    ck_assert(call->when.is_absolute && call->when.ms == 1000);
    call->fn.run(call->arg, STATUS_EXPIRED, 0);
    fake_expect(STATUS_OK);
    ck_assert_uint_eq(fake_verdict.counts.skipped, 1);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("bulk");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_bulk_cancel_counts_each_outcome);
    tcase_add_test(tests, an_unknown_outcome_of_one_is_that_of_all);
    tcase_add_test(tests, a_dry_run_and_an_empty_page_change_nothing);
    tcase_add_test(tests, a_redrive_at_a_rate_spreads_its_jobs_over_pages);
    tcase_add_test(tests, a_bulk_action_ends_as_the_store_says);
    tcase_add_test(tests, a_limit_counts_over_pages);
    tcase_add_test(tests, a_run_of_many_passes_what_it_saw);
    tcase_add_test(tests, a_reschedule_walks_before_the_new_time_and_then_after_it);
    tcase_add_test(tests, the_newest_first_is_the_other_way_round);
    tcase_add_test(tests, a_side_without_times_is_left_out);
    tcase_add_test(tests, a_delay_counts_from_the_first_page_by_the_clock_of_the_store);
    tcase_add_test(tests, a_limit_below_the_size_of_a_page_holds_for_a_reschedule_by_delay);
    tcase_add_test(tests, dead_jobs_are_brought_back_at_the_new_time);
    suite_add_tcase(suite, tests);
    return suite;
}
