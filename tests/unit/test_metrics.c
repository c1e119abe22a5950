#include "support/suite.h"

#include <stdio.h>
#include <string.h>

#include "base/metrics.h"

static struct metrics_board *board;
static struct buffer text;

static void begin(void)
{
    board = metrics_board_new(2);
    buffer_init(&text, 1 << 20);
}

static void end(void)
{
    metrics_board_free(board);
    buffer_fini(&text);
}

static void expect(const char *line)
{
    ck_assert_msg(strstr(buffer_text(&text), line), "%s is not in\n%s", line, buffer_text(&text));
}

START_TEST(reactors_are_summed_up)
{
    static const char label[] =
        "GET /jobs/{topic}/{jobId}"; /* the same text as in the call below, at another address */
    for (size_t i = 0; i < 2; i++) {
        struct metrics *metrics = metrics_of(board, i);
        metrics_accepted(metrics, SLICE("mail"));
        metrics_attempt(metrics, SLICE("mail"), METRICS_RESULT_5XX, 2000);
        metrics_ended(metrics, SLICE("mail"), METRICS_END_DEAD);
        metrics_request(metrics, i ? label : "GET /jobs/{topic}/{jobId}", 404, 500);
        metrics_lateness(metrics, 1500, 0);
        metrics_count(metrics, METRICS_COUNTER_RECOVERED, 3);
        metrics_in_flight(metrics, 4);
    }
    metrics_write(board, &text, METRICS_FORMAT_TEXT);
    expect("\nduepost_jobs_accepted_total{topic=\"mail\"} 2\n");
    expect("\nduepost_attempts_total{topic=\"mail\",result=\"5xx\"} 2\n");
    expect("\nduepost_jobs_ended_total{topic=\"mail\",how=\"dead\"} 2\n");
    expect("\nduepost_http_request_seconds_count{route=\"GET /jobs/{topic}/{jobId}\",status=\"404\"} 2\n");
    expect("\nduepost_lateness_seconds_bucket{le=\"0.001\"} 0\n");
    expect("\nduepost_lateness_seconds_bucket{le=\"0.0025\"} 2\n");
    expect("\nduepost_lateness_seconds_sum 0.003000\n");
    expect("\nduepost_leases_recovered_total 6\n");
    expect("\nduepost_in_flight 8\n");
}
END_TEST

START_TEST(topics_beyond_the_first_hundred_are_one)
{
    struct metrics *metrics = metrics_of(board, 0);
    for (int i = 0; i < METRICS_TOPICS_MAX + 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        metrics_accepted(metrics, slice_of(name));
        metrics_accepted(metrics_of(board, 1), slice_of(name));
    }
    metrics_write(board, &text, METRICS_FORMAT_TEXT);
    expect("{topic=\"t0\"} 2\n");
    expect("{topic=\"t99\"} 2\n");
    expect("{topic=\"_other\"} 40\n");
    ck_assert_ptr_null(strstr(buffer_text(&text), "t100"));
}
END_TEST

/* Data that duepost did not write may have such names. */
START_TEST(names_that_no_topic_has_are_counted_together)
{
    struct metrics *metrics = metrics_of(board, 0);
    metrics_accepted(metrics, SLICE("\xff"));
    metrics_accepted(metrics, SLICE("a\"b"));
    metrics_accepted(metrics, SLICE("a\nb"));
    metrics_accepted(metrics, SLICE("a\\"));
    metrics_accepted(metrics, SLICE("a~callbacks"));
    metrics_write(board, &text, METRICS_FORMAT_TEXT);
    expect("duepost_jobs_accepted_total{topic=\"a~callbacks\"} 1\n"
           "duepost_jobs_accepted_total{topic=\"_other\"} 4\n");
}
END_TEST

START_TEST(more_statuses_than_there_are_rows_are_left_out)
{
    struct metrics *metrics = metrics_of(board, 0);
    for (unsigned status = 200; status < 200 + METRICS_STATUSES_MAX + 5; status++)
        metrics_request(metrics, "GET /jobs", status, 1);
    metrics_write(board, &text, METRICS_FORMAT_TEXT);
    expect("status=\"200\"");
    ck_assert_ptr_null(strstr(buffer_text(&text), "status=\"216\""));
}
END_TEST

START_TEST(more_labels_than_there_are_rows_are_left_out)
{
    struct metrics *metrics = metrics_of(board, 0);
    static char labels[METRICS_ROUTES_MAX + 5][8];
    for (size_t i = 0; i < METRICS_ROUTES_MAX + 5; i++) {
        snprintf(labels[i], sizeof labels[i], "r%zu", i);
        metrics_request(metrics, labels[i], 200, 1);
    }
    metrics_write(board, &text, METRICS_FORMAT_TEXT);
    expect("route=\"r0\"");
    expect("route=\"r127\"");
    ck_assert_ptr_null(strstr(buffer_text(&text), "r128"));
}
END_TEST

START_TEST(openmetrics_has_exemplars)
{
    static const char *const parents[] = {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                          "00-11111111111111111111111111111111-2222222222222222-01",
                                          "00-33333333333333333333333333333333-4444444444444444-01"};
    struct metrics *first = metrics_of(board, 0), *second = metrics_of(board, 1);
    metrics_lateness(first, 1500000, 2000000);
    metrics_exemplify(first, METRICS_EXEMPLIFIED_LATENESS, 1500000, slice_of(parents[0]), 1900000000500000);
    metrics_exemplify(second, METRICS_EXEMPLIFIED_LATENESS, 1600000, slice_of(parents[1]), 1900000000400000);
    metrics_exemplify(second, METRICS_EXEMPLIFIED_ATTEMPT, -1, slice_of(parents[2]), 1900000000600000);
    metrics_write(board, &text, METRICS_FORMAT_OPENMETRICS);
    expect("\nduepost_lateness_seconds_bucket{le=\"1.0\"} 0\n");
    expect("\nduepost_lateness_seconds_bucket{le=\"2.5\"} 1 # "
           "{trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\",span_id="
           "\"00f067aa0ba902b7\"} 1.500000 1900000000.500000\n");
    expect("\nduepost_held_seconds_bucket{le=\"1.0\"} 0\nduepost_held_seconds_bucket{le=\"2.5\"} 1\n");
    expect("\nduepost_attempt_seconds_bucket{le=\"0.001\"} 0 # "
           "{trace_id=\"33333333333333333333333333333333\",span_id="
           "\"4444444444444444\"} 0.000000 1900000000.600000\n");
    expect("\n# TYPE duepost_leases_recovered counter\nduepost_leases_recovered_total 0\n");
    ck_assert_ptr_null(strstr(buffer_text(&text), "1111"));
    buffer_clear(&text);
    metrics_write(board, &text, METRICS_FORMAT_TEXT);
    expect("\nduepost_lateness_seconds_bucket{le=\"1\"} 0\nduepost_lateness_seconds_bucket{le=\"2.5\"} 1\n");
    expect("\n# TYPE duepost_leases_recovered_total counter\n");
    ck_assert_ptr_null(strstr(buffer_text(&text), "trace_id"));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tests = tcase_create("metrics");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, reactors_are_summed_up);
    tcase_add_test(tests, topics_beyond_the_first_hundred_are_one);
    tcase_add_test(tests, names_that_no_topic_has_are_counted_together);
    tcase_add_test(tests, more_statuses_than_there_are_rows_are_left_out);
    tcase_add_test(tests, more_labels_than_there_are_rows_are_left_out);
    tcase_add_test(tests, openmetrics_has_exemplars);
    suite_add_tcase(suite, tests);
    return suite;
}
