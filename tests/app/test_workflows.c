/* Tests each verdict of the use cases that read, list and cancel workflows. */
#include "app/workflows.h"

#include <stdio.h>

#include "app/fake_store.h"
#include "store/workflow.h"
#include "support/suite.h"

/* ---- fake functions of store/workflow.h, which keep the last call until the test answers it ---- */

static struct {
    struct workflow_query query;
    struct workflow_list list;
    char place[128], id[128];
    workflow_read_fn *read;
    workflow_list_fn *listed;
    workflow_fn *ended;
    void *arg;
    size_t calls;
    enum workflow_state state;
} fake;

void workflow_read(struct store *store, const struct workflow_query *query, workflow_read_fn *fn, void *arg)
{
    (void)store;
    fake.query = *query;
    fake.read = fn;
    fake.arg = arg;
    fake.calls++;
}

void workflow_list(struct store *store, const struct workflow_list *list, workflow_list_fn *fn, void *arg)
{
    (void)store;
    fake.list = *list;
    snprintf(fake.place, sizeof fake.place, "%.*s", SLICE_ARG(list->from.place));
    fake.listed = fn;
    fake.arg = arg;
    fake.calls++;
}

void workflow_end(struct store *store, struct slice id, enum workflow_state state, struct slice result,
                  const struct workflow_entry *for_parent, workflow_fn *fn, void *arg)
{
    (void)store, (void)result;
    ck_assert_ptr_null(for_parent);
    snprintf(fake.id, sizeof fake.id, "%.*s", SLICE_ARG(id));
    fake.state = state;
    fake.ended = fn;
    fake.arg = arg;
    fake.calls++;
}

void workflow_begin(struct store *store, const struct workflow_begin *begin, workflow_begun_fn *fn, void *arg)
{
    (void)store, (void)begin, (void)fn, (void)arg;
    ck_abort();
}

void workflow_append(struct store *store, struct slice id, const struct workflow_entry *entries, size_t count,
                     workflow_appended_fn *fn, void *arg)
{
    (void)store, (void)id, (void)entries, (void)count, (void)fn, (void)arg;
    ck_abort();
}

void workflow_wait(struct store *store, const struct workflow_wait *wait, workflow_waiting_fn *fn, void *arg)
{
    (void)store, (void)wait, (void)fn, (void)arg;
    ck_abort();
}

void workflow_waiters(struct store *store, const struct workflow_waiters_query *query,
                      workflow_waiters_fn *fn, void *arg)
{
    (void)store, (void)query, (void)fn, (void)arg;
    ck_abort();
}

void workflow_notify(struct store *store, const struct workflow_notify *notify, workflow_notified_fn *fn,
                     void *arg)
{
    (void)store, (void)notify, (void)fn, (void)arg;
    ck_abort();
}

static struct app *app;

static void begin(void)
{
    app = fake_app();
    memset(&fake, 0, sizeof fake);
}

static void end(void)
{
    fake_end();
}

/* ---- one ---- */

static struct {
    size_t count;
    enum status end;
    bool has_workflow;
    char text[512];
} seen;

