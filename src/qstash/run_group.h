/* run_group.h - a group of messages of one run. Either all messages of the group are appended to the run, or
 * none. */
#ifndef DUEPOST_QSTASH_RUN_GROUP_H
#define DUEPOST_QSTASH_RUN_GROUP_H

#include "app/workflows.h"
#include "qstash/message.h"

struct run_group;

/* Called when the group is appended, or refused; status is 200 and error is empty, or both describe the
 * refusal. */
typedef void run_group_fn(void *arg, unsigned status, struct slice error);

/* Creates a group of this number of messages of the run with this id. Copies id. The group is freed after all
 * callbacks. */
struct run_group *run_group_new(struct app *, struct slice run_id, size_t expected);
void run_group_free(struct run_group *);

struct slice run_group_id(const struct run_group *);

/* Expects one more message. */
void run_group_expect(struct run_group *);

/* Adds a message, and calls back when the last message of the group was added or refused. Borrows the entry
 * until the callback. */
void run_group_add(struct run_group *, const struct app_workflow_entry *, run_group_fn *, void *arg);

/* Notes that a message is refused. All messages of the group are then refused with the same error. */
void run_group_miss(struct run_group *, unsigned status, struct slice error);

#endif
