#include "job/job_errors.h"

#include <stdio.h>

/* Returns the bytes of text that fit, without cutting a character in two. */
static size_t fitting(struct slice text, size_t max)
{
    if (text.size <= max)
        return text.size;
    while (max > 0 && ((unsigned char)text.data[max] & 0xc0) == 0x80)
        max--;
    return max;
}

void job_errors_add_named(struct job_errors *errors, const char *prefix, struct slice name,
                          const char *detail)
{
    if (errors->count == JOB_ERRORS_MAX)
        return;
    struct job_error *error = &errors->items[errors->count++];
    size_t start = (size_t)snprintf(error->field, sizeof error->field, "%s", prefix);
    size_t size = fitting(name, sizeof error->field - 1 - start);
    memcpy(error->field + start, name.data, size);
    error->field[start + size] = '\0';
    snprintf(error->detail, sizeof error->detail, "%s", detail);
}

void job_errors_add(struct job_errors *errors, const char *field, const char *detail)
{
    job_errors_add_named(errors, field, SLICE(""), detail);
}
