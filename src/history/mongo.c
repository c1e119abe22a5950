/* mongo.c - the history in MongoDB, through libmongoc, which is optional. Also for servers that speak
 * MongoDB's protocol; therefore commands and operators are few and plain.
 *
 * A row is a document of the collection duepost_jobs with the columns as its members. Two members differ: _id
 * is jobId, topic and createdAt in one text, so that a job has one document, even if it is written twice, and
 * the jobs with a prefix are neighbours; labels is an array, which also has the key of the job, see
 * HISTORY_LANE. Its index has an entry for each label. Each document has a number, id, which gives jobs that
 * ended in the same ms an order that never changes. A counter in duepost_meta gives these numbers in blocks:
 * numbers derived from a job would not be in the order of the ends, and might be equal.
 *
 * There is no transaction around an append: the documents are added one by one, and an append that fails may
 * leave some. The outbox still has all of them, and adding them again changes nothing. */
#include <assert.h>
#include <stdlib.h>

#include "history/driver.h"

#ifdef DUEPOST_MONGODB
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "history/mongo_parts.h"
#include "history/mongo_stream.h"

enum {
    IDS_BLOCK = 10000, /* numbers that are taken from the counter at once */
    CONNECT_MS = 5000, /* connectTimeoutMS, unless the url has it */
    WRITE_MS = 20000,  /* how long a write waits for the majority of a replica set */
    /* maximum size of a document, with room for an update around it */
    DOCUMENT_MAX = 16 * 1024 * 1024 - 1024,
};

/* ---- the library and the url ---- */

static void ignore_log(mongoc_log_level_t level, const char *domain, const char *message, void *arg)
{
    (void)level, (void)domain, (void)message, (void)arg;
}

/* The library is never cleaned up, because it cannot be started twice in a process, and a later driver may
 * need it. Its memory stays reachable. */
static void start_library(void)
{
    mongoc_log_set_handler(ignore_log, NULL); /* messages may show parts of a url */
    mongoc_init();
}

/* When libmongoc is loaded, before main, it makes a shared memory for its counters, named after the process,
 * and complains on stderr if the name exists. A killed process would leave the name behind for a later
 * process with its number. So the name is removed at once; the memory stays. */
__attribute__((constructor)) static void forget_counters(void)
{
    char name[32];
    snprintf(name, sizeof name, "/mongoc-%u", (unsigned)getpid());
    (void)shm_unlink(name);
}

static mongoc_uri_t *parse_url(const char *url)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bson_error_t error;
    pthread_once(&once, start_library);
    return mongoc_uri_new_with_error(url, &error);
}

enum status mongo_url_check(const char *url, bool *has_password, struct problem *problem)
{
    mongoc_uri_t *uri = parse_url(url);
    bool has_database = uri && mongoc_uri_get_database(uri), has_secret = false;
    *has_password = uri && mongoc_uri_get_password(uri);
    if (uri) {
        has_secret = mongoc_uri_has_option(uri, MONGOC_URI_TLSCERTIFICATEKEYFILEPASSWORD) ||
                     strcasestr(url, "AWS_SESSION_TOKEN");
        mongoc_uri_destroy(uri);
    }
    if (has_database && !has_secret)
        return STATUS_OK;
    if (has_database)
        problem_set(problem, "must not have a secret in its parameters, which duepost would show: neither "
                             "tlsCertificateKeyFilePassword nor AWS_SESSION_TOKEN");
    else
        problem_set(problem, "must be mongodb://[user[:password]@]host[:port]/database, perhaps with several "
                             "hosts and with parameters such as ?tls=true&tlsCAFile=FILE&replicaSet=NAME");
    return STATUS_INVALID;
}

/* ---- open and close ---- */

static void mongo_close(struct driver *driver)
{
    struct mongo *mongo = mongo_of(driver);
    mongo_drop_rows(mongo);
    if (!mongo->client)
        return;
    mongoc_collection_destroy(mongo->jobs);
    mongoc_collection_destroy(mongo->meta);
    mongoc_collection_destroy(mongo->audit);
    mongoc_client_destroy(mongo->client);
    mongo->client = NULL;
}

static void mongo_free(struct driver *driver)
{
    struct mongo *mongo = mongo_of(driver);
    mongo_close(driver);
    free(mongo->rows);
    explicit_bzero(mongo->url, strlen(mongo->url));
    free(mongo->url);
    free(mongo);
}

/* Reads are answered by the primary, because a job must be found as soon as it has left the outbox. Writes
 * are confirmed when the majority of a replica set has them in its journal. libmongoc must not repeat a call,
 * because the thread does so itself. */
