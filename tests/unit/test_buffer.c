#include "support/suite.h"

#include "base/buffer.h"

static struct buffer buffer;

static void set_up(void)
{
    buffer_init(&buffer, 1000);
}

static void tear_down(void)
{
    buffer_fini(&buffer);
}

START_TEST(begins_empty)
{
    ck_assert_uint_eq(buffer_slice(&buffer).size, 0);
    ck_assert_str_eq(buffer_text(&buffer), "");
}
END_TEST

START_TEST(appends_what_it_is_given)
{
    buffer_append(&buffer, SLICE("ab"));
    buffer_append(&buffer, (struct slice){NULL, 0});
    buffer_append_byte(&buffer, 'c');
    buffer_append_number(&buffer, 0);
    buffer_append_byte(&buffer, ' ');
    buffer_append_number(&buffer, INT64_MIN);
    buffer_printf(&buffer, "/%s=%d", "x", 42);
    ck_assert_str_eq(buffer_text(&buffer), "abc0 -9223372036854775808/x=42");
    ck_assert(!buffer.failed);
}
END_TEST

START_TEST(grows_to_its_maximum_and_no_further)
{
    for (int i = 0; i < 1000; i++)
        buffer_append_byte(&buffer, 'x');
    ck_assert(!buffer.failed);
    ck_assert_uint_eq(strlen(buffer_text(&buffer)), 1000);
    buffer_append_byte(&buffer, 'y');
    ck_assert(buffer.failed);
    ck_assert_uint_eq(buffer.size, 1000);
    ck_assert_uint_eq(buffer.capacity, 1001);
}
END_TEST

START_TEST(takes_nothing_after_it_failed)
{
    char large[1001] = {0};
    buffer_append(&buffer, SLICE("ab"));
    buffer_append(&buffer, slice_from(large, sizeof large));
    ck_assert(buffer.failed);
    buffer_append(&buffer, SLICE("cd"));
    buffer_append_byte(&buffer, 'e');
    buffer_append_number(&buffer, 1);
    buffer_printf(&buffer, "f");
    ck_assert_uint_eq(buffer.size, 2);
    ck_assert_str_eq(buffer_text(&buffer), "");
    buffer_clear(&buffer);
    buffer_append(&buffer, SLICE("g"));
    ck_assert_str_eq(buffer_text(&buffer), "g");
}
END_TEST

START_TEST(does_not_move_within_what_was_reserved)
{
    buffer_reserve(&buffer, 900);
    const char *before = buffer.data;
    for (int i = 0; i < 900; i++)
        buffer_append_byte(&buffer, 'x');
    ck_assert_ptr_eq(buffer.data, before);
    buffer_reserve(&buffer, 101);
    ck_assert(buffer.failed);
}
END_TEST

START_TEST(writes_json_strings)
{
    static const struct {
        struct slice text;
        const char *json;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{"plain", 5}, "\"plain\""},
        {{"\"\\/", 3}, "\"\\\"\\\\/\""},
        {{"a\nb\tc\rd\be\f", 10}, "\"a\\nb\\tc\\rd\\be\\f\""},
        {{"\0\x01\x1f\x7f", 4}, "\"\\u0000\\u0001\\u001f\x7f\""},
        {{"\xc3\xa9\xf0\x9f\x98\x80", 6}, "\"\xc3\xa9\xf0\x9f\x98\x80\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_clear(&buffer);
        buffer_append_json(&buffer, cases[i].text);
        ck_assert_str_eq(buffer_text(&buffer), cases[i].json);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("buffer");
    TCase *tests = tcase_create("buffer");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, begins_empty);
    tcase_add_test(tests, appends_what_it_is_given);
    tcase_add_test(tests, grows_to_its_maximum_and_no_further);
    tcase_add_test(tests, takes_nothing_after_it_failed);
    tcase_add_test(tests, does_not_move_within_what_was_reserved);
    tcase_add_test(tests, writes_json_strings);
    suite_add_tcase(suite, tests);
    return suite;
}
