/* Tests the comparison of settings with those of other processes. */
#include <stdio.h>

#include "app/live.h"

#include "support/suite.h"

#define OTHER "0123456789abcdef"

static struct live_board *board;
static struct live_process self;
static struct agreement agreement;
static struct buffer text;

static void set_up(void)
{
    board = live_board_new(2);
    live_board_self(board, &self);
    agreement = (struct agreement){.asked = 0};
    buffer_init(&text, 1 << 16);
}

static void tear_down(void)
{
    buffer_fini(&text);
    live_board_free(board);
}

START_TEST(options_that_differ_are_named_with_both_values)
{
    static const struct {
        const char *here, *there, *differences;
    } cases[] = {
        {"", "", ""},
        {"a=1 b=2", "b=2 a=1", ""},
        {"a=1 b=2", "a=1 b=3", "b: 2 here, 3 there"},
        {"a=1 b=2 c=3", "a=4 b=2 c=", "a: 1 here, 4 there; c: 3 here,  there"},
        {"a=1", "aa=2 b=3 nonsense", ""}, /* options that only one process knows */
        {"nonsense =", "nonsense =x", ":  here, x there"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_clear(&text);
        agreement_compare(slice_of(cases[i].here), slice_of(cases[i].there), &text);
        ck_assert_str_eq(buffer_text(&text), cases[i].differences);
    }
}
END_TEST

START_TEST(it_asks_until_its_question_comes_back)
{
    char own[64], asking[LIVE_ID_SIZE];
    snprintf(own, sizeof own, "ask %s\n", self.id);
    for (int i = 0; i < 3; i++) {
        buffer_clear(&text);
        agreement_ask(&agreement, board, &text);
        ck_assert_str_eq(buffer_text(&text), own);
    }
    ck_assert(!agreement_note(&agreement, board, slice_of(own), asking));
    buffer_clear(&text);
    agreement_ask(&agreement, board, &text);
    ck_assert_str_eq(buffer_text(&text), "");
}
END_TEST

START_TEST(a_question_of_another_process_is_answered_with_the_settings)
{
    char expected[200], asking[LIVE_ID_SIZE];
    live_board_set_settings(board, SLICE("a=1 b=2"));
    ck_assert(!agreement_note(&agreement, board, SLICE("ask\nask short\nask " OTHER "0\n"), asking));
    ck_assert(agreement_note(&agreement, board, SLICE("process x\nask " OTHER "\n"), asking));
    agreement_answer(board, asking, &text);
    snprintf(expected, sizeof expected, "settings " OTHER " %lld %s a=1 b=2\n", (long long)self.pid,
             self.host);
    ck_assert_str_eq(buffer_text(&text), expected);
}
END_TEST

static bool warns(const char *to, const char *rest)
{
    char message[200], asking[LIVE_ID_SIZE];
    snprintf(message, sizeof message, "settings %s %s\n", to, rest);
    agreement.has_warned = false;
    agreement_note(&agreement, board, slice_of(message), asking);
    return agreement.has_warned;
}

START_TEST(an_answer_that_differs_is_warned_of)
{
    live_board_set_settings(board, SLICE("a=1"));
    ck_assert(warns(self.id, "7 host a=2"));
    ck_assert(!warns(self.id, "7 host a=1"));
    ck_assert(!warns(self.id, "x host a=2"));
    ck_assert(!warns(self.id, ""));
    ck_assert(!warns(OTHER, "7 host a=2")); /* the answer to another process */
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("agreement");
    TCase *tests = tcase_create("agreement");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, options_that_differ_are_named_with_both_values);
    tcase_add_test(tests, it_asks_until_its_question_comes_back);
    tcase_add_test(tests, a_question_of_another_process_is_answered_with_the_settings);
    tcase_add_test(tests, an_answer_that_differs_is_warned_of);
    suite_add_tcase(suite, tests);
    return suite;
}
