/* Tests the lines of the audit log: which changes have one, that they have no secrets, and that requests wait
 * for them. */
#include "app/audit.h"

#include "app/app_private.h"
#include "app/fake_history.h"
#include "app/fake_store.h"
#include "support/suite.h"

static struct app *app;
static struct app_notes notes;
static struct app_caller caller;
static size_t ends;

static void on_end(void *arg)
{
    ck_assert_ptr_eq(arg, &notes);
    ends++;
}

static void begin(void)
{
    app = fake_app();
    app->history = fake_history();
    app_notes_init(&notes, app);
    notes.on_end = on_end;
    notes.arg = &notes;
    caller = fake_all;
    caller.notes = &notes;
    ends = 0;
}

static void end(void)
{
    app_notes_fini(&notes);
    fake_end();
}

/* Takes the line that is being noted. */
static struct fake_call *take_note(const char *topic, const char *event)
{
    struct fake_call *call = fake_take("note");
    char wanted[256];
    ck_assert_str_eq(call->id, topic);
    snprintf(wanted, sizeof wanted, " %s %s {\"id\":\"", event, topic[0] ? topic : "-");
    ck_assert_msg(strstr(call->record, wanted) != NULL, "%s lacks %s", call->record, wanted);
    return call;
}

static void expect_in(const struct fake_call *call, const char *text)
{
    ck_assert_msg(strstr(call->record, text) != NULL, "%s lacks %s", call->record, text);
}

START_TEST(an_outcome_has_a_line_unless_nothing_has_changed)
{
    static const struct {
        enum status status;
        const char *outcome;
    } rows[] = {{STATUS_OK, "done"},  {STATUS_UNDURABLE, "not_durable"}, {STATUS_UNKNOWN, "unknown"},
                {STATUS_STALE, NULL}, {STATUS_NOT_FOUND, NULL},          {STATUS_UNAVAILABLE, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        audit(&caller, "job_cancelled", "job", SLICE("orders/1"), rows[i].status);
        if (!rows[i].outcome) {
            fake_expect_none();
            continue;
        }
        struct fake_call *call = take_note("orders", "job_cancelled");
        char outcome[64];
        snprintf(outcome, sizeof outcome, "\"outcome\":\"%s\"}", rows[i].outcome);
        expect_in(call, "\"kind\":\"job\",\"target\":\"orders/1\",\"topic\":\"orders\"");
        expect_in(call, outcome);
        call->fn.note(call->arg, STATUS_OK);
    }
}
END_TEST

START_TEST(a_request_waits_for_all_its_lines)
{
    audit(&caller, "schedule_run", "schedule", SLICE("a/1"), STATUS_OK);
    audit(&caller, "receiver_closed", "receiver", SLICE("b:80"), STATUS_OK);
    struct fake_call *first = take_note("a", "schedule_run"), *second = take_note("", "receiver_closed");
    ck_assert(app_notes_are_pending(&notes));
    first->fn.note(first->arg, STATUS_OK);
    ck_assert_uint_eq(ends, 0);
    second->fn.note(second->arg, STATUS_OK);
    ck_assert_uint_eq(ends, 1);
    ck_assert(!notes.is_lost && !app_notes_are_pending(&notes));
}
END_TEST

START_TEST(a_line_that_may_be_lost_is_told)
{
    static const enum status failures[] = {STATUS_UNKNOWN, STATUS_UNAVAILABLE, STATUS_UNDURABLE};
    for (size_t i = 0; i < 3; i++) {
        notes.is_lost = false;
        audit(&caller, "schedule_run", "schedule", SLICE("a/1"), STATUS_OK);
        struct fake_call *call = take_note("a", "schedule_run");
        call->fn.note(call->arg, failures[i]);
        ck_assert(notes.is_lost);
    }
}
END_TEST

START_TEST(the_end_of_a_request_does_not_wait)
{
    audit(&caller, "schedule_run", "schedule", SLICE("a/1"), STATUS_OK);
    struct fake_call *call = take_note("a", "schedule_run");
    app_notes_fini(&notes);
    call->fn.note(call->arg, STATUS_OK);
    ck_assert_uint_eq(ends, 0);
}
END_TEST

START_TEST(an_action_on_one_job_does_not_wait)
{
    audit(&caller, "job_run", "job", SLICE("a/1"), STATUS_OK);
    ck_assert(!app_notes_are_pending(&notes));
    struct fake_call *call = take_note("a", "job_run");
    call->fn.note(call->arg, STATUS_UNKNOWN);
    ck_assert(!notes.is_lost && ends == 0);
}
END_TEST

START_TEST(without_a_history_lines_are_only_logged)
{
    app->history = NULL;
    audit(&caller, "job_run", "job", SLICE("a/1"), STATUS_OK);
    fake_expect_none();
    app->history = fake_history();
    audit(&fake_all, "job_run", "job", SLICE("a/1"), STATUS_OK);
    fake_expect_none();
    fake_expect_log("event=job_run");
}
END_TEST

START_TEST(settings_are_shown_as_to_clients)
{
    audit_change(&caller, "settings_changed", "topic", SLICE("t"), STATUS_OK, audit_show_topic,
                 SLICE("{\"url\":\"http://a/?key=canary\"}"), SLICE(""));
    struct fake_call *call = take_note("t", "settings_changed");
    ck_assert_ptr_null(strstr(call->record, "canary"));
    expect_in(call, "\"before\":{\"url\":\"http://a/?***\"},\"after\":{}}");
    audit_change(&caller, "limit_replaced", "limit", SLICE("l"), STATUS_OK, audit_show_limit, SLICE(""),
                 SLICE("{\"maxInFlight\":5}"));
    call = take_note("", "limit_replaced");
    expect_in(call, "\"outcome\":\"done\",\"after\":{\"maxInFlight\":5}}");
    audit_change(&caller, "settings_changed", "topic", SLICE("t"), STATUS_OK, audit_show_topic,
                 SLICE("nonsense"), SLICE(""));
    call = take_note("t", "settings_changed");
    expect_in(call, "\"beforeLeftOut\":true,\"after\":{}}");
}
END_TEST

START_TEST(a_cursor_is_the_place_of_a_line)
{
    static const char *const bad[] = {"",
                                      "1",
                                      "1.",
                                      ".000000000000000000000000",
                                      "1.00000000000000000000000",
                                      "1.00000000000000000000000G",
                                      "x.000000000000000000000000",
                                      "1234567890123456.000000000000000000000000"};
    struct trail_query trail = {.max = 1};
    ck_assert(app_audit_cursor_parse(SLICE("1700000000000.0123456789abcdef01234567"), &trail));
    ck_assert(trail.after.is_set && trail.after.at_ms == 1700000000000);
    ck_assert_str_eq(trail.after.id, "0123456789abcdef01234567");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!app_audit_cursor_parse(slice_of(bad[i]), &trail), "%s", bad[i]);
}
END_TEST

