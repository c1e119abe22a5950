#include "support/script_examples.h"

#include "base/memory.h"
#include "support/keyspace.h"
#include "support/redis_server.h"
#include "support/script_runner.h"

static struct redis_server *server;
static redisContext *redis, *subscriber;

static void start(void)
{
    server = redis_server_start();
    redis_server_set_time(server, NOW_US);
}

static void stop(void)
{
    redis_server_stop(server);
    server = NULL;
}

static void set_up(void)
{
    redis = redis_server_connect(server);
    subscriber = redis_server_connect(server);
    scripts_load(redis);
    redis_do(subscriber, "SUBSCRIBE " KEYSPACE_PREFIX "wake");
}

static void tear_down(void)
{
    redisFree(redis);
    redisFree(subscriber);
}

/* What was published since the last time. */
static void append_wakes(struct buffer *text)
{
    redisReply *reply;
    redisAppendCommand(subscriber, "PING");
    for (bool is_last = false; !is_last;) {
        ck_assert_int_eq(redisGetReply(subscriber, (void **)&reply), REDIS_OK);
        is_last = strcmp(reply->element[0]->str, "message") != 0;
        if (!is_last) {
            buffer_append(text, SLICE(" wake "));
            numbers_to_times(text, reply->element[2]->str, NOW_MS);
        }
        freeReplyObject(reply);
    }
}

void check_example(const struct example *example)
{
    struct buffer answer, after;
    buffer_init(&answer, 64 * 1024);
    buffer_init(&after, 64 * 1024);
    keyspace_load(redis, example->before, NOW_MS);
    redisReply *reply = script_run_text(redis, example->call, NOW_MS);
    script_answer_text(&answer, reply, NOW_US);
    append_wakes(&answer);
    keyspace_dump(redis, &after, NOW_MS);
    const char *expected = example->after ? example->after : example->before;
    ck_assert_msg(strcmp(buffer_text(&answer), example->answer) == 0,
                  "%s\nanswered   %s\ninstead of %s\non\n%s", example->call, buffer_text(&answer),
                  example->answer, example->before);
    ck_assert_msg(strcmp(buffer_text(&after), expected) == 0, "%s\non\n%smade\n%sinstead of\n%s",
                  example->call, example->before, buffer_text(&after), expected);
    freeReplyObject(reply);
    buffer_fini(&answer);
    buffer_fini(&after);
}

redisContext *examples_redis(void)
{
    return redis;
}

TCase *examples_case(const char *name)
{
    TCase *tests = tcase_create(name);
    tcase_add_unchecked_fixture(tests, start, stop);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 20);
    return tests;
}
