/* Tests each verdict of the use cases of topics and receivers, of health and of the exposition. */
#include <stdio.h>

#include "app/topics.h"

#include "app/fake_store.h"
#include "app/job_counts.h"
#include "app/overview.h"
#include "support/suite.h"

static struct app *app;
static char names[256]; /* names of topics or receivers, each followed by a space */
static enum topic_hold hold;

static void begin(void)
{
    app = fake_app();
    names[0] = '\0';
}

static void end(void)
{
    fake_end();
}

static const struct {
    enum status status;
    enum status end;
} endings[] = {{STATUS_UNAVAILABLE, STATUS_UNAVAILABLE},
               {STATUS_UNKNOWN, STATUS_UNKNOWN},
               {STATUS_NO_MEMORY, STATUS_NO_MEMORY}};
enum { ENDINGS = sizeof endings / sizeof *endings };

static void add_name(struct slice name)
{
    strncat(names, name.data, name.size);
    strcat(names, " ");
}

static void on_topic(void *arg, const struct topic *topic)
{
    ck_assert_ptr_eq(arg, &fake_verdict);
    add_name(topic->name);
    hold = topic->hold;
}

/* ---- lists ---- */

static void list_topics(const struct app_caller *caller, const char *from)
{
    struct topic_cursor cursor = {.shard = 0};
    if (from[0])
        ck_assert(app_topic_cursor_parse(app, slice_of(from), &cursor));
    fake_forget();
    names[0] = '\0';
    app_topics(app, caller, 2, cursor, on_topic, fake_on_verdict, &fake_verdict);
}

/* Answers a call of the store. The call must request the page that begins after this name. */
static void end_topics(const char *behind, const struct topic *topics, size_t count, const char *next)
{
    struct fake_call *call = fake_take("topics");
    ck_assert_str_eq(call->id, behind);
    call->fn.topics(call->arg, STATUS_OK, topics, count, (struct topic_cursor){.name = slice_of(next)});
}

static struct topic topic_of(const char *name)
{
    return (struct topic){
        .name = slice_of(name), .held_ms = TOPIC_FREE, .due_ms = -1, .opens_ms = TOPIC_FREE};
}

START_TEST(a_page_of_topics_takes_as_many_calls_as_it_needs)
{
    struct topic a = topic_of("a"), b = topic_of("b");
    list_topics(&fake_all, "");
    end_topics("", &a, 1, "a");
    ck_assert_uint_eq(fake_verdict.count, 0);
    end_topics("a", &b, 1, "b");
    fake_expect(STATUS_OK);
    ck_assert_str_eq(names, "a b ");
    ck_assert_str_eq(fake_verdict.cursor, "b");
    list_topics(&fake_all, "b");
    end_topics("b", NULL, 0, "");
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.cursor, "");
}
END_TEST

START_TEST(a_caller_sees_the_topics_that_it_reaches)
{
    struct topic topics[] = {topic_of("orders-1"), topic_of("outside")};
    list_topics(&fake_some, "");
    struct fake_call *call = fake_take("topics");
    ck_assert_ptr_eq(strstr(call->id, "orders"),
                     call->id); /* the caller has a right only to orders-*, so the page begins there */
    call->fn.topics(call->arg, STATUS_OK, topics, 2, (struct topic_cursor){.name = SLICE("outside")});
    fake_expect(STATUS_OK);
    ck_assert_str_eq(names, "orders-1 ");
    ck_assert_str_eq(fake_verdict.cursor, "");
}
END_TEST

START_TEST(lists_of_topics_end_as_the_store_says)
{
    for (size_t i = 0; i < ENDINGS; i++) {
        list_topics(&fake_all, "");
        struct fake_call *call = fake_take("topics");
        call->fn.topics(call->arg, endings[i].status, NULL, 0, (struct topic_cursor){.shard = 0});
        fake_expect(endings[i].end);
        fake_forget();
        app_topic(app, SLICE("a"), on_topic, fake_on_verdict, &fake_verdict);
        call = fake_take("topics");
        call->fn.topics(call->arg, endings[i].status, NULL, 0, (struct topic_cursor){.shard = 0});
        fake_expect(endings[i].end);
    }
}
END_TEST

