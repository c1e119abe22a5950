/* leased.h - pages of the ids of leased jobs, in the order of ids.
 *
 * Pages are not in the order of deadlines, because renewals change the deadlines of leases all the time. For
 * each page, a walk reads all leases of a shard, in steps that take Redis a short time, and keeps the first
 * ids after the previous page. */
#ifndef DUEPOST_STORE_LEASED_H
#define DUEPOST_STORE_LEASED_H

#include "store/store_private.h"

struct leased_page {
    const struct slice *ids; /* valid until the callback returns */
    size_t count;
    bool has_more; /* there may be further ids after this page */
};

/* page is NULL unless the status is OK. */
typedef void leased_fn(void *arg, enum status, const struct leased_page *page);

/* Finds at most max ids of leased jobs. If topic is not empty, finds only jobs of this topic. If behind is
 * not empty, finds only ids after it. Borrows topic and behind until the callback. */
void leased_find(struct shard *, struct slice topic, struct slice owner, struct slice behind, size_t max,
                 leased_fn *, void *arg);

#endif
