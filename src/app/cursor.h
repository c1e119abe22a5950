/* cursor.h - where a list goes on, as text that can stand in a url and in JSON as it is.
 *
 * A cursor of jobs is "began:due:state:shard:score:topic/jobId" in base64url: when the list began, when the
 * next job of a redrive at a rate is due (0: now), and the job before. Without score and id the list goes on
 * at the start of the shard. A cursor of topics or receivers is the name of the last topic, or the version of
 * the last receiver, of the page before; in a shard that is not the first, "shard@" precedes it, or stands
 * alone where the shard begins. */
#ifndef DUEPOST_APP_CURSOR_H
#define DUEPOST_APP_CURSOR_H

#include "base/buffer.h"
#include "job/job.h"
#include "store/store.h"

enum {
    CURSOR_ROOM = JOB_KEY_MAX + 128, /* of a cursor of jobs, decoded */
    CURSOR_TEXT_MAX = 2048,
};

/* Writes nothing at the end of a list. */
void cursor_write(struct buffer *, const struct store_cursor *, int64_t due_ms);

/* Reads a cursor of a store with this many shards. It is decoded into room, into which the id points. False:
 * it is not one. */
bool cursor_parse(struct slice text, size_t shards, char room[CURSOR_ROOM], struct store_cursor *,
                  int64_t *due_ms);

/* The same for topics; empty at the end. */
void cursor_write_topic(struct buffer *, const struct store_topic_cursor *);
bool cursor_parse_topic(struct slice text, size_t shards, struct store_topic_cursor *);

/* The same for receivers. */
void cursor_write_receiver(struct buffer *, const struct store_receiver_cursor *);
bool cursor_parse_receiver(struct slice text, size_t shards, struct store_receiver_cursor *);

#endif
