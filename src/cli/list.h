/* list.h - lists that the server gives page by page, as tables. */
#ifndef DUEPOST_CLI_LIST_H
#define DUEPOST_CLI_LIST_H

#include "cli/call.h"
#include "cli/form.h"

/* Prints all pages, or as many entries as --limit asks for. */
bool list_print(struct call *, const struct form *);

/* The next page, or NULL at the end and after an error. target: room for the request's. */
json_t *list_next_page(struct call *, const struct form *, struct buffer *target, const json_t *before);

#endif
