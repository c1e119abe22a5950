/* Tests that a janitor audits and patrols in turn, and repairs if the counts are wrong. */
#include "worker/janitor.h"

#include <string.h>

#include "support/suite.h"
#include "worker/world.h"

static struct janitor *janitor;

static const struct store_counts balanced = {.jobs = 5, .waiting = 3, .leased = 2};
static const struct store_counts off = {.jobs = 5, .waiting = 3, .leased = 1};

static void setup(void)
{
    world_begin();
    janitor = janitor_new(NULL, world_shard(0), NULL);
}

static void teardown(void)
{
    janitor_free(janitor);
}

/* Lets the next audit find these counts. If it is the patrol's turn, this tick comes first. */
static void audit(struct store_counts counts)
{
    janitor_tick(janitor);
    if (!world_under_way(WORLD_AUDIT))
        janitor_tick(janitor);
    world_answer_audit(STATUS_OK, counts);
}

/* Lets a step of the patrol's walk begin. If it is the turn of the calendars, this step comes first. A tick
 * at which a round of walks ends makes no call. */
static void patrol(void)
{
    for (int i = 0; i < 6; i++) {
        audit(balanced);
        janitor_tick(janitor);
        if (!world_under_way(WORLD_MEND))
            continue;
        if (strcmp(world_call(WORLD_MEND)->walk, "calendars") != 0)
            return;
        world_answer_mend(STATUS_OK, "0", 0);
    }
}

/* Answers all steps of the janitor's walk through the jobs. Returns the number of steps. */
static size_t walk_on(void)
{
    size_t steps = 0;
    for (; world_under_way(WORLD_MEND); steps++) {
        ck_assert_uint_lt(steps, 100);
        world_answer_mend(STATUS_OK, "0", 0);
    }
    return steps;
}

START_TEST(one_call_of_each_kind_is_under_way_at_a_time)
{
    for (int i = 0; i < 6; i++)
        janitor_tick(janitor);
    ck_assert_uint_eq(world_made(WORLD_AUDIT), 1);
    ck_assert_uint_eq(world_made(WORLD_MEND), 1);
    janitor_sweep(janitor);
    janitor_sweep(janitor);
    ck_assert_uint_eq(world_made(WORLD_SWEEP), 1);
}
END_TEST

START_TEST(after_an_audit_that_found_no_fault_the_next_tick_patrols)
{
    audit(balanced);
    ck_assert_uint_eq(world_made(WORLD_MEND), 0);
    janitor_tick(janitor);
    ck_assert_uint_eq(world_made(WORLD_MEND), 1);
    ck_assert_str_eq(world_call(WORLD_MEND)->cursor, "0");
    world_answer_mend(STATUS_OK, "17", 0);
    ck_assert_uint_eq(world_under_way(WORLD_MEND), 0);
    patrol();
    ck_assert_str_eq(world_call(WORLD_MEND)->cursor, "0");
    world_answer_mend(STATUS_OK, "18", 0);
    audit(balanced);
    janitor_tick(janitor);
    ck_assert_str_eq(world_call(WORLD_MEND)->walk, "calendars");
    ck_assert_str_eq(world_call(WORLD_MEND)->cursor, "17");
    world_answer_mend(STATUS_OK, "0", 0);
    patrol();
    ck_assert_str_eq(world_call(WORLD_MEND)->cursor, "18");
    ck_assert_uint_eq(world_logged("books_are_off"), 0);
}
END_TEST

START_TEST(the_patrol_goes_round)
{
    char first[64];
    patrol();
    strcpy(first, world_call(WORLD_MEND)->walk);
    for (int i = 0; i < 100; i++) {
        walk_on();
        patrol();
        if (i > 3 && world_under_way(WORLD_MEND) && strcmp(world_call(WORLD_MEND)->walk, first) == 0)
            return;
    }
    ck_abort_msg("it never came round");
}
END_TEST

START_TEST(books_that_are_off_are_mended_at_once_and_to_the_end)
{
    audit(off);
    ck_assert_uint_eq(world_logged("books_are_off"), 1);
    ck_assert_str_eq(world_call(WORLD_MEND)->walk, "jobs");
    ck_assert_uint_gt(walk_on(), 5);
    ck_assert_uint_eq(world_logged("mending_done"), 1);
}
END_TEST

