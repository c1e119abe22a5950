/* Tests a carry worker: when it carries, how the lock moves, and when leases count as lost. */
#include <string.h>

#include "base/system.h"
#include "support/suite.h"
#include "worker/carry_worker.h"
#include "worker/consumer.h"
#include "worker/janitor.h"
#include "worker/world.h"

#define MS_US     INT64_C(1000)
#define SECOND_US INT64_C(1000000)
#define OTHER     "other"

static struct carry_worker *worker;
static struct janitor *janitor;
static int dues, turns;
static bool is_consumer_free; /* the consumer can claim, and its claim also carries */

/* The result of a carry if no job waits and there are no leases. */
static const struct shard_carried nothing = {.next_due_ms = -1, .until_lost_ms = -1};

static bool on_due(void *arg)
{
    (void)arg;
    dues++;
    return is_consumer_free;
}

static void on_turns(void *arg)
{
    (void)arg;
    turns++;
}

static void begin(bool is_alone)
{
    world_begin();
    dues = turns = 0;
    is_consumer_free = false;
    janitor = janitor_new(NULL, world_shard(0), NULL);
    static const struct delivery_forms forms = {{&delivery_form_standard}};
    struct carry_worker_options options = {.forms = &forms,
                                           .shard = world_shard(0),
                                           .janitor = janitor,
                                           .is_alone = is_alone,
                                           .on_due = on_due,
                                           .on_turns = on_turns};
    worker = carry_worker_new(NULL, &options);
    world_pass(0);
}

static void setup(void)
{
    begin(false);
}

static void teardown(void)
{
    carry_worker_free(worker);
    janitor_free(janitor);
}

static void begin_alone(void)
{
    teardown();
    begin(true);
}

/* Answers a carry: this worker owns the lock, and the first job is due in due_in_ms. */
static void own(int64_t due_in_ms)
{
    struct shard_carried carried = nothing;
    carried.next_due_ms = due_in_ms == -1 ? -1 : world_redis_ms() + due_in_ms;
    world_answer_carry(NULL, carried);
}

static void stand_by(int64_t due_in_ms, int64_t beat)
{
    struct shard_carried carried = nothing;
    carried.next_due_ms = due_in_ms == -1 ? -1 : world_redis_ms() + due_in_ms;
    carried.beat = beat;
    world_answer_carry(OTHER, carried);
}

/* Lets seconds pass as the owner. Each tick is answered at once. */
static void tick_as_owner(int seconds)
{
    for (int i = 0; i < seconds; i++) {
        world_pass(SECOND_US);
        own(-1);
    }
}

static size_t carries(void)
{
    return world_made(WORLD_CARRY);
}

/* ---- carrying ---- */

START_TEST(it_asks_for_the_lock_at_once)
{
    ck_assert(world_call(WORLD_CARRY)->carry.is_tick);
    ck_assert_uint_eq(strlen(world_call(WORLD_CARRY)->me), 32);
    own(-1);
    ck_assert_uint_eq(world_logged("carry_lock_taken"), 1);
}
END_TEST

START_TEST(it_sleeps_until_the_first_job_is_due)
{
    own(300);
    ck_assert_uint_eq(carries(), 1);
    world_pass(300 * MS_US);
    ck_assert_uint_eq(carries(), 1);
    world_pass(MS_US);
    ck_assert_uint_eq(carries(), 2);
    ck_assert(!world_call(WORLD_CARRY)->carry.is_tick);
    ck_assert_int_eq(dues, 1);
}
END_TEST

static void note_carried(enum status status, int64_t next_due_ms)
{
    struct consumer_carried carried = {
        .now_us = world_redis_ms() * 1000, .sent_us = clock_boot_us(), .next_due_ms = next_due_ms};
    carry_worker_note_carried(worker, status, &carried);
}

START_TEST(a_claim_that_carries_says_when_the_next_job_is_due)
{
    is_consumer_free = true;
    own(300);
    world_pass(301 * MS_US);
    ck_assert_int_eq(dues, 1);
    ck_assert_uint_eq(carries(), 1);
    note_carried(STATUS_OK, world_redis_ms() + 200);
    world_pass(199 * MS_US);
    ck_assert_int_eq(dues, 1);
    world_pass(2 * MS_US);
    ck_assert_int_eq(dues, 2);
    note_carried(STATUS_OK, -1);
    world_pass(400 * MS_US);
    ck_assert_int_eq(dues, 2);
    ck_assert_uint_eq(carries(), 1);
}
END_TEST

