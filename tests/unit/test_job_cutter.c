#include "support/errors.h"
#include "support/suite.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "job/job_parse.h"

/* Returns the jobs of text, each followed by '|', or the error. The text is copied to the heap, so that a
 * sanitizer detects a read beyond its end. */
static struct slice cut(struct buffer *out, struct slice text, bool has_lines)
{
    struct job_cutter cutter;
    struct job_errors errors;
    struct slice job;
    enum status status;
    char *copy = slice_dup(text);
    buffer_clear(out);
    job_cutter_init(&cutter, slice_from(copy, text.size), has_lines);
    while ((status = job_cutter_next(&cutter, &job, &errors)) == STATUS_OK) {
        buffer_append(out, job);
        buffer_append(out, job.size ? SLICE("|") : SLICE("-"));
    }
    if (status == STATUS_INVALID) {
        buffer_clear(out);
        ck_assert_uint_eq(errors.count, 1);
        ck_assert_str_eq(error_at(&errors, 0).field, "");
        buffer_append(out, slice_of(error_at(&errors, 0).detail));
    }
    free(copy);
    return buffer_slice(out);
}

struct example {
    struct slice text;
    const char *outcome;
};

static void check(const struct example *examples, size_t count, bool has_lines)
{
    struct buffer out;
    buffer_init(&out, 4096);
    for (size_t i = 0; i < count; i++) {
        struct slice got = cut(&out, examples[i].text, has_lines);
        ck_assert_msg(slice_equal(got, slice_of(examples[i].outcome)), "%.*s: %.*s, not %s",
                      SLICE_ARG(examples[i].text), SLICE_ARG(got), examples[i].outcome);
    }
    buffer_fini(&out);
}

START_TEST(cuts_an_array)
{
    const struct example examples[] = {
        {SLICE("[1]"), "1|"},
        {SLICE(" \n[ {\"a\":[1,{}]} , \"x,y]\" ,\tnull ]\r\n "), "{\"a\":[1,{}]}|\"x,y]\"|null|"},
        {SLICE("[[],{}]"), "[]|{}|"},
        {SLICE("[{\"a\":1,\"a\":2},3]"), "{\"a\":1,\"a\":2}|3|"},
    };
    check(examples, sizeof examples / sizeof *examples, false);
}
END_TEST

START_TEST(refuses_what_is_no_array)
{
    const struct example examples[] = {
        {SLICE("[]"), "must have 1 to 10000 jobs"},
        {SLICE("["), "ends too early, at byte 1"},
        {SLICE("[1"), "ends too early, at byte 2"},
        {SLICE("[1,"), "ends too early, at byte 3"},
        {SLICE("[1,]"), "is not valid JSON, at byte 3"},
        {SLICE("[1 2]"), "is not valid JSON, at byte 2"},
        {SLICE("[{\"a\":1"), "is not valid JSON, at byte 1"},
        {SLICE("[{}}]"), "is not valid JSON, at byte 3"},
        {SLICE("[{]}]"), "is not valid JSON, at byte 2"},
        {SLICE("[1]2"), "is not valid JSON, at byte 3"},
        {SLICE("[1]\0"), "is not valid JSON, at byte 3"},
        {SLICE("[1,tru]"), "is not valid JSON, at byte 3"},
        {SLICE("[1,\"\xff\"]"), "is not valid UTF-8, at byte 4"},
    };
    check(examples, sizeof examples / sizeof *examples, false);
}
END_TEST

START_TEST(cuts_lines)
{
    const struct example examples[] = {
        {SLICE("1"), "1|"},
        {SLICE("{\"a\":1}\n"), "{\"a\":1}|"},
        {SLICE("1\r\n\n \t\r\n 2 \r\n3"), "1|--2|3|"},
        {SLICE("[1,2]\n"), "[1,2]|"},
    };
    check(examples, sizeof examples / sizeof *examples, true);
}
END_TEST

START_TEST(refuses_lines_that_are_no_json)
{
    const struct example examples[] = {
        {SLICE(""), "must have 1 to 10000 jobs"},
        {SLICE("\n\r\n"), "must have 1 to 10000 jobs"},
        {SLICE("1\n\n{\"a\":\n2}\n"), "ends too early, at byte 8, in line 3"},
        {SLICE("1 2\n"), "is not valid JSON, at byte 2, in line 1"},
        {SLICE("1\n\xef\xbb\xbf"
               "2\n"),
         "is not valid JSON, at byte 2, in line 2"},
    };
    check(examples, sizeof examples / sizeof *examples, true);
}
END_TEST

START_TEST(bounds_how_many_there_are)
{
    struct buffer text, out;
    buffer_init(&text, 1 << 20);
    buffer_init(&out, 1 << 20);
    for (size_t jobs = JOB_CUTTER_MAX; jobs <= JOB_CUTTER_MAX + 1; jobs++) {
        for (int has_lines = 0; has_lines < 2; has_lines++) {
            buffer_clear(&text);
            for (size_t i = 0; i < jobs; i++)
                buffer_append(&text, has_lines ? SLICE("{}\n") : i ? SLICE(",{}") : SLICE("[{}"));
            if (!has_lines)
                buffer_append_byte(&text, ']');
            struct slice got = cut(&out, buffer_slice(&text), has_lines);
            if (jobs == JOB_CUTTER_MAX)
                ck_assert_uint_eq(got.size, 3 * jobs);
            else
                ck_assert(slice_equal(got, SLICE("must have 1 to 10000 jobs")));
        }
    }
    buffer_fini(&text);
    buffer_fini(&out);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("job_cutter");
    TCase *tests = tcase_create("job_cutter");
    tcase_add_test(tests, cuts_an_array);
    tcase_add_test(tests, refuses_what_is_no_array);
    tcase_add_test(tests, cuts_lines);
    tcase_add_test(tests, refuses_lines_that_are_no_json);
    tcase_add_test(tests, bounds_how_many_there_are);
    suite_add_tcase(suite, tests);
    return suite;
}
