#include "history/columns.h"

#include <stdio.h>
#include <string.h>

#include "support/suite.h"

#define RECORD                                                                                               \
    "{\"createdAt\":1000,\"url\":\"https://a.example/\",\"delay\":2,\"extra\":{\"a\":1},\"body\":[1]}"

static struct history_parse parse;
static struct history_kept_row kept;

static void columns_setup(void)
{
    history_parse_init(&parse);
    buffer_init(&kept.text, 1);
}

static void columns_teardown(void)
{
    history_parse_fini(&parse);
    buffer_fini(&kept.text);
}

static void parse_text(const char *head, const char *record, const char *lines, enum history_bodies bodies)
{
    static char text[2048]; /* the columns borrow it */
    snprintf(text, sizeof text, "%s %zu %s%s", head, strlen(record), record, lines);
    const struct history_entry entry = {SLICE_INIT("orders/1/2"), slice_of(text), false};
    ck_assert(history_parse_entry(&parse, &entry, bodies, 5000));
    buffer_fini(&kept.text);
    history_row_from(&kept, &parse.columns);
}

#define CHECK_TEXT(slice, text)                                                                              \
    ck_assert_msg(slice_equal((slice), slice_of(text)), "%.*s instead of %s", SLICE_ARG(slice), (text))

START_TEST(the_members_of_a_record_have_their_columns)
{
    parse_text("delivered 9000 2/nonce", RECORD, "1 7000 34 503\n2 8000 12 200 \"ok\"\n", HISTORY_BODIES_ON);
    CHECK_TEXT(parse.columns.topic, "orders");
    CHECK_TEXT(parse.columns.job_id, "1/2");
    ck_assert_int_eq(parse.columns.created_at, 1000);
    ck_assert_int_eq(parse.columns.due_at, 3000);
    ck_assert_int_eq(parse.columns.ended_at, 9000);
    ck_assert_int_eq(parse.columns.status, 200);
    ck_assert_int_eq(parse.columns.duration_ms, 12);
    ck_assert_int_eq(parse.columns.attempts, 2);
    ck_assert_int_eq(parse.columns.lost_consumers, 2);
    CHECK_TEXT(parse.columns.method, "POST");
    CHECK_TEXT(parse.columns.rest, "{\"delay\":2,\"extra\":{\"a\":1}}");
    CHECK_TEXT(parse.columns.body, "[1]");
    CHECK_TEXT(parse.columns.attempt_log, "[{\"attempt\":1,\"at\":7000,\"durationMs\":34,\"status\":503},"
                                          "{\"attempt\":2,\"at\":8000,\"durationMs\":12,\"status\":200,"
                                          "\"answer\":\"ok\"}]");
    CHECK_TEXT(kept.row.record, RECORD);
    CHECK_TEXT(kept.row.lines, "1 7000 34 503\n2 8000 12 200 \"ok\"\n");
}
END_TEST

START_TEST(an_answer_of_bytes_is_kept_as_text_and_as_bytes)
{
    parse_text("delivered 9000 2/nonce", RECORD, "2 8000 12 200 \"\\u001fYf8=\"+\n", HISTORY_BODIES_ON);
    CHECK_TEXT(parse.columns.attempt_log, "[{\"attempt\":2,\"at\":8000,\"durationMs\":12,\"status\":200,"
                                          "\"answer\":\"a\xef\xbf\xbd\",\"answerBase64\":\"Yf8=\","
                                          "\"isAnswerCut\":true}]");
    CHECK_TEXT(kept.row.lines, "2 8000 12 200 \"\\u001fYf8=\"+\n");
}
END_TEST

START_TEST(without_lines_the_last_attempt_of_the_record_counts)
{
    parse_text(
        "dead 9000 0",
        "{\"createdAt\":1000,\"url\":\"\",\"attempts\":3,\"lastAttempt\":{\"at\":2000,\"durationMs\":5,"
        "\"error\":\"connect\",\"errorDetail\":\"refused\"},\"reason\":\"retries_exhausted\"}",
        "", HISTORY_BODIES_ON);
    ck_assert_int_eq(parse.columns.status, 0);
    ck_assert_int_eq(parse.columns.attempts, 3);
    CHECK_TEXT(parse.columns.error, "connect");
    CHECK_TEXT(parse.columns.reason, "retries_exhausted");
    ck_assert_uint_eq(parse.columns.attempt_log.size, 0);
}
END_TEST

START_TEST(a_dead_job_without_a_reason_lost_its_consumers)
{
    parse_text("dead 9000 5", "{\"createdAt\":1000,\"url\":\"\"}", "", HISTORY_BODIES_ON);
    CHECK_TEXT(parse.columns.reason, "consumer_lost");
}
END_TEST

START_TEST(a_body_that_is_left_out_is_marked)
{
    parse_text("delivered 9000 0", RECORD, "", HISTORY_BODIES_ERRORS);
    ck_assert(kept.row.is_body_left_out);
    CHECK_TEXT(kept.row.record,
               "{\"createdAt\":1000,\"url\":\"https://a.example/\",\"delay\":2,\"extra\":{\"a\":1}}");
    parse_text("delivered 9000 0", "{\"createdAt\":1000,\"url\":\"\",\"bodyLeftOut\":true}", "",
               HISTORY_BODIES_ON);
    ck_assert(kept.row.is_body_left_out);
    parse_text("dead 9000 0", RECORD, "", HISTORY_BODIES_ERRORS);
    ck_assert(!kept.row.is_body_left_out);
    CHECK_TEXT(kept.row.record, RECORD);
}
END_TEST

START_TEST(rounds_are_those_before_the_last_attempt)
{
    parse_text("delivered 9000 0", "{\"createdAt\":1000,\"url\":\"\"}", "1@3 8000 12 200\n",
               HISTORY_BODIES_ON);
    ck_assert_int_eq(parse.columns.rounds, 2);
    ck_assert_int_eq(parse.columns.attempts, 1);
    CHECK_TEXT(kept.row.lines, "1@3 8000 12 200\n");
}
END_TEST

START_TEST(a_text_without_a_time_ended_now)
{
    const struct history_entry entry = {SLICE_INIT("orders/1"), SLICE_INIT("\xff broken"), false};
    ck_assert(history_parse_entry(&parse, &entry, HISTORY_BODIES_ON, 5000));
    ck_assert_int_eq(parse.columns.ended_at, 5000);
    ck_assert_int_eq(parse.columns.outcome, JOB_STATE_DEAD);
    history_row_from(&kept, &parse.columns);
    ck_assert(kept.row.is_unreadable);
    CHECK_TEXT(kept.row.record, "\xef\xbf\xbd broken");
}
END_TEST

Suite *suite(void)
{
    Suite *made = suite_create("columns");
    TCase *cases = tcase_create("columns");
    tcase_add_checked_fixture(cases, columns_setup, columns_teardown);
    tcase_add_test(cases, the_members_of_a_record_have_their_columns);
    tcase_add_test(cases, an_answer_of_bytes_is_kept_as_text_and_as_bytes);
    tcase_add_test(cases, without_lines_the_last_attempt_of_the_record_counts);
    tcase_add_test(cases, a_dead_job_without_a_reason_lost_its_consumers);
    tcase_add_test(cases, a_body_that_is_left_out_is_marked);
    tcase_add_test(cases, rounds_are_those_before_the_last_attempt);
    tcase_add_test(cases, a_text_without_a_time_ended_now);
    suite_add_tcase(made, cases);
    return made;
}