START_TEST(a_wake_up_that_overtakes_a_claim_that_carries_is_remembered)
{
    is_consumer_free = true;
    own(300);
    world_pass(301 * MS_US);
    world_wake(0, world_redis_ms() + 100); /* the wake-up is newer than the claim under way */
    note_carried(STATUS_OK, -1);
    world_pass(101 * MS_US);
    ck_assert_int_eq(dues, 2);
}
END_TEST

START_TEST(after_a_claim_that_failed_the_next_tick_carries)
{
    is_consumer_free = true;
    own(300);
    world_pass(301 * MS_US);
    note_carried(STATUS_UNKNOWN, -1);
    ck_assert_uint_eq(carries(), 1);
    world_pass(SECOND_US);
    ck_assert_uint_eq(carries(), 2);
}
END_TEST

START_TEST(a_claim_that_carries_ends_after_the_lock_was_lost)
{
    is_consumer_free = true;
    own(900);
    world_pass(901 * MS_US);
    world_pass(100 * MS_US);
    stand_by(-1, 1);
    note_carried(STATUS_OK, world_redis_ms() + 10);
    ck_assert_uint_eq(carries(), 3); /* the worker is a standby when it makes the third carry */
    world_pass(100 * MS_US);
    ck_assert_int_eq(dues, 1);
}
END_TEST

START_TEST(it_sleeps_by_the_clock_of_redis)
{
    world_step_redis_clock(777777);
    own(300);
    world_pass(300 * MS_US);
    ck_assert_uint_eq(carries(), 1);
    world_pass(MS_US);
    ck_assert_uint_eq(carries(), 2);
}
END_TEST

START_TEST(without_jobs_it_ticks_once_a_second)
{
    own(-1);
    for (size_t i = 1; i <= 3; i++) {
        world_pass(SECOND_US);
        ck_assert_uint_eq(carries(), 1 + i);
        ck_assert(world_call(WORLD_CARRY)->carry.is_tick);
        own(-1);
    }
    ck_assert_int_eq(dues, 0);
}
END_TEST

START_TEST(a_job_that_is_due_earlier_wakes_it)
{
    own(800);
    world_wake(0, world_redis_ms() + 100);
    world_pass(100 * MS_US);
    ck_assert_uint_eq(carries(), 1);
    world_pass(MS_US);
    ck_assert_uint_eq(carries(), 2);
}
END_TEST

START_TEST(a_job_that_is_due_later_does_not_wake_it)
{
    own(100);
    world_wake(0, world_redis_ms() + 800);
    world_pass(101 * MS_US);
    ck_assert_uint_eq(carries(), 2);
}
END_TEST

START_TEST(a_wake_up_that_overtakes_the_answer_is_remembered)
{
    own(-1);
    world_pass(SECOND_US);
    world_wake(0, world_redis_ms() + 100); /* the wake-up is newer than the reply that is under way */
    own(800);
    world_pass(101 * MS_US);
    ck_assert_uint_eq(carries(), 3);
}
END_TEST

/* Jobs may have been scheduled before the subscription began, and their wake-ups did not arrive. */
START_TEST(it_carries_when_wake_ups_begin_to_arrive)
{
    own(-1);
    world_subscribe(0);
    ck_assert_uint_eq(carries(), 2);
    ck_assert(!world_call(WORLD_CARRY)
                   ->carry.is_tick); /* only the carries that the owner sends once a second are ticks */
    own(300);
    world_pass(301 * MS_US);
    ck_assert_uint_eq(carries(), 3);
    world_subscribe(0); /* the subscription begins after Redis has run the call under way */
    own(-1);
    ck_assert_uint_eq(carries(), 4);
}
END_TEST

START_TEST(a_standby_asks_for_the_lock_when_wake_ups_begin_to_arrive)
{
    stand_by(-1, 1);
    world_subscribe(0);
    ck_assert_uint_eq(carries(), 2);
    ck_assert(world_call(WORLD_CARRY)->carry.is_tick);
    own(-1);
    ck_assert_uint_eq(world_logged("carry_lock_taken"), 1);
}
END_TEST

START_TEST(it_does_not_carry_after_it_was_stopped)
{
    stand_by(-1, 1);
    carry_worker_stop(worker);
    world_subscribe(0);
    ck_assert_uint_eq(carries(), 1);
}
END_TEST

