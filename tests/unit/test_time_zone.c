#include "support/suite.h"
#include "support/zone_file.h"

#include "base/buffer.h"
#include "base/timestamp.h"

static struct problem problem;

static int64_t seconds_of(const char *text)
{
    int64_t ms = 0;
    ck_assert(timestamp_parse(slice_of(text), &ms));
    return ms / 1000;
}

/* ---- files made here ---- */

static void put_big(struct buffer *out, int64_t number, int size)
{
    for (int i = size - 1; i >= 0; i--)
        buffer_append_byte(out, (char)((uint64_t)number >> 8 * i));
}

static void put_header(struct buffer *out, char version, int64_t leap, int64_t transitions, int64_t types)
{
    buffer_append(out, SLICE("TZif"));
    buffer_append_byte(out, version);
    for (int i = 0; i < 15; i++)
        buffer_append_byte(out, 0);
    put_big(out, 0, 4);
    put_big(out, 0, 4);
    put_big(out, leap, 4);
    put_big(out, transitions, 4);
    put_big(out, types, 4);
    put_big(out, 4, 4);
}

static void put_type(struct buffer *out, int64_t offset_s)
{
    put_big(out, offset_s, 4);
    buffer_append_byte(out, 0);
    buffer_append_byte(out, 0);
}

/* Writes a TZif file: an empty block of version 1, then a block with the offset 0 and transitions to offset_s
 * at the times at_s, and a footer. */
static void make_file(struct buffer *out, const int64_t *at_s, size_t count, int64_t offset_s,
                      const char *footer)
{
    buffer_clear(out);
    put_header(out, '2', 0, 0, 1);
    put_type(out, 0);
    buffer_append(out, SLICE("ABC"));
    buffer_append_byte(out, 0);
    put_header(out, '2', 0, (int64_t)count, 2);
    for (size_t i = 0; i < count; i++)
        put_big(out, at_s[i], 8);
    for (size_t i = 0; i < count; i++)
        buffer_append_byte(out, 1);
    put_type(out, 0);
    put_type(out, offset_s);
    buffer_append(out, SLICE("ABC"));
    buffer_append_byte(out, 0);
    buffer_printf(out, "\n%s\n", footer);
}

static struct time_zone *zone_with(const char *footer)
{
    struct buffer bytes;
    struct time_zone *zone = NULL;
    buffer_init(&bytes, 4096);
    make_file(&bytes, NULL, 0, 0, footer);
    ck_assert_msg(time_zone_read(buffer_slice(&bytes), &zone, &problem) == STATUS_OK, "%s: %s", footer,
                  problem.text);
    buffer_fini(&bytes);
    return zone;
}

/* ---- names ---- */

START_TEST(names_stay_in_their_folder)
{
    static const char *const good[] = {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5",
                                       "America/Port-au-Prince"};
    static const char *const bad[] = {"",          ".",    "..",    "/etc/passwd",  "Europe/../UTC",
                                      "Europe/",   "a//b", "./UTC", "Europe/.hide", "right/UTC",
                                      "posix/UTC", "a b",  "a\tb",  "a\\b",         "Z\xc3\xbcrich"};
    char name[TIME_ZONE_NAME_MAX + 2];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(time_zone_name_is_valid(slice_of(good[i])), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!time_zone_name_is_valid(slice_of(bad[i])), "%s", bad[i]);
    memset(name, 'a', sizeof name);
    ck_assert(time_zone_name_is_valid(slice_from(name, TIME_ZONE_NAME_MAX)));
    ck_assert(!time_zone_name_is_valid(slice_from(name, TIME_ZONE_NAME_MAX + 1)));
    ck_assert(!time_zone_name_is_valid(slice_from("UTC\0", 4)));
}
END_TEST

/* ---- offsets ---- */

