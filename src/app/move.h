/* move.h - use cases for a move to another Redis: export all data in pages of rows, and import rows. */
#ifndef DUEPOST_APP_MOVE_H
#define DUEPOST_APP_MOVE_H

#include "app/app.h"
#include "job/data_row.h"

/* The kinds of rows, with their words in the API: one list for the counts of an export. */
#define APP_ROWS(X)                                                                                          \
    X(LIMIT, "limit")                                                                                        \
    X(PATTERN, "pattern")                                                                                    \
    X(TOPIC, "topic")                                                                                        \
    X(KEY, "key")                                                                                            \
    X(GROUP, "group")                                                                                        \
    X(SCHEDULE, "schedule")                                                                                  \
    X(IDEMPOTENCY, "idempotency")                                                                            \
    X(SEND, "send")                                                                                          \
    X(WORKFLOW, "workflow")                                                                                  \
    X(WORKFLOW_PART, "workflowPart")                                                                         \
    X(JOB, "job")                                                                                            \
    X(ENDED, "ended")

enum app_row_kind {
#define APP_ROW_NAME(name, word) APP_ROW_##name,
    APP_ROWS(APP_ROW_NAME)
#undef APP_ROW_NAME
        APP_ROWS_COUNT /* the number of kinds; as a kind: unknown */
};

const char *app_row_word(enum app_row_kind);
enum app_row_kind app_row_kind(struct slice word);

/* Returns whether the row is a job of which an attempt was under way. */
bool app_row_is_moving(const struct data_row *);

/* ---- export ---- */

enum {
    APP_EXPORT_FORMAT = 1, /* format of the rows; grows when earlier versions cannot import them */
    APP_EXPORT_BYTES = 4 * 1024 * 1024,     /* a page ends when its values have this size */
    APP_EXPORT_CURSOR_MAX = APP_CURSOR_MAX, /* bytes */
    APP_EXPORT_PLACE_MAX = 2 * JOB_KEY_MAX  /* bytes: a topic, and the id of a job with its score */
};

/* The progress of an export, which its cursor has. All counts are those of the rows of earlier pages. */
struct app_export {
    size_t part; /* see store_export */
    struct slice place;
    int64_t rows[APP_ROWS_COUNT];
    int64_t moving;                  /* jobs of which an attempt was under way */
    int64_t unpaused;                /* topics with jobs that were not paused */
    bool is_over;                    /* the page was the last one */
    char room[APP_EXPORT_PLACE_MAX]; /* place points into it */
};

/* Reads the cursor of a page. Returns false if the text is not a cursor. An export begins with a zeroed
 * struct. */
bool app_export_parse(const struct app *, struct slice cursor, struct app_export *);

/* Returns whether the export is that of one moment: no attempt was under way, and none could begin, because
 * the topics were paused, or this process begins none. Other processes may begin attempts. */
bool app_export_is_consistent(const struct app *, const struct app_export *);

typedef void app_row_fn(void *arg, const struct data_row *);

/* Calls each() for at most max rows, and then fn. With OK, the export has the new progress, and the verdict
 * has the cursor of the next page, unless the export is over. Borrows the export until the callback. */
void app_export_page(struct app *, const struct app_caller *, struct app_export *, size_t max,
                     app_row_fn *each, app_verdict_fn *fn, void *arg);

/* Numbers of all shards, for the head of an export. */
struct app_export_counts {
    size_t shards;
    int64_t jobs, leased, ended;
    int64_t outbox; /* jobs that the history does not have yet */
    int64_t now_ms;
};
typedef void app_export_counts_fn(void *arg, const struct app_verdict *, const struct app_export_counts *);
void app_export_counts(struct app *, app_export_counts_fn *fn, void *arg);

/* ---- import ---- */

/* Imports a row. Called with OK; SAME, EXISTS or INVALID (with one error), as in
 * store_import; or an end with which the row can be imported again. takes_moving: also imports a job of which
 * an attempt was under way, so that another attempt of it begins. Borrows the row until the callback. */
void app_import(struct app *, const struct data_row *, bool takes_moving, app_verdict_fn *, void *arg);

/* Numbers of rows of one request. */
struct app_imports {
    int64_t imported, same, exists, refused;
};

/* Logs a request that has imported rows, or may have. */
void app_import_audit(const struct app_caller *, const struct app_imports *, bool is_whole);

#endif