/* Writes the workflow that the callback got to seen.text. */
static void on_workflow(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    ck_assert_ptr_eq(arg, &seen);
    seen.count++;
    seen.end = verdict->end;
    seen.has_workflow = workflow != NULL;
    if (!workflow)
        return;
    int size = snprintf(
        seen.text, sizeof seen.text, "%.*s %d %d %lld-%lld<%lld %.*s/%lld %.*s %.*s", SLICE_ARG(workflow->id),
        (int)workflow->state, workflow->state == WORKFLOW_ACTIVE, (long long)workflow->made_ms,
        (long long)workflow->ended_ms, (long long)workflow->previous_ms, SLICE_ARG(workflow->parent),
        (long long)workflow->parent_made_ms, SLICE_ARG(workflow->failed_by), SLICE_ARG(workflow->settings));
    for (size_t i = 0; workflow->elements && i < workflow->element_count; i++)
        size += snprintf(seen.text + size, sizeof seen.text - (size_t)size, " e:%d,%lld,%zu,%.*s,%.*s",
                         workflow->elements[i].is_call, (long long)workflow->elements[i].at_ms,
                         workflow->elements[i].bytes, SLICE_ARG(workflow->elements[i].job),
                         SLICE_ARG(workflow->elements[i].text));
    for (size_t i = 0; workflow->open && i < workflow->open_count; i++)
        size += snprintf(seen.text + size, sizeof seen.text - (size_t)size, " o:%d,%d,%zu,%.*s,%.*s",
                         (int)workflow->open[i].role, workflow->open[i].is_wait, workflow->open[i].position,
                         SLICE_ARG(workflow->open[i].job), SLICE_ARG(workflow->open[i].wait));
}

START_TEST(a_workflow_is_read_with_what_is_asked_for)
{
    const struct workflow_query query = {
        .id = SLICE("t/w"), .made_ms = 7, .with_jobs = true, .texts_max = 99};
    const struct workflow_element elements[] = {
        {.text = SLICE("e1"), .job = SLICE("t/a"), .at_ms = 7, .bytes = 2},
        {.is_call = true, .text = SLICE("e2"), .job = SLICE("t/b"), .at_ms = 8, .bytes = 2}};
    const struct workflow_open open[] = {{.job = SLICE("t/b"), .role = WORKFLOW_CALL, .position = 2},
                                         {.job = SLICE("t/c"), .is_wait = true, .wait = SLICE("text")},
                                         {.job = SLICE("t/d"), .role = WORKFLOW_ANSWER}};
    struct workflow workflow = {.id = SLICE("t/w"),
                                .state = WORKFLOW_ACTIVE,
                                .made_ms = 7,
                                .previous_ms = 3,
                                .settings = SLICE("{}"),
                                .parent = SLICE("t/p"),
                                .parent_made_ms = 5,
                                .open_count = 3,
                                .element_count = 2,
                                .elements = elements,
                                .open = open};
    app_workflow_find(app, &query, on_workflow, &seen);
    ck_assert(slice_equal(fake.query.id, query.id) && fake.query.made_ms == 7 && fake.query.with_jobs);
    ck_assert_uint_eq(fake.query.texts_max, 99);
    fake.read(fake.arg, STATUS_OK, &workflow);
    ck_assert_uint_eq(seen.end, STATUS_OK);
    ck_assert_str_eq(seen.text, "t/w 0 1 7-0<3 t/p/5  {} e:0,7,2,t/a,e1 e:1,8,2,t/b,e2 o:1,0,2,t/b, "
                                "o:0,1,0,t/c,text o:2,0,0,t/d,");
    /* the workflow has neither elements nor jobs */
    workflow = (struct workflow){.id = SLICE("t/w"),
                                 .state = WORKFLOW_FAILED,
                                 .made_ms = 7,
                                 .ended_ms = 9,
                                 .failed_by = SLICE("t/a"),
                                 .open_count = 3,
                                 .element_count = 2};
    app_workflow_read(app, SLICE("t/w"), false, on_workflow, &seen);
    ck_assert_uint_eq(fake.query.texts_max, 0);
    ck_assert(!fake.query.with_jobs && fake.query.made_ms == 0);
    fake.read(fake.arg, STATUS_OK, &workflow);
    ck_assert_str_eq(seen.text, "t/w 2 0 7-9<0 /0 t/a ");
    app_workflow_read(app, SLICE("t/w"), true, on_workflow, &seen);
    ck_assert_uint_gt(fake.query.texts_max, 1U << 30);
    fake.read(fake.arg, STATUS_NOT_FOUND, NULL);
    ck_assert_uint_eq(seen.count, 3);
}
END_TEST

