/* form.h - lists of the API as tables: where they are, their columns, and the rows of a page. */
#ifndef DUEPOST_CLI_FORM_H
#define DUEPOST_CLI_FORM_H

#include <jansson.h>

#include "cli/table.h"

struct form {
    const char *path, *member; /* of the list; within an answer */
    size_t columns;
    const char *const *titles;
    void (*add)(struct table *, const json_t *page);
};

extern const struct form form_jobs, form_topics, form_receivers;
extern const struct form form_attempts; /* whose path is each job's own */

/* A member of an object; NULL and 0 where there is none. */
const char *form_text(const json_t *object, const char *name);
long long form_number(const json_t *object, const char *name);

#endif
