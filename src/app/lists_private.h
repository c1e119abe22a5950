/* lists_private.h - what lists and bulk actions share; only they include this header. */
#ifndef DUEPOST_APP_LISTS_PRIVATE_H
#define DUEPOST_APP_LISTS_PRIVATE_H

#include "app/lists.h"
#include "store/store.h"

/* Converts the list. The result borrows the same data, the cursor included. */
struct store_list lists_of_store(const struct app_list *);

#endif
