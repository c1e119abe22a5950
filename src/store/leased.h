/* leased.h - pages of the ids of leased jobs, in the order of ids.
 *
 * Renewals move all leases all the time, so a page cannot continue by the order of deadlines. For each page,
 * this walk passes all leases of a shard, in steps that are short for Redis, and keeps the first ids after
 * the previous page. */
#ifndef DUEPOST_STORE_LEASED_H
#define DUEPOST_STORE_LEASED_H

#include "store/shard_private.h"

struct leased_page {
    const struct slice *ids; /* borrowed until the callback returns */
    size_t count;
    bool has_more; /* perhaps */
};

/* page is NULL unless OK. */
typedef void leased_fn(void *arg, enum status, const struct leased_page *page);

/* Finds at most max ids of leased jobs after this id, of this topic; both may be empty. Borrows them until
 * the callback. */
void leased_find(struct shard *, struct slice topic, struct slice behind, size_t max, leased_fn *, void *arg);

#endif
