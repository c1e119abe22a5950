/* hold.h - decides for how long a due job is given back that cannot be sent now.
 *
 * Each look at a held job costs a claim and a release. So the jobs of one receiver come back in a row, at
 * least 2 ms apart. The row is at most 34 s long, or a quarter of the outage, or 10 minutes; jobs beyond it
 * come back at random before its end. With 4 reactors and 1,000,000 held jobs that makes 34,000 looks a
 * second in the first two minutes, 7,000 after 10 minutes and 2,000 from 35 minutes on.
 *
 *   held by its
 *   breaker      The first job comes back when the receiver may be probed, the others behind it. While news
 *                are being read, some come back within a second: the breaker may have been closed.
 *   limit        The distance is that at which attempts of 20 ms would make room.
 *   version      Only a later version can serve the job: after 5 s at least, up to 10 minutes. */
#ifndef DUEPOST_WORKER_HOLD_H
#define DUEPOST_WORKER_HOLD_H

#include "worker/receivers.h"

int64_t hold_by_breaker_ms(struct receiver *);
int64_t hold_by_limit_ms(struct receiver *);

/* ---- jobs that this process must neither deliver nor bury ---- */

enum unserved_why {
    UNSERVED_JOB_LACKS,   /* the job's record needs a later version */
    UNSERVED_TOPIC_LACKS, /* its topic's settings do */
    UNSERVED_SETTINGS,    /* its topic's settings cannot be read */
    UNSERVED_WHYS,
};

/* One for each consumer. Times are CLOCK_BOOTTIME. */
struct unserved {
    int64_t row_us; /* when the last job of the row comes back */
    struct {
        int64_t us;     /* of the last warning */
        uint64_t quiet; /* jobs without a warning since then */
    } warned[UNSERVED_WHYS];
};

int64_t hold_unserved_ms(struct unserved *, int64_t now_us);

/* Warns at most once in ten seconds for each why. name: of the job or topic. lacks: see carried.h; may be
 * empty. */
void unserved_warn(struct unserved *, int64_t now_us, enum unserved_why, struct slice name,
                   struct slice lacks);

#endif
