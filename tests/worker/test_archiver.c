/* Tests that an archiver reads, appends and removes texts, and begins again after each kind of failure. */
#include "worker/archiver.h"

#include "support/suite.h"
#include "worker/world.h"

static struct archiver *archiver;
static struct outbox_text texts[OUTBOX_READ_MAX];

static void make(bool has_history)
{
    struct archiver_options options = {
        .shard = world_shard(0),
        .history = has_history ? (struct history *)&archiver : NULL,
    };
    archiver = archiver_new(NULL, &options);
}

static void setup(void)
{
    world_begin();
    make(true);
    for (size_t i = 0; i < OUTBOX_READ_MAX; i++)
        texts[i] = (struct outbox_text){SLICE("t/a"), SLICE("dead 1 0 2 {}")};
}

static void teardown(void)
{
    archiver_free(archiver);
}

static void answer_read(size_t count, bool is_full)
{
    struct outbox_read read = {.texts = texts, .count = count, .is_full = is_full, .entries = (int64_t)count};
    world_answer_outbox_read(STATUS_OK, &read);
}

/* Lets time pass with a tick each second, as in the process that owns the carry lock. */
static void pass_seconds(int seconds)
{
    for (int i = 0; i < seconds; i++) {
        world_pass(1000000);
        archiver_tick(archiver, true, false, 0);
    }
}

START_TEST(it_removes_old_jobs_from_the_history_by_the_time_of_redis)
{
    archiver_tick(archiver, false, false, 1234);
    ck_assert_int_eq(world_pruned_ms(), 1234);
    archiver_tick(archiver, false, false, 0);
    ck_assert_int_eq(world_pruned_ms(), 0);
}
END_TEST

START_TEST(a_batch_is_appended_and_then_removed)
{
    archiver_tick(archiver, true, false, 0);
    answer_read(3, false);
    ck_assert_uint_eq(world_call(WORLD_APPEND)->max, 3);
    ck_assert_uint_eq(world_made(WORLD_OUTBOX_REMOVE), 0);
    world_answer_append(STATUS_OK, "");
    ck_assert_uint_eq(world_call(WORLD_OUTBOX_REMOVE)->max, 3);
    world_answer_outbox_remove(STATUS_OK, 3);
    ck_assert_uint_eq(world_under_way(WORLD_OUTBOX_READ), 0);
    pass_seconds(1);
    ck_assert_uint_eq(world_call(WORLD_OUTBOX_READ)->max, 0);
}
END_TEST

START_TEST(batches_follow_one_another_up_to_a_limit)
{
    archiver_tick(archiver, true, false, 0);
    for (size_t i = 0; i < 100 && world_under_way(WORLD_OUTBOX_READ); i++) {
        ck_assert_uint_eq(world_call(WORLD_OUTBOX_READ)->max, i * OUTBOX_READ_MAX);
        answer_read(OUTBOX_READ_MAX, true);
        world_pass(100000);
    }
    ck_assert_uint_eq(world_made(WORLD_APPEND), 16);
    pass_seconds(3);
    ck_assert_uint_eq(world_made(WORLD_APPEND), 16);
    world_answer_append(STATUS_OK, "");
    world_answer_outbox_remove(STATUS_OK, OUTBOX_READ_MAX);
    pass_seconds(1);
    ck_assert_uint_eq(world_call(WORLD_OUTBOX_READ)->max, 15 * OUTBOX_READ_MAX);
}
END_TEST

START_TEST(a_database_that_is_away_is_tried_again)
{
    archiver_tick(archiver, true, false, 0);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(world_call(WORLD_OUTBOX_READ)->max, 0);
        answer_read(OUTBOX_READ_MAX, true);
        world_answer_append(STATUS_UNAVAILABLE, "it is away");
        ck_assert_uint_eq(world_under_way(WORLD_OUTBOX_READ), 0);
        pass_seconds(6);
    }
    ck_assert_uint_eq(world_made(WORLD_OUTBOX_REMOVE), 0);
    answer_read(3, false);
    world_answer_append(STATUS_OK, "");
    world_answer_outbox_remove(STATUS_OK, 3);
}
END_TEST

START_TEST(a_full_queue_is_tried_again)
{
    archiver_tick(archiver, true, false, 0);
    answer_read(3, false);
    world_answer_append(STATUS_FULL, "");
    pass_seconds(1);
    ck_assert_uint_eq(world_call(WORLD_OUTBOX_READ)->max, 0);
}
END_TEST

