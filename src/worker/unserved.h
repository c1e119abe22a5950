/* unserved.h - due jobs that this process must not deliver and must not bury: they need a later version, or the
 * settings of their topic cannot be read.
 *
 * Each is given back and held for a while, so that another process may take it. Where there are many they come
 * back in a row, at such distances that their number puts no load on Redis. One for each consumer. */
#ifndef DUEPOST_WORKER_UNSERVED_H
#define DUEPOST_WORKER_UNSERVED_H

#include <stdint.h>

#include "base/slice.h"

enum unserved_why {
    UNSERVED_JOB_LACKS,   /* the job's record needs something that this version does not know */
    UNSERVED_TOPIC_LACKS, /* its topic's settings do */
    UNSERVED_SETTINGS,    /* its topic's settings cannot be read */
    UNSERVED_WHYS,
};

/* Times are CLOCK_BOOTTIME. */
struct unserved {
    int64_t row_us; /* when the last of the row comes back */
    struct {
        int64_t us;     /* when the log was last told */
        uint64_t quiet; /* how often it was not since then */
    } told[UNSERVED_WHYS];
};

/* For how long the next one is held. */
int64_t unserved_hold_ms(struct unserved *, int64_t now_us);

/* Warns, at most once in ten seconds for each why. name: of the job or topic. lacks: see needs.h; empty: it is
 * not that. */
void unserved_tell(struct unserved *, int64_t now_us, enum unserved_why, struct slice name, struct slice lacks);

#endif
