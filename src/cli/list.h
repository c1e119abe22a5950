/* list.h - lists that the server gives page by page, as tables. */
#ifndef DUEPOST_CLI_LIST_H
#define DUEPOST_CLI_LIST_H

#include "cli/call.h"
#include "cli/table.h"

struct list_form {
    const char *path, *member; /* of the request; of the answer */
    size_t columns;
    const char *const *titles;
    void (*add)(struct table *, const json_t *page);
};

extern const struct list_form list_of_jobs, list_of_topics, list_of_receivers;

/* All pages; with --limit the first one. */
bool list_print(struct call *, const struct list_form *);

/* The next page, or NULL at the end and after an error. target: room for the request's. */
json_t *list_next_page(struct call *, const struct list_form *, struct buffer *target, const json_t *before);

#endif