START_TEST(a_topic_says_what_holds_it)
{
#define CLOSED "{\"windows\":[{\"from\":\"09:00\",\"to\":\"10:00\"}]"
    static const struct {
        struct slice settings;
        int64_t held_ms;
        enum topic_hold hold;
    } cases[] = {
        {{NULL, 0}, TOPIC_FREE, HOLD_NONE},
        {{"{\"paused\":true}", 15}, TOPIC_HELD, HOLD_PAUSED},
        {{"nonsense", 8}, TOPIC_HELD, HOLD_SETTINGS},
        {{"{\"maxInFlight\":1}", 17}, TOPIC_HELD, HOLD_IN_FLIGHT},
        {{NULL, 0}, 5000, HOLD_RATE},
        {SLICE_INIT("{\"limit\":\"l\"}"), TOPIC_HELD, HOLD_LIMIT},
        {SLICE_INIT("{\"limit\":\"l\"}"), 5000, HOLD_LIMIT},
        {SLICE_INIT("{\"limit\":\"l\",\"rate\":{\"jobs\":1,\"per\":1}}"), 5000, HOLD_RATE},
        {SLICE_INIT(CLOSED "}"), 5000, HOLD_WINDOWS},
        {SLICE_INIT(CLOSED "}"), TOPIC_HELD, HOLD_WINDOWS},
        {SLICE_INIT(CLOSED "}"), TOPIC_FREE, HOLD_NONE},
        {SLICE_INIT(CLOSED ",\"paused\":true}"), TOPIC_HELD, HOLD_PAUSED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topic topic = topic_of("a");
        topic.settings = cases[i].settings;
        topic.held_ms = cases[i].held_ms;
        if (slice_starts_with(topic.settings, SLICE(CLOSED)))
            topic.opens_ms = topic.held_ms;
        fake_forget();
        app_topic(app, SLICE("a"), on_topic, fake_on_verdict, &fake_verdict);
        end_topics("a", &topic, 1, "");
        fake_expect(STATUS_OK);
        ck_assert_int_eq(hold, cases[i].hold);
    }
}
END_TEST

/* ---- changes ---- */

static void change(enum app_change kind, const char *name, const char *text)
{
    fake_forget();
    app_topic_change(app, &fake_all, slice_of(name), kind, slice_of(text), fake_on_verdict, &fake_verdict);
}

static void end_read(const char *settings)
{
    struct topic topic = topic_of("mail");
    topic.settings = topic.own = slice_of(settings);
    struct fake_call *call = fake_take("topics");
    call->fn.topics(call->arg, STATUS_OK, &topic, 1, (struct topic_cursor){.shard = 0});
}

static void end_set(const char *old_settings, const char *new_settings, enum status status)
{
    struct fake_call *call = fake_take("set_topic");
    ck_assert_str_eq(call->old_settings, old_settings);
    ck_assert_str_eq(call->new_settings, new_settings);
    call->fn.set(call->arg, status);
}

#define OLD "{\"paused\":true,\"maxInFlight\":2}"

START_TEST(settings_are_replaced_merged_and_reset)
{
    change(APP_CHANGE_REPLACE, "mail", "{\"paused\":true}");
    end_read(OLD);
    end_set(OLD, "{\"paused\":true}", STATUS_OK);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.settings, "{\"paused\":true}");
    fake_expect_log("settings_replaced who=ops from=192.0.2.7 topic=mail outcome=done");
    change(APP_CHANGE_MERGE, "mail", "{\"paused\":null}");
    end_read(OLD);
    end_set(OLD, "{\"maxInFlight\":2}", STATUS_OK);
    fake_expect(STATUS_OK);
    fake_expect_log("settings_changed");
    change(APP_CHANGE_RESET, "mail", "");
    end_read(OLD);
    end_set(OLD, "", STATUS_OK);
    fake_expect(STATUS_OK);
    fake_expect_log("settings_reset");
}
END_TEST

START_TEST(a_change_begins_again_when_the_settings_change)
{
    change(APP_CHANGE_RESET, "mail", "");
    for (int i = 0; i < 5; i++) {
        ck_assert_uint_eq(fake_verdict.count, 0);
        end_read(OLD);
        end_set(OLD, "", STATUS_STALE);
    }
    fake_expect(STATUS_CONTENDED);
    fake_expect_log("");
}
END_TEST

