/* Tests each verdict of the use cases of many jobs. */
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
    list = (struct app_list){.filter = {.states = 1U << JOB_STATE_DELAYED, .topic = SLICE("orders-1")},
                             .max = 2};
    jobs = 0;
}

static void end(void)
{
    fake_end();
}

static void on_job(void *arg, const struct stored_job *job)
{
    ck_assert_ptr_eq(arg, &fake_verdict);
    ck_assert_uint_gt(job->id.size, 0);
    jobs++;
}

/* Each failure that the store reports, and the verdict that follows from it. */
static const struct {
    enum status status;
    enum status end;
} endings[] = {{STATUS_UNAVAILABLE, STATUS_UNAVAILABLE},
               {STATUS_UNKNOWN, STATUS_UNKNOWN},
               {STATUS_NO_MEMORY, STATUS_NO_MEMORY}};
enum { ENDINGS = sizeof endings / sizeof *endings };

static const struct stored_job stored[] = {
    {.id = {"orders-1/a", 10}, .state = JOB_STATE_DELAYED, .at_ms = 10},
    {.id = {"orders-1/b", 10}, .state = JOB_STATE_DELAYED, .at_ms = 20},
};
static const struct list_cursor behind_b = {.began_ms = 5,
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
    fake_expect(STATUS_OK);
    ck_assert_uint_eq(jobs, 2);
    ck_assert(fake_verdict.is_partial);
    ck_assert(app_cursor_parse(app, slice_of(fake_verdict.cursor), &list.from));
    fake_forget();
    app_list(app, &list, on_job, fake_on_verdict, &fake_verdict);
    call = fake_take("list");
    ck_assert_int_eq(call->list.from.began_ms, 5);
    ck_assert(call->list.from.score == 20. && call->list.from.has_more);
    ck_assert(slice_equal(call->list.from.id, SLICE("orders-1/b")));
    call->fn.list(call->arg, STATUS_OK, NULL, 0, (struct list_cursor){.began_ms = 5});
    fake_expect(STATUS_OK);
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
    fake_expect(STATUS_OK);
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

Suite *suite(void)
{
    Suite *suite = suite_create("lists");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_page_goes_on_where_its_cursor_says);
    tcase_add_test(tests, another_text_is_not_a_cursor);
    tcase_add_test(tests, lists_and_counts_end_as_the_store_says);
    suite_add_tcase(suite, tests);
    return suite;
}
