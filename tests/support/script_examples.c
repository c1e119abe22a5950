#include "support/script_examples.h"

#include <stdlib.h>

#include "base/memory.h"
#include "support/keyspace.h"
#include "support/redis_server.h"
#include "support/script_runner.h"

enum { KEYS_MAX = 32, TEXT_MAX = 64 * 1024 };

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

/* Appends the wake-ups published since the last call. */
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

static int compare_lines(const void *a, const void *b)
{
    const struct slice *left = a, *right = b;
    size_t size = left->size < right->size ? left->size : right->size;
    int order = memcmp(left->data, right->data, size);
    return order ? order : (left->size > right->size) - (left->size < right->size);
}

/* Appends the text of a keyspace, and sorts its lines as a dump does. Examples put their lines together in
 * any order. */
static void append_sorted(struct buffer *out, const char *text)
{
    struct slice lines[KEYS_MAX], rest = slice_of(text);
    size_t count = 0;
    for (; rest.size; count++) {
        ck_assert_uint_lt(count, KEYS_MAX);
        slice_cut(rest, '\n', &lines[count], &rest);
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++) {
        buffer_append(out, lines[i]);
        buffer_append_byte(out, '\n');
    }
}

void check_example(const struct example *example)
{
    struct buffer answer, after, expected;
    buffer_init(&answer, TEXT_MAX);
    buffer_init(&after, TEXT_MAX);
    buffer_init(&expected, TEXT_MAX);
    keyspace_load(redis, example->before, NOW_MS);
    redisReply *reply = script_run_text(redis, example->call, NOW_MS);
    script_answer_text(&answer, reply, NOW_US);
    append_wakes(&answer);
    keyspace_dump(redis, &after, NOW_MS);
    append_sorted(&expected, example->after ? example->after : example->before);
    ck_assert_msg(strcmp(buffer_text(&answer), example->answer) == 0,
                  "%s\nanswered   %s\ninstead of %s\non\n%s", example->call, buffer_text(&answer),
                  example->answer, example->before);
    ck_assert_msg(strcmp(buffer_text(&after), buffer_text(&expected)) == 0,
                  "%s\non\n%smade\n%sinstead of\n%s", example->call, example->before, buffer_text(&after),
                  buffer_text(&expected));
    freeReplyObject(reply);
    buffer_fini(&answer);
    buffer_fini(&after);
    buffer_fini(&expected);
}

struct redis_server *examples_server(void)
{
    return server;
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