START_TEST(settings_that_cannot_be_accepted_are_not_written)
{
    change(APP_CHANGE_REPLACE, "mail", "{\"paused\":1}");
    end_read("");
    fake_expect(STATUS_INVALID);
    ck_assert_str_eq(fake_verdict.error_field, "paused");
    change(APP_CHANGE_REPLACE, "mail", "{\"url\":\"http://10.0.0.1/\"}");
    end_read("");
    fake_expect(STATUS_INVALID);
    ck_assert_str_eq(fake_verdict.error_field, "url");
    change(APP_CHANGE_MERGE, "mail", "{\"paused\":null}");
    end_read("nonsense");
    fake_expect(STATUS_UNREADABLE);
    change(APP_CHANGE_MERGE, "mail", "{\"paused\":null}");
    end_read("{\"needs\":[\"wings\"]}");
    fake_expect(STATUS_LACKING);
    ck_assert_ptr_nonnull(strstr(fake_verdict.why, "wings"));
    change(APP_CHANGE_REPLACE, "orders~callbacks", "{}");
    fake_expect(STATUS_SIBLING);
    fake_expect_log("");
}
END_TEST

static void end_read_patterns(const struct store_pattern *patterns, size_t count)
{
    struct store_patterns found = {7, patterns, count};
    struct fake_call *call = fake_take("patterns");
    call->fn.patterns(call->arg, STATUS_OK, &found);
}

static void end_set_patterns(const char *expected, enum status status)
{
    struct fake_call *call = fake_take("set_patterns");
    ck_assert_str_eq(call->new_settings, expected);
    call->fn.set(call->arg, status);
}

#define ALL                                                                                                  \
    {                                                                                                        \
        SLICE_INIT("*"), SLICE_INIT("{\"timeout\":5}")                                                       \
    }
#define LONG                                                                                                 \
    {                                                                                                        \
        SLICE_INIT("mail-eu-*"), SLICE_INIT("{\"paused\":true,\"timeout\":5,\"from\":{\"timeout\":\"*\"}}")  \
    }
#define LACKING                                                                                              \
    {                                                                                                        \
        SLICE_INIT("mail-eu-*"), SLICE_INIT("{\"needs\":[\"wings\"]}")                                       \
    }

START_TEST(patterns_are_changed_with_the_longer_ones_that_inherit_from_them)
{
    static const struct store_pattern two[] = {LONG, ALL}, lacking[] = {LACKING};
    change(APP_CHANGE_REPLACE, "mail-*", "{\"maxInFlight\":2}");
    end_read_patterns(two, 2);
    end_set_patterns("7:*={\"timeout\":5} "
                     "mail-*={\"maxInFlight\":2,\"timeout\":5,\"from\":{\"timeout\":\"*\"}} "
                     "mail-eu-*={\"paused\":true,\"maxInFlight\":2,\"timeout\":5,\"from\":{\"maxInFlight\":"
                     "\"mail-*\",\"timeout\":\"*\"}}",
                     STATUS_OK);
    fake_expect(STATUS_OK);
    fake_expect_log("settings_replaced who=ops from=192.0.2.7 pattern=mail-* outcome=done");
    change(APP_CHANGE_MERGE, "mail-eu-*", "{\"maxInFlight\":3}");
    end_read_patterns(two, 2);
    end_set_patterns(
        "7:*={\"timeout\":5} mail-eu-*={\"paused\":true,\"maxInFlight\":3,\"timeout\":5,\"from\":"
        "{\"timeout\":\"*\"}}",
        STATUS_STALE);
    end_read_patterns(two, 1);
    end_set_patterns("7:mail-eu-*={\"paused\":true,\"maxInFlight\":3}", STATUS_OK);
    fake_expect(STATUS_OK);
    fake_expect_log("settings_changed");
    change(APP_CHANGE_RESET, "*", "");
    end_read_patterns(two, 2);
    end_set_patterns("7:mail-eu-*={\"paused\":true}", STATUS_OK);
    fake_expect(STATUS_OK);
    fake_expect_log("settings_reset who=ops from=192.0.2.7 pattern=* outcome=done");
    change(APP_CHANGE_RESET, "mail-*", "");
    end_read_patterns(lacking, 1);
    fake_expect(STATUS_LACKING);
    change(APP_CHANGE_MERGE, "mail-eu-*", "{}");
    end_read_patterns(lacking, 1);
    fake_expect(STATUS_LACKING);
    fake_expect_log("");
}
END_TEST

START_TEST(there_are_at_most_100_patterns)
{
    static char texts[100][16];
    static struct store_pattern many[100];
    for (int i = 0; i < 100; i++) {
        snprintf(texts[i], sizeof texts[i], "p%d*", i);
        many[i] = (struct store_pattern){slice_of(texts[i]), SLICE("{}")};
    }
    change(APP_CHANGE_REPLACE, "mail-*", "{\"maxInFlight\":2}");
    end_read_patterns(many, 100);
    fake_expect(STATUS_INVALID);
    change(APP_CHANGE_RESET, "mail-*", "");
    end_read_patterns(many, 100);
    fake_take("set_patterns");
}
END_TEST

