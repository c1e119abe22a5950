/* form.h - the API's lists as tables: their paths, columns and rows. */
#ifndef DUEPOST_CLI_FORM_H
#define DUEPOST_CLI_FORM_H

#include <jansson.h>

#include "cli/table.h"

struct form {
    const char *path, *member; /* path of the list in the API, and name of the array in the answer */
    size_t columns;
    const char *const *titles;
    void (*add)(struct table *, const json_t *page);
    const char *time;     /* the member by which --since selects entries; NULL: the API selects them */
    bool is_oldest_first; /* the API lists the oldest first, in one page; the command reverses the list */
};

extern const struct form form_jobs, form_topics, form_groups, form_receivers, form_workflows;
extern const struct form form_attempts;  /* the path depends on the job */
extern const struct form form_schedules; /* the path depends on the topic */

#endif
