/* Tests each finding of the use case that says why a job is not delivered. */
#include "app/why.h"

#include "app/fake_store.h"
#include "support/suite.h"

enum { NOW_MS = 100000 };

static struct app *app;
static struct stored_job job;
static struct topic topic;
static size_t findings;
static struct app_finding finding;
static char receiver[64], reason[64], pause_reason[64];

static void begin(void)
{
    app = fake_app();
    job = (struct stored_job){
        .id = SLICE("mail/a"),
        .state = JOB_STATE_READY,
        .at_ms = NOW_MS - 10,
        .now_ms = NOW_MS,
        .record = SLICE("{\"createdAt\":1000,\"url\":\"http://h/p\"}"),
    };
    topic = (struct topic){
        .name = SLICE("mail"), .held_ms = TOPIC_FREE, .opens_ms = TOPIC_FREE, .ready = 3, .leased = 2};
    findings = 0;
}

static void end(void)
{
    fake_end();
}

static void on_finding(void *arg, const struct app_finding *found)
{
    ck_assert_ptr_eq(arg, &fake_verdict);
    findings++;
    finding = *found;
    reason[0] = receiver[0] = pause_reason[0] = '\0';
    if (found->pause_reason)
        strncat(pause_reason, found->pause_reason, sizeof pause_reason - 1);
    if (found->reason)
        strncat(reason, found->reason, sizeof reason - 1);
    if (found->receiver)
        strncat(receiver, found->receiver->name.data, found->receiver->name.size);
}

