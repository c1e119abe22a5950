/* reply.h - shapes that several scripts reply with. */
#ifndef DUEPOST_STORE_REPLY_H
#define DUEPOST_STORE_REPLY_H

#include "store/store.h"

/* {state, time, record[, lost consumers]}; id is left as it is. False: it is none. */
bool reply_read_job(const struct redis_reply *, struct store_job *);

#endif
