/* history.h - jobs that have ended, in a database outside Redis.
 *
 * A process has at most one history_thread. The thread owns the connection to the database, creates and
 * migrates the tables, and, in one process (history_prune), removes old rows by age and size. Each reactor
 * has a history, through which it calls that thread. No call blocks. Each call has exactly one callback, in
 * the reactor's loop, after the call has returned and at the latest after about HISTORY_DEADLINE_MS
 * (HISTORY_APPEND_DEADLINE_MS for an append), even if the database hangs. While the database is known to be
 * unavailable, the answer comes at once.
 *
 * Appends keep their order, and so do the other calls. Appends and other calls take turns.
 *
 * Statuses of all calls:
 *     OK
 *     UNAVAILABLE  the database cannot be reached, refuses, is full or is too slow. Nothing was read. An
 *                  append or a delete may have happened; both can be repeated without harm
 *     INVALID      more than 16 words in reasons or statuses, or too long an id_prefix
 *     FULL         too many calls, or too many bytes, are waiting; nothing was done
 * The argument why of a callback is "" if OK; otherwise it is a sentence for people, without secrets. why
 * is valid until the callback returns. */
#ifndef DUEPOST_HISTORY_HISTORY_H
#define DUEPOST_HISTORY_HISTORY_H

#include "base/slice.h"
#include "base/status.h"
#include "base/system.h"
#include "io/loop.h"
#include "job/listing.h"
#include "job/trail.h"

enum {
    HISTORY_DEADLINE_MS = 10000,
    HISTORY_APPEND_DEADLINE_MS = 60000,
    HISTORY_ENTRIES_MAX = 10000,              /* maximum number of entries in one append */
    HISTORY_WAITING_MAX = 1024,               /* maximum number of waiting calls of a process */
    HISTORY_WAITING_BYTES = 64 * 1024 * 1024, /* maximum size of the waiting appends of a process */
    HISTORY_PAGE_MAX = 1000,                  /* maximum number of rows of a page */
    HISTORY_STEPS_MAX = 10000,                /* maximum number of steps of history_stats */
    HISTORY_DELETE_MAX = 1000,                /* maximum number of rows that one call removes */
    HISTORY_LINES_MAX = 1000000,              /* maximum number of lines of the audit log */
};

/* ---- the process ---- */

enum history_bodies {
    HISTORY_BODIES_ON,
    HISTORY_BODIES_ERRORS, /* keeps only bodies of jobs that were not delivered */
    HISTORY_BODIES_OFF,
};

struct history_options {
    const char *sqlite_path; /* path of the file; NULL: see url */
    const char *url;         /* postgresql:// or mongodb://..., perhaps with a password; never logged */
    enum history_bodies bodies;
    int64_t max_age_ms; /* rows of jobs that ended longer ago than this are removed */
    int64_t max_bytes;  /* maximum size of all rows; above it, the oldest rows are removed */
};

/* Returns whether the url is one of MongoDB, and not one of PostgreSQL. */
bool history_url_is_mongo(const char *url);

/* Checks a url without connecting. *has_password says whether the url contains a password. The problem does
 * not show the url. INVALID also if duepost was built without the database. */
enum status history_url_check(const char *url, bool *has_password, struct problem *) MUST_USE;

/* Finds out whether the database can be used, without creating or changing anything. Blocks for some seconds
 * at most. *version becomes the version of the tables, or 0 if they do not exist yet. If UNAVAILABLE, problem
 * has the reason.
 */
enum status history_check(const struct history_options *, int64_t *version, struct problem *) MUST_USE;

/* Returns whether the history has at least one job, without creating or changing anything; false if the
 * database cannot be read. Blocks for some seconds at most. */
bool history_has_jobs(const struct history_options *);

struct history_thread;

/* Starts the thread, which connects, and connects again after each loss. Copies the options. */
struct history_thread *history_thread_start(const struct history_options *);

/* Ends the thread. Waiting appends are dropped; their jobs are still in the outbox. Call it after every
 * history was freed. NULL is ignored. */
void history_thread_stop(struct history_thread *);

/* The state of the database, and counters of the thread's work. Any thread may read them. */
struct history_state {
    bool is_available;
    char why[256];    /* the reason if not available; "" otherwise */
    int64_t appended; /* rows added since the start */
    int64_t pruned;   /* rows removed by age or size, since the start */
    int64_t failures; /* failed database calls since the start */
    int64_t bytes;    /* size of the rows, as last measured; -1: unknown */
};

void history_thread_state(struct history_thread *, struct history_state *);

/* ---- a reactor ---- */

struct history;

/* Creates the history of one reactor. Borrows loop and thread. The loop's thread must make all calls
 * below. */
struct history *history_new(struct loop *, struct history_thread *);

/* Drops the calls under way: their callbacks are not called. NULL is ignored. */
void history_free(struct history *);

typedef void history_done_fn(void *arg, enum status, const char *why);

