/* outbox_private.h - the connection and the tables, which the files of this folder share. */
#ifndef DUEPOST_CLI_OUTBOX_OUTBOX_PRIVATE_H
#define DUEPOST_CLI_OUTBOX_OUTBOX_PRIVATE_H

#include <libpq-fe.h>

#include "base/buffer.h"
#include "cli/outbox/outbox.h"

#define OUTBOX_LOCK "7310592" /* the number of the advisory lock: any constant */

#define OUTBOX_COLUMNS                                                                                       \
    "id, topic, job_id, key, due_at, delay, url, body, body_bytes, headers, labels, priority, retry, "       \
    "action, created_at"

enum {
    OUTBOX_ROWS_MAX = 1000,    /* rows of one read */
    OUTBOX_WAITING_MAX = 1000, /* topics that wait; if more wait, all do */
    OUTBOX_STUCK_MAX =
        1000, /* rows that the database refuses to move or to delete; if there are more, all wait */
    OUTBOX_PARALLEL = 32, /* requests that are under way at a time */
    OUTBOX_ID_SIZE = 24,
};

/* ---- database.c ---- */

/* A connection to the database of the application. One thread uses it. */
struct outbox_database {
    const char *source;
    PGconn *connection; /* NULL: not connected */
    char *name;         /* name of the outbox, part of the idempotency keys; NULL: not read yet */
    int stop_fd;        /* -1: none */
    int64_t stopped_us; /* when stop_fd was found readable, by CLOCK_BOOTTIME; 0: not yet */
    /* The last statement failed because of its rows: the same statement about other rows may succeed. False
     * for errors of the connection, of the whole database, or of rights. */
    bool is_about_rows;
};

/* Returns whether the owner wants the end. */
bool outbox_is_stopping(struct outbox_database *);

/* Runs a statement with texts as parameters, for at most 70 s, or until 7 s after the owner wants the end.
 * Returns NULL after an error; problem then says why. The caller clears the result. */
PGresult *outbox_sql(struct outbox_database *, const char *sql, int count, const char *const *values,
                     struct problem *);

/* Runs statements without parameters and drops their results. */
bool outbox_sql_plain(struct outbox_database *, const char *sql, struct problem *);

bool outbox_connect(struct outbox_database *, struct problem *);

/* Closes the connection and frees the name. */
void outbox_disconnect(struct outbox_database *);

/* Checks that this program knows the tables, and reads the name of the outbox. Needs a connection. */
bool outbox_check_tables(struct outbox_database *, struct problem *);

/* Checks that the role can work: a relay that could send rows and not delete them would replace the same job
 * again and again. Needs a connection. */
bool outbox_check_rights(struct outbox_database *, struct problem *);

/* Creates the tables, or makes the steps that are missing, in one transaction. *version is the version that
 * they had; *now what they have. */
bool outbox_install(struct outbox_database *, long *version, long *now, struct problem *);

/* ---- the relay ---- */

struct row {
    const char *id, *action, *topic, *job_id, *job; /* job_id and job: NULL if the column is */
};

/* A topic whose rows are not read for some time, because of its quota or of the rights of the token. */
struct waiting {
    char *topic;
    int64_t until_us;
};

/* A row that is not read for some time, because the database refuses to move or to delete it. */
struct stuck {
    char id[OUTBOX_ID_SIZE];
    bool is_sent; /* the row is to be deleted */
    int64_t until_us;
};

/* The next step for a turn. A higher verdict replaces a lower one. */
enum verdict {
    VERDICT_ON,    /* the next row */
    VERDICT_WAITS, /* the server is away: the rows that are left are read again later */
    VERDICT_LOST,  /* the database is away */
};

/* A request of one row, or of an array of rows. */
struct sending {
    struct relay *relay; /* NULL: the place is free */
    struct remote_call *call;
    const struct row *row; /* NULL: an array */
};

struct relay {
    const struct outbox_relay_options *options;
    struct outbox_database database;
    struct remote_calls *calls;
    struct waiting waiting[OUTBOX_WAITING_MAX];
    size_t waiting_count;
    struct stuck stuck[OUTBOX_STUCK_MAX];
    size_t stuck_count;
    long rows;       /* rows to read next: fewer if rows are long */
    int64_t from_id; /* rows up to this id are left out: all of them wait. 0: a pass over all rows */
    int64_t pass_us; /* when the next pass is due */
    int64_t read_us; /* how long the last read took */
    struct buffer request, answer, target;
    struct buffer done; /* ids of the rows to delete; they are kept while the database is away */
    size_t done_count;
    int64_t alive_us; /* when the relay last knew that it has the lock */
    /* state of the requests that are under way */
    struct sending sendings[OUTBOX_PARALLEL];
    size_t under_way;
    enum verdict verdict;
    struct problem problem; /* the reason, if the verdict is not ON */
    long wait_s;            /* how long the server wants the relay to wait; 0: it did not say */
    long array_status, array_wait_s;
    struct outbox_figures figures;
    int64_t oldest_us, noted_us;
    bool is_away; /* the database or the server was away the last time, which was reported */
};

/* ---- rows.c: what becomes of a row ---- */

void relay_tell(const struct relay *, enum outbox_event, const struct problem *text);

/* Sets the verdict of the turn, unless it has a higher one. */
void relay_end_turn(struct relay *, enum verdict, const struct problem *);

/* Returns NULL if the rows of this topic do not wait. */
struct waiting *relay_find_waiting(struct relay *, const char *topic);

/* Lets the topics continue whose time has come. */
void relay_end_waits(struct relay *);

/* Writes the topics that wait as an array of PostgreSQL. */
void relay_write_waiting(const struct relay *, struct buffer *array);

/* Tries again to delete the stuck rows whose time has come; the others are read again. */
void relay_end_stuck(struct relay *);

/* Writes the ids of the stuck rows as an array of PostgreSQL. */
void relay_write_stuck(const struct relay *, struct buffer *array);

/* Deletes the rows that are done. Returns false after an error; they are then still to be deleted. */
bool relay_delete_done(struct relay *, struct problem *);

/* Moves a row to duepost_outbox_failed. status is NULL if the database could not read the row. Ends the turn
 * if the database is away. */
void relay_move_row(struct relay *, const char *id, const char *status, const char *why);

/* Reports that the server has refused a row, and moves it. */
void relay_fail_row(struct relay *, const struct row *, long status, const char *why);

/* Handles the status that the server gave to a row. why has its words. */
void relay_end_row(struct relay *, const struct row *, long status, long wait_s, const char *why);

/* ---- send.c ---- */

/* Sends rows, and handles the answers. Rows of one job go one after the other. */
void relay_send_rows(struct relay *, const struct row *rows, size_t count);

#endif
