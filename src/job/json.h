/* json.h - a scanner (RFC 8259) that says whether a text is sound and where the
 * values of its top object begin and end. It copies nothing and builds nothing. */
#ifndef DUEPOST_JOB_JSON_H
#define DUEPOST_JOB_JSON_H

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"

struct json_limits {
    size_t depth;    /* arrays and objects within each other */
    size_t members;  /* of one object */
};

/* Where and why a text is not sound. */
struct json_fault {
    size_t offset;       /* bytes */
    const char *detail;  /* a literal: "is not valid JSON", "nests deeper than 32", ... */
};

/* Checks all of text: grammar, UTF-8, no lone surrogate, no NUL byte (nor \u0000 in a key), no key
 * twice in one object (compared after their escapes), the limits. */
enum status json_check(struct slice text, const struct json_limits *, struct json_fault *) MUST_USE;

/* Finds a member of the top object of a text that json_check accepted: *value is
 * the value's bytes without white space around them. The key has no escapes in it. */
bool json_find(struct slice text, struct slice key, struct slice *value);

/* The text of a string value (with its quotes): borrowed from it when it holds no
 * escapes, else from scratch, which it is appended to. */
struct slice json_string(struct slice value, struct buffer *scratch);

#endif
