/* The log of a run, from elements as clients may send them. */
#include <check.h>
#include <stdio.h>

#include "base/encoding.h"
#include "qstash/runs/run_log.h"
#include "support/suite.h"

enum { STEPS_MAX = 16 };

static struct buffer text, out;
static struct workflow_element elements[STEPS_MAX];
static struct workflow_open open_jobs[STEPS_MAX];
static struct workflow workflow;
static struct run run;
static struct message_settings settings;
static struct message_view view;
static struct run_log the_log;

static void begin(void)
{
    buffer_init(&text, 1 << 20);
    buffer_reserve(&text, 1 << 20);
    buffer_init(&out, 1 << 20);
    message_settings_init(&settings);
    view = (struct message_view){.body = {NULL, 0}};
    run = (struct run){.url = SLICE("http://a/"), .caller_ip = SLICE("1.2.3.4")};
    workflow = (struct workflow){.id = SLICE("qstash/wfr_1"),
                                 .state = WORKFLOW_ACTIVE,
                                 .made_ms = 5,
                                 .elements = elements,
                                 .open = open_jobs};
    the_log = (struct run_log){
        .workflow = &workflow, .run = &run, .view = &view, .settings = &settings, .trim = SIZE_MAX};
}

static void end(void)
{
    buffer_fini(&text);
    buffer_fini(&out);
    message_settings_fini(&settings);
}

/* Adds an element with this body. more: members after the body, beginning with a comma. */
static void add(bool is_call, const char *body, const char *more)
{
    size_t start = text.size;
    buffer_printf(&text, "{\"messageId\":\"msg_%zu\",\"body\":\"", workflow.element_count);
    base64_append(&text, slice_of(body));
    buffer_printf(&text, "\",\"callType\":\"%s\"%s}", is_call ? "toCallback" : "step", more);
    elements[workflow.element_count++] = (struct workflow_element){
        .is_call = is_call, .text = slice_from(text.data + start, text.size - start), .at_ms = 7};
}

static void step(const char *body)
{
    add(false, body, "");
}

/* Returns the groups of steps as "[name=STATE;name=STATE;]type", with blanks between them. */
static const char *shape(void)
{
    static char found[1024];
    struct json_writer json = json_writer_to(&out);
    size_t size = 0;
    buffer_clear(&out);
    run_log_put(&json, &the_log);
    ck_assert(!out.failed);
    found[0] = '\0';
    const char *at = buffer_text(&out);
    static const char group[] = "{\"steps\":[", name[] = "\"stepName\":\"", state[] = "\"state\":\"STEP_",
                      type[] = "],\"type\":\"";
    for (; *at; at++) {
        bool is_group = strncmp(at, group, strlen(group)) == 0,
             is_name = strncmp(at, name, strlen(name)) == 0,
             is_state = strncmp(at, state, strlen(state)) == 0,
             is_type = strncmp(at, type, strlen(type)) == 0;
        const char *word = is_name    ? at + strlen(name)
                           : is_state ? at + strlen(state)
                           : is_type  ? at + strlen(type)
                                      : "";
        int length = (int)strcspn(word, "\"");
        if (is_group)
            size += (size_t)sprintf(found + size, "%s[", size ? " " : "");
        else if (is_name || is_state || is_type)
            size += (size_t)sprintf(found + size,
                                    is_type    ? "]%.*s"
                                    : is_state ? "=%.*s;"
                                               : "%.*s",
                                    length, word);
        ck_assert_uint_lt(size, sizeof found - 64);
    }
    return found;
}

#define INIT "[init=SUCCESS;]sequential"
#define RUN(id, concurrent, name)                                                                            \
    "{\"stepId\":" id ",\"stepName\":\"" name                                                                \
    "\",\"stepType\":\"Run\",\"out\":\"1\",\"concurrent\":" concurrent "}"
#define PLAN(target, concurrent, name)                                                                       \
    "{\"stepId\":0,\"stepName\":\"" name "\",\"stepType\":\"Run\",\"concurrent\":" concurrent                \
    ",\"targetStep\":" target "}"

START_TEST(steps_are_grouped)
{
    step("payload");
    step(RUN("1", "1", "a"));
    step(PLAN("2", "2", "b"));
    step(PLAN("3", "2", "c"));
    step(RUN("3", "2", "c"));
    step(RUN("2", "2", "b"));
    step(RUN("2", "2", "b"));
    step(RUN("4", "1", "d"));
    ck_assert_str_eq(shape(),
                     INIT " [a=SUCCESS;]sequential [b=SUCCESS;c=SUCCESS;]parallel [d=SUCCESS;]sequential");
}
END_TEST

START_TEST(two_parallel_groups_follow_each_other)
{
    step("payload");
    step(PLAN("1", "2", "a"));
    step(PLAN("2", "2", "b"));
    step(PLAN("3", "2", "c"));
    step(PLAN("4", "2", "d"));
    ck_assert_str_eq(shape(), INIT " [a=PROGRESS;b=PROGRESS;]parallel [c=PROGRESS;d=PROGRESS;]parallel");
}
END_TEST

