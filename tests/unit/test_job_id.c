#include "support/suite.h"

#include "job/job.h"
#include "job/job_id.h"

static char long_text[1000];

static struct slice letters(size_t size)
{
    memset(long_text, 'a', sizeof long_text);
    return slice_from(long_text, size);
}

START_TEST(knows_what_may_name_a_topic_or_a_job)
{
    static const struct {
        struct slice text;
        bool is_topic, is_job_id;
    } cases[] = {
        {{"a", 1}, true, true},
        {{"aZ09._-", 7}, true, true},
        {{"...", 3}, true, true},
        {{"a:b~c", 5}, false, true},
        {{"a~b", 3}, true, true},
        {{"a~b~c", 5}, true, true},
        {{"a~", 2}, false, true},
        {{"~a", 2}, false, true},
        {{".~a", 3}, false, true},
        {{"a~b/c", 5}, false, true},
        {{"", 0}, false, false},
        {{".", 1}, false, false},
        {{"..", 2}, false, false},
        {{"a/b", 3}, false, true},
        {{"/", 1}, false, true},
        {{" a b ", 5}, false, true},
        {{"\"%\\{}", 5}, false, true},
        {{"\xc3\xa9", 2}, false, true},         /* U+00E9 */
        {{"\xf0\x9f\x8e\x89", 4}, false, true}, /* U+1F389 */
        {{"a\0b", 3}, false, false},
        {{"a\nb", 3}, false, false},
        {{"\x7f", 1}, false, false},
        {{"\xc2\x85", 2}, false, false},     /* U+0085 */
        {{"\xc2\xa0", 2}, false, true},      /* U+00A0 */
        {{"\xc3", 1}, false, false},         /* half of a character */
        {{"\xe9", 1}, false, false},         /* Latin-1 */
        {{"\xc0\xaf", 2}, false, false},     /* overlong */
        {{"\xed\xa0\x80", 3}, false, false}, /* a surrogate */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(topic_is_valid(cases[i].text) == cases[i].is_topic, "%s", cases[i].text.data);
        ck_assert_msg(job_id_is_valid(cases[i].text) == cases[i].is_job_id, "%s", cases[i].text.data);
    }
}
END_TEST

START_TEST(bounds_their_sizes)
{
    ck_assert(topic_is_valid(letters(JOB_TOPIC_MAX)));
    ck_assert(!topic_is_valid(letters(JOB_TOPIC_MAX + 1)));
    ck_assert(job_id_is_valid(letters(JOB_ID_MAX)));
    ck_assert(!job_id_is_valid(letters(JOB_ID_MAX + 1)));
}
END_TEST

/* Returns an id topic~sibling/jobId whose parts have these sizes. The '~' counts for sibling_size;
 * sibling_size 0: no such part. */
static struct slice key_of(size_t topic_size, size_t sibling_size, size_t job_id_size)
{
    struct slice key = letters(topic_size + sibling_size + 1 + job_id_size);
    long_text[topic_size + sibling_size] = '/';
    if (sibling_size)
        long_text[topic_size] = '~';
    return key;
}

START_TEST(a_sibling_topic_has_room_of_its_own)
{
    struct slice topic, job_id;
    ck_assert(job_key_parse(key_of(JOB_TOPIC_MAX, 0, JOB_ID_MAX), &topic, &job_id));
    ck_assert(!job_key_parse(key_of(JOB_TOPIC_MAX, 0, JOB_ID_MAX + 1), &topic, &job_id));
    ck_assert(job_key_parse(key_of(JOB_TOPIC_MAX, JOB_SIBLING_MAX, JOB_ID_DERIVED_MAX), &topic, &job_id));
    ck_assert(!job_key_parse(key_of(JOB_TOPIC_MAX + 1, 2, 1), &topic, &job_id));
    ck_assert(!job_key_parse(key_of(1, JOB_SIBLING_MAX + 1, 1), &topic, &job_id));
    ck_assert(!job_key_parse(key_of(1, 2, JOB_ID_DERIVED_MAX + 1), &topic, &job_id));
}
END_TEST

START_TEST(knows_a_sibling_and_its_owner)
{
    static const struct {
        const char *name, *owner;
        bool is_sibling;
    } cases[] = {
        {"orders", "orders", false},     {"orders~callbacks", "orders", true}, {"orders~a~b", "orders", true},
        {"orders/a~b", "orders", false}, {"orders~c/a~b", "orders", true},     {"", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slice topic, rest;
        slice_cut(slice_of(cases[i].name), '/', &topic, &rest);
        ck_assert_msg(topic_is_sibling(topic) == cases[i].is_sibling, "%s", cases[i].name);
        ck_assert_msg(slice_equal(topic_owner(slice_of(cases[i].name)), slice_of(cases[i].owner)), "%s",
                      cases[i].name);
    }
}
END_TEST

START_TEST(cuts_a_key_at_its_slash)
{
    struct slice topic, job_id;
    ck_assert(job_key_parse(SLICE("orders/a:1"), &topic, &job_id));
    ck_assert(slice_equal(topic, SLICE("orders")) && slice_equal(job_id, SLICE("a:1")));
    ck_assert(job_key_parse(SLICE("a/b/c"), &topic, &job_id));
    ck_assert(slice_equal(topic, SLICE("a")) && slice_equal(job_id, SLICE("b/c")));
    static const char *const wrong[] = {"", "orders", "orders/", "/a", "a/\n", "./a", "a/..", "a:b/c"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!job_key_parse(slice_of(wrong[i]), &topic, &job_id), "%s", wrong[i]);
}
END_TEST

START_TEST(makes_ids_that_sort_by_time)
{
    uint8_t zeros[10] = {0}, ones[10];
    char text[JOB_ID_NEW_SIZE], later[JOB_ID_NEW_SIZE];
    memset(ones, 0xff, sizeof ones);
    job_id_make(0, zeros, text);
    ck_assert(slice_equal(slice_from(text, sizeof text), SLICE("00000000000000000000000000")));
    job_id_make((INT64_C(1) << 48) - 1, ones, text);
    ck_assert(slice_equal(slice_from(text, sizeof text), SLICE("7ZZZZZZZZZZZZZZZZZZZZZZZZZ")));
    /* Uses the time of the example in the ULID specification. */
    job_id_make(INT64_C(1469918176385), ones, text);
    ck_assert(slice_equal(slice_from(text, 10), SLICE("01ARYZ6S41")));
    ck_assert(job_id_is_valid(slice_from(text, sizeof text)));
    job_id_make(INT64_C(1469918176386), zeros, later);
    ck_assert_int_lt(memcmp(text, later, sizeof text), 0);
    for (size_t bit = 0; bit < 80; bit++) {
        uint8_t random[10] = {0};
        random[bit / 8] = (uint8_t)(1 << bit % 8);
        job_id_make(0, random, later);
        ck_assert_mem_ne(later, "00000000000000000000000000", sizeof later);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("job_id");
    TCase *tests = tcase_create("job_id");
    tcase_add_test(tests, knows_what_may_name_a_topic_or_a_job);
    tcase_add_test(tests, bounds_their_sizes);
    tcase_add_test(tests, a_sibling_topic_has_room_of_its_own);
    tcase_add_test(tests, knows_a_sibling_and_its_owner);
    tcase_add_test(tests, cuts_a_key_at_its_slash);
    tcase_add_test(tests, makes_ids_that_sort_by_time);
    suite_add_tcase(suite, tests);
    return suite;
}
