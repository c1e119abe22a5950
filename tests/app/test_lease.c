/* Tests requests of workers: the calls of the store, the order of the answers, and workers that
 * disconnect. */
#include "app/lease.h"

#include <stdio.h>

#include "app/fake_store.h"
#include "io/loop.h"
#include "support/suite.h"

enum { NOW_MS = 100000, WORKERS = 12, TURNS = 3 };

static struct app *app;
static struct loop *loop;

/* A worker and the answers that it has got. */
static struct worker {
    struct app_caller caller;
    struct app_lease_wait *wait;
    bool has_left, is_answered;
    enum status end;
    size_t jobs;
    char id[64], token[64];
} workers[WORKERS];

static bool has_left(const void *peer)
{
    const struct worker *worker = peer;
    return worker->has_left;
}

static void begin(void)
{
    app = fake_app();
    loop = loop_new();
    app->leases = app_leases_new(loop, app);
    memset(workers, 0, sizeof workers);
    for (size_t i = 0; i < WORKERS; i++)
        workers[i].caller = (struct app_caller){.name = "-", .has_left = has_left, .peer = &workers[i]};
}

static void end(void)
{
    app_leases_free(app->leases);
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

static void on_leased(void *arg, const struct app_verdict *verdict, const struct app_leased *leased)
{
    struct worker *worker = arg;
    ck_assert(!worker->is_answered);
    worker->is_answered = true;
    worker->wait = NULL;
    worker->end = verdict->end;
    ck_assert((leased != NULL) == (verdict->end == STATUS_OK));
    if (leased && leased->count) {
        worker->jobs = leased->count;
        snprintf(worker->id, sizeof worker->id, "%.*s", SLICE_ARG(leased->jobs[0].id));
        snprintf(worker->token, sizeof worker->token, "%.*s", SLICE_ARG(leased->token));
    }
}

static void ask_with(size_t number, int64_t wait_ms, struct slice once)
{
    struct worker *worker = &workers[number];
    struct app_lease lease = {.caller = &worker->caller,
                              .topic = SLICE("mail"),
                              .max = number + 1,
                              .lease_ms = 1000,
                              .wait_ms = wait_ms,
                              .once = once};
    worker->is_answered = false;
    struct app_lease_wait *wait = app_lease(app, &lease, on_leased, worker);
    if (wait)
        worker->wait = wait;
}

static void ask(size_t number, int64_t wait_ms)
{
    ask_with(number, wait_ms, SLICE(""));
}

/* Answers the oldest call of the store, which must be for this worker, with this number of jobs. */
static void give(size_t number, size_t jobs, bool has_more)
{
    static const struct job job = {.topic = {"mail", 4}, .job_id = {"a", 1}};
    struct pulled_job given = {.job = &job, .id = SLICE("mail/a"), .until_ms = NOW_MS + 1000};
    struct store_pulled pulled = {.now_ms = NOW_MS,
                                  .token = jobs ? SLICE("t") : SLICE(""),
                                  .jobs = &given,
                                  .count = jobs,
                                  .has_more = has_more,
                                  .next_ms = -1};
    struct fake_call *call = fake_take("pull");
    ck_assert_str_eq(call->id, "mail");
    ck_assert_uint_eq(call->max, number + 1);
    call->fn.pulled(call->arg, STATUS_OK, &pulled);
}

static void refuse(size_t number, enum status status)
{
    struct fake_call *call = fake_take("pull");
    ck_assert_uint_eq(call->max, number + 1);
    call->fn.pulled(call->arg, status, NULL);
}

static void expect_jobs(size_t number, size_t jobs)
{
    ck_assert(workers[number].is_answered);
    ck_assert_int_eq(workers[number].end, STATUS_OK);
    ck_assert_uint_eq(workers[number].jobs, jobs);
}

/* Lets the worker wait: the store has no job for its request. */
static void let_wait(size_t number)
{
    ask(number, 60000);
    turn();
    give(number, 0, false);
    turn();
    ck_assert(!workers[number].is_answered);
}

static void leave(size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++)
        if (workers[i].wait)
            app_lease_leave(workers[i].wait);
}

START_TEST(a_request_gets_what_there_is)
{
    ask(0, 0);
    fake_expect_none();
    turn();
    give(0, 1, false);
    expect_jobs(0, 1);
    ck_assert_str_eq(workers[0].id, "mail/a");
    ck_assert_str_eq(workers[0].token, "t");
    fake_expect_metric("duepost_leased_total 1\n");
    turn();
    fake_expect_none();
}
END_TEST

START_TEST(a_request_that_does_not_wait_ends_with_nothing)
{
    ask(0, 0);
    turn();
    give(0, 0, false);
    expect_jobs(0, 0);
}
END_TEST

