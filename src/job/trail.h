/* trail.h - lines of the audit log as clients ask for them. */
#ifndef DUEPOST_JOB_TRAIL_H
#define DUEPOST_JOB_TRAIL_H

#include "base/slice.h"

enum { TRAIL_ID = 24 /* characters of a line's id: hex digits, in lower case */ };

/* Which lines are listed, the latest first. Empty and 0: all. */
struct trail_query {
    int64_t from_ms, to_ms; /* to_ms is not included */
    struct slice who, action, topic;
    struct { /* the lines before this one, which was the last of the page before */
        bool is_set;
        int64_t at_ms;
        char id[TRAIL_ID + 1];
    } after;
    size_t max; /* number of lines */
};

/* A line. */
struct trail_entry {
    int64_t at_ms;
    const char *id;
    struct slice json; /* as clients see it */
};

#endif