START_TEST(a_workflow_that_cannot_be_read)
{
    static const struct {
        enum status status;
        enum status end;
    } endings[] = {{STATUS_NOT_FOUND, STATUS_NOT_FOUND},
                   {STATUS_UNAVAILABLE, STATUS_UNAVAILABLE},
                   {STATUS_NO_MEMORY, STATUS_NO_MEMORY}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        app_workflow_read(app, SLICE("t/w"), true, on_workflow, &seen);
        fake.read(fake.arg, endings[i].status, NULL);
        ck_assert_uint_eq(seen.end, endings[i].end);
        ck_assert(!seen.has_workflow);
    }
}
END_TEST

START_TEST(the_place_of_a_workflow_has_its_id_and_its_time)
{
    struct slice id;
    int64_t made_ms;
    ck_assert(workflow_place_parse(SLICE("t/p/5"), &id, &made_ms));
    ck_assert(slice_equal(id, SLICE("t/p")) && made_ms == 5);
    ck_assert(!workflow_place_parse(SLICE("nonsense"), &id, &made_ms));
}
END_TEST

/* ---- lists ---- */

static char listed[256];

static void on_listed(void *arg, const struct workflow *workflow)
{
    ck_assert_ptr_eq(arg, &fake_verdict);
    strncat(listed, workflow->id.data, workflow->id.size);
    strcat(listed, " ");
}

static void list(const struct workflow_list *of)
{
    listed[0] = '\0';
    fake_forget();
    app_workflow_list(app, of, on_listed, fake_on_verdict, &fake_verdict);
}

static void tell_page(enum status status, const char *first, const char *second, struct workflow_cursor next)
{
    const struct workflow workflows[] = {{.id = slice_of(first), .made_ms = 2},
                                         {.id = slice_of(second), .made_ms = 1}};
    fake.listed(fake.arg, status, workflows, (first[0] != '\0') + (second[0] != '\0'), next);
}

static const struct workflow_cursor at_end = {.shard = 0};

START_TEST(a_list_asks_until_its_page_is_full)
{
    const struct workflow_list of = {
        .owner = SLICE("t"), .prefix = SLICE("w"), .has_state = true, .state = WORKFLOW_CANCELLED, .max = 3};
    list(&of);
    ck_assert(slice_equal(fake.list.owner, SLICE("t")) && slice_equal(fake.list.prefix, SLICE("w")));
    ck_assert(fake.list.has_state && fake.list.state == WORKFLOW_CANCELLED);
    ck_assert_uint_eq(fake.list.max, 3);
    tell_page(STATUS_OK, "t/w9", "t/w8", (struct workflow_cursor){.place = SLICE("t/w7/5")});
    ck_assert_str_eq(fake.place, "t/w7/5");
    ck_assert_uint_eq(fake.list.max, 1);
    tell_page(STATUS_OK, "", "", (struct workflow_cursor){.place = SLICE("t/w6/4")});
    ck_assert_str_eq(fake.place, "t/w6/4");
    tell_page(STATUS_OK, "t/w5", "", (struct workflow_cursor){.place = SLICE("t/w5/3")});
    fake_expect(STATUS_OK);
    ck_assert_str_eq(listed, "t/w9 t/w8 t/w5 ");
    ck_assert_uint_eq(fake.calls, 3);
    struct workflow_cursor cursor;
    ck_assert(app_workflow_cursor_parse(app, slice_of(fake_verdict.cursor), &cursor));
    ck_assert(cursor.shard == 0 && slice_equal(cursor.place, SLICE("t/w5/3")));
}
END_TEST

