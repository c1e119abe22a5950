/* Tests requests that wait for the end of a job: their calls of the store, and when they are answered. */
#include "app/wait.h"

#include "app/fake_store.h"
#include "io/loop.h"
#include "support/suite.h"

enum { REQUESTS = 3, TURNS = 3, NOW_MS = 100000, LONG_MS = 60000 };

#define TAG_OF_OTHERS "!- 0000000000000000000000000000000000000000"

static struct app *app;
static struct loop *loop;

static struct request {
    struct app_wait *wait;
    bool is_answered;
    enum status end;
    enum job_state state;
} requests[REQUESTS];

static void begin(void)
{
    app = fake_app();
    loop = loop_new();
    app->waits = app_waits_new(loop, app);
    memset(requests, 0, sizeof requests);
}

static void end(void)
{
    app_waits_free(app->waits);
    loop_free(loop);
    fake_end();
}

static void stop(void *arg)
{
    loop_stop(arg);
}

static void turn(void)
{
    for (int i = 0; i < TURNS; i++) {
        loop_post(loop, stop, loop);
        loop_run(loop);
    }
}

static void on_waited(void *arg, const struct app_verdict *verdict)
{
    struct request *request = arg;
    ck_assert(!request->is_answered);
    request->is_answered = true;
    request->end = verdict->end;
    request->state = verdict->job.state;
}

static void ask_with(size_t number, const char *tags)
{
    const struct app_wait_call call = {.id = SLICE("mail/a"), .tags = slice_of(tags), .wait_ms = LONG_MS};
    requests[number].wait = app_wait(app, &call, on_waited, &requests[number]);
    ck_assert(!requests[number].is_answered);
}

static void ask(size_t number)
{
    ask_with(number, "");
}

/* Answers the oldest call of the store, which must be store_await. */
static void tell(enum status status, bool is_there)
{
    turn();
    struct fake_call *call = fake_take("await");
    ck_assert_str_eq(call->id, "mail/a");
    call->fn.awaited(call->arg, status, is_there);
}

/* Answers the oldest call, which must be a read. */
static void show(enum status status, enum job_state state)
{
    struct stored_job job = {.id = SLICE("mail/a"),
                             .state = state,
                             .at_ms = NOW_MS + 1000,
                             .record = SLICE("{}"),
                             .now_ms = NOW_MS};
    turn();
    struct fake_call *call = fake_take("read_kept");
    call->fn.read(call->arg, status, status == STATUS_OK ? &job : NULL);
}

static void expect_answer(size_t number, enum status status, enum job_state state)
{
    ck_assert(requests[number].is_answered);
    ck_assert_int_eq(requests[number].end, status);
    ck_assert_int_eq(requests[number].state, state);
    turn();
    fake_expect_none();
}

START_TEST(the_end_answers_all_requests_with_one_read)
{
    begin();
    ask(0);
    ask(1);
    tell(STATUS_OK, true);
    turn();
    fake_expect_none();
    fake_job_wake(SLICE("mail/b\nmail/a"), true);
    show(STATUS_OK, JOB_STATE_DELIVERED);
    expect_answer(0, STATUS_OK, JOB_STATE_DELIVERED);
    expect_answer(1, STATUS_OK, JOB_STATE_DELIVERED);
    end();
}
END_TEST

START_TEST(a_job_that_has_ended_or_never_existed_is_read_at_once)
{
    begin();
    ask(0);
    tell(STATUS_OK, false);
    show(STATUS_NOT_FOUND, 0);
    expect_answer(0, STATUS_NOT_FOUND, 0);
    end();
}
END_TEST

START_TEST(only_a_request_with_a_tag_is_answered_before_the_end)
{
    begin();
    ask(0);
    ask_with(1, TAG_OF_OTHERS);
    tell(STATUS_OK, true);
    show(STATUS_OK, JOB_STATE_LEASED);
    expect_answer(1, STATUS_OK, JOB_STATE_LEASED);
    ck_assert(!requests[0].is_answered);
    fake_job_wake(SLICE("mail/a"), false); /* nothing waits for this any more */
    turn();
    fake_expect_none();
    app_wait_drop(requests[0].wait);
    end();
}
END_TEST

START_TEST(a_new_job_with_the_id_is_noted_again)
{
    begin();
    ask(0);
    tell(STATUS_OK, true);
    fake_job_wake(SLICE("mail/a"), true);
    show(STATUS_OK, JOB_STATE_DELAYED);
    ck_assert(!requests[0].is_answered);
    tell(STATUS_OK, true);
    app_wait_drop(requests[0].wait);
    end();
}
END_TEST

START_TEST(a_request_is_refused_when_redis_is_away_and_one_that_waits_goes_on)
{
    begin();
    ask(0);
    tell(STATUS_OK, true);
    ask(1);
    tell(STATUS_UNAVAILABLE, false);
    show(STATUS_UNAVAILABLE, 0);
    expect_answer(1, STATUS_UNAVAILABLE, 0);
    ck_assert(!requests[0].is_answered);
    fake_job_wake(SLICE(""), false); /* the connection is back */
    tell(STATUS_OK, false);
    show(STATUS_OK, JOB_STATE_CANCELLED);
    expect_answer(0, STATUS_OK, JOB_STATE_CANCELLED);
    end();
}
END_TEST

START_TEST(a_client_that_leaves_and_a_drain_end_waits)
{
    begin();
    ask(0);
    ask(1);
    tell(STATUS_OK, true);
    app_wait_leave(requests[0].wait);
    show(STATUS_OK, JOB_STATE_LEASED);
    expect_answer(0, STATUS_OK, JOB_STATE_LEASED);
    ck_assert(!requests[1].is_answered);
    app_waits_drain(app->waits);
    show(STATUS_OK, JOB_STATE_LEASED);
    expect_answer(1, STATUS_OK, JOB_STATE_LEASED);
    ask(2); /* during a drain */
    tell(STATUS_OK, true);
    show(STATUS_OK, JOB_STATE_LEASED);
    expect_answer(2, STATUS_OK, JOB_STATE_LEASED);
    end();
}
END_TEST

START_TEST(a_request_that_is_dropped_during_a_call_is_forgotten)
{
    begin();
    ask(0);
    turn();
    app_wait_drop(requests[0].wait);
    tell(STATUS_OK, false);
    turn();
    fake_expect_none();
    ck_assert(!requests[0].is_answered);
    end();
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("wait");
    TCase *tests = tcase_create("wait");
    tcase_add_test(tests, the_end_answers_all_requests_with_one_read);
    tcase_add_test(tests, a_job_that_has_ended_or_never_existed_is_read_at_once);
    tcase_add_test(tests, only_a_request_with_a_tag_is_answered_before_the_end);
    tcase_add_test(tests, a_new_job_with_the_id_is_noted_again);
    tcase_add_test(tests, a_request_is_refused_when_redis_is_away_and_one_that_waits_goes_on);
    tcase_add_test(tests, a_client_that_leaves_and_a_drain_end_waits);
    tcase_add_test(tests, a_request_that_is_dropped_during_a_call_is_forgotten);
    suite_add_tcase(suite, tests);
    return suite;
}
