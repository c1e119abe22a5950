/* Tests a consumer: when and how much it claims, what it renews, and how it stops. */
#include "base/system.h"
#include "support/suite.h"
#include "worker/consumer.h"
#include "worker/world.h"

#define SECOND_US INT64_C(1000000)
#define RECORD    "{\"createdAt\":900000,\"url\":\"http://h/\"}"

/* ---- a consumer in the fake environment of world.h ---- */

enum { JOBS_MAX = 16 };

static const struct retry_schedule schedule = {1, {15000}};
static const struct delivery_forms forms = {{&delivery_form_standard}};
static const struct signing_keys no_keys;
static const struct http_client_options no_options;
static struct consumer *consumer;
static struct identities *identities;
static struct shard_claimed jobs[JOBS_MAX];
static int drained;

static void on_drained(void *arg)
{
    (void)arg;
    drained++;
}

static void begin(size_t max_in_flight, size_t shards)
{
    static const char *const ids[JOBS_MAX] = {"t/0", "t/1", "t/2",  "t/3",  "t/4",  "t/5",  "t/6",  "t/7",
                                              "t/8", "t/9", "t/10", "t/11", "t/12", "t/13", "t/14", "t/15"};
    identities_free(identities);
    identities = identities_new(&(struct identities_options){.client_options = &no_options});
    struct consumer_options options = {
        .identities = identities,
        .policy = {.schedule = &schedule, .forms = &forms, .keys = &no_keys},
        .max_in_flight = max_in_flight,
        .max_bytes = SIZE_MAX,
    };
    world_begin();
    world_set_shards(shards);
    for (size_t i = 0; i < JOBS_MAX; i++)
        jobs[i] = world_job(ids[i], RECORD, "");
    drained = 0;
    consumer = consumer_new(NULL, &options);
}

static void setup(void)
{
    begin(4, 1);
}

static void teardown(void)
{
    consumer_free(consumer);
    identities_free(identities);
    identities = NULL;
}

/* Answers the claim under way with count jobs. The consumer sends a request for each job. */
static void claim(size_t count, size_t more)
{
    world_answer_claim(STATUS_OK, jobs, count, more);
    world_end_turn();
}

static int carried;
static int64_t carried_next_ms;

static void on_carried(void *arg, enum status status, const struct consumer_carried *result)
{
    (void)arg;
    carried += status == STATUS_OK ? 1 : 100;
    carried_next_ms = result->next_due_ms;
}

/* Announces due topics, as the carry worker does. */
static void announce(size_t shard)
{
    (void)consumer_carry(consumer, shard, false, on_carried, NULL);
}

static void poke(void)
{
    announce(0);
    world_end_turn();
}

/* Lets the consumer claim count jobs and send their requests. */
static void run(size_t count)
{
    poke();
    claim(count, 0);
    for (size_t i = 0; i < count; i++)
        ck_assert(world_send());
}

/* Answers the oldest request, and confirms the end of its attempt. */
static void complete(void)
{
    world_answer_post(200);
    world_answer(WORLD_COMPLETE, STATUS_OK);
    world_end_turn();
}

static size_t claims(void)
{
    return world_under_way(WORLD_CLAIM);
}

/* ---- claiming ---- */

START_TEST(an_idle_consumer_waits_at_the_doorbell_and_then_claims)
{
    world_end_turn();
    ck_assert_uint_eq(world_under_way(WORLD_BELL), 1);
    ck_assert_uint_eq(claims(), 0);
    world_answer(WORLD_BELL, STATUS_OK);
    world_end_turn();
    ck_assert_uint_eq(claims(), 1);
    ck_assert_uint_eq(world_under_way(WORLD_BELL), 0);
    claim(0, 0);
    ck_assert_uint_eq(claims(), 0);
    ck_assert_uint_eq(world_under_way(WORLD_BELL), 1);
}
END_TEST

START_TEST(it_waits_at_the_doorbell_once)
{
    world_end_turn();
    world_end_turn();
    run(1);
    complete();
    ck_assert_uint_eq(world_under_way(WORLD_BELL), 1);
}
END_TEST

START_TEST(a_claim_asks_for_no_more_than_is_free)
{
    poke();
    ck_assert_uint_eq(world_call(WORLD_CLAIM)->max, 4);
    claim(3, 0);
    poke();
    ck_assert_uint_eq(world_call(WORLD_CLAIM)->max, 1);
}
END_TEST

