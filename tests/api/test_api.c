/* Tests that memory for errors is allocated in advance, before memory is short. */
#include "api/api_private.h"
#include "http/site.h"
#include "support/suite.h"

START_TEST(what_is_said_of_a_lack_of_memory_needs_none)
{
    struct site *site = site_new(&(struct site_options){.max_body_bytes = 1000});
    struct buffer *members = &site->members, *scratch = &site->scratch;
    const char *room = members->data, *answer = scratch->data;
    ck_assert(members->may_fail && scratch->may_fail);
    problem_write(members, "There is not enough memory for the answer; the change may have been made.");
    problem_write_head(scratch, 503, buffer_slice(members));
    ck_assert(room && answer);
    ck_assert_ptr_eq(members->data, room);
    ck_assert_ptr_eq(scratch->data, answer);
    site_free(site);
}
END_TEST

/* The reserved room must be enough for all errors of a job, so that the result of a job in a batch is
 * never cut. */
START_TEST(all_errors_of_a_job_have_room)
{
    struct site *site = site_new(&(struct site_options){.max_body_bytes = 1000});
    struct buffer *members = &site->members;
    const char *room = members->data;
    static struct job_errors errors;
    char text[JOB_ERRORS_BYTES_MAX / JOB_ERRORS_MAX / 2];
    memset(text, '\x01', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t i = 0; i < JOB_ERRORS_MAX; i++)
        job_errors_add(&errors, text, text);
    ck_assert_uint_eq(errors.count, JOB_ERRORS_MAX);
    ck_assert_uint_eq(errors.size, sizeof errors.text);
    problem_write_errors(members, "job", &errors);
    ck_assert(!members->failed);
    ck_assert_ptr_eq(members->data, room);
    site_free(site);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("api");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, what_is_said_of_a_lack_of_memory_needs_none);
    tcase_add_test(tests, all_errors_of_a_job_have_room);
    suite_add_tcase(suite, tests);
    return suite;
}