static enum status mongo_open(struct driver *driver, struct problem *problem)
{
    struct mongo *mongo = mongo_of(driver);
    bson_error_t error;
    mongoc_uri_t *uri = parse_url(mongo->url);
    assert(uri); /* mongo_url_check has accepted it */
    mongoc_uri_set_option_as_bool(uri, MONGOC_URI_RETRYWRITES, false);
    mongoc_uri_set_option_as_bool(uri, MONGOC_URI_RETRYREADS, false);
    if (!mongoc_uri_has_option(uri, MONGOC_URI_CONNECTTIMEOUTMS))
        mongoc_uri_set_option_as_int32(uri, MONGOC_URI_CONNECTTIMEOUTMS, CONNECT_MS);
    if (!mongoc_uri_has_option(uri, MONGOC_URI_APPNAME))
        mongoc_uri_set_appname(uri, "duepost");
    mongo->client = mongoc_client_new_from_uri_with_error(uri, &error);
    if (!mongo->client) {
        mongoc_uri_destroy(uri);
        return mongo_failed(mongo, &error, problem);
    }
    mongoc_write_concern_t *writes = mongoc_write_concern_new();
    mongoc_read_prefs_t *reads = mongoc_read_prefs_new(MONGOC_READ_PRIMARY);
    mongoc_write_concern_set_wmajority(writes, WRITE_MS);
    mongoc_write_concern_set_journal(writes, true);
    mongoc_client_set_error_api(mongo->client, MONGOC_ERROR_API_VERSION_2);
    mongoc_client_set_write_concern(mongo->client, writes);
    mongoc_client_set_read_prefs(mongo->client, reads);
    mongo_stream_use(mongo->client, driver);
    const char *name = mongoc_uri_get_database(uri);
    mongo->jobs = mongoc_client_get_collection(mongo->client, name, "duepost_jobs");
    mongo->meta = mongoc_client_get_collection(mongo->client, name, "duepost_meta");
    mongo->audit = mongoc_client_get_collection(mongo->client, name, "duepost_audit");
    mongoc_read_prefs_destroy(reads);
    mongoc_write_concern_destroy(writes);
    mongoc_uri_destroy(uri);
    mongo->next_id = mongo->ids_end = 0;
    return mongo_run(mongo, BCON_NEW("ping", BCON_INT32(1)), NULL, problem);
}

/* ---- the collections ---- */

/* Reads a number of duepost_meta; 0: it has no such number. */
static enum status read_meta(const struct mongo *mongo, const char *name, int64_t *value,
                             struct problem *problem)
{
    const bson_t *document;
    mongoc_cursor_t *cursor =
        mongo_begin_read(mongo->meta, BCON_NEW("_id", BCON_UTF8(name)), mongo_options(mongo, NULL, 1));
    *value = mongoc_cursor_next(cursor, &document) ? mongo_number_of(document, "value") : 0;
    return mongo_end_read(mongo, cursor, problem);
}

static enum status mongo_find_version(struct driver *driver, int64_t *version, struct problem *problem)
{
    *version = 0;
    enum status status = mongo_open(driver, problem);
    return status == STATUS_OK ? read_meta(mongo_of(driver), "version", version, problem) : status;
}

/* Creates the indexes and the documents of duepost_meta; each is left as it is if it exists. Several
 * processes may do this at the same time. */
static enum status make_collections(struct mongo *mongo, struct problem *problem)
{
    bson_error_t error;
    bson_t *indexes = BCON_NEW("createIndexes", BCON_UTF8("duepost_jobs"), "indexes", "[", "{", "name",
                               BCON_UTF8("duepost_topic"), "key", "{", "topic", BCON_INT32(1), "outcome",
                               BCON_INT32(1), "ended_at", BCON_INT32(1), "id", BCON_INT32(1), "}", "}", "{",
                               "name", BCON_UTF8("duepost_outcome"), "key", "{", "outcome", BCON_INT32(1),
                               "ended_at", BCON_INT32(1), "id", BCON_INT32(1), "}", "}", "{", "name",
                               BCON_UTF8("duepost_labels"), "key", "{", "labels", BCON_INT32(1), "ended_at",
                               BCON_INT32(1), "id", BCON_INT32(1), "}", "}", "]");
    const struct {
        const char *name;
        int64_t value;
    } documents[] = {{"ids", 0}, {"audit", SCHEMA_TRAIL_VERSION}, {"version", SCHEMA_VERSION}};
    enum status status = mongo_run(mongo, indexes, NULL, problem);
    if (status == STATUS_OK)
        status = mongo_make_trail(mongo, problem);
    for (size_t i = 0; i < sizeof documents / sizeof *documents && status == STATUS_OK; i++) {
        bson_t *which = BCON_NEW("_id", BCON_UTF8(documents[i].name));
        bson_t *update = BCON_NEW("$setOnInsert", "{", "value", BCON_INT64(documents[i].value), "}");
        bson_t *options = BCON_NEW("upsert", BCON_BOOL(true));
        if (!mongoc_collection_update_one(mongo->meta, which, update, options, NULL, &error) &&
            error.code != MONGO_CODE_DUPLICATE)
            status = mongo_failed(mongo, &error, problem);
        bson_destroy(which);
        bson_destroy(update);
        bson_destroy(options);
    }
    return status;
}

