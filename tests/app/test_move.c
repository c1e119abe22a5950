/* Tests the use cases of a move: the pages of an export, and each verdict of an import. */
#include "app/move.h"

#include "app/fake_store.h"
#include "support/suite.h"

static struct app *app;
static struct app_export export;
static size_t rows;

static void begin(void)
{
    app = fake_app();
    export = (struct app_export){.part = 0};
    rows = 0;
}

static void end(void)
{
    fake_end();
}

static const struct slice leased[] = {SLICE_INIT("place"), SLICE_INIT("leased"), SLICE_INIT("score"),
                                      SLICE_INIT("1")};
static const struct data_row moving = {SLICE_INIT("job"), SLICE_INIT("orders/a"), leased, 2};
static const struct data_row quiet = {SLICE_INIT("job"), SLICE_INIT("orders/b"), leased + 2, 1};

static void on_row(void *arg, const struct data_row *row)
{
    (void)arg, (void)row;
    rows++;
}

static void read_page(size_t max)
{
    fake_forget();
    app_export_page(app, &fake_all, &export, max, on_row, fake_on_verdict, &fake_verdict);
}

/* Answers a step of the export with these rows; place: where the next step begins. */
static void answer_step(size_t part, const char *from, const struct data_row *found, size_t count,
                        const char *place)
{
    struct fake_call *call = fake_take("export");
    ck_assert_uint_eq(call->shard, part);
    ck_assert_str_eq(call->id, from);
    call->fn.exported(
        call->arg, STATUS_OK,
        &(struct store_rows){.rows = found, .count = count, .place = slice_of(place), .unpaused = 1});
}

START_TEST(an_export_goes_through_all_parts_and_its_cursor_continues_it)
{
    struct app_export again;
    read_page(2);
    answer_step(0, "", NULL, 0, "");
    answer_step(1, "", &moving, 1, "3 x");
    answer_step(1, "3 x", &quiet, 1, "4 orders/b");
    fake_expect(STATUS_OK);
    ck_assert_uint_eq(rows, 2);
    ck_assert(!app_export_is_consistent(app, &export));
    ck_assert(app_export_parse(app, slice_of(fake_verdict.cursor), &again));
    ck_assert_uint_eq(again.part, 1);
    ck_assert(slice_equal(again.place, SLICE("4 orders/b")));
    ck_assert_int_eq(again.rows[APP_ROW_JOB], 2);
    ck_assert_int_eq(again.moving, 1);
    ck_assert_int_eq(again.unpaused, 3);
    export = again;
    export.place = slice_from(export.room, again.place.size);
    read_page(2);
    answer_step(1, "4 orders/b", NULL, 0, "");
    fake_expect(STATUS_OK);
    ck_assert(export.is_over);
    ck_assert_str_eq(fake_verdict.cursor, "");
}
END_TEST

