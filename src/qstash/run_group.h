/* run_group.h - a group of messages of one run. Either all messages of the group are appended to the run, or
 * none. */
#ifndef DUEPOST_QSTASH_RUN_GROUP_H
#define DUEPOST_QSTASH_RUN_GROUP_H

#include "app/workflows.h"
#include "qstash/message.h"

struct run_group;

/* Called for each message. If the group was appended, status is 200 and error is empty. If the run had the
 * step of the message already, first is the first job of this step (topic/jobId); otherwise, first is empty.
 * Another status and its error say why the group was refused. */
typedef void run_group_fn(void *arg, unsigned status, struct slice error, struct slice first);

/* Creates a group of messages of the run run_id, which is copied. The group waits for the expected number
 * of messages to be added or refused, and is freed after all callbacks. */
struct run_group *run_group_new(struct app *, struct slice run_id, size_t expected);
void run_group_free(struct run_group *);

struct slice run_group_id(const struct run_group *);

/* Makes the group wait for one more message. */
void run_group_expect(struct run_group *);

/* Adds a message, and calls back when the last message of the group was added or refused. Borrows the texts
 * of the entry until the callback. */
void run_group_add(struct run_group *, const struct workflow_entry *, run_group_fn *, void *arg);

/* Reports that one message was refused. The group then refuses all its messages with the same error. */
void run_group_miss(struct run_group *, unsigned status, struct slice error);

#endif
