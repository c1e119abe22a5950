#include "base/system.h"
#include "io/redis/redis_private.h"
#include "support/suite.h"

static struct loop *loop;
static struct query_timer *timer;
static struct timer *bound;
static int queries, queries_max;
static int64_t begun_us, queried_us;

static void on_query(void *arg)
{
    (void)arg;
    queried_us = clock_boot_us();
    if (++queries == queries_max)
        loop_stop(loop);
    else
        query_timer_sent(timer);
}

static void on_bound(void *arg)
{
    (void)arg;
    loop_stop(loop);
}

static void setup(void)
{
    loop = loop_new();
    timer = query_timer_new(loop, on_query, NULL);
    bound = timer_new(loop, on_bound, NULL);
    queries = 0;
    queries_max = 1;
    begun_us = clock_boot_us();
}

static void teardown(void)
{
    query_timer_free(timer);
    timer_free(bound);
    loop_free(loop);
}

START_TEST(the_next_query_is_due_after_a_second)
{
    query_timer_sent(timer);
    loop_run(loop);
    ck_assert_int_eq(queries, 1);
    ck_assert_int_ge(queried_us - begun_us, 1000000);
}
END_TEST

START_TEST(in_a_hurry_queries_follow_each_other_after_a_fifth_of_a_second)
{
    queries_max = 3;
    timer_start(bound, 2900000);
    query_timer_sent(timer);
    query_timer_hurry(timer);
    loop_run(loop);
    ck_assert_int_eq(queries, 3);
    ck_assert_int_ge(queried_us - begun_us, 600000);
}
END_TEST

START_TEST(a_timer_that_does_not_run_is_not_started)
{
    query_timer_hurry(timer);
    ck_assert(!query_timer_is_running(timer));
    query_timer_sent(timer);
    query_timer_stop(timer);
    query_timer_hurry(timer);
    ck_assert(!query_timer_is_running(timer));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("query_timer");
    TCase *tests = tcase_create("query_timer");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_next_query_is_due_after_a_second);
    tcase_add_test(tests, in_a_hurry_queries_follow_each_other_after_a_fifth_of_a_second);
    tcase_add_test(tests, a_timer_that_does_not_run_is_not_started);
    suite_add_tcase(suite, tests);
    return suite;
}
