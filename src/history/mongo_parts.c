#ifdef DUEPOST_MONGODB
#include "history/mongo_parts.h"

#include <stdlib.h>

#include "base/json_writer.h"
#include "base/memory.h"
#include "base/system.h"

enum {
    CODE_TIME = 50,      /* code of the error of a read that has taken too long */
    BATCH_ROWS = 1000,   /* documents in one answer of the server */
    READ_SLACK_MS = 500, /* a server gives up a read this long before the deadline of the call */
};

/* ---- documents ---- */

void mongo_put_text(bson_t *document, const char *name, struct slice text)
{
    bson_append_utf8(document, name, -1, text.size ? text.data : "", (int)text.size);
}

void mongo_put_number(bson_t *document, const char *name, int64_t number)
{
    bson_append_int64(document, name, -1, number);
}

struct slice mongo_write_id(char room[MONGO_ID_SIZE], struct slice job_id, struct slice topic,
                            int64_t created_at)
{
    struct buffer id = buffer_of(room, MONGO_ID_SIZE);
    buffer_printf(&id, "%.*s\n%.*s\n", SLICE_ARG(job_id), SLICE_ARG(topic));
    if (created_at >= 0)
        buffer_printf(&id, "%015lld", (long long)created_at);
    return buffer_slice(&id);
}

struct slice mongo_text_of(const bson_iter_t *value)
{
    uint32_t size = 0;
    const char *text = BSON_ITER_HOLDS_UTF8(value) ? bson_iter_utf8(value, &size) : NULL;
    return slice_from(text, size);
}

int64_t mongo_number_of(const bson_t *document, const char *path)
{
    bson_iter_t at, value;
    return bson_iter_init(&at, document) && bson_iter_find_descendant(&at, path, &value)
               ? bson_iter_as_int64(&value)
               : 0;
}

/* Writes the labels as a JSON array, or nothing without labels. */
static void write_labels(const bson_iter_t *array, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    bson_iter_t item;
    bool has_one = false;
    if (!BSON_ITER_HOLDS_ARRAY(array) || !bson_iter_recurse(array, &item))
        return;
    while (bson_iter_next(&item)) {
        struct slice label = mongo_text_of(&item);
        if (label.size && label.data[0] == HISTORY_LANE[0])
            continue;
        if (!has_one)
            json_put_array(&json);
        has_one = true;
        json_put_text(&json, label);
    }
    if (has_one)
        json_end_array(&json);
}

void mongo_read_document(const bson_t *document, struct buffer *labels, struct history_columns *columns)
{
    struct column_value values[SCHEMA_COLUMN_COUNT] = {{COLUMN_NULL, 0, {NULL, 0}}};
    bson_iter_t at;
    buffer_clear(labels);
    for (bool has = bson_iter_init(&at, document); has && bson_iter_next(&at);) {
        size_t i = 0;
        while (i < SCHEMA_COLUMN_COUNT && strcmp(bson_iter_key(&at), schema_names[i]) != 0)
            i++;
        if (i == SCHEMA_COLUMN_COUNT)
            continue;
        if (BSON_ITER_HOLDS_UTF8(&at))
            values[i] = COLUMN_TEXT_OF(mongo_text_of(&at));
        else if (BSON_ITER_HOLDS_NUMBER(&at))
            values[i] = COLUMN_NUMBER_OF(bson_iter_as_int64(&at));
        else if (BSON_ITER_HOLDS_ARRAY(&at))
            write_labels(&at, labels);
    }
    schema_read(values, columns);
    columns->labels = buffer_slice(labels);
}

void mongo_put_keys(bson_t *filter, struct slice keys)
{
    bson_t range, array;
    char room[16];
    bson_append_document_begin(filter, "_id", -1, &range);
    bson_append_array_begin(&range, "$in", -1, &array);
    for (uint32_t i = 0; keys.size; i++) {
        struct slice key;
        const char *name;
        slice_cut(keys, '\0', &key, &keys);
        bson_uint32_to_string(i, &name, room, sizeof room);
        mongo_put_text(&array, name, key);
    }
    bson_append_array_end(&range, &array);
    bson_append_document_end(filter, &range);
}

/* ---- calls ---- */

enum status mongo_failed(const struct mongo *mongo, const bson_error_t *error, struct problem *problem)
{
    const struct driver *driver = &mongo->driver;
    if (atomic_load(driver->is_stopping)) {
        problem_set(problem, "duepost is stopping");
        return STATUS_UNAVAILABLE;
    }
    if (error->code == CODE_TIME && error->domain == MONGOC_ERROR_SERVER) {
        problem_set(problem,
                    "there are too many rows to read in time; ask for a topic or for a shorter time");
        return STATUS_FULL;
    }
    bool is_late = clock_steady_us() >= driver->deadline_us;
    problem_set(problem, "MongoDB: %.350s%s", error->message, is_late ? " (it does not answer in time)" : "");
    for (char *at = problem->text; (at = strpbrk(at, "\r\n"));)
        *at = ' ';
    return STATUS_UNAVAILABLE;
}

enum status mongo_run(const struct mongo *mongo, bson_t *command, bson_t *reply, struct problem *problem)
{
    bson_error_t error;
    const char *database = mongoc_uri_get_database(mongoc_client_get_uri(mongo->client));
    bool is_done = mongoc_client_command_simple(mongo->client, database, command, NULL, reply, &error);
    bson_destroy(command);
    return is_done ? STATUS_OK : mongo_failed(mongo, &error, problem);
}

