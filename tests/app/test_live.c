/* Tests figures of several processes: the board that sums them, and the messages that contain them. */
#include <stdio.h>

#include "app/live.h"
#include "support/suite.h"

#define NOW   1893456000
#define OTHER "0123456789abcdef"

static struct live_board *board;
static struct live_process self;
static struct live_second sums[LIVE_SECONDS];
static struct buffer text;
static int64_t first;

static void set_up(void)
{
    board = live_board_new(2);
    live_board_self(board, &self);
    buffer_init(&text, 1 << 20);
}

static void tear_down(void)
{
    buffer_fini(&text);
    live_board_free(board);
}

static void note_own(int64_t second, uint64_t accepted)
{
    live_board_note_second(board, self.id, second, &(struct live_second){.accepted = accepted});
}

static bool hear(const char *message, int64_t now_us, char looking[LIVE_ID_SIZE])
{
    return live_text_note(slice_of(message), board, now_us, NOW, looking);
}

START_TEST(seconds_are_summed_up_to_the_last_one_of_this_process)
{
    char looking[LIVE_ID_SIZE];
    ck_assert_uint_eq(live_board_sum(board, 0, sums, &first), 0);
    note_own(NOW - 2, 1);
    note_own(NOW - 1, 2);
    hear("process " OTHER " 1 2 3 4 0.3.0 host more\nsecond 1893455999 10 9 8 7 6 0:3 14:1 later\n"
         "second 1893456000 100 0 0 0 0\n",
         1, looking);
    ck_assert_uint_eq(live_board_sum(board, NOW - 3, sums, &first), 3);
    ck_assert_int_eq(first, NOW - 3);
    ck_assert_uint_eq(sums[0].accepted, 0);
    ck_assert_uint_eq(sums[1].accepted, 1);
    ck_assert_uint_eq(sums[2].accepted, 12);
    ck_assert_uint_eq(sums[2].delivered, 9);
    ck_assert_uint_eq(sums[2].cancelled, 8);
    ck_assert_uint_eq(sums[2].dead, 7);
    ck_assert_uint_eq(sums[2].failed, 6);
    ck_assert_uint_eq(sums[2].late[0], 3);
    ck_assert_uint_eq(sums[2].late[14], 1);
    ck_assert_uint_eq(live_board_sum(board, 0, sums, &first), LIVE_SECONDS);
    ck_assert_int_eq(first, NOW - LIVE_SECONDS);
    ck_assert_uint_eq(live_board_sum(board, NOW + 5, sums, &first), 0);
}
END_TEST

START_TEST(a_second_that_comes_again_counts_once)
{
    char looking[LIVE_ID_SIZE];
    note_own(NOW - 1, 0);
    for (int i = 0; i < 3; i++)
        hear("process " OTHER " 1 2 3 4 v h\nsecond 1893455999 10 0 0 0 0\n", 1, looking);
    live_board_sum(board, NOW - 1, sums, &first);
    ck_assert_uint_eq(sums[0].accepted, 10);
}
END_TEST

START_TEST(a_process_that_is_silent_is_left_out)
{
    struct live_process processes[LIVE_PROCESSES_MAX + 1];
    struct live_topic topics[LIVE_TOPICS_MAX];
    char looking[LIVE_ID_SIZE];
    note_own(NOW, 0);
    hear("process " OTHER " 11 12 13 14 0.3.0 host-2\ntopic orders 1893456000 1 2 3 4 5\n", 1000000, looking);
    ck_assert_uint_eq(live_board_processes(board, 2000000, processes), 2);
    ck_assert_str_eq(processes[0].id, self.id);
    ck_assert_int_eq(processes[0].reactors, 2);
    ck_assert_str_eq(processes[1].host, "host-2");
    ck_assert_int_eq(processes[1].pid, 11);
    ck_assert_uint_eq(processes[1].in_flight, 14);
    ck_assert_uint_eq(live_board_topics(board, 2000000, topics), 1);
    ck_assert_str_eq(topics[0].name, "orders");
    ck_assert_uint_eq(topics[0].delivered, 2);
    ck_assert_uint_eq(live_board_processes(board, 7000000, processes), 1);
    ck_assert_uint_eq(live_board_topics(board, 7000000, topics), 0);
}
END_TEST

START_TEST(topics_of_several_processes_are_summed)
{
    struct live_topic topics[LIVE_TOPICS_MAX], own = {.name = "orders", .accepted = 1, .failed = 2};
    char looking[LIVE_ID_SIZE];
    note_own(NOW, 0);
    live_board_note_topics(board, self.id, NOW, &own, 1);
    hear("process " OTHER
         " 1 1 1 1 v h\ntopic orders 1893455999 10 0 0 0 20\ntopic mail 1893455999 1 0 0 0 0\n",
         1, looking);
    ck_assert_uint_eq(live_board_topics(board, 1, topics), 2);
    ck_assert_uint_eq(topics[0].accepted, 11);
    ck_assert_uint_eq(topics[0].failed, 22);
    ck_assert_str_eq(topics[1].name, "mail");
    hear("process " OTHER " 1 1 1 1 v h\nsecond 1893456000 0 0 0 0 0\n", 1,
         looking); /* all figures of this second are 0 */
    ck_assert_uint_eq(live_board_topics(board, 1, topics), 1);
}
END_TEST

