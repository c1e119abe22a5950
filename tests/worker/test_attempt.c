/* Tests one attempt from its claim to its end: the effect of each event in each state. */
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "support/suite.h"
#include "worker/attempt.h"
#include "worker/permit.h"
#include "worker/world.h"

#define SECOND_US INT64_C(1000000)
#define RECORD    "{\"createdAt\":900000,\"url\":\"http://h/\",\"body\":{\"a\":1}}"

/* ---- one attempt in the fake environment of world.h ---- */

static const struct retry_schedule schedule = {1, {15000}};
static const struct delivery_forms forms = {{&delivery_form_standard}};
static const struct signing_keys no_keys;
static const struct target_policy *const no_targets; /* the fake HTTP client does not check addresses */
static struct attempt_policy policy;
static struct unserved unserved;
static const struct http_client_options no_options;
static struct attempt_context context;
static struct settings_shares shares;
static struct attempt *attempt;
static int ended, unrecorded;

static bool is_busy;

static bool has_room(const void *arg)
{
    (void)arg;
    return !is_busy;
}

static void on_end(void *arg, struct attempt *over)
{
    (void)arg;
    ck_assert_ptr_eq(over, attempt);
    attempt_free(over);
    attempt = NULL;
    ended++;
}

static void on_unrecorded(void *arg, struct attempt *which)
{
    (void)arg;
    ck_assert_ptr_eq(which, attempt);
    unrecorded++;
}

static void on_turn_end(void *arg)
{
    receivers_send_reports(arg);
}

static void setup(void)
{
    world_begin();
    policy = (struct attempt_policy){.targets = no_targets,
                                     .schedule = &schedule,
                                     .forms = &forms,
                                     .keys = &no_keys,
                                     .is_breaker_on = true};
    unserved = (struct unserved){.row_us = 0};
    context = (struct attempt_context){
        .shard = world_shard(0),
        .identities = identities_new(&(struct identities_options){.client_options = &no_options}),
        .policy = &policy,
        .receivers = receivers_new(NULL, NULL, NULL),
        .unserved = &unserved,
        .shares = &shares,
        .has_room = has_room,
        .on_end = on_end,
        .on_unrecorded = on_unrecorded};
    hook_new(NULL, LOOP_PHASE_DECIDE, on_turn_end, context.receivers);
    ended = unrecorded = 0;
    is_busy = false;
    attempt = NULL;
}

static void teardown(void)
{
    if (attempt)
        attempt_free(attempt);
    identities_free(context.identities);
    receivers_free(context.receivers);
    settings_shares_fini(&shares);
    memset(&shares, 0, sizeof shares);
}

static void start_with(const char *record, const char *settings)
{
    struct nonce nonce = {"n1"};
    struct shard_claimed job = world_job("t/j", record, settings);
    attempt = attempt_start(&context, &job, &nonce, clock_boot_us(), world_redis_ms());
}

static void start(void)
{
    start_with(RECORD, "");
}

/* Checks that the only call to Redis is of this kind, and has the nonce of the attempt. */
static const struct world_call *check_ending(enum world_kind kind)
{
    for (enum world_kind other = WORLD_COMPLETE; other <= WORLD_RELEASE; other++)
        ck_assert_uint_eq(world_under_way(other), other == kind);
    const struct world_call *call = world_call(kind);
    ck_assert_str_eq(call->id, "t/j");
    ck_assert_str_eq(call->nonce, "n1");
    return call;
}

static void check_over(void)
{
    ck_assert_int_eq(ended, 1);
    ck_assert_ptr_null(attempt);
}

static void renew(enum status status)
{
    attempt_renew(attempt);
    world_answer(WORLD_RENEW, status);
}

/* ---- an answer ---- */

START_TEST(a_2xx_completes_the_job)
{
    start();
    ck_assert(world_send());
    world_answer_post(204);
    check_ending(WORLD_COMPLETE);
    ck_assert_uint_eq(world_ends(METRICS_END_DELIVERED),
                      0); /* not counted yet, because Redis has not stored the ending */
    world_answer(WORLD_COMPLETE, STATUS_OK);
    check_over();
    ck_assert_uint_eq(world_ends(METRICS_END_DELIVERED), 1);
    ck_assert_uint_eq(world_logged("job_delivered"), 1);
}
END_TEST

/* A request has begun to wait for the job during the attempt. */
START_TEST(a_job_that_a_request_waits_for_ends_with_its_line)
{
    start();
    ck_assert(world_send());
    world_answer_post(204);
    ck_assert_str_eq(check_ending(WORLD_COMPLETE)->line, "");
    world_answer(WORLD_COMPLETE, STATUS_NO_LINE);
    ck_assert_str_eq(check_ending(WORLD_COMPLETE)->line, "1 1000000 0 204");
    world_answer(WORLD_COMPLETE, STATUS_OK);
    check_over();
}
END_TEST

/* Delivers a job, and returns whether the call that records this may wait for other calls. */
static bool may_wait(const char *record, const char *settings)
{
    start_with(record, settings);
    ck_assert(world_send());
    world_answer_post(204);
    bool may_wait = check_ending(WORLD_COMPLETE)->may_wait;
    world_answer(WORLD_COMPLETE, STATUS_OK);
    return may_wait;
}

START_TEST(an_ending_may_wait_if_nothing_waits_for_it)
{
    ck_assert(may_wait(RECORD, ""));
    ck_assert(!may_wait(RECORD, "{\"order\":\"fifo\"}"));
    ck_assert(
        !may_wait("{\"createdAt\":900000,\"url\":\"http://h/\",\"onDelivered\":\"http://h/done\"}", ""));
    is_busy = true;
    ck_assert(!may_wait(RECORD, ""));
}
END_TEST

