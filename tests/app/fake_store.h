/* fake_store.h - replaces the functions of store/store.h in a program that tests use cases.
 *
 * A call is kept until the test answers it. fake_take returns the oldest call; the test then calls its fn in
 * place of the store. */
#ifndef DUEPOST_TESTS_APP_FAKE_STORE_H
#define DUEPOST_TESTS_APP_FAKE_STORE_H

#include "app/app.h"
#include "store/clock.h"
#include "store/pull.h"
#include "store/store.h"

enum { FAKE_TEXT_MAX = 2048 };

/* One call. Texts are copied, so that they can be compared at any time. */
struct fake_call {
    const char *name; /* name of the function, without store_ */
    char id[FAKE_TEXT_MAX], record[FAKE_TEXT_MAX], tags[FAKE_TEXT_MAX], once[FAKE_TEXT_MAX];
    char old_settings[FAKE_TEXT_MAX], new_settings[FAKE_TEXT_MAX];
    struct job_when when;
    bool is_moved;
    struct store_list list;
    size_t max, shard;
    int64_t lease_ms, wait_ms;
    enum lease_end_kind action;
    struct store_clock_step step;
    union {
        store_scheduled_fn *scheduled;
        store_scheduled_all_fn *all_scheduled;
        store_replaced_fn *replaced;
        store_changed_fn *changed;
        store_cancelled_fn *cancelled;
        store_run_fn *run;
        store_read_fn *read;
        store_attempts_fn *attempts;
        store_list_fn *list;
        store_seen_fn *seen;
        store_count_fn *count;
        store_topics_fn *topics;
        store_set_text_fn *set;
        store_note_fn *note;
        store_limits_fn *limits;
        store_set_limit_fn *set_limit;
        store_lanes_fn *lanes;
        store_sent_fn *sent;
        store_unsent_fn *unsent;
        store_patterns_fn *patterns;
        store_receivers_fn *receivers;
        store_close_fn *closed;
        store_audit_fn *audited;
        store_awaited_fn *awaited;
        store_streamed_fn *streamed;
        store_pull_fn *pulled;
        store_pull_end_fn *pull_ended;
        store_clock_fn *clock;
        store_export_fn *exported;
        store_import_fn *imported;
    } fn;
    void *arg;
};

/* Resets the fake store: it is ready, and has one shard and no call. */
void fake_begin(void);
void fake_set_ready(bool);
void fake_set_shards(size_t);

/* Calls the listener of store_on_pull_wake, as when jobs of the topic may be leased. */
void fake_wake(struct slice topic);

/* Calls the listener of store_on_job_wake. */
void fake_job_wake(struct slice ids, bool have_ended);

/* Adds entries to the list of what fired. */
void fake_fire(size_t count);

/* Returns the oldest call, which must be of this function. The call is valid until fake_begin. */
struct fake_call *fake_take(const char *name);

/* Returns whether a call waits for its answer. */
bool fake_has_call(void);

/* Fails if a call waits for its answer. */
void fake_expect_none(void);

/* ---- the environment of a use case: app, callers, verdicts, log, metrics ---- */

/* Returns an app whose targets are 127.0.0.0/8 and public addresses. Resets metrics and the log. */
struct app *fake_app(void);

/* Callers: fake_all has a right to all topics, fake_some only to orders-*. */
extern const struct app_caller fake_all, fake_some;

/* An app_verdict_fn that counts verdicts, and keeps a copy of the last verdict with its texts. */
void fake_on_verdict(void *arg, const struct app_verdict *);
extern struct fake_verdict {
    size_t count;
    enum status end;
    char id[FAKE_TEXT_MAX], record[FAKE_TEXT_MAX], why[FAKE_TEXT_MAX], topic[FAKE_TEXT_MAX],
        group[FAKE_TEXT_MAX], lines[FAKE_TEXT_MAX];
    char settings[FAKE_TEXT_MAX], cursor[FAKE_TEXT_MAX];
    char error_field[FAKE_TEXT_MAX], error_detail[FAKE_TEXT_MAX]; /* the first error */
    enum job_state state;
    int64_t at_ms, number;
    size_t sent_count;
    bool was_there, was_leased, is_partial;
    struct app_bulk_counts counts;
} fake_verdict;

/* Removes the verdict. */
void fake_forget(void);

/* Checks that exactly one verdict has come, and that it has this end. */
void fake_expect(enum status);

/* Checks that the audit log has the text, and empties the log. "" means that the log must be empty. */
void fake_expect_log(const char *text);

/* Checks that the metrics have the line. */
void fake_expect_metric(const char *line);

void fake_end(void);

#endif
