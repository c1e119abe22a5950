/* time_zone.h - a time zone, read from the bytes of a TZif file (RFC 8536) of the tz database.
 *
 * The C library's functions are not used, because they share one zone among all threads. The reader takes
 * files of version 2 and later without leap seconds, and computes times after the last transition by the
 * file's footer, a rule such as CET-1CEST,M3.5.0,M10.5.0/3. */
#ifndef DUEPOST_BASE_TIME_ZONE_H
#define DUEPOST_BASE_TIME_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"

enum {
    TIME_ZONE_NAME_MAX = 64,         /* maximum size of a name in bytes */
    TIME_ZONE_FILE_MAX = 128 * 1024, /* maximum size of a file in bytes */
};

#define TIME_ZONE_NAME_EXPECTED "must be a name of the IANA time zone database, such as Europe/Berlin"

struct time_zone;

/* A span of time in which the offset from UTC does not change. */
struct time_zone_span {
    int64_t from_s, until_s; /* UTC; INT64_MIN and INT64_MAX: unlimited */
    int offset_s;            /* local time is UTC plus offset_s */
};

/* Returns whether name may be the name of a zone, such as Europe/Berlin: letters, digits and + - _ in parts
 * between slashes. No part begins with a dot, so the name stays in its folder. The zones in right/ and posix/
 * are copies for other purposes and are refused. */
bool time_zone_name_is_valid(struct slice name);

/* Returns whether the tz database has a file of this name that is not a zone of its own: localtime and
 * posixrules are whatever zone the host has, and Factory stands for a host without a zone. Clients cannot
 * choose these names; definitions of earlier versions may have them. */
bool time_zone_name_is_of_host(struct slice name);

/* Reads the bytes of a file. If INVALID, *result is unchanged. The caller frees *result with
 * time_zone_free. */
enum status time_zone_read(struct slice bytes, struct time_zone **result, struct problem *) MUST_USE;
void time_zone_free(struct time_zone *);

/* Returns UTC, which needs no file and must not be freed. */
const struct time_zone *time_zone_utc(void);

/* Returns the span that contains at_s, which must be in the years 1 to 9999. Spans that follow each other may
 * have the same offset. */
struct time_zone_span time_zone_span(const struct time_zone *, int64_t at_s);

/* Returns when clocks of the zone show a local time, given as seconds since 1970-01-01T00:00:00 on such a
 * clock, in the years 2 to 9998. If they never show it, because a change skips it, returns the time of the
 * change; if they show it twice, the first time. */
int64_t time_zone_to_utc(const struct time_zone *, int64_t local_s);

#endif
