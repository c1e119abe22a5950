#include "support/suite.h"

#include "base/memory.h"
#include "job/text/json.h"

static const struct json_limits limits = {32, 1000};
static struct buffer text;

static void set_up(void)
{
    buffer_init(&text, 4 << 20);
}

static void tear_down(void)
{
    buffer_fini(&text);
}

static enum status check(struct slice json, struct json_fault *fault)
{
    /* A copy without a NUL after it, so that a sanitizer detects a read beyond its end. */
    char *copy = memory_resize(NULL, json.size);
    memcpy(copy, json.data, json.size);
    enum status status = json_check(slice_from(copy, json.size), &limits, fault);
    free(copy);
    return status;
}

START_TEST(takes_sound_texts)
{
    static const char *const cases[] = {
        "{}",
        "[]",
        "0",
        "-0",
        "12",
        "-1.50e+10",
        "1E2",
        "0.5",
        "\"\"",
        "true",
        "false",
        "null",
        " \t\r\n1 \n",
        "{\"a\":1,\"b\":[1,2,{}],\"c\":{\"a\":null}}",
        "[[],[[]],{}]",
        "[ 1 , 2 ]",
        "{ \"a\" : 1 , \"b\" : 2 }",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
        "\"\\ud83d\\ude00\"",
        "\"\\uD83D\\uDE00\"",
        "\"\\u0000\"",
        "\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"
        "\"",
        "123456789012345678901234567890123456789012345678901234567890",
        "1e99999",
        "\"\x7f\"",
        "{\"\":1}",
        "{\"a\":1,\"A\":2}",
        "{\"a\":{\"a\":{\"a\":1}}}",
        "[{\"a\":1},{\"a\":1}]",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_fault fault;
        ck_assert_msg(check(slice_of(cases[i]), &fault) == STATUS_OK, "%s: %s", cases[i], fault.detail);
        ck_assert_ptr_null(fault.detail);
    }
}
END_TEST

static const char not_json[] = "is not valid JSON", early[] = "ends too early", utf8[] = "is not valid UTF-8",
                  escape[] = "has an unknown escape", unit[] = "has a broken escape or a lone surrogate",
                  control[] = "has a control byte in a string", twice[] = "has a member twice";

