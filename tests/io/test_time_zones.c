#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "io/time_zones.h"

static char folder[] = "/tmp/duepost-zones-XXXXXX";
static struct problem problem;

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/Zone", folder);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void write_zone(struct slice bytes)
{
    char path[128], fresh[128];
    snprintf(path, sizeof path, "%s/Zone", folder);
    snprintf(fresh, sizeof fresh, "%s/Fresh", folder);
    FILE *file = fopen(fresh, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(rename(fresh, path), 0);
}

static void copy_zone(const char *name)
{
    char path[256];
    struct buffer bytes;
    snprintf(path, sizeof path, TESTS_FOLDER "/zones/%s", name);
    ck_assert_int_eq(file_read(path, TIME_ZONE_FILE_MAX, &bytes, &problem), STATUS_OK);
    write_zone(buffer_slice(&bytes));
    buffer_fini(&bytes);
}

static int offset_now(struct time_zones *zones, const char *name)
{
    const struct time_zone *zone = NULL;
    ck_assert_msg(time_zones_find(zones, slice_of(name), &zone, &problem) == STATUS_OK, "%s", problem.text);
    return time_zone_span(zone, 1767225600).offset_s; /* 2026-01-01 */
}

/* Waits until the zone has this offset. */
static void await_offset(struct time_zones *zones, int offset_s)
{
    int tries = 0;
    while (offset_now(zones, "Zone") != offset_s && tries++ < 500)
        usleep(20000);
    ck_assert_int_eq(offset_now(zones, "Zone"), offset_s);
}

START_TEST(finds_zones)
{
    struct time_zones *zones = time_zones_new(TESTS_FOLDER "/zones");
    const struct time_zone *zone = NULL, *again = NULL;
    ck_assert_int_eq(offset_now(zones, ""), 0);
    ck_assert_int_eq(offset_now(zones, "Europe/Berlin"), 3600);
    ck_assert_int_eq(offset_now(zones, "America/New_York"), -5 * 3600);
    ck_assert_int_eq(time_zones_find(zones, SLICE("Europe/Berlin"), &zone, &problem), STATUS_OK);
    ck_assert_int_eq(time_zones_find(zones, SLICE("Europe/Berlin"), &again, &problem), STATUS_OK);
    ck_assert_ptr_eq(zone, again);
    time_zones_free(zones);
    time_zones_free(NULL);
}
END_TEST

START_TEST(refuses_names_that_are_not_zones)
{
    static const char *const names[] = {"Europe/Berln", "Europe", "../support/suite.h", "/etc/passwd", "a b"};
    struct time_zones *zones = time_zones_new(TESTS_FOLDER "/zones");
    const struct time_zone *zone = NULL;
    char expected[200];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ck_assert_int_eq(time_zones_find(zones, slice_of(names[i]), &zone, &problem), STATUS_INVALID);
        snprintf(expected, sizeof expected,
                 "found '%s'; allowed are names of the IANA time zone database, such as Europe/Berlin",
                 names[i]);
        ck_assert_str_eq(problem.text, expected);
    }
    time_zones_free(zones);
    zones = time_zones_new("/nowhere");
    ck_assert_int_eq(time_zones_find(zones, SLICE("Europe/Berlin"), &zone, &problem), STATUS_INVALID);
    ck_assert_str_eq(problem.text, "cannot be found: the server has no /nowhere; install the package tzdata");
    time_zones_free(zones);
}
END_TEST

START_TEST(reads_a_changed_file_again)
{
    struct time_zones *zones = time_zones_new(folder);
    const struct time_zone *zone = NULL;
    ck_assert_int_eq(time_zones_find(zones, SLICE("Zone"), &zone, &problem), STATUS_INVALID);
    write_zone(SLICE("TZif, but no zone"));
    ck_assert_int_eq(time_zones_find(zones, SLICE("Zone"), &zone, &problem), STATUS_INVALID);
    ck_assert_msg(strstr(problem.text, "not a valid time zone file"), "%s", problem.text);
    copy_zone("Europe/Berlin");
    ck_assert_int_eq(offset_now(zones, "Zone"), 3600);
    copy_zone("Asia/Kolkata");
    await_offset(zones, 19800);
    write_zone(SLICE("damaged")); /* the zone that was read before is kept */
    usleep(1100000);
    ck_assert_int_eq(offset_now(zones, "Zone"), 19800);
    copy_zone("America/New_York");
    await_offset(zones, -5 * 3600);
    time_zones_free(zones);
}
END_TEST

/* ---- the system's zones ---- */

static void compare_time(const struct time_zone *zone, const char *name, int64_t at_s)
{
    struct tm local;
    time_t at = (time_t)at_s;
    bool is_read = localtime_r(&at, &local) != NULL;
    int offset_s = time_zone_span(zone, at_s).offset_s;
    if (!is_read || offset_s != local.tm_gmtoff) /* checked without an assertion of Check, because each passed
                                                    assertion costs a system call */
        ck_abort_msg("%s at %lld: %d, not %ld", name, (long long)at_s, offset_s, local.tm_gmtoff);
}

/* Compares a zone with the zone of the C library, in each quarter of a year and at both ends of each span. */
static size_t compare_zone(struct time_zones *zones, const char *name)
{
    const struct time_zone *zone = NULL;
    if (time_zones_find(zones, slice_of(name), &zone, &problem) != STATUS_OK)
        return 0;
    ck_assert_int_eq(setenv("TZ", name, 1), 0);
    tzset();
    for (int64_t at_s = 0, until_s; at_s < INT64_C(4500000000); at_s = until_s) {
        until_s = time_zone_span(zone, at_s).until_s;
        compare_time(zone, name, at_s);
        if (until_s > at_s + 90 * 86400)
            until_s = at_s + 90 * 86400;
        compare_time(zone, name, until_s - 1);
    }
    return 1;
}

START_TEST(agrees_with_the_c_library)
{
    struct time_zones *zones = time_zones_new(TIME_ZONES_FOLDER);
    struct buffer table;
    struct slice rest, line, cell;
    size_t compared = 0;
    char name[TIME_ZONE_NAME_MAX + 1];
    if (file_read(TIME_ZONES_FOLDER "/tzdata.zi", 4 << 20, &table, &problem) == STATUS_OK) {
        for (rest = buffer_slice(&table); rest.size;) {
            slice_cut(rest, '\n', &line, &rest);
            if (!slice_starts_with(line, SLICE("Z ")))
                continue;
            slice_cut(slice_skip(line, 2), ' ', &cell, &line);
            snprintf(name, sizeof name, "%.*s", SLICE_ARG(cell));
            compared += compare_zone(zones, name);
        }
        ck_assert_uint_gt(compared, 100);
    }
    buffer_fini(&table);
    time_zones_free(zones);
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("time_zones");
    TCase *tests = tcase_create("time_zones");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, finds_zones);
    tcase_add_test(tests, refuses_names_that_are_not_zones);
    tcase_add_test(tests, agrees_with_the_c_library);
    suite_add_tcase(all, tests);
    tests = tcase_create("changes");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_test(tests, reads_a_changed_file_again);
    suite_add_tcase(all, tests);
    return all;
}