/* If the collections already have this version, returns without creating anything, so the user needs no right
 * to create indexes. */
static enum status mongo_prepare(struct driver *driver, struct problem *problem)
{
    struct mongo *mongo = mongo_of(driver);
    int64_t version, audit = 0;
    enum status status = read_meta(mongo, "version", &version, problem);
    if (status == STATUS_OK)
        status = schema_check(version, problem);
    if (status == STATUS_OK)
        status = read_meta(mongo, "audit", &audit, problem);
    bool is_current = version == SCHEMA_VERSION && audit == SCHEMA_TRAIL_VERSION;
    return status == STATUS_OK && !is_current ? make_collections(mongo, problem) : status;
}

/* ---- rows ---- */

static enum status mongo_remove(struct driver *driver, const struct positions *at, struct problem *problem)
{
    const struct mongo *mongo = mongo_of(driver);
    bson_error_t error;
    bson_t *which = bson_new();
    mongo_put_keys(which, buffer_slice(&at->keys));
    bool is_done = mongoc_collection_delete_many(mongo->jobs, which, NULL, NULL, &error);
    bson_destroy(which);
    return is_done ? STATUS_OK : mongo_failed(mongo, &error, problem);
}

/* The size of all documents, which the server knows. Files do not shrink when documents are removed. */
static enum status mongo_measure(struct driver *driver, int64_t *bytes, struct problem *problem)
{
    bson_t reply;
    enum status status =
        mongo_run(mongo_of(driver), BCON_NEW("collStats", BCON_UTF8("duepost_jobs")), &reply, problem);
    *bytes = mongo_number_of(&reply, "size");
    bson_destroy(&reply);
    return status;
}

/* ---- appends ---- */

static enum status take_ids(struct mongo *mongo, struct problem *problem)
{
    bson_t reply;
    bson_t *command =
        BCON_NEW("findAndModify", BCON_UTF8("duepost_meta"), "query", "{", "_id", BCON_UTF8("ids"), "}",
                 "update", "{", "$inc", "{", "value", BCON_INT64(IDS_BLOCK), "}", "}", "new", BCON_BOOL(true),
                 "upsert", BCON_BOOL(true), "writeConcern", "{", "w", BCON_UTF8("majority"), "wtimeout",
                 BCON_INT32(WRITE_MS), "}");
    enum status status = mongo_run(mongo, command, &reply, problem);
    mongo->ids_end = mongo_number_of(&reply, "value.value");
    mongo->next_id = mongo->ids_end - IDS_BLOCK;
    bson_destroy(&reply);
    return status;
}

static enum status mongo_append_begin(struct driver *driver, struct problem *problem)
{
    (void)problem;
    mongo_drop_rows(mongo_of(driver));
    return STATUS_OK;
}

static void put_labels(bson_t *document, const struct history_parse *parse)
{
    bson_t array;
    char room[16];
    const char *name;
    bson_append_array_begin(document, "labels", -1, &array);
    for (size_t i = 0; i < parse->labels.count; i++) {
        bson_uint32_to_string((uint32_t)i, &name, room, sizeof room);
        mongo_put_text(&array, name, parse->labels.items[i]);
    }
    bson_uint32_to_string((uint32_t)parse->labels.count, &name, room, sizeof room);
    if (parse->lane.size)
        mongo_put_text(&array, name, parse->lane);
    bson_append_array_end(document, &array);
}

static enum status mongo_append(struct driver *driver, const struct history_parse *parse,
                                struct problem *problem)
{
    struct mongo *mongo = mongo_of(driver);
    const struct history_columns *columns = &parse->columns;
    struct column_value values[SCHEMA_COLUMN_COUNT];
    char id[MONGO_ID_SIZE];
    if (mongo->next_id == mongo->ids_end && take_ids(mongo, problem) != STATUS_OK)
        return STATUS_UNAVAILABLE;
    bson_t *document = mongo_add_row(mongo);
    mongo_put_text(document, "_id", mongo_write_id(id, columns->job_id, columns->topic, columns->created_at));
    mongo_put_number(document, "id", mongo->next_id++);
    schema_values(columns, values);
    for (size_t i = 0; i < SCHEMA_COLUMN_COUNT; i++) {
        if (strcmp(schema_names[i], "labels") == 0)
            put_labels(document, parse);
        else if (values[i].kind == COLUMN_NUMBER)
            mongo_put_number(document, schema_names[i], values[i].number);
        else if (values[i].kind == COLUMN_TEXT)
            mongo_put_text(document, schema_names[i], values[i].text);
        else
            bson_append_null(document, schema_names[i], -1);
    }
    if (document->len <= DOCUMENT_MAX)
        return STATUS_OK;
    problem_set(problem, "its texts are too large for a document of MongoDB, 16 MiB");
    return STATUS_INVALID;
}

