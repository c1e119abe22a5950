/* cursor.h - the position of a list, as a text that needs no escapes in urls and in JSON.
 *
 * A cursor of jobs is "began:due:until:left:side:state:shard:score:topic/jobId" in base64url: when the list
 * began, the progress of a bulk action (see struct app_progress; zeros for a list), and the last job of the
 * page. If score and id are empty, the list continues at the start of the shard. A cursor of topics is the
 * name of the last topic of the page, and a cursor of receivers is the version of the last receiver. In all
 * shards except the first, such a cursor begins with the number of the shard and '@'. If a list continues at
 * the start of such a shard, nothing follows the '@'. */
#ifndef DUEPOST_APP_CURSOR_H
#define DUEPOST_APP_CURSOR_H

#include "app/app.h"
#include "app/lists.h"
#include "base/buffer.h"
#include "job/job.h"
#include "store/store.h"

enum {
    CURSOR_ROOM = JOB_KEY_MAX + 192, /* bytes of a decoded cursor of jobs */
};

/* Writes a cursor of jobs. Writes nothing at the end of a list. */
void cursor_write(struct buffer *, const struct list_cursor *, const struct app_progress *);

/* Reads a cursor of a store with this many shards. The cursor is decoded into room, and the id points into
 * room. Returns false if the text is not a cursor. */
bool cursor_parse(struct slice text, size_t shards, char room[CURSOR_ROOM], struct list_cursor *,
                  struct app_progress *);

/* A position in a list of the history: when the list began, when the page's last job ended, and that job's
 * number. */
struct history_position {
    int64_t began_ms, ended_ms, number;
};

/* Write and read the cursor of a list of the history. Such a cursor begins with "h." It has two members of
 * the progress, due_ms and left, unless both are 0. */
void cursor_write_history(struct buffer *, const struct history_position *, const struct app_progress *);
bool cursor_parse_history(struct slice text, struct history_position *, struct app_progress *);

/* Write and read the cursor of a list of topics, which is empty at the end of the list. */
void cursor_write_topic(struct buffer *, const struct topic_cursor *);
bool cursor_parse_topic(struct slice text, size_t shards, struct topic_cursor *);

/* Write and read the cursor of a list of schedules or workflows: "shard@place" in base64url, where the place
 * names the last item of the page in this shard. Nothing is written for an empty place in shard 0: the list
 * ends there. room is the decoded cursor, into which the place points. */
void cursor_write_place(struct buffer *, size_t shard, struct slice place);
bool cursor_parse_place(struct slice text, size_t shards, struct buffer *room, size_t *shard,
                        struct slice *place);

/* Write and read the cursor of a list of receivers. */
void cursor_write_receiver(struct buffer *, const struct receiver_cursor *);
bool cursor_parse_receiver(struct slice text, size_t shards, struct receiver_cursor *);

#endif