START_TEST(a_claim_is_bounded_however_much_is_free)
{
    consumer_free(consumer);
    begin(1000, 1);
    poke();
    ck_assert_uint_eq(world_call(WORLD_CLAIM)->max, 100);
}
END_TEST

START_TEST(one_claim_is_under_way_at_a_time)
{
    poke();
    poke();
    ck_assert_uint_eq(claims(), 1);
    claim(0, 0);
    ck_assert_uint_eq(claims(), 1); /* sent for the second poke, after the reply to the first claim */
}
END_TEST

START_TEST(what_is_claimed_is_requested_in_the_same_turn)
{
    poke();
    world_answer_claim(STATUS_OK, jobs, 3, 0);
    ck_assert_uint_eq(world_posts(), 3);
    ck_assert_uint_eq(world_in_flight(), 3);
}
END_TEST

START_TEST(where_there_is_more_it_claims_again)
{
    poke();
    claim(1, 1);
    ck_assert_uint_eq(claims(), 1);
}
END_TEST

START_TEST(a_full_consumer_claims_when_an_attempt_is_recorded)
{
    poke();
    claim(4, 1);
    ck_assert_uint_eq(claims(), 0);
    ck_assert_uint_eq(world_under_way(WORLD_BELL), 0);
    ck_assert(world_send());
    world_answer_post(200);
    world_end_turn();
    ck_assert_uint_eq(claims(), 0); /* no claim, because Redis has not confirmed the endings yet */
    world_answer(WORLD_COMPLETE, STATUS_OK);
    world_end_turn();
    ck_assert_uint_eq(world_call(WORLD_CLAIM)->max, 1);
}
END_TEST

static bool may_wait(void)
{
    world_answer_post(200);
    bool may_wait = world_call(WORLD_COMPLETE)->may_wait;
    world_answer(WORLD_COMPLETE, STATUS_OK);
    world_end_turn();
    return may_wait;
}

/* The setup has 4 slots. */
START_TEST(an_ending_may_wait_while_half_of_the_slots_are_free)
{
    run(3);
    ck_assert(!may_wait());
    ck_assert(may_wait());
    world_set_max_in_flight_topic(1);
    ck_assert(!may_wait());
}
END_TEST

START_TEST(a_claim_that_failed_is_made_again_half_a_second_later)
{
    poke();
    world_answer_claim(STATUS_UNAVAILABLE, NULL, 0, 0);
    world_end_turn();
    ck_assert_uint_eq(world_under_way(WORLD_BELL), 0);
    world_pass(SECOND_US / 2 - 1);
    ck_assert_uint_eq(claims(), 0);
    world_pass(1);
    ck_assert_uint_eq(claims(), 1);
}
END_TEST

START_TEST(a_doorbell_that_failed_is_tried_again_half_a_second_later)
{
    world_end_turn();
    world_answer(WORLD_BELL, STATUS_UNAVAILABLE);
    world_end_turn();
    ck_assert_uint_eq(world_under_way(WORLD_BELL), 0);
    world_pass(SECOND_US / 2);
    ck_assert_uint_eq(claims(), 1);
}
END_TEST

START_TEST(it_claims_as_soon_as_redis_is_back)
{
    poke();
    world_answer_claim(STATUS_UNAVAILABLE, NULL, 0, 0);
    world_come_up(0);
    world_end_turn();
    ck_assert_uint_eq(claims(), 1);
    ck_assert_int_eq(world_next_timer_us(), -1);
}
END_TEST

/* ---- Redis is away ---- */

START_TEST(what_redis_did_not_take_is_recorded_again_before_anything_is_claimed)
{
    run(2);
    world_answer_post(200);
    world_answer(WORLD_COMPLETE, STATUS_UNAVAILABLE);
    ck_assert_uint_eq(world_under_way(WORLD_COMPLETE), 0);
    world_come_up(0);
    ck_assert_uint_eq(world_under_way(WORLD_COMPLETE), 1);
    ck_assert_str_eq(world_call(WORLD_COMPLETE)->id, "t/0");
    ck_assert_uint_eq(claims(), 0);
    world_end_turn();
    ck_assert_uint_eq(claims(), 1);
    ck_assert_uint_eq(world_sent(), 2); /* each request was sent once */
}
END_TEST

