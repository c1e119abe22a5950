/* Tests each verdict of the use cases of groups, and of jobs that are sent to groups. */
#include "app/groups.h"

#include <stdio.h>

#include "app/fake_store.h"
#include "job/job_parse.h"
#include "job/group.h"
#include "support/suite.h"
#include "support/without_head.h"

#define URL  "http://127.0.0.1:9/"
#define TEXT "{\"endpoints\":{\"a\":{\"url\":\"" URL "\"}}}"
#define TWO                                                                                                  \
    "{\"endpoints\":{\"a\":{\"url\":\"" URL "\",\"headers\":{\"X\":\"1\"}},\"b\":{\"url\":\"" URL            \
    "b\",\"method\":\"PUT\"}}}"

static struct app *app;
static struct app_caller bound; /* a caller with a right to topics orders-* and groups g-* */

static void begin(void)
{
    app = fake_app();
    bound = fake_some;
    bound.groups = SLICE("g-*");
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

/* Answers the read of a group. text is empty if the group does not exist. */
static void tell_group(const char *name, const char *text)
{
    struct fake_call *call = fake_take("groups");
    struct topic group = {.name = slice_of(name), .settings = slice_of(text)};
    ck_assert_str_eq(call->id, name);
    call->fn.topics(call->arg, STATUS_OK, &group, 1, (struct topic_cursor){.shard = 0});
}

static void fail_group(enum status status)
{
    struct fake_call *call = fake_take("groups");
    call->fn.topics(call->arg, status, NULL, 0, (struct topic_cursor){.shard = 0});
}

/* ---- reading ---- */

START_TEST(a_group_is_read)
{
    app_group(app, SLICE("g"), fake_on_verdict, &fake_verdict);
    tell_group("g", TEXT);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.settings, TEXT);
    fake_forget();
    app_group(app, SLICE("g"), fake_on_verdict, &fake_verdict);
    tell_group("g", "");
    fake_expect(STATUS_NOT_FOUND);
    fake_forget();
    app_group(app, SLICE("g"), fake_on_verdict, &fake_verdict);
    fail_group(STATUS_UNKNOWN);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

static void on_group(void *arg, const struct topic *group)
{
    char *names = arg == &fake_verdict ? fake_verdict.lines : NULL;
    ck_assert_ptr_nonnull(names);
    strncat(names, group->name.data, group->name.size);
    strcat(names, " ");
}

static void list(const struct app_caller *caller)
{
    fake_forget();
    app_groups(app, caller, 9, (struct topic_cursor){.shard = 0}, on_group, fake_on_verdict, &fake_verdict);
}

START_TEST(a_caller_sees_the_groups_that_it_reaches)
{
    struct topic groups[] = {{.name = SLICE("g-1")}, {.name = SLICE("h-1")}};
    struct topic_cursor no_more = {.shard = 0};
    list(&bound);
    struct fake_call *call = fake_take("groups");
    ck_assert_str_eq(call->id, "g,\x7f"); /* just before "g-" */
    call->fn.topics(call->arg, STATUS_OK, groups, 2, no_more);
    fake_expect(STATUS_OK);
    list(&fake_some); /* a caller restricted to topics, without a list of groups, has no right to any group */
    fake_expect_none();
    fake_expect(STATUS_OK);
    ck_assert(app_caller_reaches_group(&fake_all, SLICE("x")) &&
              app_caller_reaches_group(&bound, SLICE("g-1")));
    ck_assert(!app_caller_reaches_group(&bound, SLICE("h-1")) &&
              !app_caller_reaches_group(&fake_some, SLICE("g-1")));
}
END_TEST

/* ---- changes ---- */

static void change(enum app_change kind, const char *text, const char *tags)
{
    struct app_group_change call = {SLICE("g"), kind, slice_of(text), slice_of(tags)};
    fake_forget();
    app_group_change(app, &fake_all, &call, fake_on_verdict, &fake_verdict);
}

static void set(const char *old_text, const char *new_text, enum status status)
{
    struct fake_call *call = fake_take("set_group");
    ck_assert_str_eq(call->id, "g");
    ck_assert_str_eq(call->old_settings, old_text);
    ck_assert_str_eq(call->new_settings, new_text);
    call->fn.set(call->arg, status);
}

START_TEST(a_group_is_replaced_changed_and_removed)
{
    change(APP_CHANGE_REPLACE, TEXT, "");
    tell_group("g", "");
    set("", TEXT, STATUS_OK);
    fake_expect(STATUS_OK);
    ck_assert(!fake_verdict.was_there);
    ck_assert_str_eq(fake_verdict.settings, TEXT);
    fake_expect_log("event=group_replaced who=ops from=192.0.2.7 group=g outcome=done");
    change(APP_CHANGE_MERGE, "{\"endpoints\":{\"b\":null}}", "*");
    tell_group("g", TWO);
    set(TWO, "{\"endpoints\":{\"a\":{\"url\":\"" URL "\",\"headers\":{\"X\":\"1\"}}}}", STATUS_OK);
    fake_expect(STATUS_OK);
    ck_assert(fake_verdict.was_there);
    fake_expect_log("event=group_changed");
    change(APP_CHANGE_RESET, "", "");
    tell_group("g", TEXT);
    set(TEXT, "", STATUS_OK);
    fake_expect(STATUS_OK);
    fake_expect_log("event=group_removed");
}
END_TEST

START_TEST(a_change_that_met_another_one_begins_again)
{
    change(APP_CHANGE_REPLACE, TEXT, "");
    tell_group("g", "");
    set("", TEXT, STATUS_STALE);
    for (int i = 1; i < 5; i++) {
        tell_group("g", TWO);
        set(TWO, TEXT, STATUS_STALE);
    }
    fake_expect(STATUS_CONTENDED);
    fake_expect_log("");
    for (size_t i = 0; i < ENDINGS; i++) {
        change(APP_CHANGE_REPLACE, TEXT, "");
        tell_group("g", "");
        set("", TEXT, endings[i].status);
        fake_expect(endings[i].end);
        fake_expect_log(endings[i].status == STATUS_UNKNOWN ? "outcome=unknown" : "");
    }
}
END_TEST

START_TEST(a_change_is_refused)
{
    char tag[JOB_TAG_SIZE], tags[JOB_TAG_SIZE + 3], excluded[JOB_TAG_SIZE + 4];
    app_group_tag(SLICE(TEXT), tag);
    snprintf(tags, sizeof tags, "- %s", tag);
    snprintf(excluded, sizeof excluded, "!- %s", tag);
    static const struct {
        enum app_change kind;
        const char *text, *tags, *old;
        enum status end;
    } cases[] = {
        {APP_CHANGE_REPLACE, TEXT, "*", "", STATUS_STALE},
        {APP_CHANGE_REPLACE, TEXT, "!*", TEXT, STATUS_STALE},
        {APP_CHANGE_REPLACE, TEXT, "- x", TEXT, STATUS_STALE},
        {APP_CHANGE_MERGE, "{}", "", "", STATUS_NOT_FOUND},
        {APP_CHANGE_RESET, "", "", "", STATUS_NOT_FOUND},
        {APP_CHANGE_MERGE, "{}", "", "nonsense", STATUS_UNREADABLE},
        {APP_CHANGE_MERGE, "{}", "", "{\"endpoints\":{},\"needs\":[\"x\"]}", STATUS_LACKING},
        {APP_CHANGE_REPLACE, TEXT, "", "{\"endpoints\":{},\"needs\":[\"x\"]}", STATUS_LACKING},
        {APP_CHANGE_REPLACE, "{}", "", "", STATUS_INVALID},
        {APP_CHANGE_REPLACE, "{\"endpoints\":{\"a\":{\"url\":\"http://10.0.0.1/\"}}}", "", "",
         STATUS_INVALID},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        change(cases[i].kind, cases[i].text, cases[i].tags);
        tell_group("g", cases[i].old);
        fake_expect(cases[i].end);
    }
    ck_assert_str_eq(fake_verdict.error_field, "endpoints.a.url");
    change(APP_CHANGE_REPLACE, TEXT, excluded);
    tell_group("g", TEXT);
    fake_expect(STATUS_STALE);
    change(APP_CHANGE_REPLACE, TWO, tags);
    tell_group("g", TEXT);
    set(TEXT, TWO, STATUS_OK);
    fake_expect(STATUS_OK);
    change(APP_CHANGE_REPLACE, TEXT, "");
    tell_group("g", "nonsense");
    set("nonsense", TEXT, STATUS_OK);
    fake_expect(STATUS_OK);
    change(APP_CHANGE_REPLACE, TEXT, "");
    fail_group(STATUS_UNKNOWN);
    fake_expect(STATUS_UNAVAILABLE);
    fake_set_ready(false);
    change(APP_CHANGE_REPLACE, TEXT, "");
    fake_expect(STATUS_UNAVAILABLE);
    fake_expect_none();
}
END_TEST

/* ---- sending ---- */

static struct app_send *sending;

static struct app_send *send_of(const struct app_caller *caller, const char *members)
{
    static char text[FAKE_TEXT_MAX]; /* the job's members point into this text */
    struct job job;
    struct job_errors errors;
    snprintf(text, sizeof text, "{%s}", members);
    ck_assert_int_eq(job_parse(slice_of(text), 0, &job, &errors), STATUS_OK);
    fake_forget();
    return app_send_new(app, caller, &job);
}

/* Begins to send a job with these members. Returns false if the job was not admitted. */
static bool send_by(const struct app_caller *caller, const char *members)
{
    sending = send_of(caller, members);
    bool is_admitted = app_send_admit(sending, fake_on_verdict, &fake_verdict);
    if (is_admitted)
        app_send_start(sending, SLICE("once"), fake_on_verdict, &fake_verdict);
    return is_admitted;
}

#define JOB "\"topic\":\"orders-1\",\"jobId\":\"j\",\"group\":\"g-1\",\"delay\":5"

static void end_send(enum status expected)
{
    fake_expect(expected);
    fake_expect_none();
    app_send_free(sending);
}

START_TEST(a_job_goes_to_each_endpoint)
{
    struct sent_job jobs[] = {{.endpoint = SLICE("a"), .at_ms = 7}, {.endpoint = SLICE("b")}};
    struct store_sent sent = {.id = SLICE("orders-1/j"), .jobs = jobs, .count = 2};
    ck_assert(send_by(&bound, JOB ",\"headers\":{\"x\":\"own\"},\"body\":1"));
    tell_group("g-1", TWO);
    struct fake_call *call = fake_take("send");
    ck_assert_str_eq(call->id, "orders-1/j");
    ck_assert_str_eq(call->tags, "g-1");
    ck_assert_str_eq(call->once, "once");
    ck_assert_int_eq(call->when.ms, 5000);
    ck_assert_str_eq(without_head(call->record),
                     "a \"url\":\"" URL "\",\"delay\":5,\"headers\":{\"x\":\"own\"},\"body\":1}\n"
                     "b \"url\":\"" URL
                     "b\",\"method\":\"PUT\",\"delay\":5,\"headers\":{\"x\":\"own\"},\"needs\":[\"method\"],"
                     "\"body\":1}\n");
    call->fn.sent(call->arg, STATUS_OK, &sent);
    ck_assert_uint_eq(fake_verdict.sent_count, 2);
    ck_assert_str_eq(fake_verdict.group, "g-1");
    end_send(STATUS_OK);
    fake_expect_metric("duepost_jobs_accepted_total{topic=\"orders-1\"} 2");
}
END_TEST

START_TEST(the_ends_of_a_send)
{
    static const struct {
        enum status status;
        bool is_same;
        enum status end;
    } cases[] = {
        {STATUS_OK, true, STATUS_SAME},
        {STATUS_REPEATED, false, STATUS_REPEATED},
        {STATUS_EXISTS, false, STATUS_EXISTS},
        {STATUS_REUSED, false, STATUS_REUSED},
        {STATUS_FULL, false, STATUS_FULL},
        {STATUS_UNKNOWN, false, STATUS_UNKNOWN},
        {STATUS_UNAVAILABLE, false, STATUS_UNAVAILABLE},
    };
    struct sent_job job = {.endpoint = SLICE("a")};
    struct store_sent sent = {
        .id = SLICE("orders-1/j"), .jobs = &job, .count = 1, .taken = SLICE("orders-1/j~a")};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert(send_by(&fake_all, JOB));
        tell_group("g-1", TEXT);
        struct fake_call *call = fake_take("send");
        sent.is_same = cases[i].is_same;
        call->fn.sent(call->arg, cases[i].status, &sent);
        ck_assert_str_eq(fake_verdict.id, cases[i].end == STATUS_EXISTS     ? "orders-1/j~a"
                                          : cases[i].end <= STATUS_REPEATED ? "orders-1/j"
                                                                            : fake_verdict.id);
        end_send(cases[i].end);
    }
}
END_TEST

