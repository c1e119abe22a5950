/* durability.h - what a change has reached when it is confirmed.
 *
 * A change is confirmed when its script has replied: with fsync always, Redis replies after the disk has it.
 * With replicas, WAIT is sent on the connection that made the change, and has to count enough of them. */
#ifndef DUEPOST_STORE_DURABILITY_H
#define DUEPOST_STORE_DURABILITY_H

#include "base/slice.h"

/* Nothing set: Redis has it in memory. */
struct durability {
    bool is_synced;    /* on Redis's disk: append-only file, fsync always */
    unsigned replicas; /* so many have it, besides the primary: WAIT */
};

enum { DURABILITY_REPLICAS_MAX = 16, DURABILITY_TEXT_MAX = 32 };

/* "memory", "fsync", "replicated:N", "fsync+replicated:N" with N from 1 */
bool durability_parse(struct slice text, struct durability *);
void durability_format(struct durability, char text[DURABILITY_TEXT_MAX]);

/* What is given is at least what is wanted. */
bool durability_covers(struct durability given, struct durability wanted);

#endif
