/* use_case.h - steps that several use cases share; only the files of app/ include it. */
#ifndef DUEPOST_APP_USE_CASE_H
#define DUEPOST_APP_USE_CASE_H

#include "app/app.h"
#include "job/topic/topic.h"
#include "store/store.h"

/* Ends a use case according to the status of its call to the store. id is the id or topic of the use case, or
 * empty for all topics. job, which may be NULL, becomes the job of the verdict. */
void use_case_end(const struct app *, struct slice id, enum status, const struct stored_job *job,
                  app_verdict_fn *, void *arg);

/* Ends a use case with a verdict that contains only this end. */
void use_case_refuse(enum status, app_verdict_fn *, void *arg);

/* Ends a use case with INVALID, because of one member of the client's job. */
void use_case_refuse_field(const char *field, const char *detail, app_verdict_fn *, void *arg);

/* The same because a new job would expire before it is due. has_ttl: the job has ttl, and not expiresAt. */
void use_case_refuse_expiry(bool has_ttl, app_verdict_fn *, void *arg);

/* Returns true after ending the use case with UNAVAILABLE, because the shard of id (any shard if id is empty)
 * cannot provide the configured durability now. */
bool use_case_is_unready(const struct app *, struct slice id, app_verdict_fn *, void *arg);

/* Returns true after ending the use case with SIBLING, because only the server writes to the topic of the
 * id. */
bool use_case_is_sibling(struct slice id, app_verdict_fn *, void *arg);

/* Returns true after ending the use case with INVALID, because the target of the job's url or of one of its
 * callbacks is refused. */
bool use_case_is_target_refused(const struct app *, const struct job *, app_verdict_fn *, void *arg);

/* Returns the topic with the members that only use cases set (topics.c). */
struct topic topic_view(const struct app *, const struct topic *);

/* Counts an accepted job in the metrics. */
void use_case_count_accepted(const struct app *, struct slice id);

#endif
