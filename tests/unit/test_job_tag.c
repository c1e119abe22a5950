#include "support/suite.h"

#include "job/job.h"

static const char *tag_of(const char *state, int64_t place_ms, const char *record)
{
    static char tag[JOB_TAG_SIZE];
    job_tag_make(slice_of(state), place_ms, slice_of(record), tag);
    return tag;
}

/* The tags are the same as in integration/test_scripts.c, where the scripts compute them. */
START_TEST(names_a_job_as_the_scripts_do)
{
    ck_assert_str_eq(tag_of("delayed", INT64_C(1700000060123), "{r}"),
                     "d74a780c6934b45530b7b8afa03e7941663fbeca");
    ck_assert_str_eq(tag_of("leased", 0, "{r}"), "51e09f62bcf1c20da7e481af71728a796f5c07bd");
    ck_assert_str_eq(tag_of("dead", INT64_C(1699999995123), "{r}"),
                     "3bf4faf0b3e199b4a82ef3451c92f50a14380fb1");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("job_tag");
    TCase *tests = tcase_create("job_tag");
    tcase_add_test(tests, names_a_job_as_the_scripts_do);
    suite_add_tcase(suite, tests);
    return suite;
}
