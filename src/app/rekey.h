/* rekey.h - the use case of duepost rekey: encrypts all stored texts with the first key of the process.
 *
 * A walk goes through the hashes and workflows of each shard, and then through the history. A step rewrites
 * only texts that another key has encrypted, or none. Each rewrite replaces exactly the text that was read,
 * so a job that changes at the same time is not disturbed, and a step that dies half-way can be repeated. */
#ifndef DUEPOST_APP_REKEY_H
#define DUEPOST_APP_REKEY_H

#include "app/app.h"

enum { APP_REKEY_CURSOR_MAX = 128 };

/* The progress of a walk. */
struct app_rekey {
    size_t shard;     /* the number of shards: the history */
    size_t part;      /* hash or workflows of the shard */
    char cursor[64];  /* where the next step begins in the part */
    bool is_over;     /* the walk has ended */
    int64_t examined; /* texts that this step has read */
    int64_t changed;  /* texts that it has encrypted anew */
    int64_t left;     /* texts that it left because the process lacks their key, or cannot read them */
};

/* Reads and writes the cursor of the next step. Reading returns false if the text is not a cursor. A walk
 * begins with a zeroed struct. */
bool app_rekey_parse(const struct app *, struct slice cursor, struct app_rekey *);
void app_rekey_write(const struct app_rekey *, struct buffer *cursor);

/* Does a step. Called with OK; INVALID: the process has no keys; or an end after which the step can be
 * repeated. Borrows rekey until the callback. */
void app_rekey_step(struct app *, const struct app_caller *, struct app_rekey *, app_verdict_fn *, void *arg);

#endif
