/* cursor.h - where a list goes on, as text.
 *
 * One of jobs is "began:due:state:shard:score:topic/jobId" in base64url, so that it can stand in a url and in JSON
 * as it is: when the walk began, when the next job of a redrive at a rate is due (0: now), and the job
 * before. Without score and id the walk goes on at the start of the shard. One of topics or receivers is the
 * name of the last topic, or the version of the last receiver, of the page before; in a shard that is not the
 * first, "shard@" stands in front of that, or alone where the shard begins. */
#ifndef DUEPOST_API_CURSOR_H
#define DUEPOST_API_CURSOR_H

#include "base/buffer.h"
#include "job/job.h"
#include "store/store.h"

enum { CURSOR_ROOM = JOB_KEY_MAX + 128 }; /* of one of jobs, decoded */

/* Whether it stands for the end of a walk. */
bool cursor_is_end(const struct store_cursor *);

/* Nothing at the end. */
void cursor_write(struct buffer *, const struct store_cursor *, int64_t due_ms);

/* False: it is none of a store with so many shards. It is decoded into room, into which the id points. */
bool cursor_parse(struct slice text, size_t shards, char room[CURSOR_ROOM], struct store_cursor *,
                  int64_t *due_ms);

/* Of a list of topics. */
void cursor_write_topic(struct buffer *, const struct store_topic_cursor *);
bool cursor_parse_topic(struct slice text, size_t shards, struct store_topic_cursor *);

/* And of receivers. */
void cursor_write_receiver(struct buffer *, const struct store_receiver_cursor *);
bool cursor_parse_receiver(struct slice text, size_t shards, struct store_receiver_cursor *);

#endif