START_TEST(what_redis_did_not_take_is_tried_again_without_an_event)
{
    run(1);
    world_answer_post(200);
    world_answer(WORLD_COMPLETE, STATUS_UNKNOWN);
    world_pass(SECOND_US / 2);
    ck_assert_uint_eq(world_under_way(WORLD_COMPLETE), 1);
}
END_TEST

START_TEST(what_redis_did_not_take_has_no_slot_but_is_bounded)
{
    for (int i = 0; i < 4; i++) {
        run(1);
        world_answer_post(200);
        world_answer(WORLD_COMPLETE, STATUS_UNAVAILABLE);
    }
    poke();
    ck_assert_uint_eq(claims(), 0);
    world_come_up(0);
    ck_assert_uint_eq(world_under_way(WORLD_COMPLETE), 4);
    world_end_turn();
    ck_assert_uint_eq(
        claims(),
        0); /* no claim, because four endings are sent again, and still occupy the slots of their attempts */
    world_answer(WORLD_COMPLETE, STATUS_OK);
    world_end_turn();
    ck_assert_uint_eq(world_call(WORLD_CLAIM)->max, 1);
}
END_TEST

/* ---- renewals ---- */

/* Answers the renewals of all attempts with this status. */
static void renew_all(enum status status)
{
    while (world_under_way(WORLD_RENEW))
        world_answer(WORLD_RENEW, status);
}

START_TEST(each_lease_is_renewed_after_two_seconds)
{
    run(3);
    world_pass(2 * SECOND_US - 1);
    ck_assert_uint_eq(world_made(WORLD_RENEW), 0);
    world_pass(SECOND_US / 2 + 1);
    ck_assert_uint_eq(world_under_way(WORLD_RENEW), 3);
}
END_TEST

START_TEST(a_lease_is_renewed_for_as_long_as_its_attempt_runs)
{
    run(1);
    for (int i = 1; i <= 10; i++) {
        world_pass(5 * SECOND_US / 2);
        ck_assert_uint_eq(world_made(WORLD_RENEW), (size_t)i);
        renew_all(STATUS_OK);
    }
    complete();
    world_pass(10 * SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_RENEW), 10);
}
END_TEST

START_TEST(a_renewal_without_an_answer_is_not_sent_twice)
{
    run(1);
    world_pass(20 * SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_RENEW), 1);
}
END_TEST

START_TEST(an_attempt_that_began_later_is_renewed_later)
{
    run(1);
    world_pass(SECOND_US);
    poke();
    claim(1, 0);
    world_pass(3 * SECOND_US / 2);
    ck_assert_uint_eq(world_made(WORLD_RENEW), 1);
    ck_assert_str_eq(world_call(WORLD_RENEW)->nonce, "n1");
    world_pass(SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_RENEW), 2);
}
END_TEST

START_TEST(a_lease_that_runs_while_its_outcome_is_recorded_is_renewed)
{
    run(1);
    world_answer_post(200);
    world_pass(5 * SECOND_US / 2);
    ck_assert_uint_eq(world_under_way(WORLD_RENEW), 1);
}
END_TEST

START_TEST(a_lost_lease_is_renewed_no_more)
{
    run(1);
    world_pass(5 * SECOND_US / 2);
    renew_all(STATUS_STALE);
    world_pass(10 * SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_RENEW), 1);
}
END_TEST

START_TEST(a_cancelled_job_in_flight_keeps_its_slot_and_its_place_until_its_end)
{
    run(1);
    world_pass(5 * SECOND_US / 2);
    renew_all(STATUS_NOT_FOUND);
    world_pass(5 * SECOND_US / 2);
    ck_assert_uint_eq(world_made(WORLD_RENEW), 2);
    poke();
    ck_assert_uint_eq(world_call(WORLD_CLAIM)->max, 3);
    renew_all(STATUS_NOT_FOUND);
    world_answer_post(200);
    world_answer(WORLD_COMPLETE, STATUS_STALE);
    ck_assert_uint_eq(world_in_flight(), 0);
}
END_TEST

START_TEST(nothing_ticks_when_nothing_is_in_flight)
{
    run(1);
    complete();
    world_pass(SECOND_US);
    ck_assert_int_eq(world_next_timer_us(), -1);
}
END_TEST

/* ---- stopping ---- */

START_TEST(an_idle_consumer_is_drained_at_once)
{
    consumer_drain(consumer, on_drained, NULL);
    ck_assert_int_eq(drained, 1);
}
END_TEST