START_TEST(says_where_and_why_a_text_is_not_sound)
{
    const struct {
        struct slice json;
        const char *detail;
        size_t offset;
    } cases[] = {
        {SLICE(""), early, 0},
        {SLICE(" "), early, 1},
        {SLICE("{"), early, 1},
        {SLICE("["), early, 1},
        {SLICE("[1"), early, 2},
        {SLICE("{\"a\""), early, 4},
        {SLICE("{\"a\":"), early, 5},
        {SLICE("{\"a\":1"), early, 6},
        {SLICE("\"a"), early, 2},
        {SLICE("\"a\\"), early, 2},
        {SLICE("-"), early, 1},
        {SLICE("1."), early, 2},
        {SLICE("1e"), early, 2},
        {SLICE("1e+"), early, 3},
        {SLICE("}"), not_json, 0},
        {SLICE("tru"), not_json, 0},
        {SLICE("nul"), not_json, 0},
        {SLICE("falsy"), not_json, 0},
        {SLICE("True"), not_json, 0},
        {SLICE("NaN"), not_json, 0},
        {SLICE("Infinity"), not_json, 0},
        {SLICE("+1"), not_json, 0},
        {SLICE(".5"), not_json, 0},
        {SLICE("01"), not_json, 1},
        {SLICE("-a"), not_json, 1},
        {SLICE("1.e5"), not_json, 2},
        {SLICE("1ea"), not_json, 2},
        {SLICE("1 2"), not_json, 2},
        {SLICE("{}{}"), not_json, 2},
        {SLICE("1\0"), not_json, 1},
        {SLICE("\0"), not_json, 0},
        {SLICE("{\"a\":1}\0"), not_json, 7},
        {SLICE("[1,]"), not_json, 3},
        {SLICE("[,1]"), not_json, 1},
        {SLICE("[1 2]"), not_json, 3},
        {SLICE("[1}"), not_json, 2},
        {SLICE("{1:2}"), not_json, 1},
        {SLICE("{a:2}"), not_json, 1},
        {SLICE("{\"a\" 1}"), not_json, 5},
        {SLICE("{\"a\":1,}"), not_json, 7},
        {SLICE("{\"a\":1]"), not_json, 6},
        {SLICE("{,}"), not_json, 1},
        {SLICE("'a'"), not_json, 0},
        {SLICE("\xef\xbb\xbf{}"), not_json, 0},
        {SLICE("[1,\v2]"), not_json, 3},
        {SLICE("[1] // a"), not_json, 4},
        {SLICE("\"\\x41\""), escape, 1},
        {SLICE("\"\\\0\""), escape, 1},
        {SLICE("\"\\u12\""), unit, 1},
        {SLICE("\"\\u12g4\""), unit, 1},
        {SLICE("\"\\u"), unit, 1},
        {SLICE("\"\\u/000\""), unit, 1},
        {SLICE("\"\\u@000\""), unit, 1},
        {SLICE("\"\\ud800abcdef\""), unit, 1},
        {SLICE("\"\\ud800\""), unit, 1},
        {SLICE("\"\\ud800x\""), unit, 1},
        {SLICE("\"\\ud800\\n1234\""), unit, 1},
        {SLICE("\"\\ud800\\ud800\""), unit, 1},
        {SLICE("\"\\ud800\\ue000\""), unit, 1},
        {SLICE("\"\\udc00\\ud800\""), unit, 1},
        {SLICE("\"a\nb\""), control, 2},
        {SLICE("\"\0\""), control, 1},
        {SLICE("\"\x1f\""), control, 1},
        {SLICE("\"\x80\""), utf8, 1},
        {SLICE("\"\xc0\x80\""), utf8, 1},
        {SLICE("\"\xc1\xbf\""), utf8, 1},
        {SLICE("\"\xc3\""), utf8, 1},
        {SLICE("\"\xc3"), utf8, 1},
        {SLICE("\"\xe0\x9f\xbf\""), utf8, 1},
        {SLICE("\"\xed\xa0\x80\""), utf8, 1},
        {SLICE("\"\xe2\x82x\""), utf8, 1},
        {SLICE("\"\xf0\x8f\xbf\xbf\""), utf8, 1},
        {SLICE("\"\xf4\x90\x80\x80\""), utf8, 1},
        {SLICE("\"\xf0\x90\x80x\""), utf8, 1},
        {SLICE("\"\xf5\x80\x80\x80\""), utf8, 1},
        {SLICE("\"\xff\""), utf8, 1},
        {SLICE("{\"\\u0000\":1}"), "has a NUL in a key", 2},
        {SLICE("{\"a\":1,\"a\":2}"), twice, 7},
        {SLICE("{\"\":1,\"\":2}"), twice, 6},
        {SLICE("{\"a\":1,\"\\u0061\":2}"), twice, 7},
        {SLICE("{\"\\u00e9\":1,\"\xc3\xa9\":2}"), twice, 12},
        {SLICE("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}"), twice, 18},
        {SLICE("{\"body\":{\"x\":[{\"long key 1\":1,\"b\":2,\"long key 1\":3}]}}"), twice, 36},
        {SLICE("[{\"a\":{\"b\":1},\"c\":{},\"a\":2}]"), twice, 21},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_fault fault = {0};
        ck_assert_msg(check(cases[i].json, &fault) == STATUS_INVALID, "%s", cases[i].json.data);
        ck_assert_msg(strcmp(fault.detail, cases[i].detail) == 0, "%s: %s", cases[i].json.data, fault.detail);
        ck_assert_msg(fault.offset == cases[i].offset, "%s: %zu", cases[i].json.data, fault.offset);
    }
}
END_TEST