/* Another archiver has read the same texts, or Redis has lost an answer: the list of read texts in Redis no
 * longer matches the batches that this archiver has. */
START_TEST(after_a_removal_that_found_less_it_begins_again_without_batches)
{
    archiver_tick(archiver, true, false, 0);
    answer_read(OUTBOX_READ_MAX, true);
    world_pass(100000);
    answer_read(7, false);
    world_answer_append(STATUS_OK, "");
    world_answer_outbox_remove(STATUS_OK, 1);
    pass_seconds(2);
    ck_assert_uint_eq(world_under_way(WORLD_OUTBOX_READ), 0);
    world_answer_append(STATUS_OK, "");
    world_answer_outbox_remove(STATUS_UNKNOWN, 0);
    ck_assert_uint_eq(world_call(WORLD_OUTBOX_READ)->max, 0);
}
END_TEST

/* Redis may have lost its last changes, so the outbox may have other texts at the positions of those that
 * were read. */
START_TEST(after_a_lost_connection_nothing_is_removed)
{
    struct outbox_read read = {
        .texts = texts, .count = 3, .disturbed = 1}; /* see outbox_batch_new in world.c */
    archiver_tick(archiver, true, false, 0);
    world_answer_outbox_read(STATUS_OK, &read);
    world_answer_append(STATUS_OK, "");
    ck_assert_uint_eq(world_made(WORLD_OUTBOX_REMOVE), 0);
    ck_assert_uint_eq(world_call(WORLD_OUTBOX_READ)->max, 0);
}
END_TEST

START_TEST(a_read_that_failed_begins_again)
{
    archiver_tick(archiver, true, false, 0);
    world_answer_outbox_read(STATUS_UNKNOWN, &(struct outbox_read){.count = 0});
    ck_assert_uint_eq(world_under_way(WORLD_OUTBOX_READ), 0);
    pass_seconds(1);
    ck_assert_uint_eq(world_call(WORLD_OUTBOX_READ)->max, 0);
}
END_TEST

START_TEST(an_empty_outbox_is_read_each_ten_seconds)
{
    archiver_tick(archiver, false, false, 0); /* turns the history on */
    answer_read(0, false);
    for (int i = 0; i < 9; i++) {
        world_pass(1000000);
        archiver_tick(archiver, false, false, 0);
    }
    ck_assert_uint_eq(world_made(WORLD_OUTBOX_READ), 1);
    world_pass(1000000);
    archiver_tick(archiver, false, false, 0);
    ck_assert_uint_eq(world_made(WORLD_OUTBOX_READ), 2);
}
END_TEST

START_TEST(fields_without_a_text_are_removed_only)
{
    texts[0].text = texts[1].text = (struct slice){NULL, 0};
    archiver_tick(archiver, true, false, 0);
    answer_read(2, false);
    ck_assert_uint_eq(world_made(WORLD_APPEND), 0);
    ck_assert_uint_eq(world_call(WORLD_OUTBOX_REMOVE)->max, 2);
    world_answer_outbox_remove(STATUS_OK, 0);
    ck_assert_uint_eq(world_under_way(WORLD_OUTBOX_READ), 0);
}
END_TEST

START_TEST(without_ticks_or_after_stop_it_reads_no_more)
{
    archiver_tick(archiver, true, false, 0);
    answer_read(3, false);
    world_pass(3000000);
    world_answer_append(STATUS_UNAVAILABLE, "");
    world_pass(10000000);
    ck_assert_uint_eq(world_under_way(WORLD_OUTBOX_READ), 0);
    archiver_stop(archiver);
    pass_seconds(3);
    ck_assert_uint_eq(world_under_way(WORLD_OUTBOX_READ), 0);
}
END_TEST

START_TEST(dropped_texts_are_told)
{
    struct outbox_read read = {.dropped = 5};
    archiver_tick(archiver, true, false, 0);
    world_answer_outbox_read(STATUS_OK, &read);
    ck_assert_uint_eq(world_logged("history_dropped"), 0);
    read.dropped = 9;
    pass_seconds(1);
    world_answer_outbox_read(STATUS_OK, &read);
    ck_assert_uint_eq(world_logged("history_dropped"), 1);
    pass_seconds(1);
    world_answer_outbox_read(STATUS_OK, &read);
    ck_assert_uint_eq(world_logged("history_dropped"), 1);
}
END_TEST

