#include "job/group.h"

#include "support/errors.h"
#include "support/suite.h"

static struct job_errors errors;
static struct buffer out;

static void begin(void)
{
    buffer_init(&out, 2 * GROUP_BYTES_MAX);
}

static void end(void)
{
    buffer_fini(&out);
}

#define GROUP(endpoints) "{\"endpoints\":{" endpoints "}}"
#define A                "\"a\":{\"url\":\"http://a/\"}"
#define B                "\"b\":{\"url\":\"http://b/\",\"method\":\"PUT\",\"headers\":{\"X\":\"1\",\"Y\":\"2\"}}"

START_TEST(writes_what_was_sent)
{
    static const char *const cases[][2] = {
        {GROUP(A), GROUP(A)},
        {GROUP(A "," B), GROUP(A "," B)},
        {" { \"endpoints\" : { \"a\" : { \"method\" : \"POST\", \"headers\" : null, \"url\" : "
         "\"http:\\/\\/a/\" } } } ",
         GROUP(A)},
        {GROUP("\"A.b_c-9\":{\"url\":\"http://a/\",\"headers\":{\"X\":\"\\u0022\"}}"),
         GROUP("\"A.b_c-9\":{\"url\":\"http://a/\",\"headers\":{\"X\":\"\\\"\"}}")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_clear(&out);
        ck_assert_int_eq(group_parse(slice_of(cases[i][0]), &out, &errors), STATUS_OK);
        ck_assert_str_eq(buffer_text(&out), cases[i][1]);
    }
}
END_TEST

START_TEST(names_what_is_wrong)
{
    static const char *const cases[][3] = {
        {"", "", "is empty: a JSON object is required"},
        {"[]", "", "must be an object"},
        {"{}", "endpoints", "is required"},
        {"{\"endpoints\":null}", "endpoints", "must be an object with the endpoints by name"},
        {GROUP(""), "endpoints", "must have 1 to 100 endpoints"},
        {GROUP("\"\":{}"), "endpoints.", "the name must be 1 to 64 characters of A-Z a-z 0-9 . _ -"},
        {GROUP("\"\\u0061\":{}"), "endpoints.\\u0061",
         "the name must be 1 to 64 characters of A-Z a-z 0-9 . _ -"},
        {GROUP("\"a\":[]"), "endpoints.a", "must be an object with url, method and headers"},
        {GROUP("\"a\":{}"), "endpoints.a.url", "is required"},
        {GROUP("\"a\":{\"url\":\"http://a/?***\"}"), "endpoints.a.url", NULL},
        {GROUP("\"a\":{\"url\":\"http://a/\",\"headers\":{\"X\":\"***\"}}"), "endpoints.a.headers.X", NULL},
        {GROUP("\"a\":{\"url\":\"http://a/\",\"body\":1}"), "endpoints.a.body", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(group_parse(slice_of(cases[i][0]), &out, &errors), STATUS_INVALID);
        ck_assert_str_eq(error_at(&errors, 0).field, cases[i][1]);
        if (cases[i][2])
            ck_assert_str_eq(error_at(&errors, 0).detail, cases[i][2]);
        ck_assert_uint_eq(errors.count, 1);
    }
}
END_TEST

START_TEST(a_patch_changes_names_and_members)
{
    static const char *const cases[][3] = {
        {GROUP(A "," B), "{}", GROUP(A "," B)},
        {GROUP(A "," B), GROUP("\"a\":null"), GROUP(B)},
        {GROUP(A), GROUP("\"a\":{\"headers\":{\"x\":\"1\"}}"),
         GROUP("\"a\":{\"url\":\"http://a/\",\"headers\":{\"x\":\"1\"}}")},
        {GROUP(B), GROUP("\"b\":{\"method\":null,\"headers\":{\"x\":null,\"z\":\"3\"}}"),
         GROUP("\"b\":{\"url\":\"http://b/\",\"headers\":{\"Y\":\"2\",\"z\":\"3\"}}")},
        {GROUP(B), GROUP("\"c\":null," A), GROUP(B "," A)},
        /* members that another version of duepost wrote are kept */
        {"{\"endpoints\":{\"a\":{\"url\":\"http://a/\",\"more\":[1]}},\"new\":{}}",
         GROUP("\"a\":{\"url\":\"http://c/\"},\"b\":{\"url\":\"http://b/\"}"),
         "{\"endpoints\":{\"a\":{\"url\":\"http://c/\",\"more\":[1]},\"b\":{\"url\":\"http://b/"
         "\"}},\"new\":{}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_clear(&out);
        ck_assert_int_eq(group_patch(slice_of(cases[i][0]), slice_of(cases[i][1]), &out, &errors), STATUS_OK);
        ck_assert_str_eq(buffer_text(&out), cases[i][2]);
    }
}
END_TEST

START_TEST(a_patch_names_what_is_wrong)
{
    static const char *const cases[][2] = {
        {"[]", ""},
        {"{\"endpoint\":{}}", "endpoint"},
        {"{\"endpoints\":null}", "endpoints"},
        {GROUP("\"a\":null"), "endpoints"}, /* the patch removes the only endpoint */
        {GROUP("\"a\":1"), "endpoints.a"},
        {GROUP("\"b c\":null"), "endpoints.b c"},
        {GROUP("\"a\":{\"url\":null}"), "endpoints.a.url"},
        {GROUP("\"b\":{}"), "endpoints.b.url"},
        {GROUP("\"a\":{\"more\":1}"), "endpoints.a.more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(group_patch(SLICE(GROUP(A)), slice_of(cases[i][0]), &out, &errors), STATUS_INVALID);
        ck_assert_str_eq(error_at(&errors, 0).field, cases[i][1]);
    }
}
END_TEST

START_TEST(reads_texts_of_any_version)
{
    struct group group;
    static const struct {
        const char *text, *lacks;
        enum status status;
    } cases[] = {
        {GROUP(A), "", STATUS_OK},
        {"{\"endpoints\":{" A "},\"new\":1,\"needs\":[]}", "", STATUS_OK},
        {"{\"endpoints\":{" A "},\"needs\":[\"x\",\"y\"]}", "x", STATUS_OK},
        {"{\"endpoints\":7,\"needs\":[\"x\"]}", "x", STATUS_OK},
        {"{\"endpoints\":7}", "", STATUS_INVALID},
        {"{}", "", STATUS_INVALID},
        {"x", "", STATUS_INVALID},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(group_read(slice_of(cases[i].text), &group), cases[i].status);
        if (cases[i].status == STATUS_OK)
            ck_assert(slice_equal(group.lacks, slice_of(cases[i].lacks)));
    }
}
END_TEST

START_TEST(walks_and_applies_endpoints)
{
    static struct group_walk walk;
    struct group group;
    struct job job = {.url = SLICE(""),
                      .method = JOB_METHOD_PATCH,
                      .headers = {{SLICE("x"), SLICE("own")}},
                      .header_count = 1,
                      .has_headers = true};
    ck_assert_int_eq(group_read(SLICE(GROUP(A "," B ",\"c\":1")), &group), STATUS_OK);
    ck_assert_uint_eq(group.count, 3);
    group_walk_init(&walk, &group);
    ck_assert(group_walk_next(&walk) && slice_equal(walk.name, SLICE("a")));
    ck_assert(group_endpoint_apply(&walk.endpoint, &job));
    ck_assert(slice_equal(job.url, SLICE("http://a/")) && job.method == JOB_METHOD_PATCH);
    ck_assert(group_walk_next(&walk) && slice_equal(walk.name, SLICE("b")));
    ck_assert(group_endpoint_apply(&walk.endpoint, &job));
    ck_assert(job.method == JOB_METHOD_PUT && job.header_count == 2);
    ck_assert(slice_equal(job.headers[0].value, SLICE("own")) &&
              slice_equal(job.headers[1].name, SLICE("Y")));
    job.header_count = JOB_HEADERS_MAX;
    for (size_t i = 0; i < JOB_HEADERS_MAX; i++)
        job.headers[i] = job.headers[0];
    ck_assert(!group_endpoint_apply(&walk.endpoint, &job));
    ck_assert(!group_walk_next(&walk));
    ck_assert_int_eq(walk.status, STATUS_INVALID);
    group_walk_fini(&walk);
}
END_TEST

START_TEST(shows_no_secrets)
{
    struct json_writer json = json_writer_to(&out);
    group_show_endpoints(
        SLICE(GROUP("\"a\":{\"url\":\"http://a/?k=1\",\"headers\":{\"X\":\"1\"},\"more\":2}")), &json);
    ck_assert_str_eq(buffer_text(&out), "{\"a\":{\"url\":\"http://a/?***\",\"headers\":{\"X\":\"***\"}}}");
    buffer_clear(&out);
    json = json_writer_to(&out);
    group_show_endpoints(SLICE("nonsense"), &json);
    ck_assert_str_eq(buffer_text(&out), "{}");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("group");
    TCase *tests = tcase_create("group");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, writes_what_was_sent);
    tcase_add_test(tests, names_what_is_wrong);
    tcase_add_test(tests, a_patch_changes_names_and_members);
    tcase_add_test(tests, a_patch_names_what_is_wrong);
    tcase_add_test(tests, reads_texts_of_any_version);
    tcase_add_test(tests, walks_and_applies_endpoints);
    tcase_add_test(tests, shows_no_secrets);
    suite_add_tcase(suite, tests);
    return suite;
}