START_TEST(a_message_comes_back_as_it_went)
{
    struct live_second figures = {1, 2, 3, 4, 5, {6, 0, 7}};
    struct live_process other = {.id = OTHER, .pid = 1, .started_ms = 2, .reactors = 3, .in_flight = 4};
    struct live_topic topic = {"orders~callbacks", 1, 2, 3, 4, 5}, topics[LIVE_TOPICS_MAX];
    char looking[LIVE_ID_SIZE] = "";
    snprintf(other.version, sizeof other.version, "1.0");
    snprintf(other.host, sizeof other.host, "h");
    note_own(NOW, 0);
    live_text_add_process(&text, &other);
    live_text_add_second(&text, NOW, &figures);
    live_text_add_topic(&text, NOW, &topic);
    live_text_add_look(&text, other.id);
    ck_assert(live_text_note(buffer_slice(&text), board, 1, NOW, looking));
    ck_assert_str_eq(looking, OTHER);
    live_board_sum(board, NOW, sums, &first);
    ck_assert_mem_eq(&sums[0], &figures, sizeof figures);
    ck_assert_uint_eq(live_board_topics(board, 1, topics), 1);
    ck_assert_str_eq(topics[0].name, topic.name);
    ck_assert_uint_eq(topics[0].dead, 4);
}
END_TEST

START_TEST(own_lines_and_nonsense_are_ignored)
{
    static const char *const bad[] = {
        "",
        "second 1893456000 1 1 1 1 1\n",
        "process x 1 1 1 1 v h\nsecond 1893456000 1 1 1 1 1\n",
        "process 0123456789ABCDEF 1 1 1 1 v h\nsecond 1893456000 1 1 1 1 1\n",
        "process " OTHER " 1 1 1 1 v\nsecond 1893456000 1 1 1 1 1\n",
        "process " OTHER " 1 1 1 -1 v h\nsecond 1893456000 1 1 1 1 1\n",
        "process " OTHER
        " 1 1 1 1 v h\nsecond 1893455100 1 1 1 1 1\n", /* refused, because this second is 15 minutes ago */
        "process " OTHER " 1 1 1 1 v h\nsecond 1893456061 1 1 1 1 1\n",
        "process " OTHER " 1 1 1 1 v h\nsecond 1893456000 1 1 1 1\n",
        "process " OTHER " 1 1 1 1 v h\nsecond 1893456000 1 1 1 1 99999999999999999\n",
        "process " OTHER " 1 1 1 1 v h\ntopic  1893456000 1 1 1 1 1\n",
        "process " OTHER " 1 1 1 1 v \377\nsecond 1893456000 1 1 1 1 1\n",
    };
    struct live_topic topics[LIVE_TOPICS_MAX];
    char looking[LIVE_ID_SIZE];
    note_own(NOW, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(!hear(bad[i], 1, looking), "%s", bad[i]);
        live_board_sum(board, NOW - 10, sums, &first);
        ck_assert_msg(sums[10].accepted == 0, "%s", bad[i]);
        ck_assert_uint_eq(live_board_topics(board, 1, topics), 0);
    }
    live_text_add_process(&text, &self);
    live_text_add_second(&text, NOW, &(struct live_second){.accepted = 1});
    live_text_note(buffer_slice(&text), board, 1, NOW, looking);
    live_board_sum(board, NOW, sums, &first);
    ck_assert_uint_eq(sums[0].accepted, 0);
    ck_assert(!hear("look 1\n", 1, looking));
    ck_assert(!hear("look\n", 1, looking));
    ck_assert(hear("look " OTHER "\nlook 1\n", 1, looking));
    ck_assert_str_eq(looking, OTHER);
}
END_TEST

START_TEST(many_processes_replace_the_one_that_was_silent_for_longest)
{
    struct live_process processes[LIVE_PROCESSES_MAX + 1];
    for (int i = 0; i < LIVE_PROCESSES_MAX + 10; i++) {
        struct live_process other = {.pid = i};
        snprintf(other.id, sizeof other.id, "%016x", i);
        live_board_note_process(board, &other, i);
    }
    ck_assert_uint_eq(live_board_processes(board, 100, processes), LIVE_PROCESSES_MAX + 1);
    ck_assert_str_eq(processes[0].id, self.id);
    for (size_t i = 1; i <= LIVE_PROCESSES_MAX; i++)
        ck_assert_int_ge(processes[i].pid, 10);
}
END_TEST

START_TEST(lateness_is_estimated_within_a_bucket)
{
    ck_assert_int_eq(live_second_late_us(&(struct live_second){.accepted = 1}, 0.5), -1);
    ck_assert_int_eq(live_second_late_us(&(struct live_second){.late = {10}}, 0.5), 500);
    ck_assert_int_eq(live_second_late_us(&(struct live_second){.late = {0, 4}}, 0.5), 1750);
    ck_assert_int_eq(live_second_late_us(&(struct live_second){.late = {99, 0, 1}}, 0.99), 1000);
    ck_assert_int_eq(live_second_late_us(&(struct live_second){.late = {[HISTOGRAM_BUCKETS - 1] = 1}}, 0.99),
                     60000000);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("live");
    TCase *tests = tcase_create("live");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, seconds_are_summed_up_to_the_last_one_of_this_process);
    tcase_add_test(tests, a_second_that_comes_again_counts_once);
    tcase_add_test(tests, a_process_that_is_silent_is_left_out);
    tcase_add_test(tests, topics_of_several_processes_are_summed);
    tcase_add_test(tests, a_message_comes_back_as_it_went);
    tcase_add_test(tests, own_lines_and_nonsense_are_ignored);
    tcase_add_test(tests, many_processes_replace_the_one_that_was_silent_for_longest);
    tcase_add_test(tests, lateness_is_estimated_within_a_bucket);
    suite_add_tcase(suite, tests);
    return suite;
}
