/* app_private.h - steps that several use cases share: ends, rights, audit log, targets, jobs of the history,
 * and lists in pages. */
#ifndef DUEPOST_APP_APP_PRIVATE_H
#define DUEPOST_APP_APP_PRIVATE_H

#include "app/app.h"
#include "app/lists.h"
#include "app/schedules.h"
#include "base/buffer.h"
#include "base/json_writer.h"
#include "history/history.h"
#include "job/job.h"
#include "job/target/target.h"
#include "job/topic/topic.h"
#include "store/recurring.h"
#include "store/store.h"

/* Ends a use case according to the status of its call to the store. id is the id or topic of the use case, or
 * empty for all topics. job, which may be NULL, becomes the job of the verdict. */
void use_case_end(const struct app *, struct slice id, enum status, const struct stored_job *job,
                  app_verdict_fn *, void *arg);

/* Returns the verdict with which use_case_end ends a use case that has no job. why gets the reason, to which
 * the verdict points. */
struct app_verdict use_case_verdict(const struct app *, struct slice id, enum status, struct problem *why);

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

/* Returns the limit with the members that only use cases set (limits.c). */
struct limit limit_view(const struct limit *);

/* The error of a limit, and of a setting that names one, if the store has several shards. */
#define LIMIT_NEEDS_ONE_SHARD                                                                                \
    "needs a Redis with one shard: the topics of a limit could be in different shards, and no script sees "  \
    "two shards"

/* Counts an accepted job in the metrics. */
void use_case_count_accepted(const struct app *, struct slice id);

/* ---- the audit log (audit.c) ---- */

/* Writes the settings with this text as clients may see them: secrets are ***. name: the name of the object.
 * Writes nothing if the object does not exist. Returns false if the text cannot be read. */
typedef bool audit_show_fn(struct slice name, struct slice text, struct json_writer *);
audit_show_fn audit_show_topic, audit_show_limit, audit_show_key, audit_show_group, audit_show_schedule;

/* Records an event such as "job_cancelled". kind is "job", "topic", "limit", "workflow", "receiver" ...; name
 * is the name of that object. A status that means that nothing has changed is not recorded. */
void audit(const struct app_caller *, const char *event, const char *kind, struct slice name, enum status);

/* The same for a change of settings, with their texts before and after it. The log does not have these. */
void audit_change(const struct app_caller *, const char *event, const char *kind, struct slice name,
                  enum status, audit_show_fn *, struct slice before, struct slice after);

/* Logs one job of a bulk action, at level debug. */
void audit_one_of_many(const struct app_caller *, const char *event, struct slice id, enum status);

/* Records a page of a bulk action: the topic to which it is limited, the filter, as the client wrote it, and
 * the counts. */
void audit_bulk(const struct app_caller *, const char *event, struct slice topic, struct slice filter,
                const struct app_bulk_counts *);

/* Records a page of a removal from the history: its topic, its filter, as the client wrote it, and the number
 * of jobs. -1: the outcome is unknown. If no job was removed, records nothing. */
void audit_removal(const struct app_caller *, struct slice topic, struct slice filter, int64_t removed);

enum { AUDIT_NUMBERS = 4, AUDIT_FIELDS_MAX = 5 + AUDIT_NUMBERS };

/* A line, with what most lines do not have. All is borrowed. */
struct audit_line {
    const char *event, *kind;
    struct slice name;  /* empty: none */
    struct slice topic; /* the topic, if name does not have it; empty: none */
    const char *outcome;
    const char *part;            /* export: which part of the data; NULL: none */
    bool has_filter, is_counted; /* is_counted: the numbers say what the outcome is */
    struct slice filter;
    struct audit_number {
        const char *name; /* NULL: no more numbers */
        int64_t value;
    } numbers[AUDIT_NUMBERS];
    audit_show_fn *show; /* NULL: the line has no settings */
    struct slice before, after;
};

void audit_write(const struct app_caller *, const struct audit_line *);

/* Returns whether lines go to the history. */
bool audit_is_kept(const struct app_caller *);

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

/* ---- the position of a list (paging.c) ----
 *
 * The position of a list, as a text that needs no escapes in urls and in JSON.
 *
 * A cursor of jobs is "began:due:until:left:side:state:shard:score:topic/jobId" in base64url: when the list
 * began, the progress of a bulk action (see struct app_progress; zeros for a list), and the last job of the
 * page. If score and id are empty, the list continues at the start of the shard. A cursor of topics is the
 * name of the last topic of the page, and a cursor of receivers is the version of the last receiver. In all
 * shards except the first, such a cursor begins with the number of the shard and '@'. If a list continues at
 * the start of such a shard, nothing follows the '@'. */

enum {
    CURSOR_ROOM = JOB_KEY_MAX + 192, /* bytes of a decoded cursor of jobs */
};

/* Writes a cursor of jobs. Writes nothing at the end of a list. */
void cursor_write(struct buffer *, const struct list_cursor *, const struct app_progress *);

/* Reads a cursor of a store with this many shards. The cursor is decoded into room, and the id points into
 * room. Returns false if the text is not a cursor. */
