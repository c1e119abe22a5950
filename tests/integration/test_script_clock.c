/* Tests the scripts of the library with a manual clock. The clock of Redis stands still at another time. */
#include <stdlib.h>
#include <string.h>

#include "support/keyspace.h"
#include "support/redis_server.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define KEY(name) KEYSPACE_PREFIX name

enum { BUSY, MOVED, REACHED, WORDS_MAX = 24 };

static redisContext *redis;

static void begin(void)
{
    redis = examples_redis();
    redis_do(redis, "FLUSHALL");
    redis_do(redis, "FUNCTION FLUSH");
    redis_do(redis, "FUNCTION LOAD %s", script_manual_library.text);
    redis_do(redis, "HSET " KEY("meta") " format 1 shards 1 clock_us 1000000");
}

/* The next test loads the usual library again. */
static void end(void)
{
    redis_do(redis, "FUNCTION FLUSH");
    scripts_load(redis);
}

/* Runs a script whose words are separated by spaces. */
static redisReply *run(enum script_id script, const char *text)
{
    const char *argv[WORDS_MAX] = {"FCALL", script_texts[script].manual_function, "1", KEY("jobs"), "256"};
    char words[256], *rest = NULL;
    int count = 5;
    snprintf(words, sizeof words, "%s", text);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[count++] = strcmp(word, "''") == 0 ? "" : word;
    redisReply *reply = redisCommandArgv(redis, count, argv, NULL);
    ck_assert_msg(reply && reply->type != REDIS_REPLY_ERROR, "%s: %s", script_texts[script].name,
                  reply ? reply->str : "");
    return reply;
}

/* Checks what a step answers: the time of the clock and of the next event in ms, and the state. */
static void check_step(const char *words, int64_t now_ms, int state, int64_t next_ms)
{
    redisReply *reply = run(SCRIPT_CLOCK, words);
    ck_assert_int_eq(reply->element[0]->integer, now_ms * 1000);
    ck_assert_int_eq(reply->element[1]->integer, state);
    ck_assert_int_eq(reply->element[2]->integer, next_ms);
    freeReplyObject(reply);
}

static void check_text(const char *expected, const char *command)
{
    redisReply *reply = redis_command(redis, command);
    ck_assert_str_eq(reply->type == REDIS_REPLY_NIL ? "" : reply->str, expected);
    freeReplyObject(reply);
}

START_TEST(the_clock_moves_from_event_to_event)
{
    begin();
    redis_do(redis, "ZADD " KEY("due") " 5000 t inf paused");
    redis_do(redis, "ZADD " KEY("fires") " 3000 t/s");
    redis_do(redis, "ZADD " KEY("pulled") " 4000 p/a");
    check_step("0 0 1", 1000, REACHED, 3000);
    check_step("9000 0 0", 1000, MOVED, 3000); /* only looks */
    check_step("2000 0 1", 2000, MOVED, 3000); /* there is no event before */
    check_step("2000 0 1", 2000, REACHED, 3000);
    check_step("9000 0 1", 3000, MOVED, 3000);
    check_text("3000000", "HGET " KEY("meta") " clock_us");
    check_step("9000 0 1", 3000, BUSY, 3000);
    redis_do(redis, "DEL " KEY("fires"));
    check_step("9000 0 1", 4000, MOVED, 4000);
    redis_do(redis, "DEL " KEY("pulled"));
    check_step("9000 0 1", 5000, MOVED, 5000);
    redis_do(redis, "ZREM " KEY("due") " t");
    check_step("9000 0 1", 9000, MOVED, -1);
    check_step("9000 0 1", 9000, REACHED, -1);
    check_step("5000 0 1", 9000, REACHED, -1); /* never back */
    end();
}
END_TEST

