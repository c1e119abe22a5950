/* Tests how held jobs are resumed when a breaker closes. */
#include "worker/hold.h"

#include "support/suite.h"
#include "worker/world.h"

static struct resumer *resumer;

static void setup(void)
{
    world_begin();
    resumer = resumer_new(NULL, NULL);
}

static void teardown(void)
{
    resumer_free(resumer);
}

static void check_asked(const char *receiver)
{
    ck_assert_str_eq(world_call(WORLD_RESUME)->receiver, receiver);
}

START_TEST(steps_follow_each_other_until_no_job_is_left)
{
    resumer_resume(resumer, SLICE("a:80"));
    for (int i = 0; i < 3; i++) {
        check_asked("a:80");
        world_answer_resume(STATUS_OK, world_call(WORLD_RESUME)->max);
        world_pass(20000);
    }
    check_asked("a:80");
    world_answer_resume(STATUS_OK, 7);
    world_pass(900000);
    ck_assert_uint_eq(world_under_way(WORLD_RESUME), 0);
}
END_TEST

START_TEST(each_receiver_is_asked_about_once_more_after_a_second)
{
    resumer_resume(resumer, SLICE("a:80"));
    world_answer_resume(STATUS_OK, 0);
    world_pass(1000000);
    check_asked("a:80");
    world_answer_resume(STATUS_OK, 0);
    world_pass(10000000);
    ck_assert_uint_eq(world_made(WORLD_RESUME), 2);
}
END_TEST

START_TEST(receivers_are_asked_about_one_after_the_other)
{
    resumer_resume(resumer, SLICE("a:80"));
    resumer_resume(resumer, SLICE("b:80"));
    check_asked("a:80");
    ck_assert_uint_eq(world_under_way(WORLD_RESUME), 1);
    world_answer_resume(STATUS_OK, 0);
    world_pass(20000);
    check_asked("b:80");
}
END_TEST

START_TEST(without_redis_the_question_is_repeated)
{
    resumer_resume(resumer, SLICE("a:80"));
    for (int i = 0; i < 3; i++) {
        world_answer_resume(STATUS_UNAVAILABLE, 0);
        world_pass(1000000);
        check_asked("a:80");
    }
    world_answer_resume(STATUS_OK, 0);
    world_pass(1000000);
    world_answer_resume(STATUS_OK, 0);
    world_pass(10000000);
    ck_assert_uint_eq(world_made(WORLD_RESUME), 5);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("resumer");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, steps_follow_each_other_until_no_job_is_left);
    tcase_add_test(tests, each_receiver_is_asked_about_once_more_after_a_second);
    tcase_add_test(tests, receivers_are_asked_about_one_after_the_other);
    tcase_add_test(tests, without_redis_the_question_is_repeated);
    suite_add_tcase(suite, tests);
    return suite;
}