START_TEST(tells_what_grammar_forbids_from_what_we_do)
{
    static const struct {
        const char *json;
        bool is_json;
    } cases[] = {
        {"{\"a\":1,\"a\":2}", true}, {"\"\\ud800\"", true}, {"{\"\\u0000\":1}", true}, {"{\"a\":1", false},
        {"\"\xff\"", false},         {"[1,]", false},       {"\"\\x41\"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_fault fault;
        ck_assert(check(slice_of(cases[i].json), &fault) == STATUS_INVALID);
        ck_assert_msg(fault.is_json == cases[i].is_json, "%s", cases[i].json);
    }
}
END_TEST

static enum status check_depth(size_t arrays, size_t objects)
{
    struct json_fault fault;
    buffer_clear(&text);
    for (size_t i = 0; i < arrays; i++)
        buffer_append_byte(&text, '[');
    for (size_t i = 0; i < objects; i++)
        buffer_append(&text, SLICE("{\"a\":"));
    buffer_append_byte(&text, '1');
    for (size_t i = 0; i < objects; i++)
        buffer_append_byte(&text, '}');
    for (size_t i = 0; i < arrays; i++)
        buffer_append_byte(&text, ']');
    enum status status = json_check(buffer_slice(&text), &limits, &fault);
    ck_assert(status == STATUS_OK || strcmp(fault.detail, "nests too deep") == 0);
    return status;
}

START_TEST(limits_depth)
{
    ck_assert_int_eq(check_depth(32, 0), STATUS_OK);
    ck_assert_int_eq(check_depth(33, 0), STATUS_INVALID);
    ck_assert_int_eq(check_depth(16, 16), STATUS_OK);
    ck_assert_int_eq(check_depth(16, 17), STATUS_INVALID);
    ck_assert_int_eq(check_depth(1000000, 0), STATUS_INVALID);
}
END_TEST

/* Writes an object with count members named key0, key1, ..., or with the first letter of the names
 * escaped. */
static void put_object(size_t count, const char *key)
{
    buffer_append_byte(&text, '{');
    for (size_t i = 0; i < count; i++) {
        buffer_printf(&text, "%s\"%s%zu\":", i ? "," : "", key, i);
        buffer_append_byte(&text, '1');
    }
    buffer_append_byte(&text, '}');
}

START_TEST(limits_members)
{
    struct json_fault fault;
    put_object(1000, "key");
    ck_assert_int_eq(json_check(buffer_slice(&text), &limits, &fault), STATUS_OK);
    buffer_clear(&text);
    put_object(1001, "key");
    ck_assert_int_eq(json_check(buffer_slice(&text), &limits, &fault), STATUS_INVALID);
    ck_assert_str_eq(fault.detail, "has too many members in one object");
}
END_TEST

/* json_check compares up to 16 keys in one way and more keys in another, and stores many keys on the heap.
 * The objects have sizes around these limits. In each object, one key occurs twice. */
START_TEST(finds_each_twin_among_many)
{
    static const size_t counts[] = {2, 15, 16, 17, 18, 63, 64, 65, 130, 999};
    static const char *const keys[] = {"k", "a long key that is the same at its beginning "};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (size_t twin = 0; twin < counts[i]; twin += 1 + counts[i] / 7) {
            struct json_fault fault;
            buffer_clear(&text);
            put_object(counts[i], keys[i % 2]);
            ck_assert_int_eq(json_check(buffer_slice(&text), &limits, &fault), STATUS_OK);
            text.size--;
            size_t offset = text.size + 1;
            buffer_printf(&text, ",\"%s%zu\":2}", keys[i % 2], twin);
            ck_assert_int_eq(json_check(buffer_slice(&text), &limits, &fault), STATUS_INVALID);
            ck_assert_str_eq(fault.detail, twice);
            ck_assert_uint_eq(fault.offset, offset);
        }
    }
}
END_TEST

START_TEST(keeps_escaped_keys_apart)
{
    struct json_fault fault;
    buffer_append_byte(&text, '[');
    put_object(500, "\\u006b");
    buffer_append_byte(&text, ',');
    put_object(500, "\\u006b");
    buffer_append(&text, SLICE(",{\"k\":1,\"x\":{\"\\u006b\":2,\"\\u006a\":3}}]"));
    ck_assert_int_eq(json_check(buffer_slice(&text), &limits, &fault), STATUS_OK);
    buffer_clear(&text);
    put_object(500, "\\u006b");
    text.size--;
    buffer_append(&text, SLICE(",\"k499\":1}"));
    ck_assert_int_eq(json_check(buffer_slice(&text), &limits, &fault), STATUS_INVALID);
}
END_TEST