START_TEST(a_call_that_was_full_is_followed_by_the_next_at_once)
{
    struct shard_carried full = nothing;
    full.is_full = true;
    world_answer_carry(NULL, full);
    ck_assert_uint_eq(world_under_way(WORLD_CARRY), 1);
    ck_assert(!world_call(WORLD_CARRY)->carry.is_tick);
    own(-1);
    ck_assert_uint_eq(world_under_way(WORLD_CARRY), 0);
}
END_TEST

START_TEST(one_call_is_under_way_at_a_time_and_no_tick_is_lost)
{
    own(-1);
    world_pass(3 * SECOND_US);
    ck_assert_uint_eq(world_under_way(WORLD_CARRY), 1);
    own(-1);
    ck_assert(world_call(WORLD_CARRY)->carry.is_tick);
    own(-1);
    ck_assert_uint_eq(world_under_way(WORLD_CARRY), 0);
}
END_TEST

START_TEST(while_redis_is_away_it_asks_ten_times_a_second)
{
    own(500);
    world_pass(501 * MS_US);
    world_fail_carry(STATUS_UNAVAILABLE);
    for (size_t i = 1; i <= 3; i++) {
        world_pass(100 * MS_US);
        ck_assert_uint_eq(carries(), 2 + i);
        world_fail_carry(STATUS_UNAVAILABLE);
    }
}
END_TEST

START_TEST(an_owner_makes_the_calls_that_have_work_to_do)
{
    struct shard_carried carried = nothing;
    world_answer_carry(NULL, carried);
    ck_assert_uint_eq(world_made(WORLD_FORGET) + world_made(WORLD_SWEEP), 0);
    ck_assert_uint_eq(world_made(WORLD_AUDIT), 0);
    world_pass(SECOND_US);
    carried.chores.forgets = carried.chores.sweeps = true;
    world_answer_carry(NULL, carried);
    ck_assert_uint_eq(world_made(WORLD_FORGET), 1);
    ck_assert_uint_eq(world_made(WORLD_SWEEP), 1);
    ck_assert_uint_eq(world_made(WORLD_AUDIT), 1);
}
END_TEST

/* The doorbell's connection may be dead without a sign. */
START_TEST(each_process_claims_what_a_tick_finds)
{
    struct shard_carried carried = {.next_due_ms = -1, .until_lost_ms = -1, .beat = 1};
    world_answer_carry(OTHER, carried);
    ck_assert_int_eq(turns, 0);
    world_pass(SECOND_US);
    carried.chores.has_turns = true;
    carried.beat = 2;
    world_answer_carry(OTHER, carried);
    ck_assert_int_eq(turns, 1);
    world_pass(SECOND_US);
    world_answer_carry(NULL, carried);
    ck_assert_int_eq(turns, 2);
}
END_TEST

START_TEST(while_the_data_has_a_newer_format_it_rests)
{
    own(MS_US);
    size_t audits = world_made(WORLD_AUDIT), made = world_made(WORLD_CARRY);
    world_raise_format(true);
    world_pass(5 * SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_CARRY), made);
    ck_assert_uint_eq(world_made(WORLD_AUDIT) + world_made(WORLD_MEND), audits);
    ck_assert_int_eq(dues, 0);
    ck_assert_uint_eq(world_logged("data_is_newer"), 1);
    ck_assert_uint_eq(world_logged("carry_lock_lost"), 1);
    world_raise_format(false);
    world_pass(SECOND_US);
    own(-1);
    ck_assert_uint_eq(world_logged("data_is_known_again"), 1);
    ck_assert_uint_eq(world_logged("carry_lock_taken"), 2);
}
END_TEST

/* ---- standing by ---- */

START_TEST(a_standby_leaves_recovery_and_audits_to_the_owner)
{
    struct shard_carried carried = {.next_due_ms = -1, .until_lost_ms = 0, .chores.forgets = true};
    for (int i = 0; i < 3; i++) {
        carried.beat++;
        world_answer_carry(OTHER, carried);
        world_pass(SECOND_US);
    }
    ck_assert_uint_eq(world_made(WORLD_AUDIT) + world_made(WORLD_FORGET) + world_made(WORLD_RECOVER), 0);
}
END_TEST

START_TEST(a_standby_carries_what_the_owner_left_overdue)
{
    stand_by(300, 1);
    world_pass(549 * MS_US);
    ck_assert_uint_eq(carries(), 1);
    world_pass(MS_US);
    ck_assert_uint_eq(carries(), 2);
    ck_assert_int_eq(world_call(WORLD_CARRY)->carry.patience_ms, CARRY_PATIENCE_MS);
    ck_assert_int_eq(dues, 0);
}
END_TEST