bool cursor_parse(struct slice text, size_t shards, char room[CURSOR_ROOM], struct list_cursor *,
                  struct app_progress *);

/* A position in a list of the history: when the list began, when the page's last job ended, and that job's
 * number. */
struct history_position {
    int64_t began_ms, ended_ms, number;
};

/* Write and read the cursor of a list of the history. Such a cursor begins with "h." It has two members of
 * the progress, due_ms and left, unless both are 0. */
void cursor_write_history(struct buffer *, const struct history_position *, const struct app_progress *);
bool cursor_parse_history(struct slice text, struct history_position *, struct app_progress *);

/* Write and read the cursor of a list of topics, which is empty at the end of the list. */
void cursor_write_topic(struct buffer *, const struct topic_cursor *);
bool cursor_parse_topic(struct slice text, size_t shards, struct topic_cursor *);

/* Write and read the cursor of a list of schedules or workflows: "shard@place" in base64url, where the place
 * names the last item of the page in this shard. Nothing is written for an empty place in shard 0: the list
 * ends there. room is the decoded cursor, into which the place points. */
void cursor_write_place(struct buffer *, size_t shard, struct slice place);
bool cursor_parse_place(struct slice text, size_t shards, struct buffer *room, size_t *shard,
                        struct slice *place);

/* Write and read the cursor of a list of receivers. */
void cursor_write_receiver(struct buffer *, const struct receiver_cursor *);
bool cursor_parse_receiver(struct slice text, size_t shards, struct receiver_cursor *);

/* ---- a list, page by page, until the reader has enough (paging.c) ----
 *
 * A page of Redis or of the history ends where a limit stopped it, and not where the reader wants to stop: it
 * may leave out items that a filter or a right excludes. So a reader continues with further pages:
 *
 *   1. page   asks for the page that begins at the walk's position
 *   2. take   the reader takes the items of the page, and reports where the page ended (app_walk_on)
 *   3. end    called after the last page: the list is over, the reader has enough, or pages_max is reached
 *
 * A reader that works on a page before it reads the next one keeps the position with app_walk_keep, and calls
 * app_walk_on when the work is done. */

struct app_walk {
    void (*page)(void *arg); /* asks for the next page */
    void (*end)(void *arg);  /* the walk has ended; the position is where it stopped */
    void *arg;
    size_t pages_max; /* maximum number of pages; 0: no limit */
    size_t pages;     /* number of pages that were read, or asked for */
    bool has_more;    /* the list continues at the position */
    size_t shard; /* the position: a shard, and an item in it or a cursor; both 0 and empty: the beginning */
    struct slice place; /* points into room */
    char room[APP_CURSOR_MAX];
};

/* Sets the position at which the next page begins. An empty place in shard 0 means that the list is over, and
 * so does a place that is longer than a cursor. The place may point into the walk's room. */
void app_walk_keep(struct app_walk *, size_t shard, struct slice place);

/* Asks for the first page, at the position. */
void app_walk_begin(struct app_walk *);

/* Asks for the next page if the reader wants more items and there are more; otherwise ends the walk. */
void app_walk_on(struct app_walk *, bool wants_more);

/* ---- lists of jobs (lists.c) ---- */

/* Converts a list for the store. The result is valid as long as the list's data, including the cursor. */
struct store_list lists_of_store(const struct app_list *);

/* Converts a list for the history. The result leaves out jobs that ended after began_ms, when the list began,
 * so that every list ends. */
struct history_list lists_of_history(const struct app_list *, int64_t began_ms);

/* Do the same as app_list and app_count, for jobs of the history. */
void lists_page_history(struct app *, const struct app_list *, app_job_fn *each, app_verdict_fn *, void *arg);
void lists_count_history(struct app *, const struct app_list *, app_verdict_fn *, void *arg);

/* ---- a stored schedule in the form for clients (schedules.c) ---- */

/* A schedule, and the data into which its slices point. */
struct schedule_view {
    struct app_schedule schedule;
    struct recurring recurring;
    struct job job;
};

/* Reads a stored schedule. Its slices are valid until schedule_view_fini. Fails only with NO_MEMORY.
 */
enum status schedule_view_init(struct schedule_view *, const struct app *,
                               const struct store_recurring *) MUST_USE;
void schedule_view_fini(struct schedule_view *);

/* ---- checks of a definition (schedule_define.c) ---- */

/* Finds the time zone of a definition, and checks what recurring_parse cannot. Adds errors for what is wrong.
 * INVALID: there is no such zone; else OK, or another failure. */
enum status schedule_check(const struct app *, struct slice id, const struct recurring *, const struct job *,
                           bool are_targets_checked, const struct time_zone **, struct job_errors *);

/* Adds the error of a schedule that has no time after now_ms. Changes the recurrence. */
void schedule_refuse_times(const struct recurring *, struct recurrence *, int64_t now_ms,
                           struct job_errors *);

/* Appends the times as words, such as "every 15 minutes"; every_ms 0: those of the cron expression. */
void schedule_write_words(int64_t every_ms, const struct cron *, struct buffer *words);

#endif
