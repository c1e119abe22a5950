#include "api/cursor.h"
#include "support/suite.h"

static struct buffer text;

static void set_up(void)
{
    buffer_init(&text, 1024);
}

static void tear_down(void)
{
    buffer_fini(&text);
}

START_TEST(one_comes_back_as_it_went)
{
    static const struct {
        struct store_cursor cursor;
        size_t shards;
        const char *text;
    } cases[] = {
        {{0, 1893456000250., {"o/a", 3}}, 1, "1893456000250:o/a"},
        {{0, 0., {"o/a:b", 5}}, 16, "0:o/a:b"},
        {{3, 7., {"o/a", 3}}, 4, "3@7:o/a"},
        {{15, 0., {NULL, 0}}, 16, "15@"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store_cursor found;
        buffer_clear(&text);
        cursor_write(&text, &cases[i].cursor);
        ck_assert_str_eq(buffer_text(&text), cases[i].text);
        ck_assert(cursor_parse(buffer_slice(&text), cases[i].shards, &found));
        ck_assert_uint_eq(found.shard, cases[i].cursor.shard);
        ck_assert(found.score == cases[i].cursor.score);
        ck_assert(slice_equal(found.id, cases[i].cursor.id));
    }
}
END_TEST

START_TEST(others_are_refused)
{
    static const char *const cases[] = {
        "",    "@",    "0@",     "16@",     "x@1:o/a", "1@1",       "1",
        "1:o", "1:/a", "-1:o/a", "1.5:o/a", "1:o/a@",  "1@2@3:o/a", "9007199254740993:o/a"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store_cursor found;
        ck_assert_msg(!cursor_parse(slice_of(cases[i]), 16, &found), "%s", cases[i]);
    }
}
END_TEST

START_TEST(those_of_receivers_hold_a_version)
{
    static const struct {
        struct store_receiver_cursor cursor;
        size_t shards;
        const char *text;
    } cases[] = {{{0, 17}, 1, "17"}, {{3, 17}, 4, "3@17"}, {{15, 0}, 16, "15@"}};
    static const char *const bad[] = {"",     "0",   "-1",  "x",     "0@1",
                                      "16@1", "1@0", "1@x", "1@2@3", "9007199254740993"};
    struct store_receiver_cursor found;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_clear(&text);
        cursor_write_receiver(&text, &cases[i].cursor);
        ck_assert_str_eq(buffer_text(&text), cases[i].text);
        ck_assert(cursor_parse_receiver(buffer_slice(&text), cases[i].shards, &found));
        ck_assert_uint_eq(found.shard, cases[i].cursor.shard);
        ck_assert_int_eq(found.version, cases[i].cursor.version);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!cursor_parse_receiver(slice_of(bad[i]), 16, &found), "%s", bad[i]);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("cursor");
    TCase *tests = tcase_create("cursor");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, one_comes_back_as_it_went);
    tcase_add_test(tests, others_are_refused);
    tcase_add_test(tests, those_of_receivers_hold_a_version);
    suite_add_tcase(suite, tests);
    return suite;
}