START_TEST(without_a_history_it_turns_it_off_now_and_then)
{
    archiver_free(archiver);
    make(false);
    archiver_tick(archiver, true, false, 0);
    world_answer_outbox_read(STATUS_OK, &(struct outbox_read){.entries = 2});
    ck_assert_uint_eq(world_logged("history_is_off"), 1);
    pass_seconds(9);
    ck_assert_uint_eq(world_under_way(WORLD_OUTBOX_READ), 0);
    pass_seconds(1);
    ck_assert_uint_eq(world_under_way(WORLD_OUTBOX_READ), 1);
}
END_TEST

/* ---- lines of the audit log ---- */

static void answer_trail(enum status status, size_t count, int64_t removed)
{
    struct slice lines[TRAIL_READ_MAX] = {SLICE("a"), SLICE("b")};
    world_answer_trail(status, &(struct trail_read){.lines = lines, .count = count, .removed = removed});
}

START_TEST(lines_are_removed_when_the_history_has_them)
{
    archiver_tick(archiver, false, true, 0);
    archiver_tick(archiver, false, true, 0); /* one batch at a time */
    ck_assert_uint_eq(world_made(WORLD_TRAIL), 1);
    ck_assert_uint_eq(world_call(WORLD_TRAIL)->max, 0);
    answer_trail(STATUS_OK, 2, 7);
    ck_assert_uint_eq(world_made(WORLD_TRAIL), 1);
    ck_assert_uint_eq(world_call(WORLD_NOTE)->max, 2);
    world_answer_note(STATUS_OK, "");
    ck_assert_uint_eq(world_call(WORLD_TRAIL)->max, 2);
    ck_assert_int_eq(world_call(WORLD_TRAIL)->expected_ms, 7);
    answer_trail(STATUS_OK, 0, 9);
    ck_assert_uint_eq(world_made(WORLD_NOTE), 1);
    archiver_tick(archiver, false, true, 0);
    ck_assert_uint_eq(world_made(WORLD_TRAIL), 3);
}
END_TEST

START_TEST(lines_that_the_history_does_not_take_are_read_again)
{
    static const enum status failures[] = {STATUS_UNAVAILABLE, STATUS_FULL};
    for (size_t i = 0; i < 2; i++) {
        archiver_tick(archiver, false, true, 0);
        answer_trail(STATUS_OK, 2, 7);
        world_answer_note(failures[i], "it is away");
        ck_assert_uint_eq(world_under_way(WORLD_TRAIL), 0);
    }
    archiver_tick(archiver, false, true, 0);
    ck_assert_uint_eq(world_call(WORLD_TRAIL)->max, 0);
    answer_trail(STATUS_UNKNOWN, 0, 0);
    archiver_tick(archiver, false, true, 0);
    ck_assert_uint_eq(world_under_way(WORLD_TRAIL), 1);
    archiver_stop(archiver);
    answer_trail(STATUS_OK, 2, 7);
    ck_assert_uint_eq(world_under_way(WORLD_NOTE), 0);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("archiver");
    TCase *tests = tcase_create("archiver");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, it_removes_old_jobs_from_the_history_by_the_time_of_redis);
    tcase_add_test(tests, a_batch_is_appended_and_then_removed);
    tcase_add_test(tests, batches_follow_one_another_up_to_a_limit);
    tcase_add_test(tests, a_database_that_is_away_is_tried_again);
    tcase_add_test(tests, a_full_queue_is_tried_again);
    tcase_add_test(tests, after_a_removal_that_found_less_it_begins_again_without_batches);
    tcase_add_test(tests, after_a_lost_connection_nothing_is_removed);
    tcase_add_test(tests, a_read_that_failed_begins_again);
    tcase_add_test(tests, an_empty_outbox_is_read_each_ten_seconds);
    tcase_add_test(tests, fields_without_a_text_are_removed_only);
    tcase_add_test(tests, without_ticks_or_after_stop_it_reads_no_more);
    tcase_add_test(tests, dropped_texts_are_told);
    tcase_add_test(tests, without_a_history_it_turns_it_off_now_and_then);
    tcase_add_test(tests, lines_are_removed_when_the_history_has_them);
    tcase_add_test(tests, lines_that_the_history_does_not_take_are_read_again);
    suite_add_tcase(suite, tests);
    return suite;
}