START_TEST(a_failure_is_retried_with_its_record_and_line)
{
    start();
    ck_assert(world_send());
    world_answer_post(503);
    const struct world_call *call = check_ending(WORLD_RETRY);
    ck_assert_int_eq(call->wait_ms, 15000);
    ck_assert_ptr_nonnull(strstr(call->record, "\"attempts\":1"));
    ck_assert_str_eq(call->line, "1 1000000 0 503");
    world_answer(WORLD_RETRY, STATUS_OK);
    check_over();
    ck_assert_uint_eq(world_logged("attempt_failed"), 1);
}
END_TEST

START_TEST(a_2xx_that_says_not_yet_is_retried_as_a_new_round)
{
    start();
    ck_assert(world_send());
    world_end_post((struct http_outcome){.status = 202,
                                         .retry_after_ms = -1,
                                         .was_sent = true,
                                         .replies[HTTP_REPLY_AGAIN] = {true, SLICE("1m")}});
    const struct world_call *call = check_ending(WORLD_RETRY);
    ck_assert_int_eq(call->wait_ms, 60000);
    ck_assert_ptr_nonnull(strstr(call->record, "\"rounds\":1"));
    ck_assert_str_eq(call->line, "1 1000000 0 202");
    world_answer(WORLD_RETRY, STATUS_OK);
    check_over();
    ck_assert_uint_eq(world_logged("job_not_yet"), 1);
    ck_assert_uint_eq(world_logged("attempt_failed"), 0);
    ck_assert_uint_eq(world_ends(METRICS_END_DELIVERED), 0);
}
END_TEST

START_TEST(a_not_yet_that_cannot_be_read_is_a_failure)
{
    start();
    ck_assert(world_send());
    world_end_post((struct http_outcome){.status = 200,
                                         .retry_after_ms = -1,
                                         .was_sent = true,
                                         .replies[HTTP_REPLY_AGAIN] = {true, SLICE("soon")}});
    const struct world_call *call = check_ending(WORLD_RETRY);
    ck_assert_int_eq(call->wait_ms, 15000);
    ck_assert_ptr_nonnull(strstr(call->record, "\"attempts\":1"));
    ck_assert_ptr_null(strstr(call->record, "rounds"));
    ck_assert(strncmp(call->line, "1 1000000 0 protocol \"The answer has Duepost-Again: soon;", 51) == 0);
    world_answer(WORLD_RETRY, STATUS_OK);
    ck_assert_uint_eq(world_logged("attempt_failed"), 1);
}
END_TEST

START_TEST(the_first_reset_of_an_idle_connection_is_retried_at_its_old_place)
{
    start();
    ck_assert(world_send());
    world_end_post((struct http_outcome){.error = FAILURE_IDLE_CLOSED, .retry_after_ms = -1});
    ck_assert_int_eq(check_ending(WORLD_RETRY)->wait_ms, SHARD_NO_WAIT);
}
END_TEST

START_TEST(a_410_buries_the_job)
{
    start();
    ck_assert(world_send());
    world_answer_post(410);
    ck_assert_ptr_nonnull(strstr(check_ending(WORLD_BURY)->record, "\"reason\":\"gone\""));
    world_answer(WORLD_BURY, STATUS_OK);
    check_over();
    ck_assert_uint_eq(world_ends(METRICS_END_DEAD), 1);
    ck_assert_uint_eq(world_logged("job_dead"), 1);
}
END_TEST

#define TELLS "{\"onDead\":\"http://h/dead\",\"retrySchedule\":[]}"

START_TEST(a_death_has_a_callback_where_the_topic_says_so)
{
    start_with(RECORD, TELLS);
    ck_assert(world_send());
    world_end_post((struct http_outcome){.status = 503, .duration_ms = 70, .retry_after_ms = -1});
    const struct world_call *call = check_ending(WORLD_BURY);
    char expected[256];
    ck_assert_ptr_nonnull(strstr(call->follow_record,
                                 "\"url\":\"http://h/dead\",\"body\":{\"callback\":\"onDead\","
                                 "\"topic\":\"t\",\"jobId\":\"j\",\"outcome\":\"dead\","
                                 "\"reason\":\"retries_exhausted\",\"status\":503"));
    snprintf(expected, sizeof expected, "t~callbacks/j~dead~%s", call->nonce);
    ck_assert_str_eq(call->follow_id, expected);
    world_answer(WORLD_BURY, STATUS_UNAVAILABLE);
    attempt_record(attempt);
    ck_assert_str_eq(world_call(WORLD_BURY)->follow_id,
                     expected); /* each try to bury the job sends the callback, too */
    world_answer(WORLD_BURY, STATUS_OK);
}
END_TEST

START_TEST(a_delivery_has_a_callback_where_the_job_says_so)
{
    start_with("{\"createdAt\":900000,\"url\":\"http://h/\",\"onDelivered\":\"http://h/done\"}", "");
    ck_assert(world_send());
    world_answer_post(200);
    const struct world_call *call = check_ending(WORLD_COMPLETE);
    ck_assert_ptr_nonnull(strstr(call->follow_record, "\"outcome\":\"delivered\""));
    world_answer(WORLD_COMPLETE, STATUS_OK);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_CALLBACKS), 1);
}
END_TEST

START_TEST(a_failure_has_a_callback_where_the_topic_says_so)
{
    start_with(RECORD, "{\"onAttempt\":\"http://h/attempt\"}");
    ck_assert(world_send());
    world_answer_post(503);
    const struct world_call *call = check_ending(WORLD_RETRY);
    ck_assert_ptr_nonnull(strstr(call->follow_record, "\"outcome\":\"failed\""));
    ck_assert_ptr_nonnull(strstr(call->follow_record, "\"waitMs\":15000"));
    world_answer(WORLD_RETRY, STATUS_OK);
}
END_TEST

