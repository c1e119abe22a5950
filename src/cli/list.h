/* list.h - paginated lists of the API, printed as tables: their paths, columns and rows. */
#ifndef DUEPOST_CLI_LIST_H
#define DUEPOST_CLI_LIST_H

#include <jansson.h>

#include "cli/call.h"
#include "cli/output.h"

struct listing {
    const char *path, *member; /* path of the list in the API, and name of the array in the answer */
    size_t columns;
    const char *const *titles;
    void (*add)(struct table *, const json_t *page);
    const char *time;     /* the member by which --since selects entries; NULL: the API selects them */
    bool is_oldest_first; /* the API lists the oldest first, in one page; the command reverses the list */
};

extern const struct listing listing_jobs, listing_topics, listing_groups, listing_receivers,
    listing_workflows;

extern const struct listing listing_attempts; /* the path depends on the job */

extern const struct listing listing_schedules; /* the path depends on the topic */

/* Prints all pages, or at most --limit entries. */
bool list_print(struct call *, const struct listing *);

/* Returns the page after the page given as before, or NULL at the end and after an error. target is a
 * buffer into which the request's target is written. */
json_t *list_next_page(struct call *, const struct listing *, struct buffer *target, const json_t *before);

#endif
