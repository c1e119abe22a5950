#include "app/app_private.h"
#include "base/encoding.h"
#include "support/suite.h"

static struct buffer text;
static char room[CURSOR_ROOM];

static void set_up(void)
{
    buffer_init(&text, 8192);
}

static void tear_down(void)
{
    buffer_fini(&text);
}

START_TEST(one_comes_back_as_it_went)
{
    static const struct {
        struct list_cursor cursor;
        size_t shards;
        struct app_progress progress;
    } cases[] = {
        {{1893456000000, JOB_STATE_DEAD, true, false, 0, 1893456000250., {"o/a", 3}}, 1, {.left = 0}},
        {{1, JOB_STATE_DELAYED, true, false, 0, 0., {"o/a:b", 5}},
         16,
         {1893456000001, 1893456000002, 1000000000, true}},
        {{1, JOB_STATE_READY, true, false, 0, 1893456000250.00048828125, {"o/a", 3}},
         1,
         {.left = UINT64_MAX}}, /* the last job of the page is one of several jobs with the same due time */
        {{7, JOB_STATE_LEASED, true, false, 3, 7., {"o/a", 3}}, 4, {.left = 0}},
        {{1893456000000, JOB_STATE_CANCELLED, true, false, 15, 0., {NULL, 0}}, 16, {.left = 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct list_cursor found;
        struct app_progress progress;
        buffer_clear(&text);
        cursor_write(&text, &cases[i].cursor, &cases[i].progress);
        ck_assert(cursor_parse(buffer_slice(&text), cases[i].shards, room, &found, &progress));
        ck_assert_uint_eq(found.shard, cases[i].cursor.shard);
        ck_assert_int_eq(found.began_ms, cases[i].cursor.began_ms);
        ck_assert_int_eq(progress.due_ms, cases[i].progress.due_ms);
        ck_assert_int_eq(progress.until_ms, cases[i].progress.until_ms);
        ck_assert_uint_eq(progress.left, cases[i].progress.left);
        ck_assert_int_eq(progress.is_second, cases[i].progress.is_second);
        ck_assert_int_eq(found.state, cases[i].cursor.state);
        ck_assert(found.has_more);
        ck_assert(found.score == cases[i].cursor.score);
        ck_assert(slice_equal(found.id, cases[i].cursor.id));
    }
}
END_TEST

START_TEST(at_the_end_there_is_none)
{
    cursor_write(&text, &(struct list_cursor){.began_ms = 1}, &(struct app_progress){.due_ms = 2});
    ck_assert_str_eq(buffer_text(&text), "");
}
END_TEST

START_TEST(others_are_refused)
{
    static const char *const cases[] = {"",
                                        ":",
                                        "1:0:0:0:0:3:0:1",
                                        "0:0:0:0:0:3:0::",
                                        "x:0:0:0:0:3:0:1:o/a",
                                        "1:x:0:0:0:3:0:1:o/a",
                                        "1:0:0:0:0:6:0:1:o/a",
                                        "1:0:0:0:0:x:0:1:o/a",
                                        "1:0:0:0:0:3:16:1:o/a",
                                        "1:0:0:0:0:3:0:1:o",
                                        "1:0:0:0:0:3:0:1:/a",
                                        "1:0:0:0:0:3:0:-1:o/a",
                                        "1:0:0:0:0:3:0:inf:o/a",
                                        "1:0:0:0:0:3:0:1.5.5:o/a",
                                        "1:0:0:0:0:3:0::o/a",
                                        "1:0:0:0:0:3:0:1:",
                                        "-1:0:0:0:0:3:0:1:o/a",
                                        "1:0:0:0:0:3:0:1.:o/a",
                                        "1:0:0:0:0:3:0:9007199254740993:o/a",
                                        "1:0:x:0:0:3:0:1:o/a",
                                        "1:0:0:-1:0:3:0:1:o/a",
                                        "1:0:0:0:2:3:0:1:o/a",
                                        "1:0:3:0:1:o/a",
                                        "253402300800000:0:0:0:0:3:0:1:o/a"};
    struct list_cursor found;
    struct app_progress progress;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_clear(&text);
        base64url_append(&text, slice_of(cases[i]));
        ck_assert_msg(!cursor_parse(buffer_slice(&text), 16, room, &found, &progress), "%s", cases[i]);
    }
    ck_assert(!cursor_parse(SLICE("1:0:0:1:o/a"), 16, room, &found, &progress));
    buffer_clear(&text);
    for (size_t i = 0; i < CURSOR_ROOM; i++)
        base64url_append(&text, SLICE("aaa"));
    ck_assert(!cursor_parse(buffer_slice(&text), 16, room, &found, &progress));
}
END_TEST

START_TEST(those_of_the_history_may_hold_the_progress_of_a_redrive)
{
    static const struct {
        struct history_position position;
        struct app_progress progress;
        const char *text;
    } cases[] = {
        {{1, 2, 3}, {.left = 0}, "h.1.2.3"},
        {{1, 2, 3}, {.due_ms = 4}, "h.1.2.3.4.0"},
        {{1893456000000, 0, INT64_MAX},
         {.left = 1000000000},
         "h.1893456000000.0.9223372036854775807.0.1000000000"},
    };
    static const char *const bad[] = {
        "",        "h",         "h.",           "h.0.2.3",       "h.1.2",
        "h.1.2.",  "h.1.2.3.4", "h.1.2.3.4.",   "h.1.2.3.4.5.6", "h.-1.2.3",
        "h.x.2.3", "g.1.2.3",   "h.1.2.3.4.-1", "h.1.2.3.x.1",   "h.1.2.3.253402300800000.1"};
    struct history_position found;
    struct app_progress progress;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_clear(&text);
        cursor_write_history(&text, &cases[i].position, &cases[i].progress);
        ck_assert_str_eq(buffer_text(&text), cases[i].text);
        ck_assert(cursor_parse_history(buffer_slice(&text), &found, &progress));
        ck_assert_int_eq(found.began_ms, cases[i].position.began_ms);
        ck_assert_int_eq(found.ended_ms, cases[i].position.ended_ms);
        ck_assert_int_eq(found.number, cases[i].position.number);
        ck_assert_int_eq(progress.due_ms, cases[i].progress.due_ms);
        ck_assert_uint_eq(progress.left, cases[i].progress.left);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!cursor_parse_history(slice_of(bad[i]), &found, &progress), "%s", bad[i]);
}
END_TEST

START_TEST(those_of_receivers_hold_a_version)
{
    static const struct {
        struct receiver_cursor cursor;
        size_t shards;
        const char *text;
    } cases[] = {{{0, 17}, 1, "17"}, {{3, 17}, 4, "3@17"}, {{15, 0}, 16, "15@"}};
    static const char *const bad[] = {"",     "0",   "-1",  "x",     "0@1",
                                      "16@1", "1@0", "1@x", "1@2@3", "9007199254740993"};
    struct receiver_cursor found;
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
    tcase_add_test(tests, at_the_end_there_is_none);
    tcase_add_test(tests, others_are_refused);
    tcase_add_test(tests, those_of_the_history_may_hold_the_progress_of_a_redrive);
    tcase_add_test(tests, those_of_receivers_hold_a_version);
    suite_add_tcase(suite, tests);
    return suite;
}