START_TEST(what_dies_unsent_has_a_callback_too)
{
    start_with("{\"createdAt\":900000,\"url\":\"http://h/\",\"ttl\":100}", TELLS);
    ck_assert_ptr_nonnull(strstr(check_ending(WORLD_BURY)->follow_record, "\"reason\":\"expired\""));
    world_answer(WORLD_BURY, STATUS_OK);
}
END_TEST

START_TEST(what_goes_on_is_not_dead)
{
    start_with(RECORD, "{\"onDead\":\"http://h/dead\"}");
    ck_assert(world_send());
    world_answer_post(503);
    ck_assert_str_eq(check_ending(WORLD_RETRY)->follow_id, "");
    world_answer(WORLD_RETRY, STATUS_OK);
}
END_TEST

START_TEST(an_ending_that_another_holder_made_stale_is_no_delivery)
{
    start();
    ck_assert(world_send());
    world_answer_post(200);
    world_answer(WORLD_COMPLETE, STATUS_STALE);
    check_over();
    ck_assert_uint_eq(world_ends(METRICS_END_DELIVERED), 0);
}
END_TEST

/* ---- the lease ---- */

START_TEST(a_request_leaves_until_a_second_before_the_end_of_the_lease)
{
    start();
    world_pass(4 * SECOND_US - 1);
    ck_assert(world_send());
}
END_TEST

START_TEST(nothing_is_sent_in_the_last_second_of_the_lease)
{
    start();
    world_pass(4 * SECOND_US);
    ck_assert(!world_send());
    ck_assert_int_eq(check_ending(WORLD_RELEASE)->wait_ms, SHARD_NO_WAIT);
}
END_TEST

START_TEST(the_lease_counts_from_before_its_renewal_was_sent)
{
    start();
    world_pass(2 * SECOND_US);
    attempt_renew(attempt);
    world_pass(SECOND_US);
    world_answer(WORLD_RENEW, STATUS_OK);
    world_pass(3 * SECOND_US - 1);
    ck_assert(world_send());
}
END_TEST

START_TEST(the_lease_does_not_count_from_the_answer_to_its_renewal)
{
    start();
    world_pass(2 * SECOND_US);
    attempt_renew(attempt);
    world_pass(SECOND_US);
    world_answer(WORLD_RENEW, STATUS_OK);
    world_pass(3 * SECOND_US);
    ck_assert(!world_send());
}
END_TEST

START_TEST(a_renewal_counts_only_once_it_is_confirmed)
{
    start();
    world_pass(2 * SECOND_US);
    attempt_renew(attempt);
    world_pass(2 * SECOND_US);
    ck_assert(!world_send());
}
END_TEST

START_TEST(a_renewal_that_redis_did_not_answer_prolongs_nothing)
{
    start();
    world_pass(2 * SECOND_US);
    renew(STATUS_UNAVAILABLE);
    ck_assert_int_eq(attempt->lease_state, ATTEMPT_LEASE_HELD);
    world_pass(2 * SECOND_US);
    ck_assert(!world_send());
}
END_TEST

START_TEST(a_lease_lost_before_the_send_sends_nothing)
{
    start();
    renew(STATUS_STALE);
    ck_assert(!world_send());
    ck_assert_uint_eq(world_sent(), 0);
    check_ending(WORLD_RELEASE);
    world_answer(WORLD_RELEASE, STATUS_STALE);
    check_over();
}
END_TEST

START_TEST(a_lost_lease_is_not_renewed)
{
    start();
    renew(STATUS_STALE);
    attempt_renew(attempt);
    ck_assert_uint_eq(world_under_way(WORLD_RENEW), 0);
}
END_TEST

START_TEST(one_renewal_is_under_way_at_a_time)
{
    start();
    world_pass(SECOND_US);
    attempt_renew(attempt);
    attempt_renew(attempt);
    ck_assert_uint_eq(world_under_way(WORLD_RENEW), 1);
    ck_assert_int_eq(attempt_last_renewal_us(attempt), clock_boot_us());
}
END_TEST

START_TEST(a_cancelled_job_is_not_sent)
{
    start();
    renew(STATUS_NOT_FOUND);
    ck_assert(!world_send());
    ck_assert_uint_eq(world_sent(), 0);
}
END_TEST

START_TEST(a_job_cancelled_in_flight_keeps_its_place_until_its_end)
{
    start();
    ck_assert(world_send());
    for (int i = 0; i < 5; i++) {
        world_pass(2 * SECOND_US);
        renew(i < 3 ? STATUS_NOT_FOUND
                    : STATUS_OK); /* the attempt counts as in flight whether this renewal succeeds or not */
    }
    world_answer_post(200);
    check_ending(WORLD_COMPLETE);
    world_answer(WORLD_COMPLETE, STATUS_REPLACED);
    check_over();
}
END_TEST

START_TEST(a_lingering_lease_is_lost_when_its_place_is_gone)
{
    start();
    ck_assert(world_send());
    renew(STATUS_NOT_FOUND);
    renew(STATUS_STALE);
    attempt_renew(attempt);
    ck_assert_uint_eq(world_under_way(WORLD_RENEW), 0);
}
END_TEST

START_TEST(an_attempt_ends_after_its_renewal_is_answered)
{
    start();
    ck_assert(world_send());
    attempt_renew(attempt);
    world_answer_post(200);
    world_answer(WORLD_COMPLETE, STATUS_OK);
    ck_assert_int_eq(ended, 0);
    world_answer(WORLD_RENEW, STATUS_STALE); /* the lease is lost */
    check_over();
}
END_TEST

/* ---- Redis is away ---- */

