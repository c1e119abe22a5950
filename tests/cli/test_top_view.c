/* Tests the screen of duepost top with answers of GET /overview. */
#include "cli/top/top.h"

#include <string.h>

#include "support/suite.h"

static const char answer[] =
    "{\"now\": \"2030-01-01T10:20:30.000Z\","
    "\"jobs\": {\"delayed\": 12345678, \"ready\": 12, \"held\": 3, \"leased\": 64, \"pulled\": 5, \"dead\": "
    "1},"
    "\"overdue\": [{\"topic\": \"orders\", \"lateSeconds\": 725, \"ready\": 10, \"held\": 3},"
    " {\"topic\": \"mail\", \"lateSeconds\": 5, \"ready\": 2, \"held\": 0, \"isPaused\": true}],"
    "\"coming\": {\"overdue\": 15, \"minute\": [0,0,1,2,3,4,5,6,7,8,9,10],"
    " \"hour\": [55,0,0,0,0,0,0,0,0,0,0,55], \"day\": [110,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"
    " \"week\": [133,0,0,0,0,0,1], \"later\": 7, \"isSampled\": true},"
    "\"receivers\": {\"impaired\": 12, \"first\": [{\"receiver\": \"shop.example:443\", \"state\": \"open\","
    " \"cause\": \"503\", \"probeAt\": \"2030-01-01T10:20:42.000Z\"}]},"
    "\"workers\": {\"waiting\": 3, \"leases\": 5},"
    "\"redis\": {\"isUp\": true, \"version\": \"7.2.4\", \"durability\": \"fsync\", \"isPrivate\": true,"
    " \"usedBytes\": 3145728, \"maxBytes\": 0},"
    "\"history\": {\"backlogJobs\": 1200, \"behindSeconds\": 90, \"backlogBytes\": 5},"
    "\"processes\": [{\"host\": \"node-1\", \"pid\": 42, \"version\": \"1.0\", \"reactors\": 2,"
    " \"inFlight\": 64, \"receiverSlots\": 256, \"startedAt\": \"2030-01-01T08:18:30.000Z\"}]}";

static struct top_series series;
static struct buffer text;
static json_t *overview;

static void setup(void)
{
    top_series_init(&series);
    buffer_init(&text, 1024 * 1024);
    overview = json_loads(answer, 0, NULL);
    ck_assert_ptr_nonnull(overview);
}

static void teardown(void)
{
    buffer_fini(&text);
    json_decref(overview);
}

static const char *draw(struct top_look look, const char *trouble)
{
    struct top_view view = {"http://127.0.0.1:7700", overview, &series, trouble};
    buffer_clear(&text);
    top_view_write(&text, &view, &look);
    return buffer_text(&text);
}

/* Fails if the screen has more rows or a wider row. Each byte that begins a character is a column. */
static void check_fits(const char *screen, size_t columns, size_t rows)
{
    size_t row = 0, column = 0;
    for (const char *at = screen; *at; at++) {
        column = *at == '\n' ? 0 : column + (((unsigned char)*at & 0xc0) != 0x80);
        row += *at == '\n';
        ck_assert_msg(column <= columns, "row %zu of %zux%zu is too wide:\n%s", row, columns, rows, screen);
    }
    ck_assert_msg(row <= rows, "%zu rows instead of %zu:\n%s", row, rows, screen);
}

static void check_has(const char *screen, const char *part)
{
    ck_assert_msg(strstr(screen, part) != NULL, "'%s' is missing in:\n%s", part, screen);
}

static void merge(const char *json)
{
    json_t *figures = json_loads(json, 0, NULL);
    ck_assert_ptr_nonnull(figures);
    top_series_merge(&series, figures);
    json_decref(figures);
}

#define MINUTE                                                                                               \
    "{\"from\": 1000000, \"step\": 1, \"accepted\": [8,8,8,8,8,0,1,2,4,8], \"delivered\": "                  \
    "[0,0,0,0,1,0,0,0,0,1],"                                                                                 \
    " \"retried\": [], \"dead\": [0,0,0,0,0,0,0,0,0,0], \"lateP50Ms\": [3,3,3,3,3,3,3,3,3,null],"            \
    " \"lateP99Ms\": [40,40,40,40,40,40,40,40,1500,null]}"

