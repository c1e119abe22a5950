/* list.h - paginated lists of the API, printed as tables. */
#ifndef DUEPOST_CLI_LIST_H
#define DUEPOST_CLI_LIST_H

#include "cli/call.h"
#include "cli/form.h"

/* Prints all pages, or at most --limit entries. */
bool list_print(struct call *, const struct form *);

/* Returns the page after the page given as before, or NULL at the end and after an error. target is a
 * buffer into which the request's target is written. */
json_t *list_next_page(struct call *, const struct form *, struct buffer *target, const json_t *before);

#endif