START_TEST(an_ending_that_redis_did_not_take_is_recorded_again_and_never_sent_again)
{
    start();
    ck_assert(world_send());
    world_answer_post(200);
    for (int i = 0; i < 3; i++) {
        world_answer(WORLD_COMPLETE, i == 1 ? STATUS_UNKNOWN : STATUS_UNAVAILABLE);
        ck_assert_int_eq(unrecorded, i + 1);
        ck_assert_int_eq(ended, 0);
        world_pass(60 * SECOND_US);
        attempt_record(attempt);
        check_ending(WORLD_COMPLETE);
    }
    world_answer(WORLD_COMPLETE, STATUS_OK);
    check_over();
    ck_assert_uint_eq(world_sent(), 1);
    ck_assert_uint_eq(world_posts(), 0);
    ck_assert_uint_eq(world_ends(METRICS_END_DELIVERED), 1);
}
END_TEST

START_TEST(the_same_texts_are_recorded_again)
{
    char record[1024];
    start();
    ck_assert(world_send());
    world_answer_post(500);
    snprintf(record, sizeof record, "%s", check_ending(WORLD_RETRY)->record);
    world_answer(WORLD_RETRY, STATUS_UNAVAILABLE);
    attempt_record(attempt);
    const struct world_call *call = check_ending(WORLD_RETRY);
    ck_assert_str_eq(call->record, record);
    ck_assert_str_eq(call->line, "1 1000000 0 500");
    ck_assert_int_eq(call->wait_ms, 15000);
}
END_TEST

/* ---- jobs that are not sent at all ---- */

START_TEST(a_job_that_has_expired_is_buried_unsent)
{
    start_with("{\"createdAt\":900000,\"url\":\"http://h/\",\"ttl\":100}", "");
    ck_assert_ptr_nonnull(strstr(check_ending(WORLD_BURY)->record, "\"reason\":\"expired\""));
    ck_assert_str_eq(world_call(WORLD_BURY)->line, "");
    ck_assert_uint_eq(world_posts(), 0);
}
END_TEST

START_TEST(a_job_that_leads_nowhere_is_held_until_its_topic_has_a_url)
{
    start_with("{\"createdAt\":900000,\"url\":\"\"}", "");
    ck_assert_int_ge(check_ending(WORLD_RELEASE)->wait_ms, 5000);
    ck_assert(world_call(WORLD_RELEASE)->lacks_url);
    ck_assert_uint_eq(world_logged("topic_without_url"), 1);
    ck_assert_uint_eq(world_posts(), 0);
}
END_TEST

START_TEST(a_job_that_leads_nowhere_is_held_no_longer_than_it_lives)
{
    start_with("{\"createdAt\":900000,\"url\":\"\",\"ttl\":100.25}", "");
    ck_assert_int_eq(check_ending(WORLD_RELEASE)->wait_ms, 250);
}
END_TEST

START_TEST(a_record_that_nobody_wrote_is_buried_as_it_is)
{
    start_with("garbage", "");
    ck_assert_str_eq(check_ending(WORLD_BURY)->record, "garbage");
    ck_assert_uint_eq(world_logged("record_unreadable"), 1);
    ck_assert_uint_eq(world_posts(), 0);
}
END_TEST

START_TEST(a_body_whose_escapes_are_no_text_is_buried_as_it_is)
{
    static const char record[] = "{\"createdAt\":900000,\"url\":\"http://h/\",\"body\":\"\\ud800\"}";
    start_with(record, "");
    ck_assert_str_eq(check_ending(WORLD_BURY)->record, record);
    ck_assert_uint_eq(world_posts(), 0);
}
END_TEST

START_TEST(a_job_that_needs_a_later_version_is_given_back)
{
    start_with("{\"createdAt\":900000,\"url\":\"http://h/\",\"needs\":[\"wings\"]}", "");
    ck_assert_int_eq(check_ending(WORLD_RELEASE)->wait_ms, 5000);
    ck_assert(attempt_was_held(attempt));
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_HELD_UNSERVED), 1);
    ck_assert_uint_eq(world_posts(), 0);
}
END_TEST

START_TEST(a_job_whose_settings_cannot_be_read_is_given_back)
{
    start_with(RECORD, "garbage");
    check_ending(WORLD_RELEASE);
    ck_assert_uint_eq(world_posts(), 0);
}
END_TEST

START_TEST(settings_are_read_once_and_anew_when_their_text_changes)
{
    struct nonce nonce = {"n1"};
    struct attempt *started[4];
    const char *const jobs[4][2] = {{"t/0", "{\"url\":\"http://h/a\"}"},
                                    {"t/1", "{\"url\":\"http://h/a\"}"},
                                    {"u/0", "{\"url\":\"http://h/a\"}"},
                                    {"t/2", "{\"url\":\"http://other/b\"}"}};
    for (int i = 0; i < 4; i++) {
        struct shard_claimed job = world_job(jobs[i][0], "{\"createdAt\":900000,\"url\":\"\"}", jobs[i][1]);
        started[i] = attempt_start(&context, &job, &nonce, clock_boot_us(), world_redis_ms());
    }
    ck_assert_ptr_eq(started[0]->settings, started[1]->settings);
    ck_assert_ptr_ne(started[0]->settings, started[2]->settings); /* a name may have other settings */
    ck_assert_ptr_ne(started[0]->settings, started[3]->settings);
    ck_assert(slice_equal(started[0]->settings->url, SLICE("http://h/a"))); /* as at its claim */
    ck_assert(slice_equal(started[1]->url.host, SLICE("h")));
    ck_assert(slice_equal(started[3]->url.host, SLICE("other")));
    for (int i = 0; i < 4; i++)
        attempt_free(started[i]);
}
END_TEST

