#include "job/job_errors.h"

#include <stdio.h>

/* Returns how many bytes of text fit. A character that fits only in part does not count. */
static size_t fitting(struct slice text, size_t max)
{
    if (text.size <= max)
        return text.size;
    while (max > 0 && ((unsigned char)text.data[max] & 0xc0) == 0x80)
        max--;
    return max;
}

static void errors_put(struct job_errors *errors, struct slice text)
{
    memcpy(errors->text + errors->size, text.data, text.size);
    errors->size += text.size;
    errors->text[errors->size++] = '\0';
}

void job_errors_add_named(struct job_errors *errors, const char *prefix, struct slice name,
                          const char *detail)
{
    char field[JOB_ERROR_TEXT_SIZE];
    size_t start = (size_t)snprintf(field, sizeof field, "%s", prefix);
    size_t size = fitting(name, sizeof field - 1 - start);
    if (size)
        memcpy(field + start, name.data, size);
    field[start + size] = '\0'; /* if the name has a NUL, the copy ends before it */
    struct slice what = slice_of(detail);
    what.size = fitting(what, JOB_ERROR_TEXT_SIZE - 1);
    size = strlen(field);
    if (errors->count == JOB_ERRORS_MAX || size + what.size + 2 > sizeof errors->text - errors->size)
        return;
    errors->count++;
    errors_put(errors, slice_from(field, size));
    errors_put(errors, what);
}

void job_errors_add(struct job_errors *errors, const char *field, const char *detail)
{
    job_errors_add_named(errors, field, SLICE(""), detail);
}

bool job_errors_take(const struct job_errors *errors, size_t *at, struct job_error *error)
{
    if (*at == errors->size)
        return false;
    error->field = errors->text + *at;
    error->detail = error->field + strlen(error->field) + 1;
    *at += strlen(error->field) + 1 + strlen(error->detail) + 1;
    return true;
}
