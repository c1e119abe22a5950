/* time_zones.h - the time zones of the system's tz database (package tzdata), read when they are needed.
 *
 * Each reactor has its own struct time_zones. A zone stays in memory; its file is checked for changes at most
 * once a second when the zone is used. A changed file is read again. If a changed file is missing or corrupt,
 * the zone that was read before is kept, and the log says so. */
#ifndef DUEPOST_IO_TIME_ZONES_H
#define DUEPOST_IO_TIME_ZONES_H

#include "base/time_zone.h"

#define TIME_ZONES_FOLDER "/usr/share/zoneinfo"

struct time_zones;

/* Borrows folder. */
struct time_zones *time_zones_new(const char *folder);
void time_zones_free(struct time_zones *);

/* Finds a zone by its name. An empty name means UTC. The zone is valid until the next call. Returns
 * STATUS_INVALID if there is no such zone, or its file cannot be read; problem then says why. */
enum status time_zones_find(struct time_zones *, struct slice name, const struct time_zone **,
                            struct problem *) MUST_USE;

#endif
