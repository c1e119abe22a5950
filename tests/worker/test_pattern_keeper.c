/* Tests that a pattern keeper, after settings of patterns have changed, walks through the topics until a step
 * is not full, and that it repairs the shards' copies of the patterns each second. */
#include "worker/sweep.h"

#include "support/suite.h"
#include "worker/world.h"

#define SECOND_US INT64_C(1000000)

static struct pattern_keeper *keeper;

static void begin(size_t shards, size_t shard)
{
    world_begin();
    world_set_shards(shards);
    keeper = pattern_keeper_new(NULL, NULL, world_shard(shard));
}

static void keeper_teardown(void)
{
    pattern_keeper_free(keeper);
}

START_TEST(topics_are_offered_again_until_a_step_is_not_full)
{
    begin(1, 0);
    pattern_keeper_tick(keeper, true);
    pattern_keeper_tick(keeper, true);
    ck_assert_uint_eq(world_under_way(WORLD_REOFFER), 1);
    world_pass(1000);
    world_answer_reoffer(STATUS_OK, 500, true);
    world_pass(pace_pause_us(1000, PACE_LATE_MS));
    ck_assert_uint_eq(world_under_way(WORLD_REOFFER), 1);
    world_answer_reoffer(STATUS_OK, 3, false);
    world_pass(10 * SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_REOFFER), 2);
    pattern_keeper_tick(keeper, true);
    world_answer_reoffer(STATUS_UNAVAILABLE, 0, false);
    pattern_keeper_tick(keeper, true);
    ck_assert_uint_eq(world_made(WORLD_REOFFER), 4);
    world_answer_reoffer(STATUS_OK, 0, false);
    pattern_keeper_tick(keeper, false);
    ck_assert_uint_eq(world_made(WORLD_REOFFER), 4);
    ck_assert_uint_eq(world_made(WORLD_MEND_PATTERNS),
                      0); /* there is only one shard, so there are no copies to repair */
}
END_TEST

START_TEST(steps_of_the_clock_are_sent_once)
{
    begin(1, 0);
    pattern_keeper_step(keeper, 30000);
    ck_assert_int_eq(world_call(WORLD_REOFFER)->wait_ms, 30000);
    pattern_keeper_step(keeper, -2000); /* during the call */
    world_answer_reoffer(STATUS_UNAVAILABLE, 0, false);
    pattern_keeper_tick(keeper, false);
    ck_assert_int_eq(world_call(WORLD_REOFFER)->wait_ms, 28000);
    world_answer_reoffer(STATUS_OK, 0, false);
    pattern_keeper_tick(keeper, false);
    ck_assert_uint_eq(world_made(WORLD_REOFFER), 2);
}
END_TEST

START_TEST(copies_are_mended_by_the_shard_that_is_written_first)
{
    begin(2, 0);
    pattern_keeper_tick(keeper, true);
    world_answer_reoffer(STATUS_OK, 0, false);
    pattern_keeper_tick(keeper, true);
    world_answer_reoffer(STATUS_OK, 0, false);
    ck_assert_uint_eq(world_made(WORLD_MEND_PATTERNS), 1); /* one call at a time */
    world_answer_mend_patterns(STATUS_OK, 0);
    ck_assert_uint_eq(world_logged("patterns_mended"), 0);
    pattern_keeper_tick(keeper, true);
    world_answer_reoffer(STATUS_OK, 0, false);
    world_answer_mend_patterns(STATUS_OK, 1);
    ck_assert_uint_eq(world_logged("patterns_mended"), 1);
}
END_TEST

START_TEST(other_shards_mend_nothing)
{
    begin(2, 1);
    pattern_keeper_tick(keeper, true);
    world_answer_reoffer(STATUS_OK, 0, false);
    ck_assert_uint_eq(world_made(WORLD_MEND_PATTERNS), 0);
    pattern_keeper_tick(NULL, true);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("pattern_keeper");
    TCase *tests = tcase_create("pattern_keeper");
    tcase_add_checked_fixture(tests, NULL, keeper_teardown);
    tcase_add_test(tests, topics_are_offered_again_until_a_step_is_not_full);
    tcase_add_test(tests, steps_of_the_clock_are_sent_once);
    tcase_add_test(tests, copies_are_mended_by_the_shard_that_is_written_first);
    tcase_add_test(tests, other_shards_mend_nothing);
    suite_add_tcase(suite, tests);
    return suite;
}
