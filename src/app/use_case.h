/* use_case.h - what all use cases do; for the files of app/ only. */
#ifndef DUEPOST_APP_USE_CASE_H
#define DUEPOST_APP_USE_CASE_H

#include "app/app.h"
#include "store/store.h"

/* Ends a use case as the store ended its call. id: of the job or topic concerned; empty: of all. job, which
 * may be NULL, becomes the verdict's. */
void use_case_end(const struct app *, struct slice id, enum status, const struct store_job *job,
                  app_verdict_fn *, void *arg);

/* Ends one that needs no more than a word. */
void use_case_refuse(enum app_end, app_verdict_fn *, void *arg);

/* Every answer that confirms a change keeps the durability that was promised. True: the shard of id (empty:
 * any shard) cannot do that now, and the use case has ended with UNAVAILABLE. */
bool use_case_is_unready(const struct app *, struct slice id, app_verdict_fn *, void *arg);

/* True: only the server writes to the topic of the id, and the use case has ended with SIBLING. */
bool use_case_is_sibling(struct slice id, app_verdict_fn *, void *arg);

/* True: the target of the url is refused, and the use case has ended with INVALID. */
bool use_case_is_target_refused(const struct app *, struct slice url, app_verdict_fn *, void *arg);

/* Borrows what the job borrows. */
struct app_job use_case_job(const struct store_job *);

/* Borrows what the receiver borrows. */
struct app_receiver use_case_receiver(const struct store_receiver *);

#endif
