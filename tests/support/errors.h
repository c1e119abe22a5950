/* errors.h - finds one of several job_errors by its index. */
#ifndef DUEPOST_TESTS_SUPPORT_ERRORS_H
#define DUEPOST_TESTS_SUPPORT_ERRORS_H

#include "job/text/job_errors.h"

/* Returns the error with this index; the first error has 0. If there are fewer errors, both texts are "". */
static inline struct job_error error_at(const struct job_errors *errors, size_t index)
{
    struct job_error error = {"", ""};
    size_t at = 0;
    for (size_t i = 0; i <= index; i++)
        if (!job_errors_take(errors, &at, &error))
            return (struct job_error){"", ""};
    return error;
}

#endif
