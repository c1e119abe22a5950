/* heads.h - finds the topics whose jobs are on a page of a list. The list has the waiting jobs of all topics,
 * or the waiting or dead jobs of an owner topic and its sibling topics (such as orders~callbacks).
 *
 * Each topic has a bucket of waiting jobs, and a set of dead ones. A page has at most max jobs, so it has
 * jobs of at most max topics: those whose first job after the previous page (their head) comes earliest. A
 * walk finds these topics in steps of limited size, and examines a limited number of topics. */
#ifndef DUEPOST_STORE_HEADS_H
#define DUEPOST_STORE_HEADS_H

#include "store/list_call.h"

/* Maximum number of topics that a walk examines. */
enum {
    HEADS_TOPICS_MAX = 10000,
    HEADS_SIBLINGS_MAX = 100000, /* maximum number of siblings of one owner topic that a walk examines */
};

struct heads_page {
    struct slice topics; /* one per line; valid until the callback returns */
    /* The page must end at the job with this score and id, because jobs of further topics may come after
     * it. Empty if there are no further topics. */
    char score[LIST_SCORE_SIZE];
    struct slice id;
    int64_t count;   /* number of jobs, if is_count was true */
    bool is_partial; /* there are more topics than the walk examined */
    int64_t now_us;
};

/* page is NULL unless the status is OK. */
typedef void heads_fn(void *arg, enum status, const struct heads_page *page);

/* Finds the topics for the next page of this list. The page begins at the list's cursor. Borrows the list
 * until the callback. */
void heads_find(struct shard *, const struct store_list *, bool is_count, heads_fn *, void *arg);

#endif
