/* lease_board.h - counts, for each pull topic, the workers that wait for its jobs in all reactors of a
 * process. Any thread may use it. */
#ifndef DUEPOST_APP_LEASE_BOARD_H
#define DUEPOST_APP_LEASE_BOARD_H

#include "base/slice.h"

struct lease_board;

struct lease_board *lease_board_new(void);
void lease_board_free(struct lease_board *); /* NULL is ignored */

/* Adds to the number of workers that wait for the topic; change is 1 or -1. */
void lease_board_add(struct lease_board *, struct slice topic, int change);

size_t lease_board_waiting(struct lease_board *, struct slice topic);

#endif