START_TEST(requests_of_one_turn_are_asked_for_together_in_their_order)
{
    for (size_t i = 0; i < 3; i++)
        ask(i, 0);
    turn();
    for (size_t i = 0; i < 3; i++)
        give(i, 1, true);
    for (size_t i = 0; i < 3; i++)
        expect_jobs(i, 1);
}
END_TEST

START_TEST(waiting_requests_are_served_in_their_order)
{
    let_wait(0);
    for (size_t i = 1; i < 8; i++)
        ask(i, 60000);
    turn();
    fake_expect_none(); /* no call of the store, because the topic is known to have no job */
    fake_wake(SLICE("mail"));
    turn();
    give(0, 1, true);
    give(1, 1, true);
    give(2, 1, true);
    give(3, 1, true);
    turn();
    give(4, 1, true);
    give(5, 1, false);
    give(6, 0, false);
    give(7, 0, false);
    for (size_t i = 0; i < 6; i++)
        expect_jobs(i, 1);
    ck_assert(!workers[6].is_answered && !workers[7].is_answered);
    leave(6, 7);
    expect_jobs(7, 0);
}
END_TEST

START_TEST(a_wake_during_a_round_is_not_lost)
{
    ask(0, 60000);
    turn();
    fake_wake(SLICE("mail"));
    give(0, 0, false);
    turn();
    give(0, 1, false);
    expect_jobs(0, 1);
    fake_wake(SLICE("mail"));
    fake_wake(SLICE("other"));
    fake_wake(SLICE(""));
    turn();
    fake_expect_none();
}
END_TEST

START_TEST(the_store_announces_jobs_for_those_that_wait)
{
    ask(0, 0);
    ask(1, 1000);
    turn();
    struct fake_call *call = fake_take("pull");
    ck_assert_int_eq(call->wait_ms, 0);
    call->fn.pulled(call->arg, STATUS_OK, &(struct store_pulled){.now_ms = NOW_MS, .next_ms = -1});
    call = fake_take("pull");
    ck_assert_int_gt(call->wait_ms, 5000);
    ck_assert_int_eq(call->lease_ms, 1000);
    call->fn.pulled(call->arg, STATUS_OK, &(struct store_pulled){.now_ms = NOW_MS, .next_ms = -1});
    expect_jobs(0, 0);
    leave(1, 1);
}
END_TEST

START_TEST(a_request_that_does_not_wait_is_asked_for_when_it_came_later)
{
    ask(0, 60000);
    turn();
    ask(1, 0); /* the store is called, because the client may have scheduled a job just before */
    give(0, 0, false);
    ck_assert(!workers[1].is_answered);
    turn();
    give(0, 0, false);
    give(1, 0, false);
    expect_jobs(1, 0);
    leave(0, 0);
}
END_TEST

START_TEST(a_wait_ends_in_time)
{
    ask(0, 30);
    turn();
    give(0, 0, false);
    while (!workers[0].is_answered)
        turn();
    expect_jobs(0, 0);
}
END_TEST

START_TEST(a_job_that_is_due_later_is_asked_for_in_time)
{
    ask(0, 60000);
    turn();
    struct fake_call *call = fake_take("pull");
    call->fn.pulled(call->arg, STATUS_OK, &(struct store_pulled){.now_ms = NOW_MS, .next_ms = NOW_MS + 30});
    while (!fake_has_call())
        turn();
    give(0, 1, false);
    expect_jobs(0, 1);
}
END_TEST

START_TEST(a_worker_that_has_left_is_not_asked_for)
{
    let_wait(0);
    workers[0].has_left = true;
    fake_wake(SLICE("mail"));
    turn();
    fake_expect_none();
    expect_jobs(0, 0);
}
END_TEST

START_TEST(jobs_of_a_worker_that_left_meanwhile_go_back)
{
    ask(0, 60000);
    turn();
    workers[0].has_left = true;
    leave(0, 0);
    ck_assert(!workers[0].is_answered);
    give(0, 1, false);
    expect_jobs(0, 0);
    struct fake_call *call = fake_take("pull_end");
    ck_assert_int_eq(call->action, LEASE_END_RELEASE);
    ck_assert_str_eq(call->id, "mail/a");
    ck_assert_str_eq(call->tags, "t");
    call->fn.pull_ended(call->arg, STATUS_OK, &(struct lease_ended){.now_ms = NOW_MS});
    fake_expect_metric("duepost_leases_returned_total 1\n");
}
END_TEST