START_TEST(too_many_name_lookups_hold_a_job_without_an_attempt)
{
    start();
    world_end_post((struct http_outcome){.error = FAILURE_CROWDED, .retry_after_ms = -1});
    ck_assert_int_eq(check_ending(WORLD_RELEASE)->wait_ms, 5000);
    ck_assert_uint_eq(world_counter(METRICS_COUNTER_HELD_BY_LOOKUPS), 1);
}
END_TEST

START_TEST(a_job_is_not_held_beyond_its_expiry)
{
    start_with("{\"createdAt\":1000000,\"url\":\"http://h/\",\"ttl\":2}", "");
    world_end_post((struct http_outcome){.error = FAILURE_CROWDED, .retry_after_ms = -1});
    ck_assert_int_eq(check_ending(WORLD_RELEASE)->wait_ms, 2000);
}
END_TEST

/* ---- the permit ---- */

/* Tells this reactor that the receiver's breaker is open, and that a probe may begin in left_ms. */
static void learn_open(int64_t left_ms)
{
    struct permit running;
    permit_ask(&running, context.receivers, WORLD_RECEIVER, NULL, NULL);
    receivers_note_version(context.receivers, 0, 1, clock_boot_us());
    world_pass(SECOND_US);
    world_answer_reading(STATUS_OK, 1, world_open(left_ms));
    permit_drop(&running);
}

START_TEST(an_open_breaker_holds_the_job)
{
    learn_open(7000);
    start();
    const struct world_call *call = check_ending(WORLD_RELEASE);
    ck_assert_int_ge(call->wait_ms, 7000);
    ck_assert_int_eq(call->claimed_ms, world_redis_ms());
    ck_assert(attempt_was_held(attempt));
    ck_assert(!call->is_by_setting);
    ck_assert_uint_eq(world_posts(), 0);
}
END_TEST

START_TEST(a_release_says_whether_only_the_setting_turned_the_breaker_on)
{
    policy.is_breaker_on = false;
    learn_open(7000);
    start_with(RECORD, "{\"breaker\":true}");
    ck_assert(check_ending(WORLD_RELEASE)->is_by_setting);
}
END_TEST

START_TEST(a_topic_without_a_breaker_asks_for_no_permit)
{
    learn_open(7000);
    start_with(RECORD, "{\"breaker\":false}");
    ck_assert_uint_eq(world_posts(), 1);
}
END_TEST

START_TEST(the_attempt_that_may_probe_is_sent_on_a_fresh_connection)
{
    learn_open(0);
    start();
    ck_assert_int_eq(attempt->state, ATTEMPT_ASKING);
    ck_assert_uint_eq(world_posts(), 0);
    world_end_turn();
    ck_assert(world_asked()->report.wants_probe);
    world_answer_report(STATUS_OK, 2, 1, world_open(30000));
    ck_assert_int_eq(attempt->state, ATTEMPT_SENDING);
    ck_assert(world_request()->needs_fresh);
}
END_TEST

START_TEST(the_attempt_that_may_not_probe_is_held)
{
    learn_open(0);
    start();
    world_end_turn();
    world_answer_report(STATUS_OK, 2, 0, world_open(30000));
    check_ending(WORLD_RELEASE);
    ck_assert(attempt_was_held(attempt));
}
END_TEST

START_TEST(a_probe_that_was_not_sent_is_given_back)
{
    learn_open(0);
    start();
    world_end_turn();
    world_answer_report(STATUS_OK, 2, 1, world_open(30000));
    renew(STATUS_STALE);
    ck_assert(!world_send());
    world_end_turn();
    ck_assert_int_eq(world_asked()->report.probe, 1);
    ck_assert_uint_eq(world_asked()->report.cause.size, 0);
}
END_TEST

/* ---- the end of the process ---- */

START_TEST(a_cut_gives_the_lease_of_a_running_attempt_back)
{
    start();
    ck_assert(world_send());
    attempt_cut(attempt);
    ck_assert_uint_eq(world_posts(), 0);
    ck_assert_int_eq(check_ending(WORLD_RELEASE)->wait_ms, SHARD_NO_WAIT);
    world_answer(WORLD_RELEASE, STATUS_OK);
    check_over();
}
END_TEST

START_TEST(a_cut_lets_an_answer_count_whose_status_is_known)
{
    start();
    ck_assert(world_send());
    world_begin_answer(200);
    attempt_cut(attempt);
    ck_assert_uint_eq(world_posts(), 1);
    world_answer_post(200);
    check_ending(WORLD_COMPLETE);
}
END_TEST

START_TEST(a_cut_gives_back_what_waits_for_its_permit)
{
    learn_open(0);
    start();
    attempt_cut(attempt);
    check_ending(WORLD_RELEASE);
    world_answer(WORLD_RELEASE, STATUS_OK);
    check_over();
    world_end_turn(); /* only now does Redis grant the right to probe; the attempt has ended, so the right is
                         returned */
    world_answer_report(STATUS_OK, 2, 1, world_open(30000));
    world_end_turn();
    ck_assert_int_eq(world_asked()->report.probe, 1);
}
END_TEST

START_TEST(a_cut_leaves_what_is_being_recorded)
{
    start();
    ck_assert(world_send());
    world_answer_post(200);
    attempt_cut(attempt);
    check_ending(WORLD_COMPLETE);
    world_answer(WORLD_COMPLETE, STATUS_UNAVAILABLE);
    attempt_cut(attempt);
    ck_assert_uint_eq(world_under_way(WORLD_RELEASE), 0);
}
END_TEST

START_TEST(an_attempt_can_be_freed_in_any_state)
{
    start();
    ck_assert(world_send());
    attempt_renew(attempt);
    attempt_free(attempt);
    attempt = NULL;
    ck_assert_uint_eq(world_posts(), 0);
    learn_open(0);
    start();
}
END_TEST

