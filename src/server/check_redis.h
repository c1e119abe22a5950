/* check_redis.h - the lines of duepost check about Redis. */
#ifndef DUEPOST_SERVER_CHECK_REDIS_H
#define DUEPOST_SERVER_CHECK_REDIS_H

#include "server/check_report.h"
#include "server/options.h"

/* Connects to Redis as the server does, and reads and judges its properties with the functions of the server.
 * Data in Redis remain as they are, except that a key is written and removed again in one script. A private
 * Redis that does not run is not started. Takes at most some 15 s. */
void check_redis(struct check_report *, const struct options *);

#endif