START_TEST(a_plan_that_is_not_whole_is_shown_as_far_as_it_is_known)
{
    step("payload");
    step(PLAN("1", "3", "a"));
    step(RUN("1", "3", "a"));
    ck_assert_str_eq(shape(), INIT " [a=SUCCESS;]parallel");
    workflow.state = WORKFLOW_CANCELLED;
    step(PLAN("2", "3", "b"));
    ck_assert_str_eq(shape(), INIT " [a=SUCCESS;]parallel [b=CANCELED;]parallel");
}
END_TEST

START_TEST(calls_are_shown_once)
{
#define CALL                                                                                                 \
    ",\"call\":{\"stepId\":1,\"stepName\":\"ask\",\"stepType\":\"Call\",\"concurrent\":1,\"callUrl\":\"u\"}"
    step("payload");
    add(true, "question", CALL);
    ck_assert_str_eq(shape(), INIT " [ask=PROGRESS;]sequential");
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"callType\":\"toCallback\""));
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"callUrl\":\"u\",\"callBody\":\"question\""));
    step(
        "{\"stepId\":1,\"stepName\":\"ask\",\"stepType\":\"Call\",\"out\":\"{\\\"status\\\":201,\\\"body\\\":"
        "\\\"b\\\"}\",\"concurrent\":1}");
    ck_assert_str_eq(shape(), INIT " [ask=SUCCESS;]sequential");
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"callResponseStatus\":201,\"callResponseBody\":\"b\""));
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"callUrl\":\"u\",\"callBody\":\"question\""));
}
END_TEST

/* A client may send any body. */
START_TEST(other_bodies_are_steps_without_a_name)
{
    static const char *const bodies[] = {
        "",
        "text",
        "[1]",
        "{",
        "{}",
        "{\"stepId\":\"1\"}",
        "{\"stepId\":-1}",
        "{\"stepId\":4294967295}",
        "{\"stepId\":1e9,\"concurrent\":{}}",
        "{\"targetStep\":1}",
        "{\"targetStep\":1,\"concurrent\":0}",
        "{\"stepName\":7,\"stepType\":null}",
        "{\"stepId\":9,\"out\":{\"a\":1},\"sleepFor\":[],\"waitTimeout\":\"x\"}",
        "{\"stepId\":1,\"stepId\":2}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        workflow.element_count = 0;
        step("payload");
        step(bodies[i]);
        ck_assert_msg(strcmp(shape(), INIT " [=SUCCESS;]sequential") == 0, "%s: %s", bodies[i], shape());
    }
}
END_TEST

START_TEST(a_plan_may_name_any_step)
{
    step("payload");
    step(PLAN("99999", "2147483647", "a"));
    step(PLAN("1", "2147483647", "b"));
    ck_assert_str_eq(shape(), INIT " [a=PROGRESS;b=PROGRESS;]parallel");
}
END_TEST

START_TEST(elements_whose_texts_are_not_read)
{
    elements[0] = (struct workflow_element){.job = SLICE("qstash~messages/msg_a"), .at_ms = 7};
    elements[1] = (struct workflow_element){.job = SLICE("qstash~messages/msg_b"), .at_ms = 8};
    workflow.element_count = 2;
    ck_assert_str_eq(shape(), INIT " [=SUCCESS;]sequential");
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"messageId\":\"msg_a\",\"out\":\"\""));
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "\"messageId\":\"msg_b\""));
    workflow.elements = NULL;
    workflow.element_count = 0;
    ck_assert_str_eq(shape(), "");
}
END_TEST

START_TEST(a_run_is_cut_after_a_mebibyte)
{
    static char large[300 * 1024];
    buffer_fini(&text);
    buffer_fini(&out);
    buffer_init(&text, 8 << 20);
    buffer_reserve(&text, 8 << 20);
    buffer_init(&out, 8 << 20);
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 10; i++)
        step(large);
    shape();
    ck_assert_uint_gt(out.size, RUN_LOG_BYTES / 4);
    ck_assert_uint_lt(out.size, RUN_LOG_BYTES + sizeof large);
    the_log.trim = 10;
    shape();
    ck_assert_uint_lt(out.size, 10000);
}
END_TEST

START_TEST(words_of_states)
{
    enum workflow_state state;
    ck_assert(run_log_state(SLICE("RUN_STARTED"), &state) && state == WORKFLOW_ACTIVE);
    ck_assert(run_log_state(SLICE("RUN_SUCCESS"), &state) && state == WORKFLOW_SUCCEEDED);
    ck_assert(run_log_state(SLICE("RUN_FAILED"), &state) && state == WORKFLOW_FAILED);
    ck_assert(run_log_state(SLICE("RUN_CANCELED"), &state) && state == WORKFLOW_CANCELLED);
    ck_assert(!run_log_state(SLICE("RUN_CANCELLED"), &state) && !run_log_state(SLICE(""), &state));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("run_log");
    TCase *tests = tcase_create("run_log");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, steps_are_grouped);
    tcase_add_test(tests, two_parallel_groups_follow_each_other);
    tcase_add_test(tests, a_plan_that_is_not_whole_is_shown_as_far_as_it_is_known);
    tcase_add_test(tests, calls_are_shown_once);
    tcase_add_test(tests, other_bodies_are_steps_without_a_name);
    tcase_add_test(tests, a_plan_may_name_any_step);
    tcase_add_test(tests, elements_whose_texts_are_not_read);
    tcase_add_test(tests, a_run_is_cut_after_a_mebibyte);
    tcase_add_test(tests, words_of_states);
    suite_add_tcase(suite, tests);
    return suite;
}