/* Begins to replace the jobs of an earlier send, and returns the call of the store. */
static struct fake_call *replace_by(const struct app_caller *caller, bool is_only_new)
{
    sending = send_of(caller, JOB);
    ck_assert(app_send_admit(sending, fake_on_verdict, &fake_verdict));
    app_send_replace(sending, is_only_new, fake_on_verdict, &fake_verdict);
    tell_group("g-1", TWO);
    return fake_take("replace_sent");
}

START_TEST(what_was_sent_is_replaced)
{
    struct sent_job jobs[] = {{.endpoint = SLICE("a"), .at_ms = 7}, {.endpoint = SLICE("b")}};
    struct store_sent sent = {.id = SLICE("orders-1/j"), .jobs = jobs, .count = 2};
    struct fake_call *call = replace_by(&bound, true);
    ck_assert_str_eq(call->id, "orders-1/j");
    ck_assert_str_eq(call->tags, "g-1");
    ck_assert_uint_eq(call->max, 1);
    ck_assert(strstr(without_head(call->record), "\nb \"url\""));
    call->fn.sent(call->arg, STATUS_OK, &sent);
    ck_assert(!fake_verdict.was_there);
    end_send(STATUS_OK);
    fake_expect_metric("duepost_jobs_accepted_total{topic=\"orders-1\"} 2");
    sent.was_there = true;
    sent.replaced = 1;
    sent.replaced_leased = 1;
    sent.cancelled = 3;
    call = replace_by(&bound, false);
    ck_assert_uint_eq(call->max, 0);
    call->fn.sent(call->arg, STATUS_OK, &sent);
    ck_assert(fake_verdict.was_there);
    end_send(STATUS_OK);
    fake_expect_metric("duepost_jobs_accepted_total{topic=\"orders-1\"} 4");
    fake_expect_metric("duepost_jobs_ended_total{topic=\"orders-1\",how=\"cancelled\"} 4");
}
END_TEST

