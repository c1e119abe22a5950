/* Tests each verdict of the use cases of limits that topics share, and of keys of topics. */
#include "app/limits.h"

#include "app/fake_store.h"
#include "support/suite.h"

#define FIVE "{\"maxInFlight\":5}"

static struct app *app;

static void begin(void)
{
    app = fake_app();
}

static void end(void)
{
    fake_end();
}

/* Answers the read of a limit. text is empty if the limit does not exist. */
static void tell_limit(const char *text)
{
    struct fake_call *call = fake_take("limits");
    struct limit limit = {.name = SLICE("l"), .settings = slice_of(text), .next_ms = -1};
    ck_assert_str_eq(call->id, "l");
    call->fn.limits(call->arg, STATUS_OK, &limit, text[0] != '\0', false);
}

/* ---- reading ---- */

static struct limit seen;

static void on_limit(void *arg, const struct limit *limit)
{
    (void)arg;
    seen = *limit;
}

static void read_limit(const struct limit *limit)
{
    fake_forget();
    app_limit(app, SLICE("l"), on_limit, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("limits");
    call->fn.limits(call->arg, STATUS_OK, limit, 1, false);
    fake_expect(STATUS_OK);
}

START_TEST(a_limit_says_why_it_lets_no_attempt_begin)
{
    static const struct {
        const char *settings;
        int64_t in_flight, next_ms;
        enum topic_hold hold;
    } rows[] = {
        {"{}", 9, -1, HOLD_NONE},
        {FIVE, 4, -1, HOLD_NONE},
        {FIVE, 5, -1, HOLD_IN_FLIGHT},
        {FIVE, 6, 2000, HOLD_IN_FLIGHT},
        {FIVE, 4, 2000, HOLD_RATE},
        {FIVE, 4, 1000, HOLD_NONE},
        {"{\"paused\":true,\"maxInFlight\":5}", 5, 2000, HOLD_PAUSED},
        {"nonsense", 5, -1, HOLD_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_limit(&(struct limit){.name = SLICE("l"),
                                   .settings = slice_of(rows[i].settings),
                                   .in_flight = rows[i].in_flight,
                                   .next_ms = rows[i].next_ms,
                                   .now_ms = 1000});
        ck_assert_msg(seen.hold == rows[i].hold, "row %zu", i);
    }
}
END_TEST

START_TEST(a_limit_that_cannot_be_read)
{
    static const enum status statuses[][2] = {{STATUS_UNKNOWN, STATUS_UNAVAILABLE},
                                              {STATUS_UNAVAILABLE, STATUS_UNAVAILABLE}};
    app_limit(app, SLICE("l"), on_limit, fake_on_verdict, &fake_verdict);
    tell_limit("");
    fake_expect(STATUS_NOT_FOUND);
    for (size_t i = 0; i < 2; i++) {
        fake_forget();
        app_limit(app, SLICE("l"), on_limit, fake_on_verdict, &fake_verdict);
        struct fake_call *call = fake_take("limits");
        call->fn.limits(call->arg, statuses[i][0], NULL, 0, false);
        fake_expect(statuses[i][1]);
    }
}
END_TEST

START_TEST(a_page_takes_several_calls)
{
    static const struct limit first[] = {{.name = SLICE_INIT("a")}, {.name = SLICE_INIT("b")}},
                              last[] = {{.name = SLICE_INIT("c")}};
    app_limits(app, 3, (struct topic_cursor){.shard = 0}, on_limit, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("limits");
    ck_assert(call->max == 3 && call->id[0] == '\0');
    call->fn.limits(call->arg, STATUS_OK, first, 2, true);
    call = fake_take("limits");
    ck_assert_str_eq(call->id, "b");
    ck_assert(call->max == 1);
    call->fn.limits(call->arg, STATUS_OK, last, 1, true);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.cursor, "c");
    fake_forget();
    app_limits(app, 3, (struct topic_cursor){.name = SLICE("c")}, on_limit, fake_on_verdict, &fake_verdict);
    call = fake_take("limits");
    ck_assert_str_eq(call->id, "c");
    call->fn.limits(call->arg, STATUS_UNKNOWN, NULL, 0, false);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

/* ---- changes ---- */

static void change(enum app_change kind, const char *text, const char *tags)
{
    struct app_limit_change call = {
        .name = SLICE("l"), .kind = kind, .text = slice_of(text), .tags = slice_of(tags)};
    fake_forget();
    app_limit_change(app, &fake_all, &call, fake_on_verdict, &fake_verdict);
}

static void set(const char *old_text, const char *new_text, enum status status)
{
    static const struct slice users[] = {SLICE_INIT("orders")};
    struct fake_call *call = fake_take("set_limit");
    ck_assert_str_eq(call->id, "l");
    ck_assert_str_eq(call->old_settings, old_text);
    ck_assert_str_eq(call->new_settings, new_text);
    call->fn.set_limit(call->arg, status, users, status == STATUS_IN_USE);
}

START_TEST(a_limit_is_replaced_changed_and_removed)
{
    change(APP_CHANGE_REPLACE, FIVE, "");
    tell_limit("");
    set("", FIVE, STATUS_OK);
    fake_expect(STATUS_OK);
    ck_assert(!fake_verdict.was_there);
    fake_expect_log("limit_replaced");
    change(APP_CHANGE_MERGE, "{\"maxInFlight\":null}", "");
    tell_limit(FIVE);
    set(FIVE, "{}", STATUS_OK); /* an empty text would remove the limit */
    fake_expect(STATUS_OK);
    ck_assert(fake_verdict.was_there);
    fake_expect_log("limit_changed");
    change(APP_CHANGE_RESET, "", "");
    tell_limit("{}");
    set("{}", "", STATUS_OK);
    fake_expect(STATUS_OK);
    fake_expect_log("limit_removed");
}
END_TEST

START_TEST(members_of_a_later_version_stay)
{
    change(APP_CHANGE_MERGE, "{\"maxInFlight\":6}", "");
    tell_limit("{\"maxInFlight\":5,\"weight\":3}");
    set("{\"maxInFlight\":5,\"weight\":3}", "{\"maxInFlight\":6,\"weight\":3}", STATUS_OK);
    fake_expect(STATUS_OK);
}
END_TEST

START_TEST(a_change_begins_again)
{
    change(APP_CHANGE_MERGE, "{\"paused\":true}", "");
    for (int i = 0; i < 5; i++) {
        tell_limit(FIVE);
        set(FIVE, "{\"paused\":true,\"maxInFlight\":5}", STATUS_STALE);
    }
    fake_expect(STATUS_CONTENDED);
}
END_TEST

START_TEST(changes_that_are_refused)
{
    change(APP_CHANGE_REPLACE, "{\"weight\":1}", "");
    tell_limit("");
    fake_expect(STATUS_INVALID);
    ck_assert_str_eq(fake_verdict.error_field, "weight");
    change(APP_CHANGE_MERGE, "{}", "");
    tell_limit("");
    fake_expect(STATUS_NOT_FOUND);
    change(APP_CHANGE_RESET, "", "");
    tell_limit("");
    fake_expect(STATUS_NOT_FOUND);
    change(APP_CHANGE_REPLACE, "{}", "0123456789012345678901234567890123456789");
    tell_limit(FIVE);
    fake_expect(STATUS_STALE);
    change(APP_CHANGE_MERGE, "{}", "");
    tell_limit("nonsense");
    fake_expect(STATUS_UNREADABLE);
    change(APP_CHANGE_MERGE, "{}", "");
    tell_limit("{\"needs\":[\"later\"]}");
    fake_expect(STATUS_LACKING);
    change(APP_CHANGE_RESET, "", "");
    tell_limit(FIVE);
    set(FIVE, "", STATUS_IN_USE);
    fake_expect(STATUS_IN_USE);
    change(APP_CHANGE_RESET, "", "");
    tell_limit(FIVE);
    set(FIVE, "", STATUS_UNKNOWN);
    fake_expect(STATUS_UNKNOWN);
    fake_set_ready(false);
    change(APP_CHANGE_RESET, "", "");
    fake_expect(STATUS_UNAVAILABLE);
    fake_set_ready(true);
    fake_set_shards(2);
    change(APP_CHANGE_REPLACE, "{}", "");
    fake_expect(STATUS_INVALID);
}
END_TEST

/* ---- keys ---- */

static struct topic_lane lane_seen;
static size_t lanes_seen;

static void on_lane(void *arg, const struct topic_lane *lane)
{
    (void)arg;
    lane_seen = *lane;
    lanes_seen++;
}

START_TEST(a_page_of_keys_takes_several_calls)
{
    static const struct topic_lane first[] = {{.key = SLICE_INIT("b")}, {.key = SLICE_INIT("a")}},
                                   last[] = {{.key = SLICE_INIT("c")}};
    char room[APP_CURSOR_MAX];
    struct buffer decoded = buffer_of(room, sizeof room);
    struct slice after;
    lanes_seen = 0;
    app_lanes(app, SLICE("orders"), 3, SLICE("9 x"), on_lane, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("lanes");
    ck_assert(call->max == 3);
    ck_assert_str_eq(call->id, "orders");
    ck_assert_str_eq(call->old_settings, "9 x");
    call->fn.lanes(call->arg, STATUS_OK, first, 2, SLICE("5 a"));
    call = fake_take("lanes");
    ck_assert(call->max == 1);
    ck_assert_str_eq(call->old_settings, "5 a");
    call->fn.lanes(call->arg, STATUS_OK, last, 1, SLICE("4 c"));
    fake_expect(STATUS_OK);
    ck_assert(lanes_seen == 3 && app_lane_cursor_parse(slice_of(fake_verdict.cursor), &decoded, &after));
    ck_assert(slice_equal(after, SLICE("4 c")));
    fake_forget();
    app_lanes(app, SLICE("orders"), 3, SLICE(""), on_lane, fake_on_verdict, &fake_verdict);
    call = fake_take("lanes");
    call->fn.lanes(call->arg, STATUS_OK, last, 1, SLICE(""));
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.cursor, "");
    fake_forget();
    app_lanes(app, SLICE("orders"), 3, SLICE(""), on_lane, fake_on_verdict, &fake_verdict);
    call = fake_take("lanes");
    call->fn.lanes(call->arg, STATUS_UNKNOWN, NULL, 0, SLICE(""));
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

START_TEST(each_topic_has_all_keys)
{
    lanes_seen = 0;
    app_lane(app, SLICE("orders"), SLICE("k"), on_lane, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("lanes");
    ck_assert_str_eq(call->old_settings, "k");
    call->fn.lanes(call->arg, STATUS_OK, NULL, 0, SLICE(""));
    fake_expect(STATUS_OK);
    ck_assert(lanes_seen == 1 && lane_seen.due_ms == -1 && slice_equal(lane_seen.key, SLICE("k")));
    fake_forget();
    app_lane(app, SLICE("orders"), SLICE("k"), on_lane, fake_on_verdict, &fake_verdict);
    call = fake_take("lanes");
    call->fn.lanes(call->arg, STATUS_UNKNOWN, NULL, 0, SLICE(""));
    fake_expect(STATUS_UNAVAILABLE);
    ck_assert(lanes_seen == 1);
}
END_TEST

static void change_key(enum app_change kind, const char *text, const char *old_text)
{
    struct app_limit_change call = {
        .topic = SLICE("orders"), .name = SLICE("orders/a/b"), .kind = kind, .text = slice_of(text)};
    struct topic_lane lane = {.key = SLICE("a/b"), .settings = slice_of(old_text)};
    fake_forget();
    app_limit_change(app, &fake_some, &call, fake_on_verdict, &fake_verdict);
    struct fake_call *read = fake_take("lanes");
    ck_assert_str_eq(read->id, "orders");
    ck_assert_str_eq(read->old_settings, "a/b");
    read->fn.lanes(read->arg, STATUS_OK, &lane, 1, SLICE(""));
}

static void set_key(const char *old_text, const char *new_text, enum status status)
{
    struct fake_call *call = fake_take("set_lane");
    ck_assert_str_eq(call->id, "orders");
    ck_assert_str_eq(call->record, "a/b");
    ck_assert_str_eq(call->old_settings, old_text);
    ck_assert_str_eq(call->new_settings, new_text);
    call->fn.set(call->arg, status);
    fake_expect(status);
}

START_TEST(settings_of_a_key_are_replaced_changed_and_removed)
{
    change_key(APP_CHANGE_REPLACE, FIVE, "");
    set_key("", FIVE, STATUS_OK);
    fake_expect_log("event=key_replaced who=");
    change_key(APP_CHANGE_MERGE, "{\"weight\":2}", "");
    set_key("", "{\"weight\":2}", STATUS_OK);
    fake_expect_log("key=orders/a/b");
    change_key(APP_CHANGE_MERGE, "{\"maxInFlight\":null}", FIVE);
    set_key(FIVE, "", STATUS_OK);
    fake_expect_log("key_changed");
    change_key(APP_CHANGE_RESET, "", "nonsense");
    set_key("nonsense", "", STATUS_UNKNOWN);
    fake_expect_log("key_reset");
    change_key(APP_CHANGE_RESET, "", "");
    set_key("", "", STATUS_UNAVAILABLE);
    change_key(APP_CHANGE_REPLACE, "{\"order\":\"fifo\"}", "");
    fake_expect(STATUS_INVALID);
    change_key(APP_CHANGE_MERGE, "{}", "nonsense");
    fake_expect(STATUS_UNREADABLE);
    change_key(APP_CHANGE_REPLACE, "{}", "{\"needs\":[\"later\"]}");
    fake_expect(STATUS_LACKING);
}
END_TEST

START_TEST(keys_of_siblings_have_no_settings)
{
    struct app_limit_change call = {
        .topic = SLICE("orders~callbacks"), .name = SLICE("orders~callbacks/a"), .text = SLICE("{}")};
    app_limit_change(app, &fake_all, &call, fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_SIBLING);
    fake_forget();
    fake_set_ready(false);
    call.topic = SLICE("orders"), call.name = SLICE("orders/a");
    app_limit_change(app, &fake_all, &call, fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

Suite *suite(void)
{
    Suite *limits = suite_create("limits");
    TCase *tests = tcase_create("limits");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_limit_says_why_it_lets_no_attempt_begin);
    tcase_add_test(tests, a_limit_that_cannot_be_read);
    tcase_add_test(tests, a_page_takes_several_calls);
    tcase_add_test(tests, a_limit_is_replaced_changed_and_removed);
    tcase_add_test(tests, members_of_a_later_version_stay);
    tcase_add_test(tests, a_change_begins_again);
    tcase_add_test(tests, changes_that_are_refused);
    tcase_add_test(tests, a_page_of_keys_takes_several_calls);
    tcase_add_test(tests, each_topic_has_all_keys);
    tcase_add_test(tests, settings_of_a_key_are_replaced_changed_and_removed);
    tcase_add_test(tests, keys_of_siblings_have_no_settings);
    suite_add_tcase(limits, tests);
    return limits;
}
