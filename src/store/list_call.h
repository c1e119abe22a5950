/* list_call.h - adds the arguments that list.lua and heads.lua have in common. */
#ifndef DUEPOST_STORE_LIST_CALL_H
#define DUEPOST_STORE_LIST_CALL_H

#include "store/store_private.h"

enum { LIST_SCORE_SIZE = 40 };

/* Adds score and id of the job after which the list continues, or two empty texts at the beginning of the
 * list. The call borrows score until its callback. */
void list_call_place(struct store_call *, const struct store_list *, char score[LIST_SCORE_SIZE]);

/* Adds the list's limits of time: after_ms and before_ms. */
void list_call_bounds(struct store_call *, const struct store_list *);

/* Adds the list's order: the word oldest or newest. */
void list_call_order(struct store_call *, const struct store_list *);

#endif
