/* Tests a link to a fake Redis that answers as the test decides: in pieces, without a command, or not at
 * all. */
#include "io/redis/redis.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/suite.h"
#include "support/wire.h"

/* A connection and its events, as words. A test ends when the connection is lost. */
struct story {
    struct loop *loop;
    struct redis_link *link;
    struct redis_address address;
    struct timer *late;
    char told[512];
    int listen_fd;
    pthread_t thread;
    /* Acts as Redis on a connection on which a PING has arrived. */
    void (*play)(int fd);
    loop_fn *begin; /* called when the link is up */
};

static void tell(struct story *story, const char *what, struct slice text)
{
    size_t used = strlen(story->told);
    snprintf(story->told + used, sizeof story->told - used, "%s%.*s;", what, SLICE_ARG(text));
}

static void on_reply(void *arg, const struct redis_reply *reply)
{
    if (reply)
        tell(arg, "reply ", redis_reply_text(reply));
    else
        tell(arg, "nothing", SLICE(""));
}

static void on_up(void *arg)
{
    struct story *story = arg;
    tell(story, "up", SLICE(""));
    story->begin(story);
}

static void on_down(void *arg, const char *why)
{
    struct story *story = arg;
    tell(story, "down ", slice_of(why));
    loop_stop(story->loop);
}

static void on_late(void *arg)
{
    const struct story *story = arg;
    ck_abort_msg("still running: %s", story->told);
}

static void *serve(void *arg)
{
    const struct story *story = arg;
    static struct wire_text text;
    int fd = wire_accept(story->listen_fd);
    text.size = 0;
    wire_read_for(fd, &text, "PING\r\n");
    wire_send(fd, SLICE("+PONG\r\n"));
    story->play(fd);
    close(fd);
    return NULL;
}

static void run(void (*play)(int fd), loop_fn *begin, const char *wanted)
{
    struct story story = {.loop = loop_new(), .play = play, .begin = begin};
    uint16_t port;
    story.listen_fd = wire_listen(&port);
    story.address = (struct redis_address){.host = (char *)(uintptr_t) "127.0.0.1", .port = port};
    story.late = timer_new(story.loop, on_late, &story);
    timer_start(story.late, WIRE_DEADLINE_MS * INT64_C(1000));
    ck_assert_int_eq(pthread_create(&story.thread, NULL, serve, &story), 0);
    story.link =
        redis_link_new(story.loop, &story.address, WIRE_DEADLINE_MS * INT64_C(1000),
                       (struct redis_link_events){.on_up = on_up, .on_down = on_down, .arg = &story});
    loop_run(story.loop);
    redis_link_free(story.link);
    pthread_join(story.thread, NULL);
    ck_assert_str_eq(story.told, wanted);
    timer_free(story.late);
    close(story.listen_fd);
    loop_free(story.loop);
}

static void ask(struct story *story, redis_reply_fn *fn)
{
    redis_send(story->link, 2, (struct slice[]){SLICE("GET"), SLICE("key")}, fn, story);
}

static void ask_once(void *arg)
{
    ask(arg, on_reply);
}

static void ask_nothing(void *arg)
{
    (void)arg;
}

/* ---- replies ---- */