START_TEST(a_standby_looks_at_most_four_times_a_second)
{
    for (int i = 0; i < 200; i++) {
        if (world_under_way(WORLD_CARRY))
            stand_by(-5000, i); /* the topic stays overdue, for a reason that the standby cannot change */
        world_pass(10 * MS_US);
    }
    ck_assert_uint_le(carries(), 1 + 8 + 2);
    ck_assert_uint_ge(carries(), 8);
}
END_TEST

START_TEST(a_beat_that_stands_still_for_two_seconds_is_taken_over)
{
    stand_by(-1, 7);
    world_pass(SECOND_US);
    ck_assert_str_eq(world_call(WORLD_CARRY)->stuck_owner, "");
    stand_by(-1, 7);
    world_pass(SECOND_US);
    ck_assert_str_eq(world_call(WORLD_CARRY)->stuck_owner, OTHER);
    ck_assert_int_eq(world_call(WORLD_CARRY)->carry.stuck_beat, 7);
    own(-1);
    ck_assert_uint_eq(world_logged("carry_lock_taken"), 1);
}
END_TEST

START_TEST(a_takeover_comes_as_soon_as_it_may)
{
    stand_by(-1, 7);
    world_pass(SECOND_US);
    stand_by(-1, 8);
    world_pass(SECOND_US);
    stand_by(-1, 8);
    ck_assert_int_eq(world_next_timer_us(), SECOND_US);
    world_pass(SECOND_US);
    ck_assert_str_eq(world_call(WORLD_CARRY)->stuck_owner, OTHER);
}
END_TEST

START_TEST(an_owner_whose_beat_moves_keeps_the_lock)
{
    for (int beat = 1; beat <= 10; beat++) {
        ck_assert_str_eq(world_call(WORLD_CARRY)->stuck_owner, "");
        stand_by(-1, beat);
        world_pass(SECOND_US);
    }
}
END_TEST

START_TEST(another_owner_with_the_same_beat_is_watched_anew)
{
    stand_by(-1, 7);
    world_pass(SECOND_US);
    world_answer_carry("third", (struct shard_carried){.next_due_ms = -1, .until_lost_ms = -1, .beat = 7});
    world_pass(SECOND_US);
    ck_assert_str_eq(world_call(WORLD_CARRY)->stuck_owner, "");
}
END_TEST

START_TEST(a_lock_that_was_given_back_is_taken_at_once)
{
    stand_by(-1, 1);
    world_leave_lock(0);
    ck_assert_uint_eq(world_under_way(WORLD_CARRY), 1);
    ck_assert(world_call(WORLD_CARRY)->carry.is_tick);
}
END_TEST

START_TEST(an_owner_does_not_mind_that_a_lock_was_given_back)
{
    own(-1);
    world_leave_lock(0);
    ck_assert_uint_eq(world_under_way(WORLD_CARRY), 0);
}
END_TEST

START_TEST(only_an_owner_computes_openings_at_once)
{
    own(-1);
    world_want_openings(0);
    ck_assert_uint_eq(world_under_way(WORLD_CARRY), 1);
    ck_assert(world_call(WORLD_CARRY)->carry.is_tick);
    stand_by(-1, 1);
    world_want_openings(0);
    ck_assert_uint_eq(world_under_way(WORLD_CARRY), 0);
}
END_TEST

START_TEST(an_owner_that_finds_another_one_stands_by)
{
    own(-1);
    world_pass(SECOND_US);
    stand_by(-1, 1);
    ck_assert_uint_eq(world_logged("carry_lock_lost"), 1);
    world_pass(SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_AUDIT), 1); /* only the audit of the last tick */
}
END_TEST

START_TEST(where_nobody_else_can_be_alive_the_lock_is_taken_at_once)
{
    begin_alone();
    ck_assert(world_call(WORLD_CARRY)->carry.is_unwatched);
    stand_by(-1, 7); /* the last beat came from a process that has ended */
    ck_assert_str_eq(world_call(WORLD_CARRY)->stuck_owner, OTHER);
    ck_assert(world_call(WORLD_CARRY)->carry.is_tick);
}
END_TEST

/* ---- stopping ---- */

START_TEST(an_owner_that_stops_gives_the_lock_back)
{
    own(100);
    carry_worker_stop(worker);
    ck_assert(world_call(WORLD_CARRY)->carry.is_leaving);
    world_pass(10 * SECOND_US);
    ck_assert_uint_eq(carries(), 2);
}
END_TEST

