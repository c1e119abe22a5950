/* heads.h - finds the topics of a page that lists waiting jobs of all topics.
 *
 * Each topic has a bucket of waiting jobs. A page has at most max jobs, so they belong to the max topics
 * whose first jobs after the previous page come first. This walk finds these topics in bounded steps, over a
 * bounded number of topics. */
#ifndef DUEPOST_STORE_HEADS_H
#define DUEPOST_STORE_HEADS_H

#include "store/list_call.h"

enum { HEADS_TOPICS_MAX = 10000 }; /* that are examined */

struct heads_page {
    struct slice topics; /* one per line; borrowed until the callback returns */
    /* The job after which topics outside this page may have jobs, too; empty: there are no other topics. */
    char score[LIST_SCORE_SIZE];
    struct slice id;
    int64_t count;   /* of jobs, if requested */
    bool is_partial; /* there are more topics */
    int64_t now_us;
};

/* page is NULL unless OK. */
typedef void heads_fn(void *arg, enum status, const struct heads_page *page);

/* Finds the topics for this list, from its cursor on. Borrows it until the callback. */
void heads_find(struct shard *, const struct store_list *, bool is_count, heads_fn *, void *arg);

#endif
