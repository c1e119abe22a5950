#include "support/errors.h"
#include "support/suite.h"

#include "job/text/members.h"

/* A struct with one member of each kind that a table of members can describe. Other tests check the tables of
 * jobs and of settings. */
struct thing {
    struct slice name, note, raw, url;
    bool is_on, has_off, is_off;
    int count;
    int64_t big, wait_ms, at_ms, share;
    struct retry_schedule waits;
};

#define FIELD(member) MEMBER_FIELD(struct thing, member)
#define HAS(member)   MEMBER_HAS(struct thing, member)
#define NAMED(text)   MEMBER_NAMED("", text)
#define EVERYWHERE    .flags = MEMBER_EVERYWHERE

static const struct member rows[] = {
    {NAMED("name"), MEMBER_TEXT, .flags = MEMBER_EVERYWHERE | MEMBER_REQUIRED, FIELD(name), HAS(name.size),
     .min = 2, .max = 4},
    {NAMED("note"), MEMBER_TEXT, .flags = MEMBER_STORED, FIELD(note), HAS(note.size)},
    {NAMED("url"), MEMBER_URL, EVERYWHERE, FIELD(url), HAS(url.size)},
    {NAMED("on"), MEMBER_BOOL, EVERYWHERE, FIELD(is_on), HAS(is_on)},
    {NAMED("off"), MEMBER_BOOL, EVERYWHERE, FIELD(is_off), HAS(has_off)},
    {NAMED("count"), MEMBER_INTEGER, EVERYWHERE, FIELD(count), HAS(count), .min = 1, .max = 9},
    {NAMED("big"), MEMBER_INTEGER, EVERYWHERE, FIELD(big), HAS(big), .max = INT64_C(1) << 40, .fallback = 7},
    {NAMED("wait"), MEMBER_SECONDS, EVERYWHERE, FIELD(wait_ms), HAS(wait_ms), .min = 100, .max = 60000},
    {NAMED("at"), MEMBER_TIME, EVERYWHERE, FIELD(at_ms), HAS(at_ms), .rival = 4},
    {NAMED("share"), MEMBER_SHARE, EVERYWHERE, FIELD(share), HAS(share), .max = 1000000},
    {NAMED("waits"), MEMBER_WAITS, EVERYWHERE, FIELD(waits), HAS(waits.count), .max = 5000},
    {NAMED("raw"), MEMBER_JSON, .flags = MEMBER_EVERYWHERE, FIELD(raw), HAS(raw.size)},
};
static const struct members table = {MEMBER_ROWS(rows), .noun = "part", .prefix = ""};

#define FULL                                                                                                 \
    "{\"name\":\"abc\",\"url\":\"http://h/?q\",\"on\":true,\"off\":false,\"count\":9,\"big\":1099511627776," \
    "\"wait\":0.1,\"share\":0.5,\"waits\":[1,2.5],\"raw\":1.10}"

static struct thing thing;
static struct job_errors errors;
static struct buffer text, out;

static void set_up(void)
{
    buffer_init(&text, 1000);
    buffer_init(&out, 4000);
}

static void tear_down(void)
{
    buffer_fini(&text);
    buffer_fini(&out);
}

static void parse(const char *json)
{
    struct member_parse reading = {.table = &table, .of = &thing, .text = &text, .errors = &errors};
    thing = (struct thing){.count = 0};
    job_errors_clear(&errors);
    members_parse(&reading, slice_of(json));
}

static bool read_record(const char *json)
{
    static struct unknown_members unknown;
    struct slice lacks = {NULL, 0};
    thing = (struct thing){.count = 0};
    unknown.count = 0;
    struct record_reading reading = {
        .table = &table, .of = &thing, .text = &text, .unknown = &unknown, .lacks = &lacks};
    return members_read(&reading, slice_of(json));
}

static const char *written(enum members_for whom)
{
    struct json_writer json = json_writer_to(&out);
    buffer_clear(&out);
    json_put_object(&json);
    members_write(&table, &thing, whom, &json);
    json_end_object(&json);
    return buffer_text(&out);
}

START_TEST(writes_what_it_read)
{
    parse(FULL);
    ck_assert_uint_eq(errors.count, 0);
    ck_assert_str_eq(written(MEMBERS_FOR_REDIS), FULL);
    ck_assert(read_record(FULL));
    ck_assert_str_eq(written(MEMBERS_FOR_REDIS), FULL);
    ck_assert(read_record("{\"at\":\"2030-01-01T00:00:00Z\",\"note\":\"n\\n\"}"));
    ck_assert_str_eq(written(MEMBERS_FOR_REDIS), "{\"note\":\"n\\n\",\"at\":\"2030-01-01T00:00:00.000Z\"}");
    ck_assert_str_eq(written(MEMBERS_FOR_PEOPLE), "{\"at\":\"2030-01-01T00:00:00.000Z\"}");
}
END_TEST

