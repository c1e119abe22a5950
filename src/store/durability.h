/* durability.h - the durability that a change has when it is confirmed.
 *
 * A change is confirmed when its script has replied. With fsync always, Redis replies after the write to
 * disk. With replicas, WAIT is sent on the connection that made the change, and must count enough of them. */
#ifndef DUEPOST_STORE_DURABILITY_H
#define DUEPOST_STORE_DURABILITY_H

#include "base/slice.h"

/* Zeroed: in Redis's memory. */
struct durability {
    bool is_synced;    /* on Redis's disk: append-only file, fsync always */
    unsigned replicas; /* number of replicas that have it, in addition to the primary: WAIT */
};

enum { DURABILITY_REPLICAS_MAX = 16, DURABILITY_TEXT_MAX = 32 };

/* Parses "memory", "fsync", "replicated:N", "fsync+replicated:N" with N from 1. */
bool durability_parse(struct slice text, struct durability *);
void durability_format(struct durability, char text[DURABILITY_TEXT_MAX]);

/* Returns whether given is at least wanted. */
bool durability_covers(struct durability given, struct durability wanted);

#endif
