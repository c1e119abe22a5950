#include "support/suite.h"

#include "base/json_writer.h"
#include "base/timestamp.h"
#include "job/text/json.h"

static struct buffer buffer;
static struct json_writer json;

static void set_up(void)
{
    buffer_init(&buffer, 1000);
    json = json_writer_to(&buffer);
}

static void tear_down(void)
{
    buffer_fini(&buffer);
}

#define EXPECT(text) ck_assert_str_eq(buffer_text(&buffer), text)

START_TEST(puts_commas_between_members)
{
    json_put_object(&json);
    json_add_text(&json, "text", SLICE("a \"b\""));
    json_add_number(&json, "number", INT64_MIN);
    json_add_bool(&json, "yes", true);
    json_add_bool(&json, "no", false);
    json_add_raw(&json, "raw", SLICE("1.10"));
    json_add_seconds(&json, "seconds", 1500);
    json_add_time(&json, "time", INT64_C(1893456000007));
    json_end_object(&json);
    EXPECT("{\"text\":\"a \\\"b\\\"\",\"number\":-9223372036854775808,\"yes\":true,\"no\":false,\"raw\":1.10,"
           "\"seconds\":1.5,\"time\":\"2030-01-01T00:00:00.007Z\"}");
}
END_TEST

START_TEST(puts_commas_between_items)
{
    json_put_array(&json);
    json_put_number(&json, 1);
    json_put_text(&json, SLICE(""));
    json_put_bool(&json, true);
    json_put_raw(&json, SLICE("null"));
    json_put_seconds(&json, 1);
    json_put_time(&json, 0);
    buffer_append_number(json_put(&json), 2);
    json_end_array(&json);
    EXPECT("[1,\"\",true,null,0.001,\"1970-01-01T00:00:00.000Z\",2]");
}
END_TEST

START_TEST(nests)
{
    json_put_array(&json);
    json_put_object(&json);
    json_end_object(&json);
    json_put_array(&json);
    json_put_array(&json);
    json_end_array(&json);
    json_put_number(&json, 1);
    json_end_array(&json);
    json_put_object(&json);
    json_add_array(&json, "a");
    json_end_array(&json);
    json_add_object(&json, "o");
    json_add_object(&json, "p");
    json_end_object(&json);
    json_end_object(&json);
    json_add_number(&json, "n", 2);
    json_end_object(&json);
    json_put_number(&json, 3);
    json_end_array(&json);
    EXPECT("[{},[[],1],{\"a\":[],\"o\":{\"p\":{}},\"n\":2},3]");
}
END_TEST

START_TEST(escapes_names_that_are_any_text)
{
    json_put_object(&json);
    json_put_name_text(&json, SLICE("a\"\n\\"));
    json_put_number(&json, 1);
    json_put_name_text(&json, SLICE(""));
    json_put_array(&json);
    json_end_array(&json);
    json_end_object(&json);
    EXPECT("{\"a\\\"\\n\\\\\":1,\"\":[]}");
}
END_TEST

START_TEST(writes_the_inside_of_an_object)
{
    json_add_number(&json, "a", 1);
    json_add_number(&json, "b", 2);
    EXPECT("\"a\":1,\"b\":2");
}
END_TEST

START_TEST(goes_on_behind_what_stands_there)
{
    buffer_append(&buffer, SLICE("{\"a\":1"));
    json = json_writer_behind(&buffer);
    json_add_number(&json, "b", 2);
    json_end_object(&json);
    EXPECT("{\"a\":1,\"b\":2}");
}
END_TEST

/* Writes the same object into buffers of each maximum size. Either the text is complete, or the buffer
 * reports a failure and has not grown beyond its maximum. */
START_TEST(fails_with_its_buffer)
{
    static const char whole[] = "{\"name\":[true,\"text\"],\"next\":1}";
    for (size_t room = 0; room < sizeof whole + 2; room++) {
        struct buffer small;
        buffer_init(&small, room);
        struct json_writer writer = json_writer_to(&small);
        json_put_object(&writer);
        json_add_array(&writer, "name");
        json_put_bool(&writer, true);
        json_put_text(&writer, SLICE("text"));
        json_end_array(&writer);
        json_add_number(&writer, "next", 1);
        json_end_object(&writer);
        ck_assert(small.failed == (room < sizeof whole - 1) && small.size <= room);
        if (!small.failed)
            ck_assert_str_eq(buffer_text(&small), whole);
        buffer_fini(&small);
    }
}
END_TEST

/* Puts each byte value at each position of a character of four bytes, and writes this text as a name and as a
 * value. */
START_TEST(writes_sound_json_of_any_bytes)
{
    static const struct json_limits limits = {1, 1};
    struct json_fault fault;
    for (int i = 0; i < 4 * 256; i++) {
        char text[4] = {'\xf0', '\x9f', '\x98', '\x80'};
        text[i / 256] = (char)(i % 256);
        buffer_clear(&buffer);
        json = json_writer_to(&buffer);
        json_put_object(&json);
        json_put_name_text(&json, slice_from(text + 1, 3));
        json_put_text(&json, slice_from(text, sizeof text));
        json_end_object(&json);
        bool has_nul_in_name = i / 256 > 0 && i % 256 == 0; /* valid JSON, which duepost does not allow */
        enum status status = json_check(buffer_slice(&buffer), &limits, &fault);
        ck_assert_msg(status == STATUS_OK || (has_nul_in_name && fault.is_json), "%s", buffer_text(&buffer));
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("json_writer");
    TCase *tests = tcase_create("json_writer");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, puts_commas_between_members);
    tcase_add_test(tests, puts_commas_between_items);
    tcase_add_test(tests, nests);
    tcase_add_test(tests, escapes_names_that_are_any_text);
    tcase_add_test(tests, writes_the_inside_of_an_object);
    tcase_add_test(tests, goes_on_behind_what_stands_there);
    tcase_add_test(tests, fails_with_its_buffer);
    tcase_add_test(tests, writes_sound_json_of_any_bytes);
    suite_add_tcase(suite, tests);
    return suite;
}
