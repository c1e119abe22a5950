/* durability.h - the durability that a change has when it is confirmed.
 *
 * A change is confirmed when its script has replied. With "appendfsync always", Redis replies after the
 * write to disk. If replicas are required, duepost also sends WAIT on the connection that made the change,
 * and confirms the change when WAIT reports enough replicas. */
#ifndef DUEPOST_STORE_DURABILITY_H
#define DUEPOST_STORE_DURABILITY_H

#include "base/slice.h"

/* A zeroed struct means that the change is in Redis's memory only. */
struct durability {
    bool is_synced;    /* Redis has written the change to disk, with "appendfsync always" */
    unsigned replicas; /* number of replicas that have the change, as WAIT counts them */
};

enum { DURABILITY_REPLICAS_MAX = 16, DURABILITY_TEXT_MAX = 32 };

/* Parses "memory", "fsync", "replicated:N" or "fsync+replicated:N", with N from 1. Returns false for other
 * texts. */
bool durability_parse(struct slice text, struct durability *);
void durability_format(struct durability, char text[DURABILITY_TEXT_MAX]);

/* Returns whether the durability given includes the durability wanted. */
bool durability_covers(struct durability given, struct durability wanted);

#endif
