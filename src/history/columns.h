/* columns.h - converts an ended job to the columns of a row, and back. Pure: no clock, no I/O. */
#ifndef DUEPOST_HISTORY_COLUMNS_H
#define DUEPOST_HISTORY_COLUMNS_H

#include "history/history.h"
#include "job/job.h"

/* The columns of the table duepost_jobs. docs/history.md describes them; users read them with their own
 * programs. Empty texts are NULL in the database, apart from topic, job_id, method and body. */
struct history_columns {
    struct slice topic, job_id;
    enum job_state outcome;
    int64_t created_at, due_at, ended_at; /* ms */
    struct slice reason;
    int64_t status;      /* status of the last attempt; 0: it had no answer, or is unknown */
    struct slice error;  /* error of the last attempt */
    int64_t duration_ms; /* duration of the last attempt; -1: unknown */
    int64_t attempts;    /* number of attempts in the last round */
    int64_t rounds;      /* number of rounds that ended with "not yet" */
    int64_t lost_consumers;
    struct slice method, url;
    struct slice labels;  /* JSON array */
    struct slice headers; /* JSON object */
    bool has_body;
    struct slice body; /* JSON, or base64 text */
    bool is_base64;
    bool is_body_left_out;
    struct slice rest; /* JSON object of the record's other members; if the record is unreadable: its text as
                          a JSON string */
    struct slice attempt_log; /* JSON array, see columns.c */
    int64_t bytes;            /* size of the texts, and an estimate of the size of index entries */
};

/* The table duepost_labels also has the keys of jobs, each with this character before it, which no label has.
 */
#define HISTORY_LANE "\x1f"

/* The state while a text from the outbox is converted to columns. */
struct history_parse {
    struct history_columns columns; /* borrows the entry and the members below */
    struct job_labels labels;       /* the labels of columns, decoded */
    char lane_room[LANE_KEY_MAX + sizeof HISTORY_LANE];
    struct slice lane; /* HISTORY_LANE and the job's key; empty: the job has no key */
    struct job job;
    struct buffer rest, attempt_log;
    struct buffer resealed; /* the record of a sealed job whose body is left out */
};

void history_parse_init(struct history_parse *);
void history_parse_fini(struct history_parse *);

/* Parses an entry. A text that duepost did not write becomes a dead job with the reason unreadable, which
 * ended at now_ms if the text has no time of its end. Returns false if the id is not topic/jobId: such an
 * entry gets no row. The columns of the previous call become invalid. */
bool history_parse_entry(struct history_parse *, const struct history_entry *, enum history_bodies,
                         int64_t now_ms) MUST_USE;

/* A row that was read, with its texts. */
struct history_kept_row {
    struct history_row row; /* borrows text */
    struct buffer text;
};

/* Creates a row from columns. Copies all texts. The caller frees the row with buffer_fini of its text. */
void history_row_from(struct history_kept_row *, const struct history_columns *);

#endif