/* ---- jobs of workflows ---- */

#define STEP "{\"createdAt\":900000,\"url\":\"http://h/\",\"workflow\":\"w1\",\"body\":{\"a\":1}}"

static void arrive(enum workflow_input_kind kind, const char *elements)
{
    ck_assert_str_eq(world_call(WORLD_ARRIVE)->id, "t/j");
    ck_assert_uint_eq(world_posts(), 0);
    world_answer_arrive(STATUS_OK, (struct workflow_input){kind, 5, slice_of(elements)});
}

static void check_body(const char *body)
{
    struct slice sent = world_request()->body;
    ck_assert(slice_equal(sent, slice_of(body)));
}

START_TEST(a_step_is_delivered_with_the_elements_of_its_workflow)
{
    start_with(STEP, "");
    arrive(INPUT_LIST, "[{\"b\":1},{\"b\":2}]");
    check_body("[{\"b\":1},{\"b\":2}]");
    ck_assert(world_send());
    world_answer_post(200);
    check_ending(WORLD_COMPLETE);
}
END_TEST

START_TEST(a_step_with_too_many_elements_is_delivered_without)
{
    start_with(STEP, "");
    arrive(INPUT_LONG, "[{\"b\":1}]");
    check_body("");
}
END_TEST

START_TEST(another_job_of_a_workflow_is_delivered_with_its_own_body)
{
    start_with(STEP, "");
    arrive(INPUT_OWN, "[{\"b\":1}]");
    check_body("{\"a\":1}");
}
END_TEST

START_TEST(a_job_whose_workflow_is_over_is_buried_unsent)
{
    start_with(STEP, TELLS);
    arrive(INPUT_OVER, "");
    const struct world_call *call = check_ending(WORLD_BURY);
    ck_assert_ptr_nonnull(strstr(call->record, "\"reason\":\"workflow_ended\""));
    ck_assert_str_eq(call->follow_id, "");
    ck_assert_uint_eq(world_posts(), 0);
    world_answer(WORLD_BURY, STATUS_OK);
    ck_assert_uint_eq(world_logged("job_dead"), 1);
}
END_TEST

START_TEST(a_wait_that_cannot_be_read_is_buried_unsent)
{
    start_with(STEP, "");
    arrive(INPUT_UNREADABLE, "");
    check_ending(WORLD_BURY);
    ck_assert_uint_eq(world_posts(), 0);
    ck_assert_uint_eq(world_logged("record_unreadable"), 1);
}
END_TEST

START_TEST(a_step_that_redis_does_not_tell_about_is_held)
{
    start_with(STEP, "");
    world_answer_arrive(STATUS_UNAVAILABLE, (struct workflow_input){.kind = INPUT_OVER});
    ck_assert_int_eq(check_ending(WORLD_RELEASE)->wait_ms, 1000);
    ck_assert_uint_eq(world_posts(), 0);
}
END_TEST

START_TEST(a_cut_gives_back_a_step_that_arrives)
{
    start_with(STEP, "");
    attempt_cut(attempt);
    arrive(INPUT_LIST, "[{\"b\":1}]");
    ck_assert_int_eq(check_ending(WORLD_RELEASE)->wait_ms, SHARD_NO_WAIT);
    ck_assert_uint_eq(world_posts(), 0);
}
END_TEST

START_TEST(a_step_that_is_held_by_a_breaker_does_not_arrive)
{
    learn_open(60000);
    start_with(STEP, "");
    check_ending(WORLD_RELEASE);
    ck_assert_uint_eq(world_made(WORLD_ARRIVE), 0);
}
END_TEST

/* ---- companies: jobs that are sent together ---- */

#define BATCH       "{\"url\":\"http://h/\",\"batch\":{\"size\":3,\"wait\":1}}"
#define MEMBER      "{\"createdAt\":900000,\"url\":\"\",\"body\":1}"
#define MEMBERS_MAX 8

static struct attempt *members[MEMBERS_MAX];
static size_t member_count;

static void on_member_end(void *arg, struct attempt *over)
{
    (void)arg;
    for (size_t i = 0; i < member_count; i++)
        if (members[i] == over)
            members[i] = NULL;
    attempt_free(over);
    ended++;
}

/* Starts the attempts of a claim, jobs t/0, t/1 and so on with these records, which end with a NULL. */
static void start_claim(const char *const records[])
{
    struct company *company = NULL;
    struct nonce nonce = {"n1"};
    context.on_end = on_member_end;
    for (member_count = 0; records[member_count]; member_count++) {
        char id[] = {'t', '/', (char)('0' + member_count), '\0'};
        struct shard_claimed job = world_job(id, records[member_count], BATCH);
        members[member_count] = attempt_start(&context, &job, &nonce, clock_boot_us(), world_redis_ms());
        company_gather(&company, members[member_count]);
    }
    company_gather(&company, NULL);
}

static void start_three(void)
{
    start_claim((const char *const[]){MEMBER, MEMBER, MEMBER, NULL});
}

static void end_members(void)
{
    for (size_t i = 0; i < member_count; i++) {
        if (!members[i])
            continue;
        company_leave(members[i]);
        attempt_free(members[i]);
    }
    member_count = 0;
    ck_assert_uint_eq(world_posts(), 0);
}