START_TEST(a_page_that_redis_does_not_answer_changes_nothing)
{
    read_page(2);
    struct fake_call *call = fake_take("export");
    call->fn.exported(call->arg, STATUS_UNKNOWN, &(struct store_rows){.count = 0});
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

START_TEST(other_texts_are_not_cursors)
{
    static const char *const texts[] = {"", "?", "MA", "MDowOjA6MDowOjA6MDowOjA6MDowOjA6MDowOjA6eA",
                                        "OTk6MDowOjA6MDowOjA6MDowOjA6MDowOjA6MDowOjA6MDo"};
    ck_assert(!app_export_parse(app, slice_of(texts[_i]), &export) || _i == 3);
}
END_TEST

static void import_row(const struct data_row *row, bool takes_moving)
{
    fake_forget();
    app_import(app, row, takes_moving, fake_on_verdict, &fake_verdict);
}

START_TEST(an_import_ends_as_the_store_says)
{
    static const enum status ends[][2] = {{STATUS_OK, STATUS_OK},         {STATUS_SAME, STATUS_SAME},
                                          {STATUS_EXISTS, STATUS_EXISTS}, {STATUS_INVALID, STATUS_INVALID},
                                          {STATUS_FULL, STATUS_FULL},     {STATUS_UNKNOWN, STATUS_UNKNOWN}};
    import_row(&quiet, false);
    struct fake_call *call = fake_take("import");
    ck_assert_str_eq(call->id, "orders/b");
    ck_assert_str_eq(call->record, "job");
    call->fn.imported(call->arg, ends[_i][0], SLICE("why"));
    fake_expect(ends[_i][1]);
}
END_TEST

START_TEST(a_job_under_way_is_imported_only_if_this_is_wanted)
{
    import_row(&moving, false);
    fake_expect(STATUS_INVALID);
    fake_expect_none();
    import_row(&moving, true);
    struct fake_call *call = fake_take("import");
    call->fn.imported(call->arg, STATUS_OK, SLICE(""));
    fake_expect(STATUS_OK);
}
END_TEST

START_TEST(rows_with_wrong_names_are_refused)
{
    static const char *const wrong[][2] = {{"news", "a"},     {"limit", "a b"},      {"pattern", "a"},
                                           {"topic", ""},     {"key", "a"},          {"key", "a\n"},
                                           {"group", "a/b"},  {"job", "a"},          {"ended", "/a"},
                                           {"schedule", "a"}, {"idempotency", "/a"}, {"send", "a b/c"},
                                           {"workflow", "a"}, {"job", "a\n/b"},      {"workflowPart", "~/a"}};
    import_row(&(struct data_row){.kind = slice_of(wrong[_i][0]), .name = slice_of(wrong[_i][1])}, true);
    fake_expect(STATUS_INVALID);
    fake_expect_none();
}
END_TEST

START_TEST(limits_need_one_shard_and_redis_must_be_ready)
{
    static const struct data_row limit = {SLICE_INIT("limit"), SLICE_INIT("l"), NULL, 0};
    fake_set_shards(2);
    import_row(&limit, false);
    fake_expect(STATUS_INVALID);
    fake_set_shards(1);
    fake_set_ready(false);
    import_row(&limit, false);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

/* ---- patterns ---- */

#define FROM "{\"timeout\":7,\"paused\":true,\"from\":{\"paused\":\"*\"}}"

static const struct slice settings[] = {SLICE_INIT("settings"), SLICE_INIT(FROM)};
static const struct data_row pattern = {SLICE_INIT("pattern"), SLICE_INIT("orders-*"), settings, 1};

static void answer_patterns(const char *name, const char *text)
{
    struct fake_call *call = fake_take("patterns");
    struct store_pattern found = {slice_of(name), slice_of(text)};
    call->fn.patterns(call->arg, STATUS_OK, &(struct store_patterns){5, &found, name[0] != '\0'});
}

static void answer_set(enum status status)
{
    struct fake_call *call = fake_take("set_patterns");
    call->fn.set(call->arg, status);
}

START_TEST(a_pattern_inherits_from_those_of_the_target)
{
    import_row(&pattern, false);
    answer_patterns("", "");
    answer_set(STATUS_STALE);
    answer_patterns("*", "{\"maxInFlight\":3}");
    struct fake_call *call = fake_take("set_patterns");
    ck_assert_str_eq(call->new_settings,
                     "5:*={\"maxInFlight\":3} "
                     "orders-*={\"timeout\":7,\"maxInFlight\":3,\"from\":{\"maxInFlight\":\"*\"}}");
    call->fn.set(call->arg, STATUS_OK);
    fake_expect(STATUS_OK);
}
END_TEST

START_TEST(a_pattern_that_is_there_stays)
{
    import_row(&pattern, false);
    answer_patterns("orders-*", "{\"timeout\":7}");
    fake_expect(STATUS_SAME);
    import_row(&pattern, false);
    answer_patterns("orders-*", "{\"timeout\":8}");
    fake_expect(STATUS_EXISTS);
    import_row(&pattern, false);
    answer_patterns("", "");
    answer_set(STATUS_NO_LIMIT);
    fake_expect(STATUS_INVALID);
    import_row(&pattern, false);
    struct fake_call *call = fake_take("patterns");
    call->fn.patterns(call->arg, STATUS_UNKNOWN, &(struct store_patterns){.count = 0});
    fake_expect(STATUS_UNAVAILABLE);
    import_row(&(struct data_row){SLICE("pattern"), SLICE("a*"), leased, 1}, false);
    fake_expect(STATUS_INVALID);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("move");
    TCase *tests = tcase_create("move");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, an_export_goes_through_all_parts_and_its_cursor_continues_it);
    tcase_add_test(tests, a_page_that_redis_does_not_answer_changes_nothing);
    tcase_add_loop_test(tests, other_texts_are_not_cursors, 0, 5);
    tcase_add_loop_test(tests, an_import_ends_as_the_store_says, 0, 6);
    tcase_add_test(tests, a_job_under_way_is_imported_only_if_this_is_wanted);
    tcase_add_loop_test(tests, rows_with_wrong_names_are_refused, 0, 15);
    tcase_add_test(tests, limits_need_one_shard_and_redis_must_be_ready);
    tcase_add_test(tests, a_pattern_inherits_from_those_of_the_target);
    tcase_add_test(tests, a_pattern_that_is_there_stays);
    suite_add_tcase(suite, tests);
    return suite;
}