START_TEST(a_draining_consumer_claims_nothing_and_waits_for_its_attempts)
{
    run(2);
    consumer_drain(consumer, on_drained, NULL);
    poke();
    ck_assert_uint_eq(claims(), 0);
    complete();
    ck_assert_int_eq(drained, 0);
    complete();
    ck_assert_int_eq(drained, 1);
}
END_TEST

START_TEST(a_draining_consumer_delivers_what_its_claim_under_way_brings)
{
    poke();
    consumer_drain(consumer, on_drained, NULL);
    ck_assert_int_eq(drained, 0);
    claim(1, 1);
    ck_assert_uint_eq(claims(), 0);
    complete();
    ck_assert_int_eq(drained, 1);
}
END_TEST

START_TEST(a_draining_consumer_waits_for_what_redis_did_not_take)
{
    run(1);
    consumer_drain(consumer, on_drained, NULL);
    world_answer_post(200);
    world_answer(WORLD_COMPLETE, STATUS_UNAVAILABLE);
    ck_assert_int_eq(drained, 0);
    world_come_up(0);
    world_answer(WORLD_COMPLETE, STATUS_OK);
    ck_assert_int_eq(drained, 1);
}
END_TEST

START_TEST(leases_are_renewed_during_a_drain)
{
    run(1);
    consumer_drain(consumer, on_drained, NULL);
    world_pass(5 * SECOND_US / 2);
    ck_assert_uint_eq(world_under_way(WORLD_RENEW), 1);
}
END_TEST

START_TEST(a_cut_gives_back_all_that_runs)
{
    run(3);
    consumer_drain(consumer, on_drained, NULL);
    consumer_cut(consumer);
    ck_assert_uint_eq(world_posts(), 0);
    ck_assert_uint_eq(world_under_way(WORLD_RELEASE), 3);
    while (world_under_way(WORLD_RELEASE))
        world_answer(WORLD_RELEASE, STATUS_OK);
    ck_assert_int_eq(drained, 1);
}
END_TEST

/* ---- reload, and several shards ---- */

START_TEST(a_smaller_limit_holds_at_once)
{
    struct attempt_policy policy = {.schedule = &schedule, .forms = &forms, .keys = &no_keys};
    run(3);
    consumer_reload(consumer, &policy, 2);
    poke();
    ck_assert_uint_eq(claims(), 0);
    complete();
    complete();
    ck_assert_uint_eq(world_call(WORLD_CLAIM)->max, 1);
}
END_TEST

START_TEST(a_shard_that_does_not_answer_leaves_slots_to_the_others)
{
    consumer_free(consumer);
    begin(8, 2);
    announce(0);
    world_end_turn();
    ck_assert_uint_eq(world_call(WORLD_CLAIM)->max,
                      6); /* the 2 slots that are reserved for this shard, and the 4 common slots */
    announce(1);
    world_end_turn();
    ck_assert_uint_eq(claims(), 2);
    world_answer_claim(STATUS_OK, NULL, 0, 0);
    ck_assert_uint_eq(world_call(WORLD_CLAIM)->shard, 1);
    ck_assert_uint_eq(world_call(WORLD_CLAIM)->max, 2);
}
END_TEST

START_TEST(a_claim_carries_for_the_carry_worker)
{
    carried = 0;
    ck_assert(consumer_carry(consumer, 0, true, on_carried, NULL));
    world_end_turn();
    ck_assert_int_eq(world_call(WORLD_CLAIM)->claim_kind, SHARD_CLAIM_CARRY_ALONE);
    claim(0, 1);
    ck_assert_int_eq(carried, 1);
    ck_assert_int_eq(carried_next_ms, 77);
    ck_assert_int_eq(world_call(WORLD_CLAIM)->claim_kind, SHARD_CLAIM_ONLY);
    claim(0, 0);
    ck_assert_int_eq(carried, 1);
    ck_assert(consumer_carry(consumer, 0, false, on_carried, NULL));
    world_end_turn();
    ck_assert_int_eq(world_call(WORLD_CLAIM)->claim_kind, SHARD_CLAIM_CARRY);
    world_answer_claim(STATUS_UNAVAILABLE, NULL, 0, 0);
    ck_assert_int_eq(carried, 101);
}
END_TEST

