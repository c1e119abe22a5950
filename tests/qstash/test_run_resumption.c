#include "qstash/run_resumption.h"

#include "base/base64.h"
#include "support/suite.h"

enum { ELEMENTS_MAX = 16 };

/* A run, one letter for each element: s a step alone; p and r a plan and a result of two parallel steps; c a
 * call. The jobs are named after the places, from a on. */
struct list {
    struct app_workflow_element elements[ELEMENTS_MAX];
    struct buffer texts[ELEMENTS_MAX];
    size_t count;
};

static void list_make(struct list *list, const char *kinds)
{
    static const char jobs[] = "abcdefghijklmnop";
    *list = (struct list){.count = strlen(kinds)};
    for (size_t i = 0; i < list->count; i++) {
        const char *body = kinds[i] == 'p'   ? "{\"stepId\":0,\"concurrent\":2,\"targetStep\":3}"
                           : kinds[i] == 'r' ? "{\"stepId\":3,\"concurrent\":2}"
                           : i == 0          ? "not JSON"
                                             : "{\"stepId\":1,\"concurrent\":1}";
        buffer_init(&list->texts[i], 1024);
        buffer_append(&list->texts[i], SLICE("{\"messageId\":\"m\",\"body\":\""));
        base64_append(&list->texts[i], slice_of(body));
        buffer_append(&list->texts[i], SLICE("\",\"callType\":\"step\"}"));
        list->elements[i] = (struct app_workflow_element){.is_call = kinds[i] == 'c',
                                                          .text = buffer_slice(&list->texts[i]),
                                                          .job = slice_from(&jobs[i], 1)};
    }
}

static void list_free(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        buffer_fini(&list->texts[i]);
}

static size_t find(const char *kinds, const char *failed, bool is_parallel_answer)
{
    struct list list;
    list_make(&list, kinds);
    const struct run_failure failure = {list.elements, list.count, slice_of(failed), is_parallel_answer};
    size_t found = run_resumption_find(&failure);
    list_free(&list);
    return found;
}

START_TEST(a_run_goes_on_with_the_message_that_failed)
{
    static const struct {
        const char *kinds, *failed;
        size_t index;
    } cases[] = {
        {"s", "a", 0},      {"sss", "a", 0},       {"sss", "b", 1},       {"sss", "c", 2},
        {"scs", "c", 2},    {"sspprr", "f", 5},    {"spprr", "e", 4},     {"sppcrr", "f", 5},
        {"spprrs", "f", 5}, {"spprrpprr", "i", 8}, {"spprrpprr", "e", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(find(cases[i].kinds, cases[i].failed, false) == cases[i].index, "%s %s", cases[i].kinds,
                      cases[i].failed);
}
END_TEST

START_TEST(parallel_steps_begin_again_if_not_all_have_ended)
{
    static const struct {
        const char *kinds, *failed;
        size_t index;
    } cases[] = {
        {"spp", "b", 0},     {"spp", "c", 0},      {"sspp", "c", 1},       {"sppr", "d", 0},
        {"ssppr", "d", 1},   {"scpp", "d", 0},     {"sscppcr", "g", 1},    {"spprrpp", "f", 4},
        {"spprrpp", "g", 4}, {"spprrppr", "h", 4}, {"spprrcppcr", "j", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(find(cases[i].kinds, cases[i].failed, false) == cases[i].index, "%s %s", cases[i].kinds,
                      cases[i].failed);
}
END_TEST

START_TEST(an_answer_is_delivered_again_unless_it_belongs_to_parallel_steps)
{
    ck_assert_uint_eq(find("sc", "x", false), 2);
    ck_assert_uint_eq(find("ssc", "x", false), 3);
    ck_assert_uint_eq(find("ssppc", "x", true), 1);
    ck_assert_uint_eq(find("ssppcr", "x", true), 1);
    ck_assert_uint_eq(find("scppc", "x", true), 0);
    ck_assert_uint_eq(find("sc", "x", true), 0);
    ck_assert_uint_eq(find("", "x", true), 0);
}
END_TEST

START_TEST(a_body_is_decoded)
{
    static const struct {
        const char *element;
        bool is_read;
        const char *body;
    } cases[] = {
        {"{\"messageId\":\"m\",\"body\":\"cGF5bG9hZA==\"}", true, "payload"},
        {"{\"body\":\"\"}", true, ""},
        {"{}", true, ""},
        {"[]", true, ""},
        {"{\"body\":1}", true, ""},
        {"{\"body\":\"?\"}", false, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer body;
        buffer_init(&body, 64);
        ck_assert_int_eq(run_resumption_read_body(slice_of(cases[i].element), &body), cases[i].is_read);
        ck_assert(slice_equal(buffer_slice(&body), slice_of(cases[i].body)));
        buffer_fini(&body);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("run_resumption");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_run_goes_on_with_the_message_that_failed);
    tcase_add_test(tests, parallel_steps_begin_again_if_not_all_have_ended);
    tcase_add_test(tests, an_answer_is_delivered_again_unless_it_belongs_to_parallel_steps);
    tcase_add_test(tests, a_body_is_decoded);
    suite_add_tcase(suite, tests);
    return suite;
}
