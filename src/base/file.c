#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum status file_read(const char *path, size_t max_bytes, struct buffer *content, struct problem *problem)
{
    char bytes[4096];
    buffer_init(content, max_bytes);
    FILE *file = fopen(path, "re");
    if (!file) {
        problem_set(problem, "cannot read %s: %s", path, strerror(errno));
        return STATUS_INVALID;
    }
    for (size_t size; (size = fread(bytes, 1, sizeof bytes, file)) > 0 && !content->failed;)
        buffer_append(content, slice_from(bytes, size));
    enum status status = STATUS_OK;
    if (ferror(file)) {
        problem_set(problem, "cannot read %s: %s", path, strerror(errno));
        status = STATUS_INVALID;
    } else if (content->failed) {
        problem_set(problem, "%s is longer than %zu bytes", path, max_bytes);
        status = STATUS_INVALID;
    }
    fclose(file);
    return status;
}