START_TEST(a_change_ends_as_the_store_says)
{
    for (size_t i = 0; i < ENDINGS; i++) {
        change(APP_CHANGE_RESET, "mail", "");
        end_read("");
        end_set("", "", endings[i].status);
        fake_expect(endings[i].end);
        change(APP_CHANGE_RESET, "mail", "");
        struct fake_call *call = fake_take("topics");
        call->fn.topics(call->arg, endings[i].status, NULL, 0, (struct topic_cursor){.shard = 0});
        /* A read whose outcome is unknown has changed nothing, so its verdict is UNAVAILABLE. */
        fake_expect(endings[i].end == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : endings[i].end);
    }
    fake_expect_log("outcome=unknown");
    fake_set_ready(false);
    change(APP_CHANGE_RESET, "mail", "");
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

/* ---- receivers ---- */

static void on_receiver(void *arg, const struct receiver_record *receiver)
{
    ck_assert_ptr_eq(arg, &fake_verdict);
    ck_assert(receiver->probe);
    add_name(receiver->name);
}

static const struct receiver_record known = {.name = {"h:80", 4}, .opened_ms = 5, .probe = 3};

static void list_receivers(enum status status)
{
    fake_forget();
    app_receivers(app, 2, (struct receiver_cursor){.shard = 0}, on_receiver, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("receivers");
    ck_assert_uint_eq(call->max, 2);
    call->fn.receivers(call->arg, status, &known, status == STATUS_OK, (struct receiver_cursor){0, 9});
}

static void close_receiver(enum status status)
{
    fake_forget();
    app_receiver_close(app, &fake_all, SLICE("h:80"), on_receiver, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("close_receiver");
    ck_assert_str_eq(call->id, "h:80");
    call->fn.closed(call->arg, status, status == STATUS_OK ? &known : NULL);
}

START_TEST(receivers_are_listed_and_closed)
{
    struct receiver_cursor cursor;
    list_receivers(STATUS_OK);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.cursor, "9");
    ck_assert(app_receiver_cursor_parse(app, slice_of(fake_verdict.cursor), &cursor));
    ck_assert_int_eq(cursor.version, 9);
    close_receiver(STATUS_OK);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(names, "h:80 h:80 ");
    fake_expect_log("receiver_closed who=ops from=192.0.2.7 receiver=h:80 outcome=done");
    close_receiver(STATUS_NOT_FOUND);
    fake_expect(STATUS_NOT_FOUND);
    for (size_t i = 0; i < ENDINGS; i++) {
        list_receivers(endings[i].status);
        fake_expect(endings[i].end);
        close_receiver(endings[i].status);
        fake_expect(endings[i].end);
    }
    fake_set_ready(false);
    fake_forget();
    app_receiver_close(app, &fake_all, SLICE("h:80"), on_receiver, fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

/* ---- health ---- */

START_TEST(health_is_that_of_the_store)
{
    struct app_health health;
    app_health(app, &health);
    ck_assert(health.is_ready && health.is_redis_known);
    ck_assert_str_eq(health.version, "7.2.0");
    ck_assert_str_eq(health.durability, "auto");
    ck_assert_str_eq(health.in_force, "fsync");
    fake_set_ready(false);
    app_health(app, &health);
    ck_assert(!health.is_ready && !health.is_redis_known);
    ck_assert_str_eq(health.why.text, "the fake is away");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("topics");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_page_of_topics_takes_as_many_calls_as_it_needs);
    tcase_add_test(tests, a_caller_sees_the_topics_that_it_reaches);
    tcase_add_test(tests, lists_of_topics_end_as_the_store_says);
    tcase_add_test(tests, a_topic_says_what_holds_it);
    tcase_add_test(tests, settings_are_replaced_merged_and_reset);
    tcase_add_test(tests, a_change_begins_again_when_the_settings_change);
    tcase_add_test(tests, settings_that_cannot_be_accepted_are_not_written);
    tcase_add_test(tests, patterns_are_changed_with_the_longer_ones_that_inherit_from_them);
    tcase_add_test(tests, there_are_at_most_100_patterns);
    tcase_add_test(tests, a_change_ends_as_the_store_says);
    tcase_add_test(tests, receivers_are_listed_and_closed);
    tcase_add_test(tests, health_is_that_of_the_store);
    suite_add_tcase(suite, tests);
    return suite;
}
