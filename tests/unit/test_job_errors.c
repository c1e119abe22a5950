#include "support/errors.h"
#include "support/suite.h"

static struct job_errors errors;

START_TEST(keeps_errors_in_their_order)
{
    struct job_error error;
    size_t at = 0;
    job_errors_clear(&errors);
    ck_assert(!job_errors_take(&errors, &at, &error));
    job_errors_add(&errors, "", "must be an object");
    job_errors_add_named(&errors, "headers.", SLICE("X-A"), "");
    ck_assert(job_errors_take(&errors, &at, &error));
    ck_assert_str_eq(error.field, "");
    ck_assert_str_eq(error.detail, "must be an object");
    ck_assert(job_errors_take(&errors, &at, &error));
    ck_assert_str_eq(error.field, "headers.X-A");
    ck_assert_str_eq(error.detail, "");
    ck_assert(!job_errors_take(&errors, &at, &error));
    ck_assert_uint_eq(errors.count, 2);
}
END_TEST

START_TEST(cuts_what_is_too_long)
{
    static char text[2 * JOB_ERROR_TEXT_SIZE];
    memset(text, 'x', sizeof text - 1);
    job_errors_clear(&errors);
    job_errors_add_named(&errors, "headers.", slice_of(text), text);
    ck_assert_uint_eq(strlen(error_at(&errors, 0).field), JOB_ERROR_TEXT_SIZE - 1);
    ck_assert_uint_eq(strlen(error_at(&errors, 0).detail), JOB_ERROR_TEXT_SIZE - 1);
    job_errors_clear(&errors);
    job_errors_add_named(&errors, "", SLICE("a\0b"), "c");
    ck_assert_str_eq(error_at(&errors, 0).field, "a");
    ck_assert_str_eq(error_at(&errors, 0).detail, "c");
}
END_TEST

/* Adds errors of any length. Each counted error must be complete. Errors are dropped when the room or the
 * maximum number is reached. */
START_TEST(drops_errors_beyond_its_bounds)
{
    static char text[JOB_ERROR_TEXT_SIZE];
    for (size_t size = 0; size < sizeof text; size++) {
        struct job_error error;
        size_t at = 0, count = 0, bytes = 2 * size + 2;
        memset(text, 'x', size);
        text[size] = '\0';
        job_errors_clear(&errors);
        for (int i = 0; i < 2 * JOB_ERRORS_MAX; i++)
            job_errors_add(&errors, text, text);
        while (job_errors_take(&errors, &at, &error)) {
            ck_assert(strlen(error.field) == size && strlen(error.detail) == size);
            count++;
        }
        size_t fitting = sizeof errors.text / bytes;
        ck_assert_uint_eq(count, fitting < JOB_ERRORS_MAX ? fitting : JOB_ERRORS_MAX);
        ck_assert_uint_eq(errors.count, count);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("job_errors");
    TCase *tests = tcase_create("job_errors");
    tcase_add_test(tests, keeps_errors_in_their_order);
    tcase_add_test(tests, cuts_what_is_too_long);
    tcase_add_test(tests, drops_errors_beyond_its_bounds);
    suite_add_tcase(suite, tests);
    return suite;
}
