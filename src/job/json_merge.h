/* json_merge.h - JSON merge patches (RFC 7396), applied to texts. Values are copied as text, because a parser
 * could change the spelling of numbers. */
#ifndef DUEPOST_JOB_JSON_MERGE_H
#define DUEPOST_JOB_JSON_MERGE_H

#include "base/json_writer.h"

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