START_TEST(a_replacement_is_refused)
{
    static const struct {
        enum status status;
        enum status end;
    } cases[] = {{STATUS_STALE, STATUS_STALE},
                 {STATUS_FULL, STATUS_FULL},
                 {STATUS_UNKNOWN, STATUS_UNKNOWN},
                 {STATUS_UNAVAILABLE, STATUS_UNAVAILABLE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store_sent sent = {.count = 0};
        struct fake_call *call = replace_by(&fake_all, false);
        call->fn.sent(call->arg, cases[i].status, &sent);
        end_send(cases[i].end);
    }
    sending = send_of(&fake_all, JOB);
    app_send_replace(sending, false, fake_on_verdict, &fake_verdict);
    tell_group("g-1", ""); /* the group does not exist */
    ck_assert_str_eq(fake_verdict.error_field, "group");
    end_send(STATUS_INVALID);
}
END_TEST

/* Begins to send a job with these members. Copies the mark, which is a text that identifies the content of
 * the send. */
static void mark_of(const char *members, char mark[FAKE_TEXT_MAX])
{
    struct store_sent nothing = {.count = 0};
    ck_assert(send_by(&fake_all, members));
    tell_group("g-1", "");
    struct fake_call *call = fake_take("send");
    ck_assert_str_eq(call->record, "");
    memcpy(mark, call->old_settings, FAKE_TEXT_MAX);
    call->fn.sent(call->arg, STATUS_NOT_FOUND, &nothing);
    ck_assert_str_eq(fake_verdict.error_field, "group");
    end_send(STATUS_INVALID);
}

START_TEST(without_a_group_only_an_earlier_send_is_found)
{
    char a[FAKE_TEXT_MAX], b[FAKE_TEXT_MAX], c[FAKE_TEXT_MAX];
    mark_of(JOB, a);
    mark_of("\"group\":\"g-1\",\"delay\":5.0,\"jobId\":\"j\",\"topic\":\"orders-1\"", b);
    mark_of(JOB ",\"body\":1", c);
    ck_assert_uint_eq(strlen(a), 32);
    ck_assert_str_eq(a, b);
    ck_assert_str_ne(a, c);
}
END_TEST

START_TEST(a_send_is_refused)
{
    static const struct {
        const char *members, *text, *field;
        enum status end;
    } cases[] = {
        {JOB, "nonsense", "", STATUS_UNREADABLE},
        {JOB, "{\"endpoints\":{\"a\":{}}}", "", STATUS_UNREADABLE},
        {JOB, "{\"endpoints\":{\"a\":1},\"needs\":[\"x\"]}", "", STATUS_LACKING},
        {JOB ",\"body\":1", "{\"endpoints\":{\"a\":{\"url\":\"" URL "\",\"method\":\"GET\"}}}", "body",
         STATUS_INVALID},
        {JOB ",\"bodyBase64\":\"eA==\"", "{\"endpoints\":{\"a\":{\"url\":\"" URL "\",\"method\":\"HEAD\"}}}",
         "bodyBase64", STATUS_INVALID},
    };
    struct store_sent nothing = {.count = 0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert(send_by(&fake_all, cases[i].members));
        tell_group("g-1", cases[i].text);
        struct fake_call *call = fake_take("send");
        ck_assert_str_eq(call->record, "");
        call->fn.sent(call->arg, STATUS_NOT_FOUND, &nothing);
        ck_assert_str_eq(fake_verdict.error_field, cases[i].field);
        end_send(cases[i].end);
    }
    ck_assert(send_by(&fake_all, JOB));
    fail_group(STATUS_UNKNOWN);
    end_send(STATUS_UNAVAILABLE);
}
END_TEST

START_TEST(a_send_is_not_admitted)
{
    ck_assert(!send_by(&fake_some, JOB));
    ck_assert_str_eq(fake_verdict.group, "g-1");
    end_send(STATUS_NOT_REACHED);
    ck_assert(!send_by(&bound, "\"topic\":\"mail\",\"group\":\"g-1\""));
    ck_assert_str_eq(fake_verdict.topic, "mail");
    end_send(STATUS_NOT_REACHED);
    ck_assert(!send_by(&bound, JOB ",\"onDead\":\"http://10.0.0.1/\""));
    ck_assert_str_eq(fake_verdict.error_field, "onDead");
    end_send(STATUS_INVALID);
    fake_set_ready(false);
    ck_assert(!send_by(&bound, JOB));
    end_send(STATUS_UNAVAILABLE);
}
END_TEST

/* ---- reading and cancelling ---- */

START_TEST(what_was_sent_is_read_and_cancelled)
{
    struct sent_job job = {.endpoint = SLICE("a")};
    struct store_sent sent = {.id = SLICE("orders-1/j"), .jobs = &job, .count = 1};
    struct store_unsent unsent = {.cancelled = 2, .leased = 1};
    app_sent(app, &bound, SLICE("orders-1/j"), SLICE("g-1"), fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("read_sent");
    ck_assert_str_eq(call->tags, "g-1");
    call->fn.sent(call->arg, STATUS_OK, &sent);
    fake_expect(STATUS_OK);
    ck_assert_uint_eq(fake_verdict.sent_count, 1);
    fake_forget();
    app_sent(app, &bound, SLICE("orders-1/j"), SLICE("h-1"), fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_NOT_FOUND);
    fake_forget();
    app_unsend(app, &bound, SLICE("orders-1/j"), SLICE("h-1"), fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_NOT_FOUND);
    fake_expect_none();
    fake_forget();
    app_unsend(app, &bound, SLICE("orders-1/j"), SLICE("g-1"), fake_on_verdict, &fake_verdict);
    call = fake_take("unsend");
    call->fn.unsent(call->arg, STATUS_OK, &unsent);
    fake_expect(STATUS_OK);
    ck_assert(fake_verdict.was_leased);
    ck_assert_uint_eq(fake_verdict.counts.done, 2);
    fake_expect_log("event=group_job_cancelled who=shop from=192.0.2.8 job=orders-1/j outcome=done");
    fake_forget();
    app_unsend(app, &bound, SLICE("orders-1/j"), SLICE("g-1"), fake_on_verdict, &fake_verdict);
    unsent = (struct store_unsent){.cancelled = 0};
    call = fake_take("unsend");
    call->fn.unsent(call->arg, STATUS_NOT_FOUND, &unsent);
    fake_expect(STATUS_NOT_FOUND);
    fake_set_ready(false);
    fake_forget();
    app_unsend(app, &bound, SLICE("orders-1/j"), SLICE("g-1"), fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("groups");
    TCase *tests = tcase_create("groups");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_group_is_read);
    tcase_add_test(tests, a_caller_sees_the_groups_that_it_reaches);
    tcase_add_test(tests, a_group_is_replaced_changed_and_removed);
    tcase_add_test(tests, a_change_that_met_another_one_begins_again);
    tcase_add_test(tests, a_change_is_refused);
    tcase_add_test(tests, a_job_goes_to_each_endpoint);
    tcase_add_test(tests, the_ends_of_a_send);
    tcase_add_test(tests, what_was_sent_is_replaced);
    tcase_add_test(tests, a_replacement_is_refused);
    tcase_add_test(tests, without_a_group_only_an_earlier_send_is_found);
    tcase_add_test(tests, a_send_is_refused);
    tcase_add_test(tests, a_send_is_not_admitted);
    tcase_add_test(tests, what_was_sent_is_read_and_cancelled);
    suite_add_tcase(suite, tests);
    return suite;
}
