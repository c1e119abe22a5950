/* Tests each verdict of the use cases of sibling topics with their own settings. */
#include "app/topics.h"

#include "app/fake_store.h"
#include "support/suite.h"

#define TOPIC "mail~queue"

static struct app *app;
static enum app_sibling_change what;
static int calls;
static char names[256];

static void begin(void)
{
    app = fake_app();
    what = APP_SIBLING_WRITE;
    calls = 0;
    names[0] = '\0';
}

static enum app_sibling_change on_change(void *arg, struct topic_settings *settings, bool has_settings,
                                         int64_t now_ms)
{
    ck_assert_ptr_eq(arg, &fake_verdict);
    ck_assert_int_eq(now_ms, 7);
    ck_assert(has_settings == (settings->max_in_flight > 0));
    calls++;
    settings->max_in_flight++;
    return what;
}

static void change(void)
{
    fake_forget();
    app_sibling_change(app, &fake_all, SLICE(TOPIC), on_change, fake_on_verdict, &fake_verdict);
}

static void end_topics(enum status status, const char *settings)
{
    struct topic topic = {.name = SLICE(TOPIC), .own = slice_of(settings), .now_ms = 7};
    struct fake_call *call = fake_take("topics");
    ck_assert_str_eq(call->id, TOPIC);
    call->fn.topics(call->arg, status, status == STATUS_OK ? &topic : NULL, status == STATUS_OK,
                    (struct topic_cursor){.shard = 0});
}

static void end_set(const char *old_settings, const char *new_settings, enum status status)
{
    struct fake_call *call = fake_take("set_topic");
    ck_assert_str_eq(call->old_settings, old_settings);
    ck_assert_str_eq(call->new_settings, new_settings);
    call->fn.set(call->arg, status);
}

START_TEST(settings_are_made_from_those_that_are_there)
{
    change();
    end_topics(STATUS_OK, "");
    end_set("", "{\"maxInFlight\":1}", STATUS_OK);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.settings, "{\"maxInFlight\":1}");
    fake_expect_log("settings_changed who=ops from=192.0.2.7 topic=" TOPIC " outcome=done");
    change();
    end_topics(STATUS_OK, "{\"maxInFlight\":4,\"note\":{\"a\":1}}");
    end_set("{\"maxInFlight\":4,\"note\":{\"a\":1}}", "{\"maxInFlight\":5,\"note\":{\"a\":1}}", STATUS_OK);
    fake_expect(STATUS_OK);
    what = APP_SIBLING_REMOVE;
    change();
    end_topics(STATUS_OK, "{\"maxInFlight\":4}");
    end_set("{\"maxInFlight\":4}", "", STATUS_OK);
    fake_expect(STATUS_OK);
    fake_expect_log("settings_reset");
}
END_TEST

START_TEST(a_change_that_changes_nothing_writes_nothing)
{
    what = APP_SIBLING_KEEP;
    change();
    end_topics(STATUS_OK, "{\"maxInFlight\":4}");
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.settings, "{\"maxInFlight\":4}");
    what = APP_SIBLING_MISSING;
    change();
    end_topics(STATUS_OK, "");
    fake_expect(STATUS_NOT_FOUND);
    what = APP_SIBLING_REMOVE;
    change();
    end_topics(STATUS_OK, "");
    fake_expect(STATUS_OK);
    fake_expect_none();
}
END_TEST

START_TEST(a_change_begins_again_a_few_times)
{
    change();
    for (int i = 0; i < 5; i++) {
        end_topics(STATUS_OK, "");
        end_set("", "{\"maxInFlight\":1}", STATUS_STALE);
    }
    fake_expect(STATUS_CONTENDED);
    ck_assert_int_eq(calls, 5);
}
END_TEST

START_TEST(changes_end_as_the_store_says)
{
    change();
    end_topics(STATUS_UNKNOWN, "");
    fake_expect(STATUS_UNAVAILABLE);
    change();
    end_topics(STATUS_OK, "nonsense");
    fake_expect(STATUS_UNREADABLE);
    change();
    end_topics(STATUS_OK, "{\"needs\":[\"wings\"]}");
    fake_expect(STATUS_LACKING);
    change();
    end_topics(STATUS_OK, "");
    end_set("", "{\"maxInFlight\":1}", STATUS_UNKNOWN);
    fake_expect(STATUS_UNKNOWN);
    fake_set_ready(false);
    change();
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

/* ---- lists ---- */

static void on_topic(void *arg, const struct topic *topic)
{
    ck_assert_ptr_eq(arg, &fake_verdict);
    strncat(names, topic->name.data, topic->name.size);
    strcat(names, " ");
}

static void list(size_t max)
{
    fake_forget();
    names[0] = '\0';
    app_siblings(app, SLICE("mail~q."), max, on_topic, fake_on_verdict, &fake_verdict);
}

static void end_page(const char *after, const struct topic *topics, size_t count, const char *next)
{
    struct fake_call *call = fake_take("topics");
    ck_assert_str_eq(call->id, after);
    call->fn.topics(call->arg, STATUS_OK, topics, count, (struct topic_cursor){.name = slice_of(next)});
}

static const struct topic found[] = {
    {.name = SLICE_INIT("mail~q.a"), .own = SLICE_INIT("{}")},
    {.name = SLICE_INIT("mail~q.b")},
    {.name = SLICE_INIT("mail~q.c"), .own = SLICE_INIT("{}")},
    {.name = SLICE_INIT("mail~r"), .own = SLICE_INIT("{}")},
};

START_TEST(a_list_has_the_topics_of_its_prefix_that_have_settings)
{
    list(9);
    end_page("mail~q.", found, 2, "mail~q.b");
    end_page("mail~q.b", found + 2, 2, "mail~r");
    fake_expect(STATUS_OK);
    ck_assert_str_eq(names, "mail~q.a mail~q.c ");
    list(9);
    end_page("mail~q.", found, 3, "");
    fake_expect(STATUS_OK);
    list(1);
    end_page("mail~q.", found, 3, "mail~q.c");
    fake_expect(STATUS_OK);
    ck_assert_str_eq(names, "mail~q.a ");
    fake_expect_none();
}
END_TEST

START_TEST(lists_end_as_the_store_says)
{
    list(9);
    struct fake_call *call = fake_take("topics");
    call->fn.topics(call->arg, STATUS_UNAVAILABLE, NULL, 0, (struct topic_cursor){.shard = 0});
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("siblings");
    TCase *tests = tcase_create("siblings");
    tcase_add_checked_fixture(tests, begin, fake_end);
    tcase_add_test(tests, settings_are_made_from_those_that_are_there);
    tcase_add_test(tests, a_change_that_changes_nothing_writes_nothing);
    tcase_add_test(tests, a_change_begins_again_a_few_times);
    tcase_add_test(tests, changes_end_as_the_store_says);
    tcase_add_test(tests, a_list_has_the_topics_of_its_prefix_that_have_settings);
    tcase_add_test(tests, lists_end_as_the_store_says);
    suite_add_tcase(suite, tests);
    return suite;
}