bson_t *mongo_options(const struct mongo *mongo, const char *index, int64_t max)
{
    int64_t left_ms = (mongo->driver.deadline_us - clock_steady_us()) / 1000 - READ_SLACK_MS;
    bson_t *options = bson_new();
    mongo_put_number(options, "maxTimeMS", left_ms > 1 ? left_ms : 1);
    if (index)
        mongo_put_text(options, "hint", slice_of(index));
    if (max) {
        mongo_put_number(options, "limit", max);
        mongo_put_number(options, "batchSize", max < BATCH_ROWS ? max : BATCH_ROWS);
    }
    return options;
}

mongoc_cursor_t *mongo_begin_read(mongoc_collection_t *collection, bson_t *filter, bson_t *options)
{
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(collection, filter, options, NULL);
    bson_destroy(filter);
    bson_destroy(options);
    return cursor;
}

enum status mongo_end_read(const struct mongo *mongo, mongoc_cursor_t *cursor, struct problem *problem)
{
    bson_error_t error;
    enum status status =
        mongoc_cursor_error(cursor, &error) ? mongo_failed(mongo, &error, problem) : STATUS_OK;
    mongoc_cursor_destroy(cursor);
    return status;
}

/* ---- appends ---- */

void mongo_drop_rows(struct mongo *mongo)
{
    while (mongo->row_count)
        bson_destroy(mongo->rows[--mongo->row_count]);
}

bson_t *mongo_add_row(struct mongo *mongo)
{
    if (mongo->row_count == mongo->row_capacity) {
        mongo->row_capacity = mongo->row_capacity ? 2 * mongo->row_capacity : 64;
        mongo->rows = memory_resize(mongo->rows, mongo->row_capacity * sizeof *mongo->rows);
    }
    return mongo->rows[mongo->row_count++] = bson_new();
}

static bool has_items(const bson_t *reply, const char *name)
{
    bson_iter_t at, item;
    return bson_iter_init_find(&at, reply, name) && BSON_ITER_HOLDS_ARRAY(&at) &&
           bson_iter_recurse(&at, &item) && bson_iter_next(&item);
}

/* The same codes can also be errors of the whole command, such as a write concern that the server does not
 * have; then no row is at fault. The text of a row's error may show the data. */
enum status mongo_write_failed(const struct mongo *mongo, const bson_t *reply, const bson_error_t *error,
                               struct problem *problem)
{
    static const uint32_t codes[] = {2, 9, 14, 121, 10334, 17280, 17419, 17420};
    bool is_data = error->domain == MONGOC_ERROR_BSON, is_of_row = has_items(reply, "writeErrors");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        is_data |= is_of_row && error->code == codes[i];
    (void)mongo_failed(mongo, error, problem);
    if (is_data || is_of_row)
        problem_set(problem, "MongoDB refuses a row: error %u", error->code);
    return is_data ? STATUS_INVALID : STATUS_UNAVAILABLE;
}

/* Finds out which rows of an insert exist already. Returns false if any row was not added for another reason;
 * *error then has this reason. exists has room for all rows. */
static bool find_existing(const struct mongo *mongo, const bson_t *reply, bson_error_t *error, bool *exists)
{
    bson_iter_t at, item;
    size_t count = 0;
    if (error->code != MONGO_CODE_DUPLICATE || !bson_iter_init_find(&at, reply, "writeErrors") ||
        !bson_iter_recurse(&at, &item))
        return false;
    while (bson_iter_next(&item)) {
        bson_t one;
        uint32_t size = 0;
        const uint8_t *data = NULL;
        if (BSON_ITER_HOLDS_DOCUMENT(&item))
            bson_iter_document(&item, &size, &data);
        if (!data || !bson_init_static(&one, data, size))
            return false;
        size_t place = (size_t)mongo_number_of(&one, "index");
        error->code = (uint32_t)mongo_number_of(&one, "code");
        if (error->code != MONGO_CODE_DUPLICATE || place >= mongo->row_count)
            return false;
        count += !exists[place];
        exists[place] = true;
    }
    return !has_items(reply, "writeConcernErrors") &&
           (size_t)mongo_number_of(reply, "insertedCount") + count == mongo->row_count;
}

/* Keeps the rows that exist already, and drops the others, which were added. */
static void keep_existing(struct mongo *mongo, const bool *exists)
{
    size_t kept = 0;
    for (size_t i = 0; i < mongo->row_count; i++)
        if (exists[i])
            mongo->rows[kept++] = mongo->rows[i];
        else
            bson_destroy(mongo->rows[i]);
    mongo->row_count = kept;
}

enum status mongo_insert_rows(struct mongo *mongo, mongoc_collection_t *collection, struct problem *problem)
{
    bson_t reply, *options = BCON_NEW("ordered", BCON_BOOL(false));
    bson_error_t error;
    bool *exists = NEW_ARRAY(bool, mongo->row_count);
    const bson_t **rows = (const bson_t **)(uintptr_t)mongo->rows;
    enum status status = STATUS_OK;
    if (mongoc_collection_insert_many(collection, rows, mongo->row_count, options, &reply, &error) ||
        find_existing(mongo, &reply, &error, exists))
        keep_existing(mongo, exists);
    else
        status = mongo_write_failed(mongo, &reply, &error, problem);
    free(exists);
    bson_destroy(&reply);
    bson_destroy(options);
    return status;
}

#endif
