#include "qstash/run_id.h"

#include <stdio.h>

#include "base/random.h"

struct slice run_id_make(int64_t now_ms, char room[RUN_ID_NEW_SIZE])
{
    uint8_t random[10];
    char unique[JOB_ID_NEW_SIZE];
    random_fill(random, sizeof random);
    job_id_make(now_ms, random, unique);
    snprintf(room, RUN_ID_NEW_SIZE, RUN_ID_PREFIX "%.*s", JOB_ID_NEW_SIZE, unique);
    return slice_of(room);
}
