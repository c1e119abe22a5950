/* walk.h - reads a list page by page, until the reader has enough.
 *
 * A page of Redis or of the history ends where a limit stopped it, and not where the reader wants to stop: it
 * may leave out items that a filter or a right excludes. So a reader continues with further pages:
 *
 *   1. page   asks for the page that begins at the walk's position
 *   2. take   the reader takes the items of the page, and reports where the page ended (app_walk_on)
 *   3. end    called after the last page: the list is over, the reader has enough, or pages_max pages were
 * read
 *
 * A reader that works on a page before it reads the next one keeps the position with app_walk_keep, and calls
 * app_walk_on when the work is done. */
#ifndef DUEPOST_APP_WALK_H
#define DUEPOST_APP_WALK_H

#include "app/app.h"

struct app_walk {
    void (*page)(void *arg); /* asks for the next page */
    void (*end)(void *arg);  /* the walk has ended; the position is where it stopped */
    void *arg;
    size_t pages_max; /* maximum number of pages; 0: no limit */
    size_t pages;     /* number of pages that were read, or asked for */
    bool has_more;    /* the list continues at the position */
    size_t shard; /* the position: a shard, and an item in it or a cursor; both 0 and empty: the beginning */
    struct slice place; /* points into room */
    char room[APP_CURSOR_MAX];
};

/* Sets the position at which the next page begins. An empty place in shard 0 means that the list is over, and
 * so does a place that is longer than a cursor. The place may point into the walk's room. */
void app_walk_keep(struct app_walk *, size_t shard, struct slice place);

/* Asks for the first page, at the position. */
void app_walk_begin(struct app_walk *);

/* Asks for the next page if the reader wants more items and there are more; otherwise ends the walk. */
void app_walk_on(struct app_walk *, bool wants_more);

#endif