/* ---- the list ---- */

static size_t seen;

static void on_line(void *arg, const struct trail_entry *line)
{
    (void)arg;
    ck_assert(slice_equal(line->json, SLICE("{}")));
    seen++;
}

START_TEST(a_page_has_the_cursor_of_its_last_line)
{
    const struct trail_entry lines[] = {{9, "0123456789abcdef01234567", SLICE("{}")},
                                        {8, "0123456789abcdef01234568", SLICE("{}")}};
    seen = 0;
    app_audit(app, &(struct trail_query){.max = 2}, on_line, fake_on_verdict, &fake_verdict);
    struct fake_history_call call = fake_history_take("trail");
    call.fn.trail(call.arg, STATUS_OK, lines, 2, true, "");
    fake_expect(STATUS_OK);
    ck_assert_uint_eq(seen, 2);
    ck_assert_str_eq(fake_verdict.cursor, "8.0123456789abcdef01234568");
    fake_forget();
    app_audit(app, &(struct trail_query){.max = 2}, on_line, fake_on_verdict, &fake_verdict);
    call = fake_history_take("trail");
    call.fn.trail(call.arg, STATUS_UNAVAILABLE, NULL, 0, false, "it is away");
    fake_expect(STATUS_HISTORY_UNAVAILABLE);
    fake_forget();
    app->history = NULL;
    app_audit(app, &(struct trail_query){.max = 2}, on_line, fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_NO_HISTORY);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("audit");
    TCase *tests = tcase_create("audit");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, an_outcome_has_a_line_unless_nothing_has_changed);
    tcase_add_test(tests, a_request_waits_for_all_its_lines);
    tcase_add_test(tests, a_line_that_may_be_lost_is_told);
    tcase_add_test(tests, the_end_of_a_request_does_not_wait);
    tcase_add_test(tests, an_action_on_one_job_does_not_wait);
    tcase_add_test(tests, without_a_history_lines_are_only_logged);
    tcase_add_test(tests, settings_are_shown_as_to_clients);
    tcase_add_test(tests, a_cursor_is_the_place_of_a_line);
    tcase_add_test(tests, a_page_has_the_cursor_of_its_last_line);
    suite_add_tcase(suite, tests);
    return suite;
}