START_TEST(a_list_ends)
{
    const struct workflow_list of = {.max = 9};
    list(&of);
    tell_page(STATUS_OK, "t/w", "", at_end);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(listed, "t/w ");
    ck_assert_str_eq(fake_verdict.cursor, "");
    list(&of);
    tell_page(STATUS_UNAVAILABLE, "", "", at_end);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

START_TEST(a_list_asks_the_store_ten_times_at_most)
{
    const struct workflow_list of = {.max = 9};
    list(&of);
    for (int i = 0; i < 9; i++) {
        tell_page(STATUS_OK, "", "", (struct workflow_cursor){.place = SLICE("t/w/5")});
        ck_assert_uint_eq(fake_verdict.count, 0);
    }
    tell_page(STATUS_OK, "", "", (struct workflow_cursor){.place = SLICE("t/w/5")});
    fake_expect(STATUS_OK);
    ck_assert_str_ne(fake_verdict.cursor, "");
    ck_assert_uint_eq(fake.calls, 10);
}
END_TEST

START_TEST(cursors_of_lists)
{
    static const char *const wrong[] = {"", "x", "QA", "MUA", "MEB0L3c", "MEB0L3cv", "MEB0", "!", "MEB3LzE"};
    struct workflow_cursor cursor;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!app_workflow_cursor_parse(app, slice_of(wrong[i]), &cursor), "%s", wrong[i]);
    ck_assert(app_workflow_cursor_parse(app, SLICE("MEA"),
                                        &cursor)); /* the text "0@" in base64url: the beginning of a shard */
    ck_assert_uint_eq(cursor.place.size, 0);
    struct buffer text;
    buffer_init(&text, 256);
    app_workflow_cursor_write(app, SLICE("t/w"), 1700000000123, &text);
    ck_assert(app_workflow_cursor_parse(app, buffer_slice(&text), &cursor));
    ck_assert(slice_equal(cursor.place, SLICE("t/w/1700000000123")));
    buffer_fini(&text);
}
END_TEST

/* ---- cancel ---- */

static void cancel(const struct app_caller *caller, const char *id)
{
    const struct app_workflow_end how = {.id = slice_of(id), .is_cancelled = true};
    fake_forget();
    app_workflow_end(app, caller, &how, fake_on_verdict, &fake_verdict);
}

START_TEST(a_workflow_is_cancelled_by_those_who_reach_its_topic)
{
    static const struct {
        enum status status;
        enum status end;
    } endings[] = {{STATUS_OK, STATUS_OK},
                   {STATUS_NOT_FOUND, STATUS_NOT_FOUND},
                   {STATUS_FULL, STATUS_FULL},
                   {STATUS_UNKNOWN, STATUS_UNKNOWN},
                   {STATUS_UNAVAILABLE, STATUS_UNAVAILABLE}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        cancel(&fake_some, "orders-1/w");
        ck_assert_str_eq(fake.id, "orders-1/w");
        ck_assert_uint_eq(fake.state, WORKFLOW_CANCELLED);
        fake.ended(fake.arg, endings[i].status, 7);
        fake_expect(endings[i].end);
        if (endings[i].status == STATUS_OK)
            fake_expect_log("event=workflow_cancelled");
    }
    size_t calls = fake.calls;
    cancel(&fake_some, "mail/w");
    fake_expect(STATUS_NOT_REACHED);
    ck_assert_str_eq(fake_verdict.topic, "mail");
    fake_set_ready(false);
    cancel(&fake_all, "mail/w");
    fake_expect(STATUS_UNAVAILABLE);
    ck_assert_uint_eq(fake.calls, calls);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("workflows");
    TCase *tests = tcase_create("workflows");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_workflow_is_read_with_what_is_asked_for);
    tcase_add_test(tests, a_workflow_that_cannot_be_read);
    tcase_add_test(tests, the_place_of_a_workflow_has_its_id_and_its_time);
    tcase_add_test(tests, a_list_asks_until_its_page_is_full);
    tcase_add_test(tests, a_list_ends);
    tcase_add_test(tests, a_list_asks_the_store_ten_times_at_most);
    tcase_add_test(tests, cursors_of_lists);
    tcase_add_test(tests, a_workflow_is_cancelled_by_those_who_reach_its_topic);
    suite_add_tcase(suite, tests);
    return suite;
}