START_TEST(hides_what_may_be_secret)
{
    parse("{\"name\":\"ab\",\"url\":\"http://h/?q\"}");
    ck_assert_str_eq(written(MEMBERS_FOR_PEOPLE), "{\"name\":\"ab\",\"url\":\"http://h/?***\",\"big\":7}");
}
END_TEST

START_TEST(names_what_is_wrong)
{
    static const char *const cases[][2] = {
        {"{}", "name: is required"},
        {"{\"name\":null}", "name: is required"},
        {"{\"name\":\"a\"}", "name: must have 2 to 4 bytes"},
        {"{\"name\":\"abcde\"}", "name: must have 2 to 4 bytes"},
        {"{\"name\":\"ab\",\"on\":1}", "on: must be true or false"},
        {"{\"name\":\"ab\",\"count\":10}", "count: must be an integer from 1 to 9"},
        {"{\"name\":\"ab\",\"wait\":0}", "wait: must be 0.1 to 60 seconds"},
        {"{\"name\":\"ab\",\"share\":2}", "share: must be a number from 0 to 1"},
        {"{\"name\":\"ab\",\"off\":true,\"at\":\"2030-01-01T00:00:00Z\"}", "at: cannot be combined with off"},
        {"{\"name\":\"ab\",\"note\":\"x\"}", "note: unknown part"},
        {"{\"name\":\"ab\",\"cuont\":1}", "cuont: unknown part; did you mean count?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parse(cases[i][0]);
        ck_assert_uint_eq(errors.count, 1);
        buffer_clear(&out);
        buffer_printf(&out, "%s: %s", error_at(&errors, 0).field, error_at(&errors, 0).detail);
        ck_assert_str_eq(buffer_text(&out), cases[i][1]);
    }
}
END_TEST

START_TEST(refuses_records_that_are_none)
{
    static const char *const cases[] = {"",
                                        "[]",
                                        "{",
                                        "{}x",
                                        "{\"on\":1}",
                                        "{\"count\":10}",
                                        "{\"count\":1.0}",
                                        "{\"wait\":61}",
                                        "{\"at\":\"soon\"}",
                                        "{\"share\":1.5}",
                                        "{\"waits\":[6]}",
                                        "{\"name\":1}",
                                        "{\"name\":\"ab\",\"name\":\"ab\"}"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(!read_record(cases[i]), "%s", cases[i]);
}
END_TEST

START_TEST(compares_what_clients_send)
{
    static const char *const others[] = {"{\"name\":\"abd\"}",
                                         "{\"name\":\"abc\",\"on\":true}",
                                         "{\"name\":\"abc\",\"off\":false}",
                                         "{\"name\":\"abc\",\"wait\":1}",
                                         "{\"name\":\"abc\",\"waits\":[1]}",
                                         "{\"name\":\"abc\",\"raw\":1}"};
    static struct thing one;
    ck_assert(read_record("{\"name\":\"abc\",\"note\":\"n\"}"));
    one = thing;
    ck_assert(read_record("{\"name\":\"\\u0061bc\"}"));
    ck_assert(members_are_same(&table, &one, &thing));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert(read_record(others[i]));
        ck_assert_msg(!members_are_same(&table, &one, &thing), "%s", others[i]);
    }
}
END_TEST

START_TEST(keeps_what_clients_do_not_send_and_takes_away_by_flag)
{
    static struct thing old;
    ck_assert(read_record("{\"name\":\"abc\",\"note\":\"n\"}"));
    old = thing;
    parse("{\"name\":\"xy\"}");
    members_keep(&table, &thing, &old);
    ck_assert(slice_equal(thing.note, SLICE("n")) && slice_equal(thing.name, SLICE("xy")));
    members_limit(&table, &thing, MEMBER_SENT);
    ck_assert(thing.note.size == 0 && slice_equal(thing.name, SLICE("xy")));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("members");
    TCase *tests = tcase_create("members");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, writes_what_it_read);
    tcase_add_test(tests, hides_what_may_be_secret);
    tcase_add_test(tests, names_what_is_wrong);
    tcase_add_test(tests, refuses_records_that_are_none);
    tcase_add_test(tests, compares_what_clients_send);
    tcase_add_test(tests, keeps_what_clients_do_not_send_and_takes_away_by_flag);
    suite_add_tcase(suite, tests);
    return suite;
}
