/* zone_file.h - reads a zone of tests/zones. */
#ifndef DUEPOST_TESTS_SUPPORT_ZONE_FILE_H
#define DUEPOST_TESTS_SUPPORT_ZONE_FILE_H

#include <check.h>
#include <stdio.h>

#include "base/file.h"
#include "base/time_zone.h"

/* Reads the zone with this name. The caller frees it with time_zone_free. */
static inline struct time_zone *zone_from_file(struct slice name)
{
    char path[512];
    struct buffer bytes;
    struct problem problem;
    struct time_zone *zone = NULL;
    snprintf(path, sizeof path, TESTS_FOLDER "/zones/%.*s", SLICE_ARG(name));
    ck_assert_msg(file_read(path, TIME_ZONE_FILE_MAX, &bytes, &problem) == STATUS_OK, "%s", problem.text);
    ck_assert_msg(time_zone_read(buffer_slice(&bytes), &zone, &problem) == STATUS_OK, "%s", problem.text);
    buffer_fini(&bytes);
    return zone;
}

#endif
