/* history_calls.h - functions that call history.h and wait for the answer, and texts of ended jobs. */
#ifndef DUEPOST_TESTS_HISTORY_CALLS_H
#define DUEPOST_TESTS_HISTORY_CALLS_H

#include "history/history.h"

/* A loop with a history. */
struct history_world {
    struct loop *loop;
    struct history_thread *thread;
    struct history *history;
};

void history_world_open(struct history_world *, const struct history_options *);
void history_world_close(struct history_world *);

/* Waits until the database is available or not. */
void history_world_await(const struct history_world *, bool is_available);

/* Writes the text of an ended job as the outbox has it. members: the members of the record after createdAt
 * and url; lines: the lines of its attempts, may be "".
 */
enum { ENDED_TEXT_SIZE = 8192 };
struct ended_job {
    const char *state;
    int64_t ended_ms, created_ms;
    const char *members, *lines;
};
struct slice ended_text(const struct ended_job *, char room[ENDED_TEXT_SIZE]);

/* Appends one job. */
enum status append_text(struct history_world *, const char *id, struct slice text);
enum status append_job(struct history_world *, const char *id, const struct ended_job *);

/* Appends up to APPEND_MAX jobs at once, because each append may wait a second for the sync. */
enum { APPEND_MAX = 32 };
enum status append_jobs(struct history_world *, const char *const *ids, const struct ended_job *,
                        size_t count);

/* Returns whether the status is OK and there is a job. The texts of the job are valid until the next call of
 * this function.
 */
bool find_job(struct history_world *, const char *id, struct history_row *);

/* Writes the jobIds of a page, separated by blanks. */
enum { FOUND_SIZE = 4096 };
enum status list_jobs(struct history_world *, const struct history_list *, char found[FOUND_SIZE],
                      struct history_cursor *next);

enum status count_jobs(struct history_world *, const struct job_filter *, struct outcome_counts *);
enum status plot_jobs(struct history_world *, const struct outcome_steps *, struct outcome_counts *,
                      size_t max);
enum status delete_jobs(struct history_world *, const struct job_filter *, size_t *deleted, bool *has_more);

/* Adds lines of the audit log, each a text as the trail has it. */
enum status note_lines(struct history_world *, const char *const *lines, size_t count);

/* Writes the ids of a page of lines, without their leading zeros and separated by blanks. *next becomes the
 * query of the next page; its max is 0 at the end of the list. */
enum status list_lines(struct history_world *, const struct trail_query *, char found[FOUND_SIZE],
                       struct trail_query *next);

/* Returns the reason of the last answer that was not OK. */
const char *last_why(void);

#endif