START_TEST(jobs_of_an_answer_that_was_not_sent_go_back)
{
    struct pulled_job job = {.id = SLICE("mail/a")};
    struct app_leased leased = {.token = SLICE("t"), .jobs = &job, .count = 1};
    app_grant_end(app_grant_new(app, &leased), true);
    fake_expect_none();
    leased.is_kept = true;
    app_grant_end(app_grant_new(app, &leased), false);
    fake_expect_none(); /* nothing is returned, because the worker will repeat the request with its key */
    leased.is_kept = false;
    app_grant_end(app_grant_new(app, &leased), false);
    struct fake_call *call = fake_take("pull_end");
    call->fn.pull_ended(call->arg, STATUS_STALE, &(struct lease_ended){.now_ms = NOW_MS});
    fake_expect_metric("duepost_leases_returned_total 0\n");
}
END_TEST

START_TEST(a_request_with_a_key_is_asked_for_at_once)
{
    let_wait(0);
    for (size_t i = 1; i < 5; i++)
        ask(i, 60000);
    ask_with(5, 60000, SLICE("f mail/k"));
    turn();
    for (size_t i = 0; i < 4; i++)
        give(i, 0, false);
    struct fake_call *call = fake_take("pull");
    ck_assert_str_eq(call->once, "f mail/k");
    call->fn.pulled(call->arg, STATUS_OK,
                    &(struct store_pulled){.now_ms = NOW_MS, .is_repeated = true, .next_ms = -1});
    expect_jobs(5, 0); /* the leases of the first request with this key have ended */
    leave(0, 4);
}
END_TEST

START_TEST(a_topic_that_is_posted_refuses_all)
{
    let_wait(0);
    for (size_t i = 1; i < 6; i++)
        ask(i, 60000);
    fake_wake(SLICE("mail"));
    turn();
    for (size_t i = 0; i < 4; i++)
        refuse(i, STATUS_NOT_PULL);
    turn();
    for (size_t i = 4; i < 6; i++)
        refuse(i, STATUS_NOT_PULL);
    for (size_t i = 0; i < 6; i++)
        ck_assert_int_eq(workers[i].end, STATUS_NOT_PULL);
}
END_TEST

