/* reply.h - shapes that several scripts reply with. */
#ifndef DUEPOST_STORE_REPLY_H
#define DUEPOST_STORE_REPLY_H

#include "store/script_list.h"
#include "store/store.h"

/* How many entries of so many parts there are from number first on, as many as the reply itself says at
 * number at. False: that is more than max, or than there are. */
bool reply_count(const struct redis_reply *, size_t at, size_t first, size_t parts, size_t max,
                 size_t *count);

/* Whether a name is one that this version takes; else the log has it, and it is left out of a page: somebody
 * else, or a later version, wrote it. */
bool reply_has_id(struct slice id);
bool reply_has_topic(struct slice topic);

/* A reply is not what the script, named for the log, replies: somebody else answers, or has changed the data
 * that it told of. The status for that: UNKNOWN. */
enum status reply_refuse(const char *script);

/* {state, time, record[, lost consumers[, settings of its topic[, until when it is kept, its last
 * attempt]]]}; id is left as it is. False: it is none. */
bool reply_read_job(const struct redis_reply *, struct store_job *);

#endif
