/* json.h - a scanner (RFC 8259) that says whether a text is sound and where the
 * values of its top object begin and end. It copies nothing and builds nothing. */
#ifndef DUEPOST_JOB_JSON_H
#define DUEPOST_JOB_JSON_H

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"

enum { JSON_DEPTH_MAX = 64 }; /* the most that limits may ask for */

struct json_limits {
    size_t depth;   /* arrays and objects within each other */
    size_t members; /* of one object */
};

/* Where and why a text is not sound. */
struct json_fault {
    size_t offset;      /* bytes */
    const char *detail; /* a literal: "is not valid JSON", "nests too deep", ... */
    bool is_json;       /* so far: what is wrong is forbidden by us, not by JSON's grammar */
};

/* Checks all of text: grammar, UTF-8, no lone surrogate, no NUL byte (nor \u0000 in a key), no key
 * twice in one object (compared after their escapes), the limits. NO_MEMORY: so far nothing is wrong, and
 * there is no fault. */
enum status json_check(struct slice text, const struct json_limits *, struct json_fault *) MUST_USE;

/* Finds a member of the top object of a text that json_check accepted: *value is
 * the value's bytes without white space around them. The key has no escapes in it. */
bool json_find(struct slice text, struct slice key, struct slice *value);

/* The values of an object or an array, one by one. It never leaves its text, not even one that
 * json_check would refuse. */
struct json_cursor {
    const char *at, *end;
    char close;    /* the bracket that ends it */
    bool is_first; /* no value was seen yet */
    bool is_ended; /* at stands on the closing bracket: everything was seen */
};

/* False when value is neither object nor array. White space before it is skipped. */
bool json_open(struct slice value, struct json_cursor *);

/* The next member: its key with quotes and escapes, its value without white space around it.
 * False when there is no other; then is_ended tells the end from an unsound text. */
bool json_next_member(struct json_cursor *, struct slice *key, struct slice *value);

/* The same, with the key's text in name, which is cleared before, as far as it has room. */
bool json_next_named(struct json_cursor *, struct buffer *name, struct slice *value);

/* The same for the next item of an array. */
bool json_next_item(struct json_cursor *, struct slice *value);

/* How many members an object has; 0 of any other value. */
size_t json_count_members(struct slice object);

/* Whether value, as they give it, is a string; one that has escapes. */
bool json_is_text(struct slice value);
bool json_has_escapes(struct slice string);

/* The text of a string value (with its quotes): borrowed from it when it holds no
 * escapes, else from scratch, which it is appended to. Empty, and scratch failed, where
 * it has no room or an escape is unsound. */
struct slice json_text(struct slice value, struct buffer *scratch);

/* Takes \uXXXX, or two of them that make one character, from the front of *rest; false for
 * anything else, a lone surrogate among it. */
bool json_take_code(struct slice *rest, unsigned *code);

#endif
