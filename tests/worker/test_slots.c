#include "worker/consumer.h"

#include "support/suite.h"

static struct slots slots;

START_TEST(a_single_shard_has_them_all)
{
    slots_init(&slots, 10, 1);
    ck_assert_uint_eq(slots_free(&slots, 0, 1), 10);
    slots_take(&slots, 0, 7);
    ck_assert_uint_eq(slots_free(&slots, 0, 1), 3);
    slots_give(&slots, 0, 7);
    ck_assert_uint_eq(slots_free(&slots, 0, 1), 10);
    slots_fini(&slots);
}
END_TEST

START_TEST(however_much_one_shard_takes_the_others_have_theirs)
{
    slots_init(&slots, 64, 4); /* 8 slots are reserved for each shard, and 32 are common */
    ck_assert_uint_eq(slots_free(&slots, 0, 1), 40);
    slots_take(&slots, 0, 40);
    ck_assert_uint_eq(slots_free(&slots, 0, 1), 0);
    for (size_t i = 1; i < 4; i++)
        ck_assert_uint_eq(slots_free(&slots, i, 1), 8);
    slots_give(&slots, 0, 12);
    ck_assert_uint_eq(slots_free(&slots, 0, 1), 12);
    ck_assert_uint_eq(slots_free(&slots, 1, 1), 20);
    slots_fini(&slots);
}
END_TEST

START_TEST(what_is_common_is_shared_by_those_who_want_it)
{
    slots_init(&slots, 64, 4);
    ck_assert_uint_eq(slots_free(&slots, 0, 4), 8 + 8);
    slots_fini(&slots);
    slots_init(&slots, 3, 16); /* too few slots to reserve any */
    ck_assert_uint_eq(slots_free(&slots, 5, 16), 1);
    slots_fini(&slots);
}
END_TEST

/* Shards take free slots in any order, and never more than exist. */
START_TEST(the_sum_is_never_over_the_maximum)
{
    unsigned random = 1;
    slots_init(&slots, 37, 5);
    size_t used[5] = {0}, sum = 0;
    for (int step = 0; step < 20000; step++) {
        size_t shard = (random = random * 1103515245 + 12345) / 65536 % 5;
        size_t free = slots_free(&slots, shard, 1 + (random >> 8) % 5);
        if (random >> 20 & 1) {
            slots_take(&slots, shard, free);
            used[shard] += free;
            sum += free;
        } else {
            size_t part = used[shard] / 2 + used[shard] % 2;
            slots_give(&slots, shard, part);
            used[shard] -= part;
            sum -= part;
        }
        ck_assert_uint_le(sum, 37);
    }
    slots_fini(&slots);
}
END_TEST

START_TEST(a_new_maximum_counts_what_runs)
{
    slots_init(&slots, 64, 4);
    slots_take(&slots, 0, 40);
    slots_resize(&slots, 16); /* 2 slots are reserved for each shard, and 8 are common */
    ck_assert_uint_eq(slots_free(&slots, 0, 1), 0);
    ck_assert_uint_eq(slots_free(&slots, 1, 1), 2);
    slots_give(&slots, 0, 40);
    ck_assert_uint_eq(slots_free(&slots, 0, 1), 10);
    slots_fini(&slots);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("slots");
    TCase *tests = tcase_create("slots");
    tcase_add_test(tests, a_single_shard_has_them_all);
    tcase_add_test(tests, however_much_one_shard_takes_the_others_have_theirs);
    tcase_add_test(tests, what_is_common_is_shared_by_those_who_want_it);
    tcase_add_test(tests, the_sum_is_never_over_the_maximum);
    tcase_add_test(tests, a_new_maximum_counts_what_runs);
    suite_add_tcase(suite, tests);
    return suite;
}