START_TEST(finds_offsets)
{
    static const struct {
        const char *zone, *at;
        int minutes;
    } cases[] = {
        {"Europe/Berlin", "2026-03-29T00:59:59Z", 60},
        {"Europe/Berlin", "2026-03-29T01:00:00Z", 120},
        {"Europe/Berlin", "2026-10-25T00:59:59Z", 120},
        {"Europe/Berlin", "2026-10-25T01:00:00Z", 60},
        {"Europe/Berlin", "2100-07-01T00:00:00Z", 120},
        {"Europe/Berlin", "2100-12-31T23:59:59Z", 60},
        {"Europe/Berlin", "9998-07-01T00:00:00Z", 120},
        {"America/New_York", "2026-03-08T06:59:59Z", -300},
        {"America/New_York", "2026-03-08T07:00:00Z", -240},
        {"America/New_York", "2200-03-09T06:59:59Z", -300},
        {"America/New_York", "2200-03-09T07:00:00Z", -240},
        {"Australia/Lord_Howe", "2026-04-04T14:59:59Z", 660},
        {"Australia/Lord_Howe", "2026-04-04T15:00:00Z", 630},
        {"Australia/Lord_Howe", "2090-01-01T00:00:00Z", 660},
        {"Pacific/Apia", "2011-12-30T09:59:59Z", -600},
        {"Pacific/Apia", "2011-12-30T10:00:00Z", 840},
        {"Africa/Casablanca", "2026-02-15T01:59:59Z", 60},
        {"Africa/Casablanca", "2026-02-15T02:00:00Z", 0},
        {"Africa/Casablanca", "2026-03-22T02:00:00Z", 60},
        {"Africa/Casablanca", "2200-03-22T02:00:00Z", 60},
        {"Europe/Dublin", "2100-01-01T00:00:00Z", 0},
        {"Europe/Dublin", "2100-07-01T00:00:00Z", 60},
        {"Asia/Kolkata", "2100-07-01T00:00:00Z", 330},
        {"America/St_Johns", "2100-07-01T00:00:00Z", -150},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct time_zone *zone = zone_from_file(slice_of(cases[i].zone));
        struct time_zone_span span = time_zone_span(zone, seconds_of(cases[i].at));
        ck_assert_msg(span.offset_s == 60 * cases[i].minutes, "%s %s: %d", cases[i].zone, cases[i].at,
                      span.offset_s / 60);
        time_zone_free(zone);
    }
    ck_assert_int_eq(time_zone_span(time_zone_utc(), 0).offset_s, 0);
    ck_assert(time_zone_span(time_zone_utc(), 0).until_s == INT64_MAX);
}
END_TEST

/* Checks that the spans of a zone cover all time, and that the first and the last second of a span return the
 * same span. */
static void check_spans(const struct time_zone *zone)
{
    int64_t at_s = seconds_of("1970-01-01T00:00:00Z"), end_s = seconds_of("2150-01-01T00:00:00Z");
    for (int spans = 0; at_s < end_s; spans++) {
        struct time_zone_span span = time_zone_span(zone, at_s), last;
        ck_assert(span.from_s <= at_s && at_s < span.until_s && spans < 2000);
        if (span.until_s == INT64_MAX)
            break;
        last = time_zone_span(zone, span.until_s - 1);
        ck_assert(last.from_s == span.from_s && last.until_s == span.until_s &&
                  last.offset_s == span.offset_s);
        at_s = span.until_s;
    }
}

START_TEST(spans_cover_all_time)
{
    static const char *const footers[] = {"UTC0",
                                          "CET-1CEST,M3.5.0,M10.5.0/3",
                                          "IST-1GMT0,M10.5.0,M3.5.0/1",
                                          "XXX3EDT4,0/0,J365/23",
                                          "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
                                          "AAA-24BBB-24:59:59,J60/167,300/-167",
                                          "EET-2EEST,M2.5.6/26,M2.5.0/26"};
    static const char *const zones[] = {"Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca",
                                        "Europe/Dublin", "Pacific/Apia"};
    for (size_t i = 0; i < sizeof footers / sizeof *footers; i++) {
        struct time_zone *zone = zone_with(footers[i]);
        check_spans(zone);
        time_zone_free(zone);
    }
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        struct time_zone *zone = zone_from_file(slice_of(zones[i]));
        check_spans(zone);
        time_zone_free(zone);
    }
}
END_TEST

START_TEST(reads_the_rule_of_a_footer)
{
    static const struct {
        const char *footer, *at;
        int offset_s;
    } cases[] = {
        {"CET-1", "2026-07-01T00:00:00Z", 3600},
        {"<+0530>-5:30", "2026-07-01T00:00:00Z", 19800},
        {"ABC5:30:15", "2026-07-01T00:00:00Z", -19815},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2050-03-27T00:59:59Z", 3600},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2050-03-27T01:00:00Z", 7200},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2050-01-01T00:00:00Z", 39600},
        {"ABC0DEF,J60/0,J61/0", "2024-02-29T12:00:00Z", 0},
        {"ABC0DEF,J60/0,J61/0", "2024-03-01T12:00:00Z", 3600},
        {"ABC0DEF,59/0,60/0", "2024-02-29T12:00:00Z", 3600},
        {"ABC0DEF,59/0,60/0", "2025-03-01T12:00:00Z", 3600},
        {"XXX3EDT4,0/0,J365/23", "2026-12-31T23:59:59Z", -14400},
        {"XXX3EDT4,0/0,J365/23", "2026-07-01T00:00:00Z", -14400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct time_zone *zone = zone_with(cases[i].footer);
        ck_assert_msg(time_zone_span(zone, seconds_of(cases[i].at)).offset_s == cases[i].offset_s, "%s %s",
                      cases[i].footer, cases[i].at);
        time_zone_free(zone);
    }
}
END_TEST

