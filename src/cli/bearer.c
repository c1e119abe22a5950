#include "cli/bearer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static enum status read_file(const char *path, char text[BEARER_MAX], struct problem *problem)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        problem_set(problem, "cannot read %s: %s", path, strerror(errno));
        return STATUS_INVALID;
    }
    size_t size = fread(text, 1, BEARER_MAX - 1, file);
    text[size] = '\0';
    enum status status = ferror(file) ? STATUS_INVALID : STATUS_OK;
    if (status != STATUS_OK)
        problem_set(problem, "cannot read %s: %s", path, strerror(errno));
    fclose(file);
    return status;
}

/* Returns whether a token may have this character. Returns false for characters that could end the header or
 * begin another header. */
static bool is_token(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] >= 0x7f)
            return false;
    return text.size > 0;
}

enum status bearer_read(const char *file, struct buffer *header, struct problem *problem)
{
    char text[BEARER_MAX];
    const char *variable = getenv("DUEPOST_TOKEN");
    struct slice token = slice_of(variable);
    if (file) {
        if (read_file(file, text, problem) != STATUS_OK)
            return STATUS_INVALID;
        token = slice_from(text, strcspn(text, "\r\n"));
    }
    if (!file && token.size == 0)
        return STATUS_OK;
    if (!is_token(token)) {
        problem_set(problem,
                    "%s has no token on its first line; a token is one word, as duepost token new prints it",
                    file ? file : "DUEPOST_TOKEN");
        return STATUS_INVALID;
    }
    buffer_append(header, SLICE("Authorization: Bearer "));
    buffer_append(header, token);
    return STATUS_OK;
}
