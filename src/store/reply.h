/* reply.h - reads forms of reply that several scripts share. */
#ifndef DUEPOST_STORE_REPLY_H
#define DUEPOST_STORE_REPLY_H

#include "store/script_list.h"
#include "store/store.h"

/* Reads the number of entries, which stands at index at. Entries begin at index first and have this number of
 * parts each. False: the number is over max, or the reply has fewer entries. */
bool reply_count(const struct redis_reply *, size_t at, size_t first, size_t parts, size_t max,
                 size_t *count);

/* Returns whether this version accepts the name. Otherwise another program or a later version wrote it: it is
 * logged, and callers leave it out of a page. */
bool reply_has_id(struct slice id);
bool reply_has_topic(struct slice topic);

/* Logs that a reply has a form that this script does not produce: another program answers, or has changed the
 * data. Returns UNKNOWN. */
enum status reply_refuse(const char *script);

/* Reads {state, time, record[, lost consumers[, settings of its topic[, end of its retention, its last
 * attempt]]]}. Leaves id unchanged. False: the reply is not a job. */
bool reply_read_job(const struct redis_reply *, struct store_job *);

#endif