static void answer_in_bytes(int fd)
{
    static const char reply[] = "$5\r\nhello\r\n";
    static struct wire_text text;
    text.size = 0;
    wire_read_for(fd, &text, "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
    for (size_t i = 0; i < strlen(reply); i++) {
        wire_send(fd, slice_from(reply + i, 1));
        usleep(2000);
    }
}

START_TEST(a_reply_may_come_in_pieces)
{
    run(answer_in_bytes, ask_once, "up;reply hello;down Server closed the connection;");
}
END_TEST

static void refuse_client(int fd)
{
    wire_send(fd, SLICE("-ERR max number of clients reached\r\n"));
}

START_TEST(an_error_without_a_command_is_the_reason_of_the_loss)
{
    run(refuse_client, ask_nothing, "up;down ERR max number of clients reached;");
}
END_TEST

static void send_surplus(int fd)
{
    wire_send(fd, SLICE("+OK\r\n"));
}

START_TEST(a_reply_without_a_command_ends_the_connection)
{
    run(send_surplus, ask_nothing, "up;down Redis sent a reply without a command;");
}
END_TEST

static void send_junk(int fd)
{
    wire_send(fd, SLICE("HTTP/1.1 400 Bad Request\r\n\r\n"));
}

START_TEST(what_is_no_reply_ends_the_connection)
{
    run(send_junk, ask_once, "up;nothing;down Protocol error, got \"H\" as reply type byte;");
}
END_TEST

static void answer_then_close(int fd)
{
    static struct wire_text text;
    text.size = 0;
    wire_read_for(fd, &text, "key\r\n");
    wire_send(fd, SLICE("+last\r\n"));
}

static void ask_twice(void *arg)
{
    ask(arg, on_reply);
    ask(arg, on_reply);
}

START_TEST(replies_before_the_end_of_the_connection_count)
{
    run(answer_then_close, ask_twice, "up;reply last;nothing;down Server closed the connection;");
}
END_TEST

/* ---- callbacks that end the connection ---- */

static void on_nothing(void *arg, const struct redis_reply *reply)
{
    struct story *story = arg;
    on_reply(arg, reply);
    ask(story, on_reply); /* this command fails in a later turn */
    redis_link_reset(story->link, "again");
}

static void reset_in_reply(void *arg, const struct redis_reply *reply)
{
    struct story *story = arg;
    on_reply(arg, reply);
    redis_link_reset(story->link, "enough");
    tell(story, "reset", SLICE(""));
}

static void ask_and_reset(void *arg)
{
    ask(arg, reset_in_reply);
    ask(arg, on_nothing);
    ask(arg, on_reply);
}

static void answer_all(int fd)
{
    static struct wire_text text;
    text.size = 0;
    wire_read_for(fd, &text, "key\r\n*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
    wire_send(fd, SLICE("+one\r\n+two\r\n+three\r\n"));
    wire_read_to_end(fd, &text);
}

START_TEST(a_reset_in_a_callback_ends_the_connection_after_it)
{
    run(answer_all, ask_and_reset, "up;reply one;reset;nothing;nothing;down enough;nothing;");
}
END_TEST

/* ---- channels ---- */

static void on_message(void *arg, struct slice channel, struct slice text)
{
    tell(arg, "channel ", channel);
    tell(arg, "text ", text);
}

static void subscribe(void *arg)
{
    struct story *story = arg;
    redis_subscribe(story->link, SLICE("wake"), on_message, story);
}

static void subscribe_and_ask(void *arg)
{
    subscribe(arg);
    ask_once(arg);
}

static void publish(int fd)
{
    static struct wire_text text;
    text.size = 0;
    wire_read_for(fd, &text, "SUBSCRIBE\r\n$4\r\nwake\r\n");
    wire_send(fd, SLICE("*3\r\n$9\r\nsubscribe\r\n$4\r\nwake\r\n:1\r\n"
                        "*3\r\n$7\r\nmessage\r\n$4\r\nwake\r\n$2\r\n17\r\n+value\r\n"
                        "*3\r\n$7\r\nmessage\r\n$4\r\nwake\r\n$2\r\n18\r\n"));
}

START_TEST(messages_and_replies_are_told_apart)
{
    run(publish, subscribe_and_ask,
        "up;channel wake;text ;channel wake;text 17;reply value;channel wake;text 18;down Server closed the "
        "connection;");
}
END_TEST

static void publish_elsewhere(int fd)
{
    wire_send(fd, SLICE("*3\r\n$7\r\nmessage\r\n$5\r\nother\r\n$2\r\n17\r\n"));
}

START_TEST(a_message_of_another_channel_ends_the_connection)
{
    run(publish_elsewhere, subscribe, "up;down Redis sent a reply without a command;");
}
END_TEST

static void refuse_subscription(int fd)
{
    wire_send(fd, SLICE("-NOPERM no channel\r\n"));
}

START_TEST(a_refused_subscription_is_the_reason_of_the_loss)
{
    run(refuse_subscription, subscribe, "up;down NOPERM no channel;");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("redis_link");
    TCase *tests = tcase_create("redis_link");
    tcase_add_test(tests, a_reply_may_come_in_pieces);
    tcase_add_test(tests, an_error_without_a_command_is_the_reason_of_the_loss);
    tcase_add_test(tests, a_reply_without_a_command_ends_the_connection);
    tcase_add_test(tests, what_is_no_reply_ends_the_connection);
    tcase_add_test(tests, replies_before_the_end_of_the_connection_count);
    tcase_add_test(tests, a_reset_in_a_callback_ends_the_connection_after_it);
    tcase_add_test(tests, messages_and_replies_are_told_apart);
    tcase_add_test(tests, a_message_of_another_channel_ends_the_connection);
    tcase_add_test(tests, a_refused_subscription_is_the_reason_of_the_loss);
    suite_add_tcase(suite, tests);
    return suite;
}