static void ask(void)
{
    fake_forget();
    app_why(app, SLICE("mail/a"), on_finding, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("read_kept");
    call->fn.read(call->arg, STATUS_OK, &job);
    call = fake_take("topics");
    ck_assert_str_eq(call->id, "mail");
    call->fn.topics(call->arg, STATUS_OK, &topic, 1, (struct topic_cursor){.shard = 0});
}

/* Answers the read of this receiver. found is NULL if Redis has no record of the receiver. */
static void end_receiver(const char *name, const struct receiver_record *found)
{
    struct fake_call *call = fake_take("receivers");
    ck_assert_str_eq(call->id, name);
    call->fn.receivers(call->arg, STATUS_OK, found, found != NULL, (struct receiver_cursor){0, 0});
}

static void expect(enum app_why why)
{
    fake_expect(STATUS_OK);
    ck_assert_uint_eq(findings, 1);
    ck_assert_int_eq(finding.why, why);
    findings = 0;
}

START_TEST(a_waiting_job_is_not_due_or_retried)
{
    job.state = JOB_STATE_DELAYED;
    job.at_ms = NOW_MS + 50000;
    job.record = SLICE("{\"createdAt\":99000,\"url\":\"http://h/p\",\"delay\":51}");
    ask();
    expect(APP_WHY_NOT_DUE);
    ck_assert_int_eq(finding.next_ms, NOW_MS + 50000);
    ck_assert(!finding.is_topic_paused);
    topic.settings = SLICE("{\"paused\":true}");
    ask();
    expect(APP_WHY_NOT_DUE);
    ck_assert(finding.is_topic_paused);
}
END_TEST

START_TEST(a_job_waits_for_its_next_round)
{
    job.state = JOB_STATE_DELAYED;
    job.at_ms = NOW_MS + 50000;
    job.record =
        SLICE("{\"createdAt\":1000,\"url\":\"http://h/p\",\"rounds\":2,\"lastAttempt\":{\"at\":99000,"
              "\"durationMs\":5,\"status\":202},\"waitMs\":60000}");
    ask();
    expect(APP_WHY_NOT_YET);
    ck_assert_int_eq(finding.next_ms, NOW_MS + 50000);
    ck_assert_int_eq(finding.rounds, 2);
    ck_assert_int_eq(finding.last_attempt.status, 202);
    job.record = SLICE("{\"createdAt\":1000,\"url\":\"http://h/"
                       "p\",\"attempts\":1,\"rounds\":2,\"lastAttempt\":{\"at\":99000,"
                       "\"durationMs\":5,\"status\":500},\"waitMs\":60000}");
    ask();
    expect(APP_WHY_RETRY);
}
END_TEST

START_TEST(a_due_job_is_held_by_its_key)
{
    static const struct {
        struct slice settings, own; /* of the topic, and of the key */
        enum topic_hold hold;
        enum app_why why;
        int64_t max;
        const char *reason;
    } cases[] = {
        {SLICE_INIT("{\"perKey\":{\"maxInFlight\":2}}"), SLICE_INIT(""), HOLD_IN_FLIGHT, APP_WHY_KEY, 2, ""},
        {SLICE_INIT("{\"perKey\":{\"maxInFlight\":2}}"), SLICE_INIT("{\"maxInFlight\":3}"), HOLD_IN_FLIGHT,
         APP_WHY_KEY, 3, ""},
        {SLICE_INIT("{\"pauseReason\":\"x\"}"), SLICE_INIT("{\"paused\":true,\"pauseReason\":\"unpaid\"}"),
         HOLD_PAUSED, APP_WHY_KEY, 0, "unpaid"},
        {SLICE_INIT("{\"breaker\":false}"), SLICE_INIT(""), HOLD_NONE, APP_WHY_IN_TURN, 0, ""},
        {SLICE_INIT("{\"delivery\":\"pull\"}"), SLICE_INIT(""), HOLD_RATE, APP_WHY_KEY, 0, ""},
        {SLICE_INIT("{\"delivery\":\"pull\"}"), SLICE_INIT(""), HOLD_NONE, APP_WHY_WAITS_FOR_WORKER, 0, ""},
    };
    job.record = SLICE("{\"createdAt\":1000,\"url\":\"http://h/p\",\"key\":\"k\"}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topic_lane lane = {
            .key = SLICE("k"), .settings = cases[i].own, .pending = 4, .hold = cases[i].hold};
        topic.settings = cases[i].settings;
        topic.held_ms =
            slice_starts_with(cases[i].settings, SLICE("{\"delivery\"")) ? TOPIC_HELD : TOPIC_FREE;
        ask();
        struct fake_call *call = fake_take("lanes");
        ck_assert_str_eq(call->id, "mail");
        ck_assert_str_eq(call->old_settings, "k");
        call->fn.lanes(call->arg, STATUS_OK, &lane, 1, SLICE(""));
        if (fake_has_call())
            end_receiver("h:80/p", NULL), end_receiver("h:80", NULL);
        expect(cases[i].why);
        ck_assert(finding.key_max_in_flight == cases[i].max && finding.lane.pending == 4);
        if (finding.why == APP_WHY_KEY)
            ck_assert_str_eq(pause_reason, cases[i].reason);
    }
    ask(); /* the state of the key is not known */
    struct fake_call *call = fake_take("lanes");
    call->fn.lanes(call->arg, STATUS_UNAVAILABLE, NULL, 0, SLICE(""));
    expect(APP_WHY_WAITS_FOR_WORKER);
    topic.settings = SLICE("{\"order\":\"fifo\"}"); /* its keys hold no job */
    topic.head = SLICE("mail/b");
    topic.held_ms = TOPIC_HELD;
    ask();
    expect(APP_WHY_ORDER);
}
END_TEST

