/* notice.h - the job that reports a dead job to the topic's onDead url. Its functions are pure: no clock, no
 * I/O.
 *
 * The notice of orders/17 is a job of the sibling topic orders~callbacks. Its jobId is made from the jobId of
 * the dead job and the nonce of the lease under which that job was buried, so that each death has one notice.
 * Its body is
 *
 *     {"topic":"orders","jobId":"17","deadAt":1700000000123,"job":{...}}
 *
 * where job is the record of the dead job, or null if the record is not JSON. */
#ifndef DUEPOST_JOB_NOTICE_H
#define DUEPOST_JOB_NOTICE_H

#include "job/topic_settings.h"

#define NOTICE_SIBLING "~callbacks"

/* A dead job. The slices are borrowed. */
struct notice_death {
    struct slice id;    /* of the dead job: topic/jobId */
    struct slice nonce; /* of the lease that its burial ends */
    int64_t at_ms;
    struct slice record; /* of the dead job, as stored */
};

struct notice {
    struct buffer id; /* empty: no notice */
    struct buffer record;
};

void notice_init(struct notice *);
void notice_fini(struct notice *);

/* Makes it the notice of nothing. */
void notice_clear(struct notice *);

/* Writes the notice. settings are the settings of the dead job's topic, or NULL if the topic has none. Writes
 * nothing when the topic has no onDead. Also writes nothing for a job of a sibling topic, so that a dead
 * notice causes no other notice. Returns false if there is no memory. */
bool notice_write(struct notice *, const struct topic_settings *settings,
                  const struct notice_death *) MUST_USE;

#endif
