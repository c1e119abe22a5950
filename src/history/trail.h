/* trail.h - lines of the audit log in the database: the table duepost_audit.
 *
 * A line comes from the trail in Redis (store/outbox.h) as the text "ID AT WHO ACTION TOPIC JSON". ID has
 * TRAIL_ID characters and is unique, so a line that is added twice has one row. AT is its time in ms.
 * WHO, ACTION and TOPIC have no spaces; TOPIC is - if the line belongs to no topic. JSON is the line as
 * clients see it. The first four and TOPIC are columns, by which lines are found. */
#ifndef DUEPOST_HISTORY_TRAIL_H
#define DUEPOST_HISTORY_TRAIL_H

#include "base/buffer.h"
#include "history/history.h"

struct driver;

/* A line, which borrows its text. */
struct trail_line {
    struct slice id, who, action, topic, json; /* topic: empty if the line belongs to no topic */
    int64_t at_ms;
};

/* Returns false if duepost did not write the text. */
bool trail_line_parse(struct slice text, struct trail_line *);

/* Lines that were read, the latest first. */
struct trail_rows {
    struct trail_row {
        int64_t at_ms;
        char id[TRAIL_ID + 1];
        struct buffer json; /* owned */
    } * items;
    size_t count, capacity, bytes;
    size_t max;   /* maximum number of lines */
    bool is_full; /* there may be more lines */
};

void trail_rows_fini(struct trail_rows *);

/* Adds a line. Copies its texts. Returns false if the page is full, and the line was not added. */
bool trail_rows_add(struct trail_rows *, int64_t at_ms, struct slice id, struct slice json);

/* ---- functions of driver.h for SQL databases; each takes a sql_driver (sql_trail.c) ---- */

enum status sql_note(struct driver *, const struct trail_line *, size_t count, struct problem *);
enum status sql_trail(struct driver *, const struct trail_query *, struct trail_rows *, struct problem *);
enum status sql_forget(struct driver *, int64_t before_ms, bool *has_more, struct problem *);

/* The statements that create the table and its indexes; each ends with ";\n". */
extern const char sql_trail_tables[];

#endif
