/* run_id.h - ids of durable runs that the server creates: wfr_01J8ZK3V5Q8T9W0X1Y2Z3A4B5C. */
#ifndef DUEPOST_QSTASH_RUN_ID_H
#define DUEPOST_QSTASH_RUN_ID_H

#include "job/job_id.h"

#define RUN_ID_PREFIX "wfr_"

enum { RUN_ID_NEW_SIZE = sizeof RUN_ID_PREFIX + JOB_ID_NEW_SIZE };

/* Writes a new id into room, followed by a NUL. Returns the id. */
struct slice run_id_make(int64_t now_ms, char room[RUN_ID_NEW_SIZE]);

#endif
