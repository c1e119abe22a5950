#include "support/suite.h"

#include <inttypes.h>

#include "base/timestamp.h"

START_TEST(parses)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2030-01-01T00:00:00.000Z", INT64_C(1893456000000)},
        {"2030-01-01t00:00:00z", INT64_C(1893456000000)},
        {"2030-01-01T01:30:00+01:30", INT64_C(1893456000000)},
        {"2029-12-31T16:00:00-08:00", INT64_C(1893456000000)},
        {"2030-01-01T00:00:00-00:00", INT64_C(1893456000000)},
        {"2030-01-01T00:00:00.5Z", INT64_C(1893456000500)},
        {"2030-01-01T00:00:00.0010000Z", INT64_C(1893456000001)},
        {"2030-01-01T00:00:00.0010001Z", INT64_C(1893456000002)},
        {"2030-01-01T00:00:00.9999Z", INT64_C(1893456001000)},
        {"2016-12-31T23:59:60Z", INT64_C(1483228800000)},
        {"2000-02-29T12:00:00Z", INT64_C(951825600000)},
        {"2024-02-29T23:59:59Z", INT64_C(1709251199000)},
        {"2001-09-09T01:46:40Z", INT64_C(1000000000000)},
        {"9999-12-31T23:59:59.999Z", INT64_C(253402300799999)},
        {"0000-01-01T00:00:00Z", 0},
        {"1969-12-31T23:59:59.999Z", 0},
        {"1970-01-01T00:30:00+01:00", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ms = -1;
        ck_assert_msg(timestamp_parse(slice_of(cases[i].text), &ms) && ms == cases[i].ms, "%s: %" PRId64,
                      cases[i].text, ms);
    }
}
END_TEST

START_TEST(refuses)
{
    static const char *const cases[] = {
        "",
        "2030",
        "2030-01-01",
        "2030-01-01T00:00:00",
        "2030-01-01 00:00:00Z",
        "2030-00-01T00:00:00Z",
        "2030-13-01T00:00:00Z",
        "2030-01-00T00:00:00Z",
        "2030-01-32T00:00:00Z",
        "2030-04-31T00:00:00Z",
        "2030-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2030-01-01T24:00:00Z",
        "2030-01-01T00:60:00Z",
        "2030-01-01T00:00:61Z",
        "2030-01-01T00:00:00.Z",
        "2030-01-01T00:00:00,5Z",
        "2030-01-01T00:00:00+24:00",
        "2030-01-01T00:00:00+00:60",
        "2030-01-01T00:00:00+0100",
        "2030-01-01T00:00:00+01",
        "2030-01-01T00:00Z",
        "2030-01-01T00:00:00Zx",
        "30-01-01T00:00:00Z",
        "12030-01-01T00:00:00Z",
        "2030-1-1T00:00:00Z",
        "-030-01-01T00:00:00Z",
        "2030/01/01T00:00:00Z",
        "2030-01/01T00:00:00Z",
        "2030-01-01T00.00:00Z",
        "2030-01-01T00:00.00Z",
        "9999-12-31T23:59:59.9991Z",
        "9999-12-31T23:59:60Z",
        "9999-12-31T23:59:59-00:01",
        "2030-01-01T",
        "2030-01-01T0",
        "2030-01-01T00:00:00.5",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ms;
        ck_assert_msg(!timestamp_parse(slice_of(cases[i]), &ms), "'%s'", cases[i]);
    }
}
END_TEST

START_TEST(formats)
{
    char text[TIMESTAMP_SIZE];
    timestamp_format(0, text);
    ck_assert_str_eq(text, "1970-01-01T00:00:00.000Z");
    timestamp_format(INT64_C(1893456000001), text);
    ck_assert_str_eq(text, "2030-01-01T00:00:00.001Z");
    timestamp_format(INT64_C(253402300799999), text);
    ck_assert_str_eq(text, "9999-12-31T23:59:59.999Z");
}
END_TEST

/* Tests one time on nearly every day until the year 9999. */
START_TEST(reads_what_it_wrote)
{
    for (int64_t ms = 0; ms < INT64_C(253402300799999); ms += INT64_C(86399999)) {
        char text[TIMESTAMP_SIZE];
        int64_t again;
        timestamp_format(ms, text);
        if (!timestamp_parse(slice_of(text), &again) ||
            again != ms) /* checked without an assertion, because assertions of Check are slow */
            ck_abort_msg("%s", text);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("timestamp");
    TCase *tests = tcase_create("timestamp");
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, parses);
    tcase_add_test(tests, refuses);
    tcase_add_test(tests, formats);
    tcase_add_test(tests, reads_what_it_wrote);
    suite_add_tcase(suite, tests);
    return suite;
}