START_TEST(a_standby_that_stops_has_nothing_to_give_back)
{
    stand_by(-1, 1);
    carry_worker_stop(worker);
    ck_assert_uint_eq(world_under_way(WORLD_CARRY), 0);
    world_leave_lock(0);
    ck_assert_uint_eq(world_under_way(WORLD_CARRY), 0);
}
END_TEST

START_TEST(a_call_under_way_that_may_take_the_lock_is_followed_by_giving_it_back)
{
    carry_worker_stop(worker);
    ck_assert_uint_eq(world_under_way(WORLD_CARRY), 2);
    own(100);
    ck_assert(world_call(WORLD_CARRY)->carry.is_leaving);
    own(100);
    world_pass(10 * SECOND_US);
    ck_assert_uint_eq(carries(), 2);
}
END_TEST

/* ---- lost leases ---- */

/* Answers a carry of the owner: a lease expires in until_lost_ms; 0: it has expired. */
static void lose(int64_t until_lost_ms)
{
    struct shard_carried carried = nothing;
    carried.until_lost_ms = until_lost_ms;
    world_answer_carry(NULL, carried);
}

/* Lets five seconds pass without a disturbance, after which expired leases count as lost. */
static void be_calm(void)
{
    own(-1);
    tick_as_owner(5);
    world_pass(SECOND_US);
}

START_TEST(lost_leases_are_recovered)
{
    be_calm();
    lose(0);
    ck_assert_uint_eq(world_under_way(WORLD_RECOVER), 1);
    ck_assert_int_eq(world_call(WORLD_RECOVER)->expected_ms, world_redis_ms());
}
END_TEST

START_TEST(a_lease_that_will_be_lost_is_recovered_when_it_is)
{
    be_calm();
    lose(300);
    world_pass(300 * MS_US);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 0);
    world_pass(MS_US);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
}
END_TEST

START_TEST(at_the_start_live_consumers_get_the_time_of_a_lease_to_renew)
{
    for (int i = 0; i < 5; i++) {
        lose(0);
        ck_assert_uint_eq(world_made(WORLD_RECOVER), 0);
        world_pass(SECOND_US);
    }
    lose(0);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
}
END_TEST

START_TEST(the_quiet_time_ends_between_two_ticks)
{
    world_pass(300 * MS_US);
    lose(0);
    world_pass(700 * MS_US);
    for (int i = 0; i < 4; i++) {
        lose(0);
        world_pass(SECOND_US);
    }
    lose(0);
    world_pass(299 * MS_US);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 0);
    world_pass(MS_US);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
}
END_TEST

START_TEST(alone_it_recovers_at_once)
{
    begin_alone();
    lose(0);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
}
END_TEST

START_TEST(a_step_of_a_clock_begins_a_quiet_time)
{
    be_calm();
    world_step_redis_clock(1500);
    lose(0);
    ck_assert_uint_eq(world_logged("redis_clock_stepped"), 1);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 0);
    for (int i = 0; i < 5; i++) {
        world_pass(SECOND_US);
        lose(0);
    }
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
}
END_TEST

START_TEST(a_step_back_begins_a_quiet_time_too)
{
    be_calm();
    world_step_redis_clock(-1500);
    lose(0);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 0);
}
END_TEST

START_TEST(clocks_that_drift_by_less_than_a_second_are_no_step)
{
    be_calm();
    world_step_redis_clock(900);
    lose(0);
    ck_assert_uint_eq(world_logged("redis_clock_stepped"), 0);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
}
END_TEST

START_TEST(an_answer_that_took_long_is_no_step)
{
    be_calm();
    world_pass(3 * SECOND_US);
    lose(0);
    ck_assert_uint_eq(world_logged("redis_clock_stepped"), 0);
}
END_TEST

START_TEST(a_redis_that_came_back_begins_a_quiet_time)
{
    be_calm();
    world_come_up(0);
    lose(0);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 0);
}
END_TEST

START_TEST(a_takeover_alone_begins_no_quiet_time)
{
    for (int i = 0; i < 6; i++) {
        stand_by(-1, 1 + (i < 4));
        world_pass(SECOND_US);
    }
    lose(0);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
}
END_TEST

