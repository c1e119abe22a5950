/* Tests the shares of attempts that topics get by their weights, over thousands of claims. */
#include <stdio.h>

#include "support/keyspace.h"
#include "support/redis_server.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define NOW_US INT64_C(1700000000123456)
#define KEY    KEYSPACE_PREFIX

enum { TOPICS_MAX = 5, SHARE = 16 };

static struct redis_server *server;
static redisContext *redis;
static long given[TOPICS_MAX]; /* number of claimed jobs of topic a, b, c ... */
static size_t turn;
static int64_t now_us;

static void start(void)
{
    server = redis_server_start();
}

static void stop(void)
{
    redis_server_stop(server);
    server = NULL;
}

static void set_up(void)
{
    redis = redis_server_connect(server);
    redis_do(redis, "FLUSHALL");
    scripts_load(redis);
    scripts_limit = 1000000;
    memset(given, 0, sizeof given);
    turn = 0;
    now_us = NOW_US;
    redis_server_set_time(server, now_us);
}

static void tear_down(void)
{
    redisFree(redis);
}

/* Schedules due jobs of a topic. */
static void add_jobs(char topic, int count)
{
    enum { BATCH = 256, WORDS = 4 };
    static char ids[BATCH][32];
    for (int done = 0; done < count;) {
        const char *words[3 + BATCH * WORDS] = {"schedule", "0", "86400000"};
        size_t used = 3;
        for (int i = 0; i < BATCH && done < count; i++, done++) {
            snprintf(ids[i], sizeof ids[i], "%c/%d", topic, done);
            words[used++] = ids[i];
            words[used++] = "0";
            words[used++] = "\"url\":\"h\"}";
            words[used++] = "-";
        }
        freeReplyObject(script_run(redis, used, words));
    }
}

static void set_weight(char topic, int weight)
{
    char name[] = {topic, '\0'}, settings[32];
    snprintf(settings, sizeof settings, "{\"weight\":%d}", weight);
    redis_do(redis, "HSET " KEY "topics %s %s", name, settings);
}

/* Claims this number of jobs, 1 to 31 jobs with each call. All jobs are due. */
static void claim_jobs(size_t number)
{
    redis_server_set_time(server, now_us += 1000000);
    while (number > 0) {
        char most[16], nonce[32];
        size_t left = 1 + turn * 7 % 31;
        snprintf(most, sizeof most, "%zu", left < number ? left : number);
        snprintf(nonce, sizeof nonce, "n%zu", turn++);
        const char *const words[] = {"claim", most, nonce, "5000", "16", "4194304", "0"};
        redisReply *reply = script_run(redis, 7, words);
        ck_assert_int_eq(reply->type, REDIS_REPLY_ARRAY);
        size_t count = (size_t)reply->element[3]->integer;
        ck_assert_uint_gt(count, 0);
        for (size_t i = 0; i < count; i++)
            given[reply->element[4 + 3 * i]->str[0] - 'a']++;
        number -= count;
        freeReplyObject(reply);
    }
}

static void expect_shares(const int *weights, size_t topics, long jobs)
{
    int sum = 0;
    for (size_t i = 0; i < topics; i++)
        sum += weights[i];
    for (size_t i = 0; i < topics; i++) {
        double ideal = (double)jobs * weights[i] / sum, actual = (double)given[i];
        ck_assert_msg(actual > .95 * ideal && actual < 1.05 * ideal,
                      "topic %zu of weight %d: %ld jobs, not %.0f", i, weights[i], given[i], ideal);
    }
}

START_TEST(shares_are_those_of_the_weights)
{
    static const int weights[TOPICS_MAX] = {1, 100, 3, 1, 10};
    static const int jobs[TOPICS_MAX] = {1000, 56000, 2500, 1000, 6500};
    for (int i = 0; i < TOPICS_MAX; i++) {
        set_weight((char)('a' + i), weights[i]);
        add_jobs((char)('a' + i), jobs[i]);
    }
    claim_jobs(60000);
    expect_shares(weights, TOPICS_MAX, 60000);
}
END_TEST

START_TEST(without_weights_topics_have_equal_shares)
{
    static const int weights[TOPICS_MAX] = {1, 1, 1, 1, 1};
    for (int i = 0; i < TOPICS_MAX; i++)
        add_jobs((char)('a' + i), 2500);
    claim_jobs(10000);
    expect_shares(weights, TOPICS_MAX, 10000);
}
END_TEST

START_TEST(a_topic_gets_no_credit_for_the_time_without_jobs)
{
    static const int weights[] = {1, 4, 1};
    set_weight('b', 4);
    add_jobs('a', 6000);
    add_jobs('b', 9000);
    claim_jobs(6000);
    add_jobs('c', 3000);
    memset(given, 0, sizeof given);
    claim_jobs(4800);
    expect_shares(weights, 3, 4800);
}
END_TEST

START_TEST(a_weight_can_change_while_jobs_wait)
{
    static const int weights[] = {5, 1};
    set_weight('b', 50);
    add_jobs('a', 9000);
    add_jobs('b', 12000);
    claim_jobs(5100);
    set_weight('a', 5);
    set_weight('b', 1);
    memset(given, 0, sizeof given);
    claim_jobs(6000);
    expect_shares(weights, 2, 6000);
}
END_TEST

/* Between two jobs of a topic of weight 1, the number of claimed jobs of other topics is bounded. */
START_TEST(the_least_weight_is_never_starved)
{
    set_weight('b', 100);
    add_jobs('a', 200);
    add_jobs('b', 20000);
    for (int i = 0; i < 9; i++) {
        long before = given[0];
        claim_jobs(101 * SHARE + 62);
        ck_assert_int_gt(given[0], before);
    }
}
END_TEST

START_TEST(virtual_time_begins_anew_before_it_is_inexact)
{
    static const int weights[] = {1, 3};
    set_weight('b', 3);
    add_jobs('a', 3000);
    add_jobs('b', 5000);
    redis_do(redis, "ZADD " KEY "turns 4503599627370496 a 4503599627370497 b");
    claim_jobs(4000);
    expect_shares(weights, 2, 4000);
    redisReply *last = redis_command(redis, "ZRANGE " KEY "turns 0 0 REV WITHSCORES");
    ck_assert_msg(strlen(last->element[1]->str) < 12, "virtual time is %s", last->element[1]->str);
    freeReplyObject(last);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_weights");
    TCase *tests = tcase_create("all");
    tcase_add_unchecked_fixture(tests, start, stop);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, shares_are_those_of_the_weights);
    tcase_add_test(tests, without_weights_topics_have_equal_shares);
    tcase_add_test(tests, a_topic_gets_no_credit_for_the_time_without_jobs);
    tcase_add_test(tests, a_weight_can_change_while_jobs_wait);
    tcase_add_test(tests, the_least_weight_is_never_starved);
    tcase_add_test(tests, virtual_time_begins_anew_before_it_is_inexact);
    suite_add_tcase(suite, tests);
    return suite;
}
