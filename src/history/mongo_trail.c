#ifdef DUEPOST_MONGODB
/* mongo_trail.c - lines of the audit log in MongoDB: the collection duepost_audit, see trail.h. A line's _id
 * is its id. */
#include "history/mongo_parts.h"

#include <stdlib.h>

#include "base/memory.h"
#include "history/trail.h"

enum status mongo_make_trail(struct mongo *mongo, struct problem *problem)
{
    bson_t *indexes = BCON_NEW(
        "createIndexes", BCON_UTF8("duepost_audit"), "indexes", "[", "{", "name", BCON_UTF8("duepost_at"),
        "key", "{", "at", BCON_INT32(1), "_id", BCON_INT32(1), "}", "}", "{", "name",
        BCON_UTF8("duepost_who"), "key", "{", "who", BCON_INT32(1), "at", BCON_INT32(1), "_id", BCON_INT32(1),
        "}", "}", "{", "name", BCON_UTF8("duepost_action"), "key", "{", "action", BCON_INT32(1), "at",
        BCON_INT32(1), "_id", BCON_INT32(1), "}", "}", "{", "name", BCON_UTF8("duepost_topic"), "key", "{",
        "topic", BCON_INT32(1), "at", BCON_INT32(1), "_id", BCON_INT32(1), "}", "}", "]");
    return mongo_run(mongo, indexes, NULL, problem);
}

enum status mongo_note(struct driver *driver, const struct trail_line *lines, size_t count,
                       struct problem *problem)
{
    struct mongo *mongo = mongo_of(driver);
    for (size_t i = 0; i < count; i++) {
        bson_t *document = mongo_add_row(mongo);
        mongo_put_text(document, "_id", lines[i].id);
        mongo_put_number(document, "at", lines[i].at_ms);
        mongo_put_text(document, "who", lines[i].who);
        mongo_put_text(document, "action", lines[i].action);
        if (lines[i].topic.size)
            mongo_put_text(document, "topic", lines[i].topic);
        mongo_put_text(document, "line", lines[i].json);
    }
    return count ? mongo_insert_rows(mongo, mongo->audit, problem) : STATUS_OK;
}

static const char *put_conditions(bson_t *which, const struct trail_query *trail)
{
    const char *index = "duepost_at";
    if (trail->after.is_set)
        BCON_APPEND(which, "at", "{", "$gte", BCON_INT64(trail->from_ms), "$lte",
                    BCON_INT64(trail->after.at_ms), "}", "$or", "[", "{", "at", "{", "$lt",
                    BCON_INT64(trail->after.at_ms), "}", "}", "{", "at", BCON_INT64(trail->after.at_ms),
                    "_id", "{", "$lt", BCON_UTF8(trail->after.id), "}", "}", "]");
    else
        BCON_APPEND(which, "at", "{", "$gte", BCON_INT64(trail->from_ms), "$lt",
                    BCON_INT64(trail->to_ms ? trail->to_ms : INT64_MAX), "}");
    if (trail->action.size) {
        mongo_put_text(which, "action", trail->action);
        index = "duepost_action";
    }
    if (trail->topic.size) {
        mongo_put_text(which, "topic", trail->topic);
        index = "duepost_topic";
    }
    if (trail->who.size) {
        mongo_put_text(which, "who", trail->who);
        index = "duepost_who";
    }
    return index;
}

static struct slice text_at(const bson_t *document, const char *name)
{
    bson_iter_t at;
    return bson_iter_init_find(&at, document, name) ? mongo_text_of(&at) : (struct slice){NULL, 0};
}

enum status mongo_trail(struct driver *driver, const struct trail_query *trail, struct trail_rows *rows,
                        struct problem *problem)
{
    struct mongo *mongo = mongo_of(driver);
    const bson_t *document;
    bson_t *which = bson_new();
    const char *index = put_conditions(which, trail);
    bson_t *options = mongo_options(mongo, index, (int64_t)trail->max);
    BCON_APPEND(options, "sort", "{", "at", BCON_INT32(-1), "_id", BCON_INT32(-1), "}");
    mongoc_cursor_t *cursor = mongo_begin_read(mongo->audit, which, options);
    while (mongoc_cursor_next(cursor, &document) &&
           trail_rows_add(rows, mongo_number_of(document, "at"), text_at(document, "_id"),
                          text_at(document, "line")))
        ;
    return mongo_end_read(mongo, cursor, problem);
}

/* Returns the time of the document at this place of the order; 0: the order ends before it. */
static enum status time_at(struct mongo *mongo, bson_t *which, int way, int64_t place, int64_t *at_ms,
                           struct problem *problem)
{
    const bson_t *document;
    bson_t *options = mongo_options(mongo, "duepost_at", 1);
    mongo_put_number(options, "skip", place);
    BCON_APPEND(options, "sort", "{", "at", BCON_INT32(way), "_id", BCON_INT32(way), "}");
    mongoc_cursor_t *cursor = mongo_begin_read(mongo->audit, which, options);
    *at_ms = mongoc_cursor_next(cursor, &document) ? mongo_number_of(document, "at") : 0;
    return mongo_end_read(mongo, cursor, problem);
}

enum status mongo_forget(struct driver *driver, int64_t before_ms, bool *has_more, struct problem *problem)
{
    struct mongo *mongo = mongo_of(driver);
    int64_t beyond_ms = 0, step_ms = 0;
    bson_error_t error;
    enum status status = time_at(mongo, bson_new(), -1, HISTORY_LINES_MAX, &beyond_ms, problem);
    if (status == STATUS_OK && beyond_ms + 1 > before_ms)
        before_ms = beyond_ms + 1;
    *has_more = false;
    if (status != STATUS_OK || before_ms <= 1)
        return status;
    status = time_at(mongo, BCON_NEW("at", "{", "$lt", BCON_INT64(before_ms), "}"), 1, HISTORY_DELETE_MAX,
                     &step_ms, problem);
    if (status != STATUS_OK)
        return status;
    *has_more = step_ms > 0;
    /* At least the lines of one ms are removed, so the steps come to an end. */
    bson_t *old = BCON_NEW("at", "{", "$lt", BCON_INT64(step_ms ? step_ms + 1 : before_ms), "}");
    bool is_done = mongoc_collection_delete_many(mongo->audit, old, NULL, NULL, &error);
    bson_destroy(old);
    return is_done ? STATUS_OK : mongo_failed(mongo, &error, problem);
}

#endif
