/* heads.h - which topics a page of the waiting jobs of all topics comes from.
 *
 * Jobs wait in a bucket for each topic. A page of a list over all topics holds at most max jobs, so they are
 * among the topics with the max first ones behind the page before: this walk finds these in bounded steps,
 * over a bounded number of topics. */
#ifndef DUEPOST_STORE_HEADS_H
#define DUEPOST_STORE_HEADS_H

#include "store/list_call.h"

enum { HEADS_TOPICS_MAX = 10000 }; /* that are looked at */

struct heads_page {
    struct slice topics; /* a line each; borrowed until the callback returns */
    /* The job behind which topics that are not among these may have jobs, too; empty: there are no others. */
    char score[LIST_SCORE_SIZE];
    struct slice id;
    int64_t count;   /* of jobs, where that was asked for */
    bool is_partial; /* there are more topics */
    int64_t now_us;
};

/* page is NULL unless OK. */
typedef void heads_fn(void *arg, enum status, const struct heads_page *page);

/* For this list, from its cursor on. Borrows it until the callback. */
void heads_find(struct shard *, const struct store_list *, bool is_count, heads_fn *, void *arg);

#endif
