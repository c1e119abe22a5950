/* declared.h - a file that declares topics, limits, groups and schedules (duepost apply): read from YAML or
 * JSON into one JSON text, in which each value has the line of the file where it stands. */
#ifndef DUEPOST_CLI_DECLARED_H
#define DUEPOST_CLI_DECLARED_H

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/system.h"

enum { DECLARED_BYTES_MAX = 8 * 1024 * 1024 };

struct declared_file {
    const char *name;   /* as in errors; borrowed */
    struct buffer text; /* valid JSON without white space between values */
    struct declared_mark {
        size_t offset, line;
    } * marks; /* where values begin in text, ascending */
    size_t mark_count, mark_room;
};

/* Reads a file; path "-" is standard input. A file that begins with '{' is JSON, any other one YAML. In
 * texts, ${NAME} is replaced by the environment variable, and $${ by ${. Returns false after an error;
 * problem then says why. The caller frees the file with declared_file_fini in any case. */
bool declared_file_read(struct declared_file *, const char *path, struct problem *);

/* Does the same with the contents of a file of this name. */
bool declared_text_read(struct declared_file *, const char *name, struct slice text, struct problem *);

void declared_file_fini(struct declared_file *);

/* Returns the line of the value that begins at this place of text, or of the value around it. */
size_t declared_file_line(const struct declared_file *, const char *at);

/* Names the library that reads YAML and its version. Returns false if this build has none. */
bool declared_library(struct library *);

#endif
