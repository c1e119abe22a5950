/* header_lines.h - the headers of a request while it is being written: lines "Name: value" in one text. */
#ifndef DUEPOST_JOB_HEADER_LINES_H
#define DUEPOST_JOB_HEADER_LINES_H

#include "job/topic_defaults.h"

enum { HEADER_LINES_MAX = TOPIC_DEFAULTS_HEADERS_MAX + 14 };

struct header_lines {
    struct buffer *text; /* borrowed; is marked as failed if the lines do not fit */
    size_t starts[HEADER_LINES_MAX + 1];
    size_t count;
};

/* Adds a line. name and value must be valid (header.h). */
void header_lines_add(struct header_lines *, struct slice name, struct slice value);
void header_lines_add_number(struct header_lines *, struct slice name, int64_t value);

/* Returns the line with this index. The result is valid until another line is added. */
struct slice header_lines_at(const struct header_lines *, size_t index);

#endif
