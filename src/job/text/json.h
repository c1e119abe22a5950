/* json.h - checks whether a text is valid JSON (RFC 8259), and finds the values in an object or an array. It
 * copies no values and builds no tree. */
#ifndef DUEPOST_JOB_TEXT_JSON_H
#define DUEPOST_JOB_TEXT_JSON_H

#include "base/buffer.h"
#include "base/json_writer.h"
#include "base/slice.h"
#include "base/status.h"

enum { JSON_DEPTH_MAX = 64 }; /* the largest depth that struct json_limits may have */

struct json_limits {
    size_t depth;   /* nesting of arrays and objects */
    size_t members; /* maximum number of members in one object */
};

/* The place and the reason of a fault in a text. */
struct json_fault {
    size_t offset;      /* bytes */
    const char *detail; /* a literal: "is not valid JSON", "nests too deep", ... */
    bool is_json;       /* the fault breaks only a rule of duepost: up to the fault, the text is valid JSON */
};

/* Checks all of text: grammar, UTF-8, no lone surrogate, no NUL byte (nor \u0000 in a key), no duplicate key
 * in an object (compared without escapes), the limits. NO_MEMORY means that there was not enough memory to
 * check all of text. */
enum status json_check(struct slice text, const struct json_limits *, struct json_fault *) MUST_USE;

/* A cursor visits the values of an object or an array in their order. It never reads outside of its text,
 * even if the text is not valid JSON. */
struct json_cursor {
    const char *at, *end;
    char close;    /* the closing bracket of the object or array */
    bool is_first; /* no value was returned yet */
    bool is_ended; /* at the closing bracket: all values were returned */
};

/* Opens value. Skips leading white space. Returns false if value is neither object nor array. */
bool json_open(struct slice value, struct json_cursor *);

/* Takes the next member: its key with quotes and escapes, and its value without white space around it.
 * Returns false if there are no more members; is_ended is then true unless the text is invalid. */
bool json_next_member(struct json_cursor *, struct slice *key, struct slice *value);

/* json_next_key takes only the key of the next member. The caller then takes its value with json_take_value,
 * or with json_check_value, which checks the value as json_check does while it looks for its end. */
bool json_next_key(struct json_cursor *, struct slice *key);
bool json_take_value(struct json_cursor *, struct slice *value);
enum status json_check_value(struct json_cursor *, const struct json_limits *, struct slice *value) MUST_USE;

/* Takes the next item of an array: its value without white space around it. Returns false if there are no
 * more items; is_ended is then true unless the text is invalid. */
bool json_next_item(struct json_cursor *, struct slice *value);

/* Returns the number of members of an object; 0 for any other value. */
size_t json_count_members(struct slice object);

/* json_is_text returns whether a value is a string, and json_has_escapes whether it is a string with
 * escapes. The value must come from one of the functions above. */
bool json_is_text(struct slice value);
bool json_has_escapes(struct slice string);

/* Decodes a string value (with its quotes). Without escapes, the result is a part of the value. With escapes,
 * the text is appended to scratch, and the result is valid until scratch moves or is cleared. If there is no
 * room or an escape is invalid, the result is empty, and scratch is marked as failed. */
struct slice json_text(struct slice value, struct buffer *scratch);

/* Decodes a key (with its quotes). Without escapes, the result is a part of the key. With escapes, the text
 * is written into room, which is cleared first. A key that is too long for room is cut. */
struct slice json_name(struct slice key, struct buffer *room);

/* Takes \uXXXX, or two of them that form one character, from the front of *rest. Returns false for anything
 * else, including a lone surrogate. */
bool json_take_code(struct slice *rest, unsigned *code);

/* ---- merge patches ----
 *
 * By RFC 7396, applied to texts. Values are copied as text, because a parser
 * could change the spelling of numbers. */

enum json_names {
    JSON_NAMES_EXACT,   /* names are equal if their texts without escapes are equal */
    JSON_NAMES_NO_CASE, /* the names of the top object are names of headers, whose case does not matter */
};

/* Writes old with patch applied. Both must be valid JSON, except that old may be empty. The members of old
 * that patch does not name come first. Each member of old is searched for in the whole patch, so the caller
 * must limit the numbers of members in both. */
void json_merge(struct slice old, struct slice patch, enum json_names, struct json_writer *);

/* Returns whether an object has a member with this key, which is given with its quotes. */
bool json_has_member(struct slice object, struct slice key, enum json_names);

#endif