START_TEST(a_company_is_sent_in_one_request)
{
    start_three();
    ck_assert_uint_eq(world_posts(), 1);
    check_body("[{\"jobId\":\"0\",\"topic\":\"t\",\"attempt\":1,\"body\":1},"
               "{\"jobId\":\"1\",\"topic\":\"t\",\"attempt\":1,\"body\":1},"
               "{\"jobId\":\"2\",\"topic\":\"t\",\"attempt\":1,\"body\":1}]");
    ck_assert(world_send());
    world_answer_post(204);
    ck_assert_uint_eq(world_under_way(WORLD_COMPLETE), 3);
    for (int i = 0; i < 3; i++)
        world_answer(WORLD_COMPLETE, STATUS_OK);
    ck_assert_int_eq(ended, 3);
    ck_assert_uint_eq(world_ends(METRICS_END_DELIVERED), 3);
}
END_TEST

START_TEST(a_company_has_no_more_jobs_than_the_topic_says_and_only_like_ones)
{
    start_claim((const char *const[]){MEMBER, MEMBER, MEMBER, MEMBER,
                                      "{\"createdAt\":900000,\"url\":\"\",\"key\":\"k\"}",
                                      "{\"createdAt\":900000,\"url\":\"\",\"timeout\":3}",
                                      "{\"createdAt\":900000,\"url\":\"\",\"alone\":true}", NULL});
    ck_assert_uint_eq(world_posts(), 5); /* 0 1 2, 3, 4, 5, 6 */
    end_members();
}
END_TEST

START_TEST(each_member_gets_its_own_result)
{
    start_three();
    ck_assert(world_send());
    world_end_post((struct http_outcome){
        .status = 200,
        .retry_after_ms = -1,
        .was_sent = true,
        .answer = SLICE("{\"results\":[{\"jobId\":\"2\",\"bury\":\"no\"},{\"jobId\":\"0\",\"ok\":true}]}")});
    ck_assert_str_eq(world_call(WORLD_COMPLETE)->id, "t/0");
    ck_assert_str_eq(world_call(WORLD_RETRY)->id, "t/1");
    ck_assert_ptr_null(strstr(world_call(WORLD_RETRY)->record, "alone"));
    ck_assert_str_eq(world_call(WORLD_BURY)->id, "t/2");
    ck_assert_ptr_nonnull(strstr(world_call(WORLD_BURY)->record, "\"reason\":\"rejected\""));
    end_members();
}
END_TEST

START_TEST(members_go_alone_after_a_failure_that_was_answered)
{
    start_three();
    ck_assert(world_send());
    world_answer_post(500);
    ck_assert_uint_eq(world_under_way(WORLD_RETRY), 3);
    ck_assert_ptr_nonnull(strstr(world_call(WORLD_RETRY)->record, "\"alone\":true"));
    end_members();
}
END_TEST

START_TEST(members_stay_together_after_a_connection_that_failed)
{
    start_three();
    ck_assert(world_send());
    world_end_post((struct http_outcome){.error = FAILURE_TIMEOUT, .retry_after_ms = -1, .was_sent = true});
    ck_assert_uint_eq(world_under_way(WORLD_RETRY), 3);
    ck_assert_ptr_null(strstr(world_call(WORLD_RETRY)->record, "alone"));
    end_members();
}
END_TEST

START_TEST(a_company_asks_for_one_permit)
{
    learn_open(0);
    start_three();
    ck_assert_uint_eq(world_posts(), 0);
    world_end_turn();
    ck_assert(world_asked()->report.wants_probe);
    world_answer_report(STATUS_OK, 2, 1, world_open(30000));
    ck_assert_uint_eq(world_posts(), 1);
    ck_assert(world_request()->needs_fresh);
    end_members();
}
END_TEST

START_TEST(an_open_breaker_holds_all_members)
{
    learn_open(7000);
    start_three();
    ck_assert_uint_eq(world_posts(), 0);
    ck_assert_uint_eq(world_under_way(WORLD_RELEASE), 3);
    ck_assert_int_ge(world_call(WORLD_RELEASE)->wait_ms, 7000);
    end_members();
}
END_TEST

START_TEST(a_cut_gives_all_members_back)
{
    start_three();
    ck_assert(world_send());
    for (size_t i = 0; i < member_count; i++)
        company_cut(members[i]);
    ck_assert_uint_eq(world_posts(), 0);
    ck_assert_uint_eq(world_under_way(WORLD_RELEASE), 3);
    end_members();
}
END_TEST

START_TEST(a_cut_lets_an_answer_to_a_company_count)
{
    start_three();
    ck_assert(world_send());
    world_begin_answer(200);
    for (size_t i = 0; i < member_count; i++)
        company_cut(members[i]);
    ck_assert_uint_eq(world_posts(), 1);
    world_answer_post(200);
    ck_assert_uint_eq(world_under_way(WORLD_COMPLETE), 3);
    end_members();
}
END_TEST

/* A member is cancelled, or its lease is lost, before the request is sent: nothing is sent. */
START_TEST(a_company_that_lost_a_member_is_not_sent)
{
    static const enum status ends[] = {STATUS_NOT_FOUND, STATUS_REPLACED, STATUS_STALE};
    start_three();
    attempt_renew(members[1]);
    world_answer(WORLD_RENEW, ends[_i]);
    ck_assert(!world_send());
    ck_assert_uint_eq(world_under_way(WORLD_RELEASE), 3);
    end_members();
}
END_TEST