START_TEST(the_clock_waits_for_all_that_is_due)
{
    static const char *const states[][2] = {
        {"ZADD " KEY("leases") " 9 t/a", "DEL " KEY("leases")},
        {"ZADD " KEY("lingering") " 9e15 t/a|n", "DEL " KEY("lingering")},
        {"ZADD " KEY("turns") " 1 t", "DEL " KEY("turns")},
        {"ZADD " KEY("due") " 1000 t", "DEL " KEY("due")},
        {"ZADD " KEY("fires") " 1000 t/s", "DEL " KEY("fires")},
        {"ZADD " KEY("expiries") " 1000 t/a", "DEL " KEY("expiries")},
        {"ZADD " KEY("pulled") " 1000 t/a", "DEL " KEY("pulled")},
        {"ZADD " KEY("pull_lingering") " 1000 t/a|p", "DEL " KEY("pull_lingering")},
        {"SADD " KEY("resuming") " t", "DEL " KEY("resuming")},
        {"HSET " KEY("meta") " reoffer t", "HDEL " KEY("meta") " reoffer"},
    };
    begin();
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        redis_do(redis, states[i][0]);
        redisReply *reply = run(SCRIPT_CLOCK, "9000 0 1");
        ck_assert_msg(reply->element[1]->integer == BUSY, "%s", states[i][0]);
        freeReplyObject(reply);
        redis_do(redis, states[i][1]);
        check_step("9000 0 0", 1000, MOVED, -1);
    }
    /* Removals by age are due at the end of a move only. */
    redis_do(redis, "ZADD " KEY("kept_until") " 900 t/a");
    check_step("9000 0 1", 9000, MOVED, -1);
    check_step("9000 0 1", 9000, BUSY, -1);
    end();
}
END_TEST

START_TEST(a_move_until_idle_ends_when_only_schedules_are_left)
{
    begin();
    redis_do(redis, "ZADD " KEY("due") " 5000 t");
    redis_do(redis, "ZADD " KEY("fires") " 3000 t/s");
    check_step("+inf 1 1", 3000, MOVED, 3000);
    redis_do(redis, "ZADD " KEY("fires") " 6000 t/s");
    check_step("4000 1 1", 4000, MOVED, 5000);
    check_step("4000 1 1", 4000, REACHED, 5000);
    check_step("+inf 1 1", 5000, MOVED, 5000);
    redis_do(redis, "DEL " KEY("due"));
    check_step("+inf 1 1", 5000, REACHED, 6000);
    end();
}
END_TEST

START_TEST(scripts_read_the_manual_clock)
{
    begin();
    freeReplyObject(run(SCRIPT_SCHEDULE, "0 9 t/a 5000 \"x\":1} -"));
    check_text("6000", "ZSCORE " KEY("due") " t");
    freeReplyObject(run(SCRIPT_CLOCK, "9000 0 1"));
    /* The lease of a consumer ends by the clock of Redis. */
    freeReplyObject(run(SCRIPT_CARRY, "me 1 256 '' 0 5000 250"));
    freeReplyObject(run(SCRIPT_CLAIM, "16 n1 5000 16 1000000 0"));
    redisReply *deadline = redis_command(redis, "ZSCORE " KEY("leases") " t/a");
    ck_assert_int_eq(strtoll(deadline->str, NULL, 10), NOW_MS + 5000);
    freeReplyObject(deadline);
    end();
}
END_TEST

START_TEST(a_lost_claim_is_abandoned_by_the_clock_of_redis)
{
    begin();
    freeReplyObject(run(SCRIPT_SCHEDULE, "0 9 t/a 0 \"x\":1} -"));
    freeReplyObject(run(SCRIPT_CLOCK, "9000 0 1"));
    freeReplyObject(run(SCRIPT_CLAIM, "16 n1 5000 16 1000000 1"));
    redisReply *abandoned = run(SCRIPT_ABANDON, "n1 9 4000 6000");
    ck_assert_int_eq(abandoned->element[1]->integer, 1);
    freeReplyObject(abandoned);
    end();
}
END_TEST

