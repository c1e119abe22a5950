/* rekey.h - encrypts stored texts anew, with the first key of the process (base/seal.h). */
#ifndef DUEPOST_JOB_REKEY_H
#define DUEPOST_JOB_REKEY_H

#include "base/buffer.h"
#include "base/seal.h"
#include "base/slice.h"

enum rekey_answer {
    REKEY_CURRENT, /* the text has no secrets, or the first key has encrypted all of them */
    REKEY_CHANGED, /* the new text was written */
    REKEY_LEFT,    /* the process lacks a key, or cannot read the text */
};

/* Writes the text anew if it needs it. key and field say what it is, as in store_secret (store/store.h). The
 * process has keys. */
enum rekey_answer rekey_text(struct slice key, struct slice field, struct slice text, struct buffer *out);

/* Returns whether the process lacks a key with which a part of the text is encrypted, and writes its name. */
bool rekey_lacks(struct slice text, char name[SEAL_NAME_SIZE]);

/* Does what rekey_text does, for an ended job in the form that it has in the outbox (history/history.h).
 * is_body_left_out: the history does not have its body. */
enum rekey_answer rekey_ended(struct slice id, struct slice text, bool is_body_left_out, struct buffer *out);

#endif
