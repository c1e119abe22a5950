/* sealed.h - JSON values that are encrypted in Redis if the process has keys (base/seal.h).
 *
 * A sealed value is a JSON string: the character U+001E, and the sealed text. The secret members of an
 * object, such as a record, are sealed together instead: the text of an object with them is the value of its
 * member "sealed". */
#ifndef DUEPOST_JOB_TEXT_SEALED_H
#define DUEPOST_JOB_TEXT_SEALED_H

#include "base/buffer.h"
#include "base/json_writer.h"
#include "base/seal.h"
#include "base/slice.h"

/* Appends the value, sealed for this owner if the process has keys. */
void sealed_value_append(struct buffer *out, struct slice owner, struct slice value);

/* Returns whether the value is sealed, by its form. */
bool sealed_value_is(struct slice value);

/* Returns the value. A sealed value is opened into text, which must have room for it and must not move. A
 * value that does not open is SEALED_VALUE_SHUT. */
struct slice sealed_value_open(struct slice owner, struct slice value, struct buffer *text);

#define SEALED_VALUE_SHUT "null"

/* Returns whether the value is sealed with a key that the process lacks, and appends what sealed_lacks
 * writes. */
bool sealed_value_lacks(struct slice value, struct buffer *out);

/* ---- secret members ---- */

/* Writes the member "sealed", with these members in braces. The process has keys. */
void sealed_put(struct json_writer *, struct slice owner, struct slice secrets);

/* Returns whether an object that duepost wrote has the member "sealed", and its text. */
bool sealed_find(struct slice object, struct slice *sealed);

/* Writes the member "needs" (unknown_members.h) with the names in this array, which may be empty, and
 * "sealed". */
void sealed_put_needs(struct json_writer *, struct slice needs);

/* Writes the members of an object as they were before some of them were sealed: those in secrets take the
 * place of the members with the same names, and the others follow. Leaves out "sealed", this name in "needs",
 * and "of". */
void sealed_unite(struct json_writer *, struct slice object, struct slice secrets);

/* Appends what a process lacks that cannot open the text: JOB_LACKS_KEY, and the name of the key. */
void sealed_lacks(struct slice sealed, struct buffer *out);

/* ---- values that live together ----
 *
 * The sealed or opened forms of several values, such as the arguments of a call or the texts of a reply. */

struct sealed_block;

struct sealed_values {
    struct sealed_block *blocks; /* owned */
    bool has_shut;               /* result: a value did not open, */
    bool lacks_key;              /* because the process lacks its key */
};

/* Each returns the other form of the value, which is valid until sealed_values_fini, or the value itself if
 * it has no other form. An empty value stays empty. */
struct slice sealed_values_seal(struct sealed_values *, struct slice owner, struct slice value);
struct slice sealed_values_open(struct sealed_values *, struct slice owner, struct slice value);

void sealed_values_fini(struct sealed_values *);

#endif
