#ifdef DUEPOST_MONGODB
#include "history/mongo_parts.h"

#include "base/json_writer.h"
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

#endif
