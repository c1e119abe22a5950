/* schedule_states.h - what became of the last messages of a schedule: the last one wherever it is, and those
 * before it that have ended, from the history.
 *
 *     {"msg_...~20261122T221900Z":"IN_PROGRESS","msg_...~20261122T221800Z":"SUCCESS"}
 *
 * A message that died or was cancelled is a FAIL. Without a history there is only the last message; if Redis
 * no longer has it, it was delivered, or cancelled, and is a SUCCESS. */
#ifndef DUEPOST_QSTASH_SCHEDULE_STATES_H
#define DUEPOST_QSTASH_SCHEDULE_STATES_H

#include "app/lists.h"
#include "base/json_writer.h"
#include "qstash/message_id.h"

enum { SCHEDULE_STATES_MAX = 10 };

struct schedule_states {
    struct app *app;
    struct json_writer json;
    size_t count; /* messages that were written */
    char room[MESSAGE_KEY_SIZE];
    struct slice key, topic, message_id; /* names of the last message */
    struct app_list list;
    void (*fn)(void *arg);
    void *arg;
};

/* Adds the states to an object, which is written to out, and calls fn, perhaps before the call returns. key
 * is topic/messageId of the last message, and is copied. out and the struct are borrowed until then. */
void schedule_states_add(struct schedule_states *, struct app *, struct buffer *out, struct slice key,
                         void (*fn)(void *arg), void *arg);

#endif
