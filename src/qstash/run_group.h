/* run_group.h - messages of one run that are appended together: all, or none. */
#ifndef DUEPOST_QSTASH_RUN_GROUP_H
#define DUEPOST_QSTASH_RUN_GROUP_H

#include "app/workflows.h"
#include "qstash/message.h"

struct run_group;

/* Called when the group is appended, or refused; with status 200 and without an error, or with both. */
typedef void run_group_fn(void *arg, unsigned status, struct slice error);

/* A group of this number of messages, of the run with this id. Copies id. It is freed after all callbacks. */
struct run_group *run_group_new(struct app *, struct slice run_id, size_t expected);
void run_group_free(struct run_group *);

struct slice run_group_id(const struct run_group *);

/* Expects one more message. */
void run_group_expect(struct run_group *);

/* Adds a message, and calls back when the last one of the group was added or missed. Borrows the entry until
 * then. */
void run_group_add(struct run_group *, const struct app_workflow_entry *, run_group_fn *, void *arg);

/* A message is refused, and so are all others, with the same error. */
void run_group_miss(struct run_group *, unsigned status, struct slice error);

#endif