/* Replaces the documents of rows that exist, if they do not have a later end. Their id stays. *count becomes
 * the number of documents that were replaced. */
static enum status update_rows(struct mongo *mongo, size_t *count, struct problem *problem)
{
    bson_error_t error;
    bson_t reply;
    bool is_sound = true;
    mongoc_bulk_operation_t *bulk = mongoc_collection_create_bulk_operation_with_opts(mongo->jobs, NULL);
    for (size_t i = 0; i < mongo->row_count && is_sound; i++) {
        bson_t members = BSON_INITIALIZER, update = BSON_INITIALIZER;
        bson_iter_t id;
        (void)bson_iter_init_find(&id, mongo->rows[i], "_id");
        bson_t *which = BCON_NEW("_id", BCON_UTF8(bson_iter_utf8(&id, NULL)), "ended_at", "{", "$lte",
                                 BCON_INT64(mongo_number_of(mongo->rows[i], "ended_at")), "}");
        bson_copy_to_excluding_noinit(mongo->rows[i], &members, "_id", "id", NULL);
        bson_append_document(&update, "$set", -1, &members);
        is_sound = mongoc_bulk_operation_update_one_with_opts(bulk, which, &update, NULL, &error);
        bson_destroy(&update);
        bson_destroy(&members);
        bson_destroy(which);
    }
    bson_init(&reply);
    if (is_sound) {
        bson_destroy(&reply);
        is_sound = mongoc_bulk_operation_execute(bulk, &reply, &error) != 0;
    }
    *count = (size_t)mongo_number_of(&reply, "nMatched");
    enum status status = is_sound ? STATUS_OK : mongo_write_failed(mongo, &reply, &error, problem);
    bson_destroy(&reply);
    mongoc_bulk_operation_destroy(bulk);
    return status;
}

/* Nearly all rows are new, so they are inserted at first. Rows that exist are replaced, unless they have a
 * later end. If some were not, they have a later end, or were removed a moment ago; then inserting them again
 * is right in both cases. */
static enum status mongo_append_end(struct driver *driver, struct problem *problem)
{
    struct mongo *mongo = mongo_of(driver);
    size_t replaced = 0;
    enum status status = mongo->row_count ? mongo_insert_rows(mongo, mongo->jobs, problem) : STATUS_OK;
    if (status == STATUS_OK && mongo->row_count)
        status = update_rows(mongo, &replaced, problem);
    if (status == STATUS_OK && mongo->row_count > replaced)
        status = mongo_insert_rows(mongo, mongo->jobs, problem);
    mongo_drop_rows(mongo);
    return status;
}

static const struct driver_kind mongo_kind = {
    .name = "mongodb",
    .find_version = mongo_find_version,
    .open = mongo_open,
    .close = mongo_close,
    .free = mongo_free,
    .prepare = mongo_prepare,
    .find = mongo_find,
    .count_prefix = mongo_count_prefix,
    .look = mongo_look,
    .fetch = mongo_fetch,
    .count = mongo_count,
    .plot = mongo_plot,
    .has_rows = mongo_has_rows,
    .note = mongo_note,
    .trail = mongo_trail,
    .forget = mongo_forget,
    .append_begin = mongo_append_begin,
    .append = mongo_append,
    .append_end = mongo_append_end,
    .remove = mongo_remove,
    .measure = mongo_measure,
};

struct driver *mongo_new(const char *url)
{
    struct mongo *mongo = NEW(struct mongo);
    mongo->driver.kind = &mongo_kind;
    mongo->url = slice_dup(slice_of(url));
    return &mongo->driver;
}

bool mongo_library(struct library *library)
{
    library_set(library, "libmongoc", mongoc_get_version());
    return true;
}

#else /* without libmongoc */

enum status mongo_url_check(const char *url, bool *has_password, struct problem *problem)
{
    (void)url;
    *has_password = false;
    problem_set(problem, "cannot be MongoDB, because this duepost was built without it. Build it again with "
                         "libmongoc (Debian's package libmongoc-dev)");
    return STATUS_INVALID;
}

struct driver *mongo_new(const char *url)
{
    (void)url;
    abort(); /* mongo_url_check refuses each url */
}

bool mongo_library(struct library *library)
{
    (void)library;
    return false;
}

#endif
