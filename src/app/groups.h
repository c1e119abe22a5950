/* groups.h - use cases for groups of endpoints: read one group, and change it. app_groups in topics.h lists
 * groups. */
#ifndef DUEPOST_APP_GROUPS_H
#define DUEPOST_APP_GROUPS_H

#include "app/app.h"
#include "app/topics.h"

/* A group is read and written as a text (group.h). The verdict has this text in its member "settings". */

/* Writes the tag of this version of a group. */
void app_group_tag(struct slice text, char tag[JOB_TAG_SIZE]);

/* Reads a group. Ends with OK, NOT_FOUND or UNAVAILABLE. */
void app_group(struct app *, struct slice name, app_verdict_fn *, void *arg);

struct app_group_change {
    struct slice name;
    enum app_change kind; /* APP_CHANGE_RESET removes the group */
    struct slice text;    /* text that the client sent */
    struct slice tags;    /* see job_tags_match; If-None-Match also allows that there is no group */
};

/* Changes a group: reads the group, creates the new text, and writes the new text. If another process has
 * changed the group since the read, begins again. With OK, the verdict has the new text, and was_there says
 * whether there was a group. */
void app_group_change(struct app *, const struct app_caller *, const struct app_group_change *,
                      app_verdict_fn *, void *arg);

/* ---- sends ----
 *
 * Use cases for a job that is sent to a group: sends it, reads its jobs, and cancels them.
 *
 * A send reads the group first, and then schedules all jobs in one script, which runs in the shard of the
 * topic. The group may be in another shard. All jobs use the same version of the group, because the send
 * reads the group's text in one step. If the group changes between the read and the script, the result is the
 * same as if the group had changed after the send. */

struct app_send;

/* Creates the use case for a job whose member "group" is set. Takes the job. Borrows the client's text and
 * the caller until the callback. */
struct app_send *app_send_new(struct app *, const struct app_caller *, struct job *);
void app_send_free(struct app_send *);

/* Returns the job, which may be changed before it is sent. */
struct job *app_send_job(struct app_send *);

/* Checks whether the job can be accepted now ("admits" the job). Returns false after a callback with
 * NOT_REACHED, INVALID or UNAVAILABLE. */
bool app_send_admit(struct app_send *, app_verdict_fn *, void *arg);

/* Sends an admitted job, which gets a jobId if it has none. once is the fingerprint and the idempotency key,
 * or empty. With OK, SAME and REPEATED, the verdict has the jobs of the send. The other possible verdicts
 * are EXISTS (job.id is the id that is taken), REUSED, INVALID, TOO_LARGE, FULL, UNREADABLE or LACKING
 * (the group), NO_MEMORY, UNAVAILABLE and UNKNOWN. */
void app_send_start(struct app_send *, struct slice once, app_verdict_fn *, void *arg);

/* Sends an admitted job, and replaces the jobs of an earlier send with this id: replaces its waiting jobs,
 * and cancels its jobs for endpoints that are no longer in the group. If is_only_new is true, sends only if
 * no job of an earlier send with this id is in the pool. With OK, was_there says whether a job was replaced
 * or cancelled. The other possible verdicts are LEASED (job.id is the id of the leased job), STALE,
 * INVALID, TOO_LARGE, FULL, UNREADABLE or LACKING (the group), NO_MEMORY, UNAVAILABLE and UNKNOWN. */
void app_send_replace(struct app_send *, bool is_only_new, app_verdict_fn *, void *arg);

/* Returns whether the client sent the job without a jobId. */
bool app_send_is_id_new(const struct app_send *);

/* Reads the jobs that a send with this id sent to this group. Ends with OK, NOT_FOUND or UNAVAILABLE. */
void app_sent(struct app *, const struct app_caller *, struct slice id, struct slice group, app_verdict_fn *,
              void *arg);

/* Cancels the jobs of this send that have not ended. With OK, verdict->counts has the numbers of jobs, and
 * was_leased is true if an attempt of one of these jobs is still running. */
void app_unsend(struct app *, const struct app_caller *, struct slice id, struct slice group,
                app_verdict_fn *, void *arg);

#endif
