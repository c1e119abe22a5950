#include "base/metrics.h"
#include "support/suite.h"

START_TEST(a_bound_belongs_to_its_bucket)
{
    struct histogram histogram = {0};
    histogram_observe(&histogram, -5);
    histogram_observe(&histogram, 1000);
    histogram_observe(&histogram, 1001);
    histogram_observe(&histogram, INT64_C(60000001));
    ck_assert_uint_eq(histogram.counts[0], 2);
    ck_assert_uint_eq(histogram.counts[1], 1);
    ck_assert_uint_eq(histogram.counts[HISTOGRAM_BUCKETS - 1], 1);
    ck_assert_uint_eq(histogram.sum_us, 60002002);
}
END_TEST

START_TEST(sums_add_up)
{
    struct histogram total = {0}, one = {0};
    histogram_observe(&one, 7000);
    histogram_add(&total, &one);
    histogram_add(&total, &one);
    ck_assert_uint_eq(total.counts[3], 2);
    ck_assert_uint_eq(total.sum_us, 14000);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("histogram");
    TCase *tests = tcase_create("histogram");
    tcase_add_test(tests, a_bound_belongs_to_its_bucket);
    tcase_add_test(tests, sums_add_up);
    suite_add_tcase(suite, tests);
    return suite;
}