START_TEST(a_due_job_is_held_by_the_limit_of_its_topic)
{
    static const struct {
        struct slice settings, topics; /* topics: those that wait for the limit */
        struct slice limit;
        int64_t held_ms;
        enum app_why why;
        int64_t before;
    } cases[] = {
        {SLICE_INIT("{\"limit\":\"l\"}"), SLICE_INIT("a b mail"), SLICE_INIT("{}"), TOPIC_HELD, APP_WHY_LIMIT,
         2},
        {SLICE_INIT("{\"limit\":\"l\"}"), SLICE_INIT("a"), SLICE_INIT("{}"), TOPIC_HELD, APP_WHY_LIMIT, -1},
        {SLICE_INIT("{\"limit\":\"l\"}"), SLICE_INIT("mail"), SLICE_INIT("{}"), NOW_MS + 700, APP_WHY_LIMIT,
         0},
        {SLICE_INIT("{\"limit\":\"l\"}"), SLICE_INIT("a"), SLICE_INIT("{}"), NOW_MS + 700, APP_WHY_RATE, 0},
        {SLICE_INIT("{\"limit\":\"l\",\"delivery\":\"pull\"}"), SLICE_INIT(""), SLICE_INIT("{}"), TOPIC_HELD,
         APP_WHY_WAITS_FOR_WORKER, 0},
        {SLICE_INIT("{\"limit\":\"l\",\"delivery\":\"pull\"}"), SLICE_INIT("mail"),
         SLICE_INIT("{\"paused\":true}"), TOPIC_HELD, APP_WHY_LIMIT, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct limit limit = {.name = SLICE("l"), .settings = cases[i].limit, .topics = cases[i].topics};
        topic.settings = cases[i].settings;
        topic.held_ms = cases[i].held_ms;
        ask();
        struct fake_call *call = fake_take("limits");
        ck_assert_str_eq(call->id, "l");
        call->fn.limits(call->arg, STATUS_OK, &limit, 1, false);
        expect(cases[i].why);
        if (cases[i].why == APP_WHY_LIMIT)
            ck_assert_int_eq(finding.before, cases[i].before);
    }
}
END_TEST

START_TEST(a_due_job_is_held_by_its_topic)
{
    static const struct {
        struct slice settings;
        int64_t held_ms;
        enum app_why why;
    } cases[] = {
        {{"{\"paused\":true}", 15}, TOPIC_HELD, APP_WHY_PAUSED},
        {{"nonsense", 8}, TOPIC_HELD, APP_WHY_SETTINGS},
        {{"{\"maxInFlight\":1}", 17}, TOPIC_HELD, APP_WHY_MAX_IN_FLIGHT},
        {{NULL, 0}, NOW_MS + 700, APP_WHY_RATE},
        {{"{\"needs\":[\"wings\"]}", 19}, TOPIC_HELD, APP_WHY_LATER_VERSION},
        {{"{\"delivery\":\"pull\"}", 19}, TOPIC_HELD, APP_WHY_WAITS_FOR_WORKER},
        {{"{\"maxInFlight\":3,\"delivery\":\"pull\"}", 35}, TOPIC_HELD, APP_WHY_WAITS_FOR_WORKER},
        {{"{\"maxInFlight\":2,\"delivery\":\"pull\"}", 35}, TOPIC_HELD, APP_WHY_MAX_IN_FLIGHT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        topic.settings = cases[i].settings;
        topic.held_ms = cases[i].held_ms;
        ask();
        expect(cases[i].why);
        ck_assert_int_eq(finding.next_ms, cases[i].why == APP_WHY_RATE ? NOW_MS + 700 : 0);
        ck_assert_int_eq(finding.ready, 3);
        ck_assert_int_eq(finding.leased, 2);
        ck_assert(!finding.is_record);
    }
}
END_TEST

START_TEST(a_due_job_waits_until_its_topic_opens)
{
    topic.settings = SLICE("{\"windows\":[{\"from\":\"09:00\",\"to\":\"10:00\"}],\"order\":\"fifo\"}");
    topic.head = SLICE("mail/b");
    topic.held_ms = topic.opens_ms = NOW_MS + 7000;
    ask();
    expect(APP_WHY_WINDOWS);
    ck_assert_int_eq(finding.next_ms, NOW_MS + 7000);
    topic.held_ms = topic.opens_ms = TOPIC_HELD; /* not yet computed, or the zone is unknown */
    ask();
    expect(APP_WHY_WINDOWS);
    ck_assert_int_eq(finding.next_ms, 0);
    topic.settings = SLICE("{\"windows\":[{\"from\":\"09:00\",\"to\":\"10:00\"}],\"paused\":true}");
    ask();
    expect(APP_WHY_PAUSED);
}
END_TEST

START_TEST(a_record_may_need_a_later_version)
{
    job.record = SLICE("{\"createdAt\":1000,\"url\":\"http://h/p\",\"needs\":[\"wings\"]}");
    ask();
    expect(APP_WHY_LATER_VERSION);
    ck_assert(finding.is_record);
}
END_TEST

START_TEST(a_due_job_may_be_held_by_its_receiver)
{
    struct receiver_record found = {.name = SLICE("h:80/p"), .opened_ms = 5, .probe_ms = NOW_MS + 900};
    ask();
    end_receiver("h:80/p", &found);
    expect(APP_WHY_BREAKER);
    ck_assert_str_eq(receiver, "h:80/p");
    ck_assert_int_eq(finding.next_ms, NOW_MS + 900);
    found = (struct receiver_record){.name = SLICE("h:80"), .limit = 4};
    ask();
    end_receiver("h:80/p", NULL);
    end_receiver("h:80", &found);
    expect(APP_WHY_RECEIVER_LIMIT);
    ck_assert_str_eq(receiver, "h:80");
    ask();
    end_receiver("h:80/p", NULL);
    end_receiver("h:80", NULL);
    expect(APP_WHY_IN_TURN);
    app->is_breaker_on = false;
    ask(); /* no breaker can hold the job, so the record of the receiver is not read */
    expect(APP_WHY_IN_TURN);
}
END_TEST

START_TEST(a_job_under_way_and_a_dead_one_say_so)
{
    job.state = JOB_STATE_LEASED;
    ask();
    expect(APP_WHY_UNDER_WAY);
    ck_assert_int_eq(finding.next_ms, job.at_ms);
    job.state = JOB_STATE_DEAD;
    ask();
    expect(APP_WHY_DEAD);
    ck_assert_str_eq(reason, "consumer_lost");
    job.record = SLICE("not a record");
    ask();
    expect(APP_WHY_DEAD);
    ck_assert_str_eq(reason, "unreadable");
}
END_TEST

START_TEST(why_ends_as_the_store_says)
{
    static const struct {
        enum status status;
        enum status end;
    } endings[] = {{STATUS_NOT_FOUND, STATUS_NOT_FOUND},
                   {STATUS_UNAVAILABLE, STATUS_UNAVAILABLE},
                   {STATUS_UNKNOWN, STATUS_UNKNOWN},
                   {STATUS_NO_MEMORY, STATUS_NO_MEMORY}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        fake_forget();
        app_why(app, SLICE("mail/a"), on_finding, fake_on_verdict, &fake_verdict);
        struct fake_call *call = fake_take("read_kept");
        call->fn.read(call->arg, endings[i].status, NULL);
        fake_expect(endings[i].end);
        fake_forget();
        app_why(app, SLICE("mail/a"), on_finding, fake_on_verdict, &fake_verdict);
        call = fake_take("read_kept");
        call->fn.read(call->arg, STATUS_OK, &job);
        call = fake_take("topics");
        call->fn.topics(call->arg, endings[i].status, NULL, 0, (struct topic_cursor){.shard = 0});
        fake_expect(endings[i].end);
    }
    ck_assert_uint_eq(findings, 0);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("why");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_waiting_job_is_not_due_or_retried);
    tcase_add_test(tests, a_job_waits_for_its_next_round);
    tcase_add_test(tests, a_due_job_is_held_by_its_topic);
    tcase_add_test(tests, a_due_job_is_held_by_its_key);
    tcase_add_test(tests, a_due_job_is_held_by_the_limit_of_its_topic);
    tcase_add_test(tests, a_due_job_waits_until_its_topic_opens);
    tcase_add_test(tests, a_record_may_need_a_later_version);
    tcase_add_test(tests, a_due_job_may_be_held_by_its_receiver);
    tcase_add_test(tests, a_job_under_way_and_a_dead_one_say_so);
    tcase_add_test(tests, why_ends_as_the_store_says);
    suite_add_tcase(suite, tests);
    return suite;
}