START_TEST(members_can_be_freed_in_any_state)
{
    start_three();
    end_members();
    start_three();
    ck_assert(world_send());
    end_members();
    learn_open(0);
    start_three();
    end_members();
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("attempt");
    TCase *tests = tcase_create("attempt");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_2xx_completes_the_job);
    tcase_add_test(tests, a_job_that_a_request_waits_for_ends_with_its_line);
    tcase_add_test(tests, an_ending_may_wait_if_nothing_waits_for_it);
    tcase_add_test(tests, a_failure_is_retried_with_its_record_and_line);
    tcase_add_test(tests, a_2xx_that_says_not_yet_is_retried_as_a_new_round);
    tcase_add_test(tests, a_not_yet_that_cannot_be_read_is_a_failure);
    tcase_add_test(tests, the_first_reset_of_an_idle_connection_is_retried_at_its_old_place);
    tcase_add_test(tests, a_410_buries_the_job);
    tcase_add_test(tests, a_death_has_a_callback_where_the_topic_says_so);
    tcase_add_test(tests, a_delivery_has_a_callback_where_the_job_says_so);
    tcase_add_test(tests, a_failure_has_a_callback_where_the_topic_says_so);
    tcase_add_test(tests, what_dies_unsent_has_a_callback_too);
    tcase_add_test(tests, what_goes_on_is_not_dead);
    tcase_add_test(tests, an_ending_that_another_holder_made_stale_is_no_delivery);
    tcase_add_test(tests, a_request_leaves_until_a_second_before_the_end_of_the_lease);
    tcase_add_test(tests, nothing_is_sent_in_the_last_second_of_the_lease);
    tcase_add_test(tests, the_lease_counts_from_before_its_renewal_was_sent);
    tcase_add_test(tests, the_lease_does_not_count_from_the_answer_to_its_renewal);
    tcase_add_test(tests, a_renewal_counts_only_once_it_is_confirmed);
    tcase_add_test(tests, a_renewal_that_redis_did_not_answer_prolongs_nothing);
    tcase_add_test(tests, a_lease_lost_before_the_send_sends_nothing);
    tcase_add_test(tests, a_lost_lease_is_not_renewed);
    tcase_add_test(tests, one_renewal_is_under_way_at_a_time);
    tcase_add_test(tests, a_cancelled_job_is_not_sent);
    tcase_add_test(tests, a_job_cancelled_in_flight_keeps_its_place_until_its_end);
    tcase_add_test(tests, a_lingering_lease_is_lost_when_its_place_is_gone);
    tcase_add_test(tests, an_attempt_ends_after_its_renewal_is_answered);
    tcase_add_test(tests, an_ending_that_redis_did_not_take_is_recorded_again_and_never_sent_again);
    tcase_add_test(tests, the_same_texts_are_recorded_again);
    tcase_add_test(tests, a_job_that_has_expired_is_buried_unsent);
    tcase_add_test(tests, a_job_that_leads_nowhere_is_held_until_its_topic_has_a_url);
    tcase_add_test(tests, a_job_that_leads_nowhere_is_held_no_longer_than_it_lives);
    tcase_add_test(tests, a_record_that_nobody_wrote_is_buried_as_it_is);
    tcase_add_test(tests, a_body_whose_escapes_are_no_text_is_buried_as_it_is);
    tcase_add_test(tests, a_job_that_needs_a_later_version_is_given_back);
    tcase_add_test(tests, a_job_whose_settings_cannot_be_read_is_given_back);
    tcase_add_test(tests, settings_are_read_once_and_anew_when_their_text_changes);
    tcase_add_test(tests, too_many_name_lookups_hold_a_job_without_an_attempt);
    tcase_add_test(tests, a_job_is_not_held_beyond_its_expiry);
    tcase_add_test(tests, an_open_breaker_holds_the_job);
    tcase_add_test(tests, a_release_says_whether_only_the_setting_turned_the_breaker_on);
    tcase_add_test(tests, a_topic_without_a_breaker_asks_for_no_permit);
    tcase_add_test(tests, the_attempt_that_may_probe_is_sent_on_a_fresh_connection);
    tcase_add_test(tests, the_attempt_that_may_not_probe_is_held);
    tcase_add_test(tests, a_probe_that_was_not_sent_is_given_back);
    tcase_add_test(tests, a_cut_gives_the_lease_of_a_running_attempt_back);
    tcase_add_test(tests, a_cut_lets_an_answer_count_whose_status_is_known);
    tcase_add_test(tests, a_cut_gives_back_what_waits_for_its_permit);
    tcase_add_test(tests, a_cut_leaves_what_is_being_recorded);
    tcase_add_test(tests, an_attempt_can_be_freed_in_any_state);
    tcase_add_test(tests, a_step_is_delivered_with_the_elements_of_its_workflow);
    tcase_add_test(tests, a_step_with_too_many_elements_is_delivered_without);
    tcase_add_test(tests, another_job_of_a_workflow_is_delivered_with_its_own_body);
    tcase_add_test(tests, a_job_whose_workflow_is_over_is_buried_unsent);
    tcase_add_test(tests, a_wait_that_cannot_be_read_is_buried_unsent);
    tcase_add_test(tests, a_step_that_redis_does_not_tell_about_is_held);
    tcase_add_test(tests, a_cut_gives_back_a_step_that_arrives);
    tcase_add_test(tests, a_step_that_is_held_by_a_breaker_does_not_arrive);
    tcase_add_test(tests, a_company_is_sent_in_one_request);
    tcase_add_test(tests, a_company_has_no_more_jobs_than_the_topic_says_and_only_like_ones);
    tcase_add_test(tests, each_member_gets_its_own_result);
    tcase_add_test(tests, members_go_alone_after_a_failure_that_was_answered);
    tcase_add_test(tests, members_stay_together_after_a_connection_that_failed);
    tcase_add_test(tests, a_company_asks_for_one_permit);
    tcase_add_test(tests, an_open_breaker_holds_all_members);
    tcase_add_test(tests, a_cut_gives_all_members_back);
    tcase_add_test(tests, a_cut_lets_an_answer_to_a_company_count);
    tcase_add_loop_test(tests, a_company_that_lost_a_member_is_not_sent, 0, 3);
    tcase_add_test(tests, members_can_be_freed_in_any_state);
    suite_add_tcase(suite, tests);
    return suite;
}
