/* schedule_states.h - the states of the latest messages of a schedule. The last message is read from Redis or
 * the history. Earlier messages, which have ended, are read from the history.
 *
 *     {"msg_...~20261122T221900Z":"IN_PROGRESS","msg_...~20261122T221800Z":"SUCCESS"}
 *
 * If the destination is a URL group, each occurrence has a message for each endpoint:
 *
 *     {"msg_...~20261122T221900Z~1":"IN_PROGRESS","msg_...~20261122T221900Z~2":"SUCCESS"}
 *
 * The state of a message that died or was cancelled is FAIL. Without a history, only the last message is
 * listed. If Redis no longer has this message, it was delivered or cancelled, and counts as a SUCCESS. */
#ifndef DUEPOST_QSTASH_SCHEDULE_STATES_H
#define DUEPOST_QSTASH_SCHEDULE_STATES_H

#include "app/lists.h"
#include "base/json_writer.h"
#include "qstash/message_id.h"

enum { SCHEDULE_STATES_MAX = 10 };

struct schedule_states {
    struct app *app;
    struct json_writer json;
    size_t count;         /* messages that were written */
    bool is_last_unknown; /* Redis has no job of the last occurrence any more, so its state comes from the
                             history */
    char room[MESSAGE_KEY_SIZE];
    /* Names of the last message; for a group, of the job that was sent to the group. */
    struct slice key, topic, message_id;
    struct slice group; /* topic of the URL group; empty: the destination is a url */
    struct app_list list;
    void (*fn)(void *arg);
    void *arg;
};

struct schedule_states_of {
    struct app *app;
    const struct app_caller *caller;
    struct slice key;   /* topic/messageId of the last message; copied; empty: no message yet */
    struct slice group; /* topic of the URL group; empty: the destination is a url */
};

/* Writes the states to out as an object, and calls fn, perhaps before the call returns. Borrows out, the
 * group and the struct until fn is called. */
void schedule_states_add(struct schedule_states *, const struct schedule_states_of *, struct buffer *out,
                         void (*fn)(void *arg), void *arg);

#endif
