/* check_redis.h - the lines of duepost check about Redis. */
#ifndef DUEPOST_SERVER_CHECK_REDIS_H
#define DUEPOST_SERVER_CHECK_REDIS_H

#include "server/check_report.h"
#include "server/options.h"

/* Connects to Redis as the server does, and judges its properties with the functions of the server. Changes
 * no data in Redis: the only write is a script that writes a key and removes it again. Does not start a
 * private Redis that does not run. Takes about 15 s at most. */
void check_redis(struct check_report *, const struct options *);

#endif
