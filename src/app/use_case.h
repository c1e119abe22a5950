/* use_case.h - steps that several use cases share; only the files of app/ include it. */
#ifndef DUEPOST_APP_USE_CASE_H
#define DUEPOST_APP_USE_CASE_H

#include "app/app.h"
#include "history/history.h"
#include "job/target/target.h"
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

/* ---- the audit log ---- */

/* Logs an event such as "job_cancelled". kind is "job", "topic", "workflow" or "receiver"; name is the name
 * of that object.
 */
void audit(const struct app_caller *, const char *event, const char *kind, struct slice name, enum status);

/* Logs one job of a bulk action, at level debug. */
void audit_one_of_many(const struct app_caller *, const char *event, struct slice id, enum status);

/* Logs a page of a bulk action: the filter, as the client wrote it, and the counts. */
void audit_bulk(const struct app_caller *, const char *event, struct slice filter,
                const struct app_bulk_counts *);

/* Logs a page of a removal from the history: its filter, as the client wrote it, and the number of jobs. -1:
 * the outcome is unknown. If no job was removed, logs nothing. */
void audit_removal(const struct app_caller *, struct slice filter, int64_t removed);

/* ---- targets ---- */

/* Returns whether the target of the url is allowed. A literal address or localhost is checked now. Other
 * names are allowed here; the addresses that they resolve to are checked when the job is due. If it returns
 * false, why names the address, the rule and the option that changes the rule. */
bool target_is_allowed(const struct app *, struct slice url, char why[TARGET_WHY_SIZE]);

/* Returns whether the target of a callback's url (job/delivery/callback.h) is allowed, as target_is_allowed
 * does. An empty value is allowed. */
bool target_is_callback_allowed(const struct app *, struct slice callback, char why[TARGET_WHY_SIZE]);

/* Returns the name of the job's member whose target is not allowed: its url or a callback. Returns NULL if
 * all are allowed. */
const char *target_refused_member(const struct app *, const struct job *, char why[TARGET_WHY_SIZE]);

/* ---- jobs of the history ---- */

/* Converts a job of the history. The result is valid as long as the data of the history_row. */
struct stored_job ended_job(const struct history_row *);

/* Returns the end of a use case whose read of the history ended with this status. */
enum status ended_status(enum status);

/* Finds the job that ended last under this id. The verdict is OK with job and lines, NOT_FOUND, or
 * HISTORY_UNAVAILABLE. Without a history the verdict is NOT_FOUND at once. */
void ended_find(struct app *, struct slice id, app_verdict_fn *, void *arg);

/* ---- a dead job runs again ---- */

/* A job to run again. If only the member id is set, the latest ended job with this id is run now. */
struct rerun_call {
    struct slice id;
    bool is_resend;       /* true: also run a job that was delivered or cancelled */
    bool is_one_of_many;  /* true: the run is logged at level debug, not as a line of its own in the audit log
                           */
    int64_t ended_ms;     /* if not 0: the verdict is STALE unless the job ended at this time */
    struct job_when when; /* when the job is due */
};

/* Schedules a job again, as a new job. Call it if Redis has no job with this id that can be run. If ended_ms
 * is set, also runs a dead job that Redis still has. Copies the struct, but borrows its id. */
void rerun(struct app *, const struct app_caller *, const struct rerun_call *, app_verdict_fn *, void *arg);

#endif
