/* leased.h - pages of the ids of leased jobs, in their order.
 *
 * Renewals move all leases all the time, so a page cannot go on where the one before ended in the order of
 * deadlines. This walk comes by all leases of a shard for each page, in steps that do not keep Redis long,
 * and keeps the first ids behind the last one of the page before. */
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

/* At most max ids of leased jobs behind this id, of this topic; both may be empty. Borrows them until the
 * callback. */
void leased_find(struct shard *, struct slice topic, struct slice behind, size_t max, leased_fn *, void *arg);

#endif