START_TEST(each_repair_is_logged_and_counted)
{
    audit(off);
    world_answer_mend(STATUS_OK, "0", 3);
    ck_assert_uint_eq(world_logged("mended"), 3);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_MENDED), 3);
}
END_TEST

START_TEST(kept_jobs_without_a_time_are_off_too)
{
    struct store_counts counts = balanced;
    counts.kept = 2, counts.dead = 1;
    audit(counts);
    ck_assert_uint_eq(world_logged("books_are_off"), 1);
}
END_TEST

START_TEST(more_histories_than_jobs_are_off_too)
{
    struct store_counts counts = balanced;
    counts.histories = 6;
    audit(counts);
    ck_assert_uint_eq(world_logged("books_are_off"), 1);
}
END_TEST

START_TEST(a_walk_under_way_is_not_begun_anew)
{
    audit(off);
    world_answer_mend(STATUS_OK, "17", 0);
    audit(off);
    ck_assert_uint_eq(world_under_way(WORLD_MEND), 1);
    ck_assert_str_eq(world_call(WORLD_MEND)->cursor, "17");
    ck_assert_uint_eq(world_logged("books_are_off"), 1);
}
END_TEST

START_TEST(a_step_that_failed_leaves_the_mending_to_the_next_audit)
{
    audit(off);
    world_answer_mend(STATUS_UNAVAILABLE, "17", 0);
    ck_assert_uint_eq(world_under_way(WORLD_MEND), 0);
    audit(off);
    ck_assert_str_eq(world_call(WORLD_MEND)->walk, "jobs");
    ck_assert_str_eq(world_call(WORLD_MEND)->cursor, "0");
}
END_TEST

START_TEST(a_step_that_failed_does_not_turn_the_patrol_into_mending)
{
    audit(off);
    world_answer_mend(STATUS_UNAVAILABLE, "17", 0);
    audit(balanced);
    janitor_tick(janitor);
    ck_assert_uint_eq(walk_on(), 1);
}
END_TEST

START_TEST(an_audit_that_failed_says_nothing)
{
    janitor_tick(janitor);
    world_answer_audit(STATUS_UNAVAILABLE, off);
    ck_assert_uint_eq(world_made(WORLD_MEND), 0);
    janitor_tick(janitor);
    janitor_tick(janitor);
    ck_assert_uint_eq(world_under_way(WORLD_AUDIT), 1);
}
END_TEST

START_TEST(it_surveys_where_the_audit_says_that_it_takes_one)
{
    struct store_counts counts = balanced;
    audit(counts);
    ck_assert_uint_eq(world_made(WORLD_SURVEY), 0);
    walk_on();
    counts.takes_survey = true;
    audit(counts);
    ck_assert_uint_eq(world_under_way(WORLD_SURVEY), 1);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("janitor");
    TCase *tests = tcase_create("janitor");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, one_call_of_each_kind_is_under_way_at_a_time);
    tcase_add_test(tests, after_an_audit_that_found_no_fault_the_next_tick_patrols);
    tcase_add_test(tests, the_patrol_goes_round);
    tcase_add_test(tests, books_that_are_off_are_mended_at_once_and_to_the_end);
    tcase_add_test(tests, each_repair_is_logged_and_counted);
    tcase_add_test(tests, kept_jobs_without_a_time_are_off_too);
    tcase_add_test(tests, more_histories_than_jobs_are_off_too);
    tcase_add_test(tests, a_walk_under_way_is_not_begun_anew);
    tcase_add_test(tests, a_step_that_failed_leaves_the_mending_to_the_next_audit);
    tcase_add_test(tests, a_step_that_failed_does_not_turn_the_patrol_into_mending);
    tcase_add_test(tests, an_audit_that_failed_says_nothing);
    tcase_add_test(tests, it_surveys_where_the_audit_says_that_it_takes_one);
    suite_add_tcase(suite, tests);
    return suite;
}
