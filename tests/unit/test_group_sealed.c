/* Tests the secret members of a group's endpoints: what of them Redis has if the process has keys, and what a
 * process reads that has other keys, or finds the secrets at another place. */
#include "job/group_sealed.h"

#include <stdio.h>

#include "job/group.h"
#include "support/suite.h"

#define HEX_1 "1111111111111111111111111111111111111111111111111111111111111111"
#define HEX_2 "2222222222222222222222222222222222222222222222222222222222222222"

#define GROUP                                                                                                \
    "{\"endpoints\":{\"a\":{\"url\":\"http://a/in?key=s3cret\",\"method\":\"PUT\",\"headers\":{\"X\":"       \
    "\"s3cret\"}},\"b\":{\"url\":\"http://b/\"},\"c\":{\"url\":\"http://c/\",\"headers\":{\"Y\":\"s3cret\"}" \
    "}}}"
#define SEALED_GROUP                                                                                         \
    "{\"endpoints\":{\"a\":{\"url\":\"http://a/in\",\"method\":\"PUT\"},\"b\":{\"url\":\"http://b/\"},"      \
    "\"c\":{\"url\":\"http://c/\"}},\"needs\":[\"sealed\"],\"of\":\"g\",\"sealed\":\""

static struct buffer stored;

static void use_keys(const char *text)
{
    struct seal_keys *keys = NULL;
    struct problem problem;
    if (text)
        ck_assert_int_eq(seal_keys_parse(slice_of(text), &keys, &problem), STATUS_OK);
    seal_use(keys, false);
    seal_keys_free(keys);
}

static void begin(void)
{
    buffer_init(&stored, 2 * GROUP_BYTES_MAX);
}

static void end(void)
{
    buffer_fini(&stored);
    use_keys(NULL);
}

static const char *seal(const char *text)
{
    buffer_clear(&stored);
    group_seal(SLICE("g"), slice_of(text), &stored);
    return buffer_text(&stored);
}

/* The text in which a part is replaced by another one of any size. */
static struct slice replaced(const char *old, const char *new)
{
    static char text[4096];
    const char *from = buffer_text(&stored), *at = strstr(from, old);
    ck_assert_ptr_nonnull(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - from), from, new, at + strlen(old));
    return slice_of(text);
}

START_TEST(without_keys_and_without_secrets_nothing_changes)
{
    ck_assert_str_eq(seal(GROUP), GROUP);
    use_keys(HEX_1);
    ck_assert_str_eq(seal("{\"endpoints\":{\"b\":{\"url\":\"http://b/\"}}}"),
                     "{\"endpoints\":{\"b\":{\"url\":\"http://b/\"}}}");
    ck_assert_str_eq(seal("nonsense"), "nonsense");
    ck_assert_str_eq(seal(""), "");
}
END_TEST

START_TEST(secrets_are_sealed_and_opened_again)
{
    struct group group;
    struct buffer out, lacks = {.data = NULL};
    struct job_errors errors;
    use_keys(HEX_1);
    const char *text = seal(GROUP);
    ck_assert(!strstr(text, "s3cret"));
    ck_assert_msg(strstr(text, SEALED_GROUP) == text, "%s", text);
    buffer_init(&out, 2 * GROUP_BYTES_MAX);
    ck_assert_int_eq(group_open(buffer_slice(&stored), &out, &lacks), SEAL_OPENED);
    ck_assert_str_eq(buffer_text(&out), GROUP);
    ck_assert_int_eq(group_read(buffer_slice(&stored), &group), STATUS_OK);
    ck_assert_int_eq(group.lacks.size, 0);
    ck_assert_int_eq(group.count, 3);
    group_fini(&group);
    /* A patch leaves the secrets that it does not name. */
    buffer_clear(&out);
    ck_assert_int_eq(
        group_patch(buffer_slice(&stored), SLICE("{\"endpoints\":{\"b\":null,\"c\":null}}"), &out, &errors),
        STATUS_OK);
    ck_assert_str_eq(buffer_text(&out),
                     "{\"endpoints\":{\"a\":{\"url\":\"http://a/in?key=s3cret\",\"method\":\"PUT\","
                     "\"headers\":{\"X\":\"s3cret\"}}}}");
    buffer_fini(&out);
    /* Groups in plain text stay readable. */
    ck_assert_int_eq(group_read(SLICE(GROUP), &group), STATUS_OK);
    ck_assert_int_eq(group.count, 3);
    group_fini(&group);
}
END_TEST

static void check_send(struct slice text, enum status expected)
{
    struct job job;
    static struct group_jobs jobs;
    job_init(&job);
    job.topic = SLICE("t");
    job.job_id = SLICE("j");
    job.group = SLICE("g");
    group_jobs_init(&jobs);
    ck_assert_int_eq(group_jobs_write(&jobs, text, &job), expected);
    if (expected == STATUS_LACKING)
        ck_assert(slice_starts_with(jobs.lacks, SLICE(JOB_LACKS_KEY)));
    ck_assert_int_eq(jobs.count, expected == STATUS_OK ? 3 : 0);
    group_jobs_fini(&jobs);
    job_fini(&job);
}

START_TEST(secrets_without_a_key_or_of_another_place_do_not_open)
{
    struct group group;
    use_keys(HEX_1);
    seal(GROUP);
    check_send(buffer_slice(&stored), STATUS_OK);
    check_send(replaced("\"of\":\"g\"", "\"of\":\"h\""), STATUS_UNREADABLE);
    check_send(replaced("http://c/", "http://evil/"), STATUS_UNREADABLE);
    check_send(replaced("\"sealed\":\"A", "\"sealed\":\"B"), STATUS_UNREADABLE);
    use_keys(HEX_2);
    check_send(buffer_slice(&stored), STATUS_LACKING);
    ck_assert_int_eq(group_read(buffer_slice(&stored), &group), STATUS_OK);
    ck_assert(slice_starts_with(group.lacks, SLICE(JOB_LACKS_KEY)));
    group_fini(&group);
    use_keys(NULL);
    check_send(buffer_slice(&stored), STATUS_LACKING);
    use_keys(HEX_2 "\n" HEX_1);
    check_send(buffer_slice(&stored), STATUS_OK);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("group_sealed");
    TCase *tests = tcase_create("group_sealed");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, without_keys_and_without_secrets_nothing_changes);
    tcase_add_test(tests, secrets_are_sealed_and_opened_again);
    tcase_add_test(tests, secrets_without_a_key_or_of_another_place_do_not_open);
    suite_add_tcase(suite, tests);
    return suite;
}