START_TEST(a_schedule_that_the_full_pool_keeps_from_firing_does_not_stop_the_clock)
{
    begin();
    redis_do(redis, "HSET " KEY("jobs") " t/a {} t/b {}");
    redis_do(redis, "ZADD " KEY("fires") " 1000 t/s 3000 t/u");
    redis_do(redis, "HSET " KEY("meta") " fires_full %s", "1000 3"); /* there was another job */
    check_step("9000 0 1", 1000, BUSY, 1000);
    redis_do(redis, "HSET " KEY("meta") " fires_full %s", "900 2"); /* it has not been tried at this time */
    check_step("9000 0 1", 1000, BUSY, 1000);
    redis_do(redis, "HSET " KEY("meta") " fires_full %s", "1000 2");
    check_step("9000 0 1", 3000, MOVED, 3000);
    check_step("9000 0 1", 3000, BUSY, 1000);
    redis_do(redis, "HSET " KEY("meta") " fires_full %s", "3000 2");
    check_step("9000 0 1", 9000, MOVED, -1);
    end();
}
END_TEST

START_TEST(keys_that_would_expire_are_removed_by_the_clock)
{
    begin();
    redis_do(redis, "HSET " KEY("jobs") " t/a {\"createdAt\":1}");
    redis_do(redis, "HSET " KEY("holders:t") " t/a %s", "p1 900 - 900");
    redis_do(redis, "ZADD " KEY("pulled") " 5000 t/a");
    freeReplyObject(run(SCRIPT_COMPLETE, "t/a p1 1"));
    redisReply *ttl = redis_command(redis, "PTTL " KEY("completed:p1"));
    ck_assert_int_eq(ttl->integer, -1);
    freeReplyObject(ttl);
    check_text("61000", "ZSCORE " KEY("forgets") " " KEY("completed:p1"));
    check_step("60999 0 1", 60999, MOVED, -1);
    redisReply *there = redis_command(redis, "EXISTS " KEY("completed:p1"));
    ck_assert_int_eq(there->integer, 1);
    freeReplyObject(there);
    check_step("61000 0 1", 61000, MOVED, -1);
    there = redis_command(redis, "EXISTS " KEY("completed:p1") " " KEY("forgets"));
    ck_assert_int_eq(there->integer, 0);
    freeReplyObject(there);
    end();
}
END_TEST

START_TEST(only_new_data_gets_a_manual_clock)
{
    begin();
    redis_do(redis, "DEL " KEY("meta"));
    redisReply *opened = run(SCRIPT_OPEN, "1 1 1");
    ck_assert_int_eq(opened->element[4]->integer, 1);
    freeReplyObject(opened);
    redis_do(redis, "HDEL " KEY("meta") " clock_us");
    opened = run(SCRIPT_OPEN, "1 1 1");
    ck_assert_int_eq(opened->element[4]->integer, 0);
    freeReplyObject(opened);
    end();
}
END_TEST

START_TEST(the_usual_library_has_no_script_that_moves_a_clock)
{
    redis = examples_redis();
    ck_assert_ptr_null(strstr(script_library.text, "clock_us' "));
    redisReply *reply =
        redisCommand(redis, "FCALL %s 1 " KEY("jobs") " 256 9000 0 1", script_texts[SCRIPT_CLOCK].function);
    ck_assert_int_eq(reply->type, REDIS_REPLY_ERROR);
    ck_assert_str_eq(reply->str, "ERR Function not found");
    freeReplyObject(reply);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_clock");
    TCase *tests = examples_case("clock");
    tcase_add_test(tests, the_clock_moves_from_event_to_event);
    tcase_add_test(tests, the_clock_waits_for_all_that_is_due);
    tcase_add_test(tests, a_move_until_idle_ends_when_only_schedules_are_left);
    tcase_add_test(tests, scripts_read_the_manual_clock);
    tcase_add_test(tests, a_lost_claim_is_abandoned_by_the_clock_of_redis);
    tcase_add_test(tests, a_schedule_that_the_full_pool_keeps_from_firing_does_not_stop_the_clock);
    tcase_add_test(tests, keys_that_would_expire_are_removed_by_the_clock);
    tcase_add_test(tests, only_new_data_gets_a_manual_clock);
    tcase_add_test(tests, the_usual_library_has_no_script_that_moves_a_clock);
    suite_add_tcase(suite, tests);
    return suite;
}