START_TEST(a_recovery_ends_when_the_lock_is_lost)
{
    be_calm();
    lose(0);
    world_pass(SECOND_US);
    stand_by(-1, 1);
    world_answer_recover(STATUS_OK, (struct shard_lost){.number = 100, .is_full = true});
    world_pass(SECOND_US);
    ck_assert_uint_eq(world_made(WORLD_RECOVER), 1);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("carry worker");
    TCase *tests = tcase_create("carry worker");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, it_asks_for_the_lock_at_once);
    tcase_add_test(tests, it_sleeps_until_the_first_job_is_due);
    tcase_add_test(tests, a_claim_that_carries_says_when_the_next_job_is_due);
    tcase_add_test(tests, a_wake_up_that_overtakes_a_claim_that_carries_is_remembered);
    tcase_add_test(tests, after_a_claim_that_failed_the_next_tick_carries);
    tcase_add_test(tests, a_claim_that_carries_ends_after_the_lock_was_lost);
    tcase_add_test(tests, it_sleeps_by_the_clock_of_redis);
    tcase_add_test(tests, without_jobs_it_ticks_once_a_second);
    tcase_add_test(tests, a_job_that_is_due_earlier_wakes_it);
    tcase_add_test(tests, a_job_that_is_due_later_does_not_wake_it);
    tcase_add_test(tests, a_wake_up_that_overtakes_the_answer_is_remembered);
    tcase_add_test(tests, it_carries_when_wake_ups_begin_to_arrive);
    tcase_add_test(tests, a_standby_asks_for_the_lock_when_wake_ups_begin_to_arrive);
    tcase_add_test(tests, it_does_not_carry_after_it_was_stopped);
    tcase_add_test(tests, a_call_that_was_full_is_followed_by_the_next_at_once);
    tcase_add_test(tests, one_call_is_under_way_at_a_time_and_no_tick_is_lost);
    tcase_add_test(tests, while_redis_is_away_it_asks_ten_times_a_second);
    tcase_add_test(tests, an_owner_makes_the_calls_that_have_work_to_do);
    tcase_add_test(tests, each_process_claims_what_a_tick_finds);
    tcase_add_test(tests, while_the_data_has_a_newer_format_it_rests);
    tcase_add_test(tests, a_standby_leaves_recovery_and_audits_to_the_owner);
    tcase_add_test(tests, a_standby_carries_what_the_owner_left_overdue);
    tcase_add_test(tests, a_standby_looks_at_most_four_times_a_second);
    tcase_add_test(tests, a_beat_that_stands_still_for_two_seconds_is_taken_over);
    tcase_add_test(tests, a_takeover_comes_as_soon_as_it_may);
    tcase_add_test(tests, an_owner_whose_beat_moves_keeps_the_lock);
    tcase_add_test(tests, another_owner_with_the_same_beat_is_watched_anew);
    tcase_add_test(tests, a_lock_that_was_given_back_is_taken_at_once);
    tcase_add_test(tests, an_owner_does_not_mind_that_a_lock_was_given_back);
    tcase_add_test(tests, only_an_owner_computes_openings_at_once);
    tcase_add_test(tests, an_owner_that_finds_another_one_stands_by);
    tcase_add_test(tests, where_nobody_else_can_be_alive_the_lock_is_taken_at_once);
    tcase_add_test(tests, an_owner_that_stops_gives_the_lock_back);
    tcase_add_test(tests, a_standby_that_stops_has_nothing_to_give_back);
    tcase_add_test(tests, a_call_under_way_that_may_take_the_lock_is_followed_by_giving_it_back);
    tcase_add_test(tests, lost_leases_are_recovered);
    tcase_add_test(tests, a_lease_that_will_be_lost_is_recovered_when_it_is);
    tcase_add_test(tests, at_the_start_live_consumers_get_the_time_of_a_lease_to_renew);
    tcase_add_test(tests, the_quiet_time_ends_between_two_ticks);
    tcase_add_test(tests, alone_it_recovers_at_once);
    tcase_add_test(tests, a_step_of_a_clock_begins_a_quiet_time);
    tcase_add_test(tests, a_step_back_begins_a_quiet_time_too);
    tcase_add_test(tests, clocks_that_drift_by_less_than_a_second_are_no_step);
    tcase_add_test(tests, an_answer_that_took_long_is_no_step);
    tcase_add_test(tests, a_redis_that_came_back_begins_a_quiet_time);
    tcase_add_test(tests, a_takeover_alone_begins_no_quiet_time);
    tcase_add_test(tests, a_recovery_ends_when_the_lock_is_lost);
    suite_add_tcase(suite, tests);
    return suite;
}