/* The test has no time limit, because it would fail on a busy host. If comparing keys were quadratic, this
 * input of 1 MiB would take minutes. */
START_TEST(stays_fast_on_large_texts)
{
    struct json_fault fault;
    buffer_append_byte(&text, '[');
    while (text.size < 1 << 20) {
        put_object(1000, "\\u0061aaaaaa");
        buffer_append_byte(&text, ',');
    }
    buffer_append(&text, SLICE("1]"));
    ck_assert_int_eq(json_check(buffer_slice(&text), &limits, &fault), STATUS_OK);
}
END_TEST

static bool find(struct slice object, struct slice wanted, struct slice *value)
{
    char bytes[64];
    struct buffer room = {.data = bytes, .capacity = sizeof bytes, .max = sizeof bytes - 1};
    struct json_cursor cursor;
    struct slice key;
    bool is_object = json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, value))
        if (slice_equal(json_name(key, &room), wanted) && !room.failed)
            return true;
    return false;
}

START_TEST(finds_members_of_the_top_object)
{
    static const struct {
        const char *json, *key, *value;
    } cases[] = {
        {"{\"a\":1,\"b\":2}", "b", "2"},
        {" { \"a\" : [ 1 , {\"b\":3} ] , \"b\" : \"x,}\\\"\" } ", "b", "\"x,}\\\"\""},
        {"{\"a\": [ 1 , {\"b\":3} ] ,\"b\":2}", "a", "[ 1 , {\"b\":3} ]"},
        {"{\"a\":{\"s\":\"]}\\\\\"},\"b\":-1.50E2\n}", "b", "-1.50E2"},
        {"{\"a\":null}", "a", "null"},
        {"{\"\\u0062ody\":1}", "body", "1"},
        {"{\"x\\\"y\":0,\"a\":{}}", "a", "{}"},
        {"{\"a\":1}", "b", NULL},
        {"{}", "a", NULL},
        {"[\"a\",1]", "a", NULL},
        {"\"a\"", "a", NULL},
        {"", "a", NULL},
        {"{\"b\\u\":1}", "b", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slice value;
        bool is_found = find(slice_of(cases[i].json), slice_of(cases[i].key), &value);
        ck_assert_msg(is_found == (cases[i].value != NULL), "%s", cases[i].json);
        ck_assert_msg(!is_found || slice_equal(value, slice_of(cases[i].value)), "%s", cases[i].json);
    }
}
END_TEST

START_TEST(goes_through_items)
{
    struct json_cursor cursor;
    struct slice item;
    static const char *const items[] = {"1", "\"a\"", "[2,3]", "{}"};
    ck_assert(json_open(SLICE(" [1, \"a\" ,[2,3],{}]"), &cursor));
    for (size_t i = 0; i < 4; i++)
        ck_assert(json_next_item(&cursor, &item) && slice_equal(item, slice_of(items[i])));
    ck_assert(!json_next_item(&cursor, &item) && cursor.is_ended);
    ck_assert(!json_next_item(&cursor, &item) && cursor.is_ended);
    ck_assert(json_open(SLICE("[ ]"), &cursor));
    ck_assert(!json_next_item(&cursor, &item) && cursor.is_ended);
}
END_TEST

/* A cursor must stay inside any text. is_ended must be true only at the closing bracket. */
START_TEST(survives_unsound_texts)
{
    static const char *const cases[] = {
        "{",          "[",         "{\"",        "{\"a",     "{\"a\\",    "{\"a\\\"",   "{\"a\"",
        "{\"a\" ",    "{\"a\":",   "{\"a\": ",   "{\"a\":1", "{\"a\":[",  "{\"a\":[\"", "{\"a\":{\"b\":1}",
        "{\"a\":1 2", "{\"a\":1,", "{\"a\":1,2", "{1:2}",    "{\"a\" 1}", "{\"a\":,}",  "{\"a\":}",
        "{\"a\":]",   "[1",        "[1,",        "[1,]",     "[\"a\\",    "[1}",        "{]",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_cursor cursor;
        struct slice key, value;
        size_t size = strlen(cases[i]);
        char *copy = memory_resize(NULL, size);
        memcpy(copy, cases[i], size);
        ck_assert(json_open(slice_from(copy, size), &cursor));
        while (cursor.close == '}' ? json_next_member(&cursor, &key, &value)
                                   : json_next_item(&cursor, &value))
            ck_assert(value.size > 0 && value.data + value.size <= copy + size);
        ck_assert_msg(!cursor.is_ended, "%s", cases[i]);
        free(copy);
    }
}
END_TEST

START_TEST(reads_strings)
{
    static const struct {
        const char *json;
        struct slice text;
        bool is_borrowed;
    } cases[] = {
        {"\"\"", {"", 0}, true},
        {"\"plain \xc3\xa9\"", {"plain \xc3\xa9", 8}, true},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", {"\"\\/\b\f\n\r\t", 8}, false},
        {"\"a\\u00e9b\\u0041\\u20ac\"",
         {"a\xc3\xa9"
          "bA\xe2\x82\xac",
          8},
         false},
        {"\"\\ud83d\\ude00!\"", {"\xf0\x9f\x98\x80!", 5}, false},
        {"\"\\udbff\\udfff\"", {"\xf4\x8f\xbf\xbf", 4}, false},
        {"\"a\\u0000b\"", {"a\0b", 3}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_clear(&text);
        buffer_append(&text, SLICE("before"));
        struct slice got = json_text(slice_of(cases[i].json), &text);
        ck_assert_msg(slice_equal(got, cases[i].text), "%s", cases[i].json);
        ck_assert_msg((got.data == cases[i].json + 1) == cases[i].is_borrowed, "%s", cases[i].json);
        ck_assert(!text.failed);
    }
}
END_TEST