/* A job that has ended, in the form that it has in the outbox. */
struct history_entry {
    struct slice id;   /* topic/jobId */
    struct slice text; /* "state time losses[/nonce] size record lines" as in the hash kept, see ended.lua. A
                          record from which the body was removed has "bodyLeftOut":true in its place */
    bool keeps_body;   /* whatever the options say: the row is there already */
};

/* Adds the jobs, all or none (with MongoDB, a call that fails may have added some). If OK, the rows are on
 * disk. A row is identified by topic, jobId and createdAt; if a job has ended twice, the later end is kept,
 * so an append can be repeated. A text that duepost did not write becomes a row with the reason unreadable.
 *
 * The database is synced at most once a second, so an answer may take a second. Callers should not wait
 * for the answer before the next append. Copies the entries. */
void history_append(struct history *, const struct history_entry *, size_t count, history_done_fn *,
                    void *arg);

/* A job that has ended, in the forms that it had in Redis. */
struct history_row {
    struct slice topic, job_id, id; /* id is topic/jobId */
    enum job_state state;           /* DEAD, DELIVERED or CANCELLED */
    int64_t created_ms, ended_ms;
    int losses;            /* number of consumers that were lost while they had the job */
    struct slice record;   /* see job.h. The order of its members may differ; body may be left out */
    struct slice lines;    /* attempts, see attempt_line.h */
    bool is_body_left_out; /* the job had a body, which was not kept */
    bool is_unreadable;    /* record is a text that duepost did not write, made valid UTF-8 */
};

/* row is NULL if no job was found, or if the status is not OK. */
typedef void history_found_fn(void *arg, enum status, const struct history_row *row, const char *why);

/* Finds the job that ended last under this id. */
void history_find(struct history *, struct slice id, history_found_fn *, void *arg);

/* A position in a list: the last row that was examined. All zeros mean the beginning. A cursor stays valid
 * for any time; the history does not store it. */
struct history_cursor {
    bool is_set;
    int64_t ended_ms;
    int64_t row;
};

struct history_page {
    const struct history_row *rows;
    size_t count;
    struct history_cursor next; /* not set: the list ends here */
};

typedef void history_page_fn(void *arg, enum status, const struct history_page *, const char *why);

struct history_list {
    struct job_filter filter; /* copied; owner is ignored */
    bool is_newest_first;     /* in the order of ended_ms, the latest first */
    bool has_bodies;          /* false: records come without body, which is much faster for long bodies */
    size_t max;               /* 1 to HISTORY_PAGE_MAX */
    struct history_cursor from;
};

/* Reads a page. A call examines a limited number of rows, whatever the filter is. So a page may have few rows
 * or none, although more pages follow. A page also ends when its records have 4 MiB. */
void history_list(struct history *, const struct history_list *, history_page_fn *, void *arg);

typedef void history_counts_fn(void *arg, enum status, const struct outcome_counts *, const char *why);

/* Counts the jobs by outcome. */
void history_count(struct history *, const struct job_filter *, history_counts_fn *, void *arg);

typedef void history_stats_fn(void *arg, enum status, const struct outcome_counts *steps, size_t count,
                              const char *why);

/* Counts the jobs that ended in each step, at most HISTORY_STEPS_MAX steps. */
void history_stats(struct history *, const struct outcome_steps *, history_stats_fn *, void *arg);

/* Lets the thread remove old rows for some seconds: those of jobs that ended more than max_age_ms before
 * now_ms, and then the oldest ones above max_bytes. now_ms is Redis's time, which all processes share; 0:
 * only by size. One process calls it each second. The others remove nothing, so a host whose clock is wrong
 * does no harm. */
void history_prune(struct history *, int64_t now_ms);

/* Called with the number of rows removed. If has_more is true, more matching rows remain: call
 * history_delete again. */
typedef void history_deleted_fn(void *arg, enum status, size_t deleted, bool has_more, const char *why);

/* Removes at most HISTORY_DELETE_MAX jobs that match the filter, the oldest first. Only states, topic,
 * after_ms and before_ms of the filter may be set. */
void history_delete(struct history *, const struct job_filter *, history_deleted_fn *, void *arg);

/* ---- lines of the audit log (trail.h) ---- */

/* Adds lines. Works like history_append; a line that duepost did not write is dropped. Copies the lines. */
void history_note(struct history *, const struct slice *lines, size_t count, history_done_fn *, void *arg);

/* has_more: there may be more lines after these. */
typedef void history_trail_fn(void *arg, enum status, const struct trail_entry *lines, size_t count,
                              bool has_more, const char *why);

/* Lists lines, the latest first: 1 to HISTORY_PAGE_MAX of them. Copies the texts. */
void history_trail(struct history *, const struct trail_query *, history_trail_fn *, void *arg);

/* Name the libraries of the databases and their versions. */
void sqlite_library(struct library *);
void postgres_library(struct library *);
bool mongo_library(struct library *); /* false: duepost was built without it */

#endif
