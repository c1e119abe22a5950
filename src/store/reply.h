/* reply.h - reads the parts of replies that several scripts return in the same form. */
#ifndef DUEPOST_STORE_REPLY_H
#define DUEPOST_STORE_REPLY_H

#include "store/script_list.h"
#include "store/store.h"

/* Reads the number of entries from the reply's element with the index "at" into *count. The entries begin
 * at the index "first"; "parts" is the number of elements of each entry. Returns false if the number is
 * above max, or if the reply has fewer entries. */
bool reply_count(const struct redis_reply *, size_t at, size_t first, size_t parts, size_t max,
                 size_t *count);

/* Returns whether this version accepts the name of a job or topic. If not, logs that another program or a
 * later version has written the name; the caller leaves the entry out of its page. */
bool reply_has_id(struct slice id);
bool reply_has_topic(struct slice topic);

/* Logs that this script cannot have sent the reply: another program has answered or has changed the data.
 * Returns UNKNOWN. */
enum status reply_refuse(const char *script);

/* Reads the word of a state. Returns false if the word is not a state. */
bool reply_read_state(struct slice word, enum job_state *);

/* Reads {state, time, record[, lost consumers[, settings of its topic[, end of its retention, its last
 * attempt]]]}. Leaves id unchanged. Returns false if the reply does not describe a job. */
bool reply_read_job(const struct redis_reply *, struct stored_job *);

#endif
