/* windows.h - times of the week in which attempts may begin: the setting windows of a topic.
 *
 *     [{"days":["mon","tue","wed","thu","fri"],"from":"09:00","to":"17:00","timezone":"Europe/Berlin"}]
 *
 * A window without days is open every day. Its times are local times of its zone, UTC if it has none. If "to"
 * is not later than "from", the window ends on the next day; "24:00" is the end of the day. A local time that
 * a change of the clocks skips is the moment of the change; of a time that comes twice, the first one counts.
 */
#ifndef DUEPOST_JOB_SCHEDULE_WINDOWS_H
#define DUEPOST_JOB_SCHEDULE_WINDOWS_H

#include "base/time_zone.h"

enum {
    WINDOWS_MAX = 16,     /* maximum number of windows of a topic */
    WINDOW_SPANS_MAX = 8, /* maximum number of spans that are computed at once */
};

struct time_window {
    unsigned days;        /* bit 0 is Monday */
    int from_min, to_min; /* minutes after midnight of the day; to_min may be on the next day */
    struct slice zone;    /* points into the JSON text; empty: UTC */
};

struct windows {
    size_t count;
    struct time_window items[WINDOWS_MAX];
};

/* Reads an array of 1 to WINDOWS_MAX windows. The text must be valid JSON. If INVALID, problem says what is
 * wrong with which window. */
enum status windows_parse(struct slice text, struct windows *, struct problem *) MUST_USE;

/* The same for windows of a schedule, which must have no zone: they are in that of the schedule. */
enum status windows_parse_local(struct slice text, struct windows *, struct problem *) MUST_USE;

/* A span of time in which at least one window is open. */
struct window_span {
    int64_t opens_ms, closes_ms; /* ms since 1970; closed from closes_ms on */
};

/* Finds the zone of this name; empty: UTC. The zone is needed until the next call. NULL: there is no such
 * zone. */
typedef const struct time_zone *windows_zone_fn(void *arg, struct slice name);

/* Writes the spans that end after now_ms, the earliest first, and without gaps of 0 between them. All but the
 * last are complete: the last may continue where later spans were not computed. Returns their number. A
 * window with an unknown zone is never open. */
size_t windows_spans(const struct windows *, int64_t now_ms, windows_zone_fn *, void *arg,
                     struct window_span spans[WINDOW_SPANS_MAX]);

#endif
