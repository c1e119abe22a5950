/* mongo_parts.h - what the files of MongoDB's driver share: parts of documents, commands and reads. mongo.c
 * says what the documents are. */
#ifndef DUEPOST_HISTORY_MONGO_PARTS_H
#define DUEPOST_HISTORY_MONGO_PARTS_H

#include <mongoc/mongoc.h>

#include "history/driver.h"
#include "history/schema.h"

enum {
    MONGO_ID_SIZE = JOB_KEY_MAX + 32, /* size of an _id, with its NUL */
    MONGO_CODE_DUPLICATE = 11000,     /* code of the error of a document that exists already */
};

struct mongo {
    struct driver driver;
    char *url;
    mongoc_client_t *client; /* NULL: closed */
    mongoc_collection_t *jobs, *meta, *audit;
    int64_t next_id, ids_end; /* numbers that were taken from the counter, and are not used yet */
    bson_t **rows;            /* the documents of the append under way */
    size_t row_count, row_capacity;
};

static inline struct mongo *mongo_of(struct driver *driver)
{
    return (struct mongo *)driver;
}

/* ---- appends ---- */

/* Drops the documents of the append under way. */
void mongo_drop_rows(struct mongo *);

/* Returns a new document of the append under way. */
bson_t *mongo_add_row(struct mongo *);

/* Adds the documents of the append to the collection. Keeps those that exist already, and drops the others.
 */
enum status mongo_insert_rows(struct mongo *, mongoc_collection_t *, struct problem *);

/* Sets the problem of a write that has failed with this reply. Returns INVALID if the data of a row caused
 * the error. */
enum status mongo_write_failed(const struct mongo *, const bson_t *reply, const bson_error_t *,
                               struct problem *);

/* ---- documents ---- */

void mongo_put_text(bson_t *, const char *name, struct slice text);
void mongo_put_number(bson_t *, const char *name, int64_t number);

/* Writes the _id of a job, without createdAt if this is negative: a prefix of the _ids of all jobs with these
 * names. */
struct slice mongo_write_id(char room[MONGO_ID_SIZE], struct slice job_id, struct slice topic,
                            int64_t created_at);

/* Adds the condition that _id is one of the keys, each of which ends with NUL. */
void mongo_put_keys(bson_t *filter, struct slice keys);

/* Returns the text of a value; empty: it has none. Borrows the document. */
struct slice mongo_text_of(const bson_iter_t *value);

/* Returns the number at this path, such as value.count, or 0. */
int64_t mongo_number_of(const bson_t *, const char *path);

/* Reads the columns that the document has. labels gets the text of the column labels. The result borrows
 * both. */
void mongo_read_document(const bson_t *, struct buffer *labels, struct history_columns *);

/* ---- calls ---- */

/* Sets the problem. Returns UNAVAILABLE, or FULL if the server has given up a read in time. */
enum status mongo_failed(const struct mongo *, const bson_error_t *, struct problem *);

/* Runs a command, which is freed. reply is NULL or becomes the answer, which the caller destroys in any
 * case. */
enum status mongo_run(const struct mongo *, bson_t *command, bson_t *reply, struct problem *);

/* Returns the options of a read that examines at most max documents (0: all). The server gives it up shortly
 * before the deadline of the call, so that the connection stays usable. index: NULL, or the index that must
 * be used. The caller destroys the result. */
bson_t *mongo_options(const struct mongo *, const char *index, int64_t max);

/* Begins a read. Frees filter and options. */
mongoc_cursor_t *mongo_begin_read(mongoc_collection_t *, bson_t *filter, bson_t *options);

/* Ends a read. Returns its error, if it has failed. */
enum status mongo_end_read(const struct mongo *, mongoc_cursor_t *, struct problem *);

/* ---- functions of driver.h (mongo_reads.c) ---- */

enum status mongo_find(struct driver *, struct slice topic, struct slice job_id, struct read_rows *,
                       struct problem *);
enum status mongo_count_prefix(struct driver *, struct slice prefix, int64_t *count, struct problem *);
enum status mongo_look(struct driver *, const struct window *, struct positions *, struct problem *);
enum status mongo_fetch(struct driver *, const struct history_list *, const struct positions *,
                        struct read_rows *, struct problem *);
enum status mongo_count(struct driver *, const struct window *, struct outcome_counts *, struct problem *);
enum status mongo_plot(struct driver *, const struct outcome_steps *, struct outcome_counts *steps,
                       size_t count, struct problem *);
enum status mongo_has_rows(struct driver *, bool *, struct problem *);

/* ---- functions of driver.h for lines of the audit log (mongo_trail.c) ---- */

/* Creates the indexes of their collection. */
enum status mongo_make_trail(struct mongo *, struct problem *);

enum status mongo_note(struct driver *, const struct trail_line *, size_t count, struct problem *);
enum status mongo_trail(struct driver *, const struct trail_query *, struct trail_rows *, struct problem *);
enum status mongo_forget(struct driver *, int64_t before_ms, bool *has_more, struct problem *);

#endif