START_TEST(the_outbox_says_how_it_is)
{
    static const struct {
        const char *json, *expected;
    } cases[] = {
        {"{\"isUp\": true, \"isActive\": true, \"oldestSeconds\": 0.2}", "1200 jobs  outbox ok\n"},
        {"{\"isUp\": true, \"isActive\": true, \"oldestSeconds\": 31}", "  outbox 31s behind\n"},
        {"{\"isUp\": true, \"isActive\": false}", "  outbox standby\n"},
        {"{\"isUp\": false, \"isActive\": false}", "  outbox away\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_object_set_new(overview, "outbox", json_loads(cases[i].json, 0, NULL));
        const char *screen = draw((struct top_look){120, 24, false, false}, NULL);
        ck_assert_msg(strstr(screen, cases[i].expected), "%s is missing in:\n%s", cases[i].expected, screen);
        check_fits(draw((struct top_look){80, 24, false, false}, NULL), 80, 24);
    }
}
END_TEST

START_TEST(the_screen_of_80_columns)
{
    merge(MINUTE);
    const char *screen = draw((struct top_look){80, 24, false, false}, NULL);
    check_fits(screen, 80, 24);
    ck_assert_str_eq(screen,
                     "duepost  http://127.0.0.1:7700                                      10:20:30 UTC\n"
                     "Redis     7.2.4  fsync, private  3.0 MiB  history 1m 30s behind, 1200 jobs\n"
                     "accepted         3/s                                                  ##### .:=#\n"
                     "delivered      0.2/s                                                      #    #\n"
                     "retried          -/s\n"
                     "dead             0/s\n"
                     "late      p50 3 ms  p99 1.5 s                                         ........#\n"
                     "jobs      12.3M delayed   12 ready   3 held   59 in flight   5 pulled   1 dead\n"
                     "workers   3 waiting   5 leases\n"
                     "coming    15 overdue   minute 55   .:--=++*%#  hour 110 #          #\n"
                     "          day 133 #.......................  week 134 #     .  7 later\n"
                     "          (sampled)\n"
                     "overdue topics: 2\n"
                     "  orders                        12m 5s late  10 ready  3 held\n"
                     "  mail                              5s late  2 ready  paused\n"
                     "impaired receivers: 12, of which 1\n"
                     "  shop.example:443            open  503  probe in 12s\n"
                     "processes: 1\n"
                     "  node-1                      1.0  pid 42  up 2h 2m  64 in flight of 256  2 reac\n");
}
END_TEST

START_TEST(a_manual_clock_is_a_red_line)
{
    json_object_set_new(overview, "clock", json_string("manual"));
    check_has(draw((struct top_look){80, 24, false, false}, NULL), "pid 42  64 in flight");
    check_has(draw((struct top_look){80, 24, false, false}, NULL),
              "UTC\nmanual clock  stands at 2030-01-01T10:20:30.000Z; duepost clock turns it\nRedis ");
    check_has(draw((struct top_look){80, 24, true, false}, NULL),
              "\033[1;7;31mmanual clock  stands at 2030-01-01T10:20:30.000Z; duepost clock turns it        "
              "\033[0m\n");
}
END_TEST

START_TEST(nothing_is_wider_or_longer_than_the_terminal)
{
    merge(MINUTE);
    json_object_set_new(overview, "clock", json_string("manual"));
    for (size_t columns = 1; columns <= 200; columns += columns < 20 ? 1 : 9)
        for (size_t rows = 1; rows <= 40; rows += 6)
            check_fits(draw((struct top_look){columns, rows, false, true}, "timeout"), columns, rows);
}
END_TEST

START_TEST(a_narrow_terminal_has_all_that_fits)
{
    merge(MINUTE);
    const char *screen = draw((struct top_look){40, 60, false, false}, NULL);
    check_fits(screen, 40, 60);
    check_has(screen, "12.3M delayed");
    check_has(screen, "week 134 #");
    check_has(screen, "processes: 1");
}
END_TEST

START_TEST(long_sections_share_the_rows)
{
    json_t *processes = json_object_get(overview, "processes");
    for (int i = 0; i < 50; i++)
        json_array_append(processes, json_array_get(processes, 0));
    const char *screen = draw((struct top_look){80, 14, false, false}, NULL);
    check_fits(screen, 80, 14);
    check_has(screen, "overdue topics: 2\n");
    check_has(screen, "  orders");
    check_has(screen, "impaired receivers: 12, of which 1\n");
    check_has(screen, "processes: 51, of which ");
}
END_TEST

START_TEST(colours_are_for_terminals_that_want_them)
{
    ck_assert_ptr_null(strchr(draw((struct top_look){80, 24, false, true}, "timeout"), '\033'));
    check_has(draw((struct top_look){80, 24, true, true}, "timeout"), "\033[31mno answer: timeout\033[0m");
}
END_TEST

START_TEST(control_characters_of_an_answer_do_nothing)
{
    json_t *topic = json_array_get(json_object_get(overview, "overdue"), 0);
    json_object_set_new(topic, "topic", json_string("a\033[2Jb\xc2\x9b"));
    const char *screen = draw((struct top_look){80, 24, false, true}, NULL);
    ck_assert_ptr_null(strchr(screen, '\033'));
    check_has(screen, "a?[2Jb?");
}
END_TEST

START_TEST(an_answer_without_members_is_shown)
{
    json_decref(overview);
    overview = json_loads("{\"now\": 7, \"coming\": [], \"overdue\": {}, \"receivers\": 1, \"series\": []}",
                          0, NULL);
    check_fits(draw((struct top_look){80, 24, false, true}, NULL), 80, 24);
    json_decref(overview);
    overview = NULL;
    check_has(draw((struct top_look){80, 24, false, true}, "timeout"), "no answer: timeout");
}
END_TEST

/* ---- figures ---- */

START_TEST(figures_are_merged_by_second)
{
    ck_assert_int_eq(top_series_after_ms(&series), 0);
    ck_assert_double_eq(top_series_rate(&series, TOP_ACCEPTED), -1);
    merge(MINUTE);
    ck_assert_int_eq(top_series_after_ms(&series), 1007000);
    ck_assert_double_eq(top_series_rate(&series, TOP_ACCEPTED), 3);
    ck_assert_double_eq(top_series_last(&series, TOP_LATE_P99), 1500);
    ck_assert_double_eq(series.seconds[TOP_ACCEPTED][TOP_SECONDS - 11], -1);
    /* The next answer has the figures of the last three seconds again, and of two more seconds. */
    merge("{\"from\": 1007000, \"step\": 1, \"accepted\": [5, 5, 5, 10, 10]}");
    ck_assert_double_eq(top_series_rate(&series, TOP_ACCEPTED), 7);
    ck_assert_double_eq(series.seconds[TOP_ACCEPTED][TOP_SECONDS - 6], 1);
    /* The next figures come after a long pause: the seconds between have no figures. */
    merge("{\"from\": 9000000, \"step\": 1, \"accepted\": [1]}");
    ck_assert_double_eq(series.seconds[TOP_ACCEPTED][TOP_SECONDS - 2], -1);
    ck_assert_double_eq(top_series_rate(&series, TOP_ACCEPTED), 1);
}
END_TEST

START_TEST(strange_figures_are_ignored)
{
    merge("{\"from\": -5, \"step\": 1, \"accepted\": [1]}");
    merge("{\"from\": 9223372036854775807, \"step\": 1, \"accepted\": [1]}");
    merge("{\"from\": 1000, \"step\": 60, \"accepted\": [1]}");
    merge("{\"from\": 1000, \"step\": 1, \"accepted\": 7}");
    top_series_merge(&series, NULL);
    ck_assert_int_eq(series.end_ms, 0);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("top_view");
    TCase *tests = tcase_create("top");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_outbox_says_how_it_is);
    tcase_add_test(tests, the_screen_of_80_columns);
    tcase_add_test(tests, a_manual_clock_is_a_red_line);
    tcase_add_test(tests, nothing_is_wider_or_longer_than_the_terminal);
    tcase_add_test(tests, a_narrow_terminal_has_all_that_fits);
    tcase_add_test(tests, long_sections_share_the_rows);
    tcase_add_test(tests, colours_are_for_terminals_that_want_them);
    tcase_add_test(tests, control_characters_of_an_answer_do_nothing);
    tcase_add_test(tests, an_answer_without_members_is_shown);
    tcase_add_test(tests, figures_are_merged_by_second);
    tcase_add_test(tests, strange_figures_are_ignored);
    suite_add_tcase(suite, tests);
    return suite;
}
