/* outbox.h - the outbox of a shard: jobs that have ended and are not in the history (a database) yet.
 *
 * A script that ends a job writes the job's data to the outbox, as one text (scripts/lib/outbox.lua). The
 * archiver, a part of duepost, reads texts, adds them to the database, and then removes exactly the texts
 * that it has read. A text that is not removed is read again by the next archiver, so no text is lost if a
 * process dies between any two steps.
 *
 * A batch of texts is identified by its place in the outbox's list: the number of texts that were removed
 * before it. If another archiver has removed texts since then, or a repair has changed the list
 * (disturb_archiver in outbox.lua), nothing is removed, and the archiver reads the list again. */
#ifndef DUEPOST_STORE_OUTBOX_H
#define DUEPOST_STORE_OUTBOX_H

#include "base/buffer.h"
#include "store/shard.h"

enum {
    OUTBOX_READ_MAX = 500, /* maximum number of texts in one call */
    OUTBOX_READ_BYTES =
        2 * 1024 *
        1024, /* maximum size of the texts in one call; the text that exceeds it is still included */
};

/* A text of the outbox. Valid until the callback returns. */
struct outbox_text {
    struct slice field; /* topic/jobId; followed by "\nb" and a number if an earlier text has this id */
    /* the data of the job, in the form described in scripts/lib/ended.lua; empty: the text was dropped */
    struct slice text;
};

/* Returns topic/jobId. */
struct slice outbox_id(const struct outbox_text *);

struct outbox_read {
    const struct outbox_text *texts;
    size_t count;
    bool is_full; /* the outbox may have more texts */
    int64_t entries, bytes,
        dropped; /* texts in the outbox, their size, and number of texts dropped since the data was created */
    int64_t removed;   /* number of texts removed so far, which is the place of the next batch */
    int64_t disturbed; /* how often repairs have changed the list */
};

/* Turns the outbox of this shard on or off, as configured in the store's options, and reads the next texts.
 * in_hand is the number of texts that the caller has read but not yet asked to remove. If there is no
 * history, no texts are read. */
typedef void outbox_read_fn(void *arg, enum status, const struct outbox_read *);
void outbox_read(struct shard *, size_t in_hand, outbox_read_fn *, void *arg);

/* The texts that one call of outbox_read returned; outbox_remove removes them. */
struct outbox_batch;

/* Creates a batch of these texts, with their place in the list. in_hand must be the same number as in the
 * call of outbox_read. */
struct outbox_batch *outbox_batch_new(const struct shard *, const struct outbox_read *, size_t in_hand);
void outbox_batch_free(struct outbox_batch *); /* NULL is ignored */

/* Returns false if the connection was lost after the texts were read. Redis may have lost its last changes
 * then, so there may be other texts at this place. */
bool outbox_batch_is_current(const struct shard *, const struct outbox_batch *);

/* Removes the texts of the batch. removed is the number of texts that were removed; it is 0 if the outbox
 * has changed since the texts were read. Borrows the batch only during the call. */
typedef void outbox_removed_fn(void *arg, enum status, size_t removed);
void outbox_remove(struct shard *, const struct outbox_batch *, outbox_removed_fn *, void *arg);

/* ---- the trail: lines of the audit log that are not in the history yet ----
 *
 * Scripts of changes do not write it: store_note adds the line of a change after the change, and before the
 * client's answer. It is read and removed as the outbox is, but one batch at a time, because its lines are
 * few. */

enum {
    TRAIL_READ_MAX = 100, /* maximum number of lines in one call */
    TRAIL_READ_BYTES = 1024 * 1024,
};

struct trail_read {
    const struct slice *lines; /* valid until the callback returns */
    size_t count;
    int64_t removed,
        dropped; /* lines removed since the data was created, and how many of them were dropped */
};

/* Removes the first lines, which were read when removed had this value, and reads the next ones. Nothing is
 * removed if other lines were removed since. */
typedef void trail_read_fn(void *arg, enum status, const struct trail_read *);
void trail_read(struct shard *, int64_t removed, size_t count, trail_read_fn *, void *arg);

#endif