START_TEST(how_the_store_refuses)
{
    static const struct {
        enum status status;
        enum status end;
    } cases[] = {{STATUS_REUSED, STATUS_REUSED},         {STATUS_LACKING, STATUS_LACKING},
                 {STATUS_UNREADABLE, STATUS_UNREADABLE}, {STATUS_NO_MEMORY, STATUS_NO_MEMORY},
                 {STATUS_UNKNOWN, STATUS_UNKNOWN},       {STATUS_UNAVAILABLE, STATUS_UNAVAILABLE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ask(0, 60000);
        turn();
        refuse(0, cases[i].status);
        ck_assert(workers[0].is_answered);
        ck_assert_int_eq(workers[0].end, cases[i].end);
    }
    fake_set_ready(false);
    ask(0, 0);
    ck_assert_int_eq(workers[0].end, STATUS_UNAVAILABLE);
    fake_set_ready(true);
}
END_TEST

START_TEST(a_drain_ends_the_requests_that_wait)
{
    let_wait(0);
    ask(1, 60000);
    fake_wake(SLICE("mail"));
    turn();
    ask(2, 60000);
    app_leases_drain(app->leases);
    expect_jobs(2, 0);
    ck_assert(!workers[0].is_answered);
    give(0, 0, false);
    expect_jobs(0, 0);
    give(1, 1, false);
    expect_jobs(1, 1);
    ask(3, 60000);
    turn();
    give(3, 0, false);
    expect_jobs(3, 0);
}
END_TEST

START_TEST(a_request_may_be_dropped)
{
    let_wait(0);
    app_lease_drop(workers[0].wait);
    fake_wake(SLICE("mail"));
    turn();
    fake_expect_none();
    ck_assert(!workers[0].is_answered);
}
END_TEST

/* ---- ends ---- */

static struct lease_ended ended;
static char reason[32];
static enum status verdict_end;

static void on_lease_ended(void *arg, const struct app_verdict *verdict, const struct lease_ended *found)
{
    (void)arg;
    verdict_end = verdict->end;
    ck_assert((found != NULL) == (verdict->end == STATUS_OK || verdict->end == STATUS_NOT_HELD));
    if (!found)
        return;
    ended = *found;
    snprintf(reason, sizeof reason, "%.*s", SLICE_ARG(found->reason));
}

static void end_lease(enum lease_end_kind kind, enum status status, const struct lease_ended *found)
{
    struct lease_end end = {.kind = kind,
                            .id = SLICE("mail/a"),
                            .token = SLICE("t"),
                            .error = SLICE("locked"),
                            .has_delay = true,
                            .delay_ms = 7,
                            .lease_ms = 9};
    app_lease_end(app, &fake_all, &end, on_lease_ended, NULL);
    struct fake_call *call = fake_take("pull_end");
    ck_assert_str_eq(call->id, "mail/a");
    ck_assert_str_eq(call->tags, "t");
    ck_assert_str_eq(call->record, "locked");
    ck_assert_int_eq(call->wait_ms, 7);
    ck_assert_int_eq(call->lease_ms, 9);
    call->fn.pull_ended(call->arg, status, found);
}

START_TEST(how_leases_end)
{
    static const struct {
        enum lease_end_kind kind;
        struct lease_ended found;
        enum job_state state;
    } cases[] = {
        {LEASE_END_COMPLETE, {.now_ms = NOW_MS}, JOB_STATE_DELIVERED},
        {LEASE_END_RETRY, {.now_ms = NOW_MS, .at_ms = NOW_MS + 1}, JOB_STATE_DELAYED},
        {LEASE_END_RETRY, {.now_ms = NOW_MS, .at_ms = NOW_MS}, JOB_STATE_READY},
        {LEASE_END_RETRY, {.is_dead = true, .reason = {"retries_exhausted", 17}}, JOB_STATE_DEAD},
        {LEASE_END_BURY, {.is_dead = true, .reason = {"rejected", 8}}, JOB_STATE_DEAD},
        {LEASE_END_EXTEND, {.at_ms = NOW_MS + 9}, JOB_STATE_LEASED},
        {LEASE_END_RELEASE, {.now_ms = NOW_MS}, JOB_STATE_READY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        end_lease(cases[i].kind, STATUS_OK, &cases[i].found);
        ck_assert_int_eq(verdict_end, STATUS_OK);
        ck_assert_int_eq(ended.state, cases[i].state);
        ck_assert_int_eq(ended.at_ms, cases[i].found.at_ms);
        ck_assert_uint_eq(strlen(reason), cases[i].found.reason.size);
    }
}
END_TEST

START_TEST(a_token_that_does_not_hold_the_lease_gets_the_state)
{
    struct lease_ended found = {.has_state = true, .state = JOB_STATE_READY};
    end_lease(LEASE_END_COMPLETE, STATUS_STALE, &found);
    ck_assert_int_eq(verdict_end, STATUS_NOT_HELD);
    ck_assert(ended.has_state && ended.state == JOB_STATE_READY);
    found.has_state = false;
    end_lease(LEASE_END_COMPLETE, STATUS_STALE, &found);
    ck_assert(!ended.has_state);
    end_lease(LEASE_END_COMPLETE, STATUS_UNKNOWN, NULL);
    ck_assert_int_eq(verdict_end, STATUS_UNKNOWN);
    fake_set_ready(false);
    app_lease_end(app, &fake_all, &(struct lease_end){.id = SLICE("mail/a")}, on_lease_ended, NULL);
    ck_assert_int_eq(verdict_end, STATUS_UNAVAILABLE);
    fake_expect_none();
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("lease");
    TCase *tests = tcase_create("leases");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_request_gets_what_there_is);
    tcase_add_test(tests, a_request_that_does_not_wait_ends_with_nothing);
    tcase_add_test(tests, requests_of_one_turn_are_asked_for_together_in_their_order);
    tcase_add_test(tests, waiting_requests_are_served_in_their_order);
    tcase_add_test(tests, a_wake_during_a_round_is_not_lost);
    tcase_add_test(tests, the_store_announces_jobs_for_those_that_wait);
    tcase_add_test(tests, a_request_that_does_not_wait_is_asked_for_when_it_came_later);
    tcase_add_test(tests, a_wait_ends_in_time);
    tcase_add_test(tests, a_job_that_is_due_later_is_asked_for_in_time);
    tcase_add_test(tests, a_worker_that_has_left_is_not_asked_for);
    tcase_add_test(tests, jobs_of_a_worker_that_left_meanwhile_go_back);
    tcase_add_test(tests, jobs_of_an_answer_that_was_not_sent_go_back);
    tcase_add_test(tests, a_request_with_a_key_is_asked_for_at_once);
    tcase_add_test(tests, a_topic_that_is_posted_refuses_all);
    tcase_add_test(tests, how_the_store_refuses);
    tcase_add_test(tests, a_drain_ends_the_requests_that_wait);
    tcase_add_test(tests, a_request_may_be_dropped);
    tcase_add_test(tests, how_leases_end);
    tcase_add_test(tests, a_token_that_does_not_hold_the_lease_gets_the_state);
    suite_add_tcase(suite, tests);
    return suite;
}