START_TEST(an_empty_footer_keeps_the_last_offset)
{
    static const int64_t at_s[] = {-1000, 1000};
    struct buffer bytes;
    struct time_zone *zone = NULL;
    buffer_init(&bytes, 4096);
    make_file(&bytes, at_s, 2, 7200, "");
    ck_assert_int_eq(time_zone_read(buffer_slice(&bytes), &zone, &problem), STATUS_OK);
    ck_assert_int_eq(time_zone_span(zone, -1001).offset_s, 0);
    ck_assert_int_eq(time_zone_span(zone, -1000).offset_s, 7200);
    struct time_zone_span span = time_zone_span(zone, 5000);
    ck_assert(span.offset_s == 7200 && span.from_s == 1000 && span.until_s == INT64_MAX);
    time_zone_free(zone);
    buffer_fini(&bytes);
}
END_TEST

/* ---- damaged files ---- */

static void check_refused(struct slice bytes, const char *why)
{
    struct time_zone *zone = NULL;
    ck_assert_int_eq(time_zone_read(bytes, &zone, &problem), STATUS_INVALID);
    ck_assert_ptr_null(zone);
    if (why)
        ck_assert_msg(strstr(problem.text, why), "%s", problem.text);
}

START_TEST(refuses_damaged_files)
{
    static const int64_t at_s[] = {1000, 1000};
    static const char *const footers[] = {"C-1",
                                          "CET",
                                          "CET-1x",
                                          "CET-1CEST",
                                          "CET-25",
                                          "CET-1CEST,M3.5.0",
                                          "CET-1CEST,M3.6.0,M10.5.0",
                                          "CET-1CEST,M13.5.0,M10.5.0",
                                          "CET-1CEST,M0.5.0,M10.5.0",
                                          "CET-1CEST,M3.5.7,M10.5.0",
                                          "CET-1CEST,J0,J5",
                                          "CET-1CEST,366,5",
                                          "CET-1CEST,M3.5.0/168,M10.5.0",
                                          "CET-1CEST,M3.5.0,M10.5.0,",
                                          "<CET-1",
                                          "\n"};
    struct buffer bytes;
    buffer_init(&bytes, TIME_ZONE_FILE_MAX + 2);
    for (size_t i = 0; i < sizeof footers / sizeof *footers; i++) {
        make_file(&bytes, NULL, 0, 0, footers[i]);
        check_refused(buffer_slice(&bytes), "footer");
    }
    make_file(&bytes, at_s, 2, 3600, "UTC0"); /* not ascending */
    check_refused(buffer_slice(&bytes), "transitions");
    make_file(&bytes, at_s, 1, 27 * 3600, "UTC0");
    check_refused(buffer_slice(&bytes), "transitions");
    make_file(&bytes, at_s, 1, 3600, "UTC0");
    struct time_zone *zone = NULL;
    ck_assert_int_eq(time_zone_read(buffer_slice(&bytes), &zone, &problem), STATUS_OK);
    time_zone_free(zone);
    for (size_t size = 0; size < bytes.size; size++)
        check_refused(slice_from(bytes.data, size), NULL);
    bytes.data[4] = 0;
    check_refused(buffer_slice(&bytes), "version 2");
    buffer_clear(&bytes);
    put_header(&bytes, '2', 0, 0, 0);
    buffer_append(&bytes, slice_from("\0\0\0", 4));
    put_header(&bytes, '2', 1, 0, 1);
    put_type(&bytes, 0);
    for (int i = 0; i < 20; i++)
        buffer_append_byte(&bytes, 0);
    check_refused(buffer_slice(&bytes), "leap seconds");
    while (bytes.size <= TIME_ZONE_FILE_MAX)
        buffer_append_byte(&bytes, 0);
    check_refused(buffer_slice(&bytes), "too long");
    buffer_fini(&bytes);
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("time_zone");
    TCase *tests = tcase_create("time_zone");
    tcase_add_test(tests, names_stay_in_their_folder);
    tcase_add_test(tests, finds_offsets);
    tcase_add_test(tests, spans_cover_all_time);
    tcase_add_test(tests, reads_the_rule_of_a_footer);
    tcase_add_test(tests, an_empty_footer_keeps_the_last_offset);
    tcase_add_test(tests, refuses_damaged_files);
    suite_add_tcase(all, tests);
    return all;
}
