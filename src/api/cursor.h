/* cursor.h - where a list goes on, as text: "score:topic/jobId" of the last job, the name of the last topic,
 * or the version of the last receiver, of the page before; in a shard that is not the first, "shard@" stands
 * in front of that, or alone where the shard begins. */
#ifndef DUEPOST_API_CURSOR_H
#define DUEPOST_API_CURSOR_H

#include "base/buffer.h"
#include "store/store.h"

/* Nothing at the end of a walk. */
void cursor_write(struct buffer *, const struct store_cursor *);

/* False: it is none of a store with so many shards. The id points into text. */
bool cursor_parse(struct slice text, size_t shards, struct store_cursor *);

/* Of a redrive at a rate: before all that stands when the next job is due, ms, and "!". 0: now. */
bool cursor_parse_redrive(struct slice text, size_t shards, struct store_cursor *, int64_t *begin_ms);

/* The same for a list of topics. */
void cursor_write_topic(struct buffer *, const struct store_topic_cursor *);
bool cursor_parse_topic(struct slice text, size_t shards, struct store_topic_cursor *);

/* And of receivers. */
void cursor_write_receiver(struct buffer *, const struct store_receiver_cursor *);
bool cursor_parse_receiver(struct slice text, size_t shards, struct store_receiver_cursor *);

#endif