START_TEST(a_busy_consumer_does_not_carry)
{
    consumer_free(consumer);
    begin(1, 1);
    poke();
    ck_assert(!consumer_carry(consumer, 0, true, on_carried,
                              NULL)); /* returns false, because a claim is under way */
    world_end_turn();
    claim(1, 0);
    ck_assert(
        !consumer_carry(consumer, 0, true, on_carried, NULL)); /* returns false, because no slot is free */
    world_end_turn();
    consumer_drain(consumer, NULL, NULL);
    ck_assert(!consumer_carry(consumer, 0, true, on_carried, NULL));
}
END_TEST

START_TEST(shards_that_want_to_claim_share_what_is_free)
{
    consumer_free(consumer);
    begin(8, 2);
    announce(0);
    announce(1);
    world_end_turn();
    ck_assert_uint_eq(claims(), 2);
    ck_assert_uint_eq(world_call(WORLD_CLAIM)->max, 4);
}
END_TEST

START_TEST(a_shard_that_comes_up_records_its_own_only)
{
    consumer_free(consumer);
    begin(8, 2);
    run(1);
    world_answer_post(200);
    world_answer(WORLD_COMPLETE, STATUS_UNAVAILABLE);
    world_come_up(1);
    ck_assert_uint_eq(world_under_way(WORLD_COMPLETE), 0);
    world_come_up(0);
    ck_assert_uint_eq(world_under_way(WORLD_COMPLETE), 1);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("consumer");
    TCase *tests = tcase_create("consumer");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, an_idle_consumer_waits_at_the_doorbell_and_then_claims);
    tcase_add_test(tests, it_waits_at_the_doorbell_once);
    tcase_add_test(tests, a_claim_asks_for_no_more_than_is_free);
    tcase_add_test(tests, a_claim_is_bounded_however_much_is_free);
    tcase_add_test(tests, one_claim_is_under_way_at_a_time);
    tcase_add_test(tests, what_is_claimed_is_requested_in_the_same_turn);
    tcase_add_test(tests, where_there_is_more_it_claims_again);
    tcase_add_test(tests, a_full_consumer_claims_when_an_attempt_is_recorded);
    tcase_add_test(tests, an_ending_may_wait_while_half_of_the_slots_are_free);
    tcase_add_test(tests, a_claim_that_failed_is_made_again_half_a_second_later);
    tcase_add_test(tests, a_doorbell_that_failed_is_tried_again_half_a_second_later);
    tcase_add_test(tests, it_claims_as_soon_as_redis_is_back);
    tcase_add_test(tests, what_redis_did_not_take_is_recorded_again_before_anything_is_claimed);
    tcase_add_test(tests, what_redis_did_not_take_is_tried_again_without_an_event);
    tcase_add_test(tests, what_redis_did_not_take_has_no_slot_but_is_bounded);
    tcase_add_test(tests, each_lease_is_renewed_after_two_seconds);
    tcase_add_test(tests, a_lease_is_renewed_for_as_long_as_its_attempt_runs);
    tcase_add_test(tests, a_renewal_without_an_answer_is_not_sent_twice);
    tcase_add_test(tests, an_attempt_that_began_later_is_renewed_later);
    tcase_add_test(tests, a_lease_that_runs_while_its_outcome_is_recorded_is_renewed);
    tcase_add_test(tests, a_lost_lease_is_renewed_no_more);
    tcase_add_test(tests, a_cancelled_job_in_flight_keeps_its_slot_and_its_place_until_its_end);
    tcase_add_test(tests, nothing_ticks_when_nothing_is_in_flight);
    tcase_add_test(tests, an_idle_consumer_is_drained_at_once);
    tcase_add_test(tests, a_draining_consumer_claims_nothing_and_waits_for_its_attempts);
    tcase_add_test(tests, a_draining_consumer_delivers_what_its_claim_under_way_brings);
    tcase_add_test(tests, a_draining_consumer_waits_for_what_redis_did_not_take);
    tcase_add_test(tests, leases_are_renewed_during_a_drain);
    tcase_add_test(tests, a_cut_gives_back_all_that_runs);
    tcase_add_test(tests, a_smaller_limit_holds_at_once);
    tcase_add_test(tests, a_shard_that_does_not_answer_leaves_slots_to_the_others);
    tcase_add_test(tests, a_claim_carries_for_the_carry_worker);
    tcase_add_test(tests, a_busy_consumer_does_not_carry);
    tcase_add_test(tests, shards_that_want_to_claim_share_what_is_free);
    tcase_add_test(tests, a_shard_that_comes_up_records_its_own_only);
    suite_add_tcase(suite, tests);
    return suite;
}