START_TEST(fails_on_strings_that_it_cannot_read)
{
    static const char *const cases[] = {
        "\"\\\"", "\"\\x\"", "\"a\\u12\"", "\"\\u00zz\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_clear(&text);
        ck_assert_uint_eq(json_text(slice_of(cases[i]), &text).size, 0);
        ck_assert_msg(text.failed, "%s", cases[i]);
    }
    struct buffer small;
    buffer_init(&small, 3);
    ck_assert_uint_eq(json_text(SLICE("\"abc\\n\""), &small).size, 0);
    ck_assert(small.failed);
    buffer_fini(&small);
}
END_TEST

START_TEST(knows_strings)
{
    ck_assert(json_is_text(SLICE("\"\"")));
    ck_assert(!json_is_text(SLICE("\"")));
    ck_assert(!json_is_text(SLICE("")));
    ck_assert(!json_is_text(SLICE("12")));
    ck_assert(!json_is_text(SLICE("\"a")));
    ck_assert(json_has_escapes(SLICE("\"\\n\"")));
    ck_assert(!json_has_escapes(SLICE("\"n\"")));
    ck_assert(!json_has_escapes(SLICE("")));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("json");
    TCase *tests = tcase_create("json");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, takes_sound_texts);
    tcase_add_test(tests, says_where_and_why_a_text_is_not_sound);
    tcase_add_test(tests, tells_what_grammar_forbids_from_what_we_do);
    tcase_add_test(tests, limits_depth);
    tcase_add_test(tests, limits_members);
    tcase_add_test(tests, finds_each_twin_among_many);
    tcase_add_test(tests, keeps_escaped_keys_apart);
    tcase_add_test(tests, stays_fast_on_large_texts);
    tcase_add_test(tests, finds_members_of_the_top_object);
    tcase_add_test(tests, goes_through_items);
    tcase_add_test(tests, survives_unsound_texts);
    tcase_add_test(tests, reads_strings);
    tcase_add_test(tests, fails_on_strings_that_it_cannot_read);
    tcase_add_test(tests, knows_strings);
    suite_add_tcase(suite, tests);
    return suite;
}
