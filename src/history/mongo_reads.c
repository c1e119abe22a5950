#ifdef DUEPOST_MONGODB
#include "history/mongo_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
    COUNT_ROWS_MAX =
        200000,         /* documents of an outcome that a count reads, because they come over the network */
    TIMES_ROWS = 50000, /* times of jobs in one answer */
    LABELS_BYTES = 1024 * 1024,
    OUTCOMES = 3,
};

#define AFTER_DIGITS ":" /* sorts after all digits */

/* ---- windows ---- */

static void put_order(bson_t *options, bool is_newest_first)
{
    BCON_APPEND(options, "sort", "{", "ended_at", BCON_INT32(is_newest_first ? -1 : 1), "id",
                BCON_INT32(is_newest_first ? -1 : 1), "}");
}

/* Adds the condition that ended_at and id come after the window's beginning, and before the filter's other
 * limit of time. The first pair limits the part of the index that is read. */
static void put_range(bson_t *filter, const struct window *window)
{
    const struct history_cursor begin = window_begin(window);
    int64_t before_ms = window->filter.before_ms ? window->filter.before_ms : INT64_MAX;
    const char *way = window->is_newest_first ? "$lt" : "$gt";
    if (window->is_newest_first && begin.is_set)
        BCON_APPEND(filter, "ended_at", "{", "$gte", BCON_INT64(window->filter.after_ms), "$lte",
                    BCON_INT64(begin.ended_ms), "}");
    else
        BCON_APPEND(filter, "ended_at", "{", "$gte",
                    BCON_INT64(begin.is_set ? begin.ended_ms : window->filter.after_ms), "$lt",
                    BCON_INT64(before_ms), "}");
    if (begin.is_set)
        BCON_APPEND(filter, "$or", "[", "{", "ended_at", "{", way, BCON_INT64(begin.ended_ms), "}", "}", "{",
                    "ended_at", BCON_INT64(begin.ended_ms), "id", "{", way, BCON_INT64(begin.row), "}", "}",
                    "]");
}

/* Adds the condition that _id begins with a prefix. end is the text after it which is larger than all that
 * may follow. */
static void put_prefix(bson_t *filter, struct slice prefix, const char *end)
{
    char *last = memory_new(prefix.size + strlen(end) + 1);
    bson_t range;
    memcpy(last, prefix.data, prefix.size);
    strcpy(last + prefix.size, end);
    bson_append_document_begin(filter, "_id", -1, &range);
    mongo_put_text(&range, "$gte", prefix);
    mongo_put_text(&range, "$lte", slice_of(last));
    bson_append_document_end(filter, &range);
    free(last);
}

/* Adds the conditions of a window's rows: those with this outcome, unless the window is by prefix or label.
 * *index becomes the index that has them in their order. */
static void put_window(bson_t *which, const struct window *window, enum job_state state, const char **index)
{
    const struct job_filter *filter = &window->filter;
    struct slice others;
    if (window->is_by_prefix) {
        put_prefix(which, filter->id_prefix, WINDOW_LARGEST);
        *index = "_id_";
    } else if (filter->labels.size) {
        mongo_put_text(which, "labels", window_label(window, &others));
        *index = "duepost_labels";
    } else {
        if (filter->topic.size)
            mongo_put_text(which, "topic", filter->topic);
        mongo_put_text(which, "outcome", slice_of(job_state_word(state)));
        *index = filter->topic.size ? "duepost_topic" : "duepost_outcome";
    }
    put_range(which, window);
}

/* Begins the read of one part of a window: the jobs with this outcome, unless the window is by prefix or
 * label. fields: the members that are read. */
static mongoc_cursor_t *look_at(const struct mongo *mongo, const struct window *window, enum job_state state,
                                const char *const *fields)
{
    bson_t projection = BSON_INITIALIZER;
    const char *index;
    bson_t *which = bson_new();
    put_window(which, window, state, &index);
    bson_t *options = mongo_options(mongo, index, window->rows_max);
    put_order(options, window->is_newest_first);
    while (*fields)
        bson_append_int32(&projection, *fields++, -1, 1);
    bson_append_document(options, "projection", -1, &projection);
    bson_destroy(&projection);
    return mongo_begin_read(mongo->jobs, which, options);
}

static bool has_label(const bson_t *document, struct slice label)
{
    bson_iter_t at, item;
    bool has = bson_iter_init_find(&at, document, "labels") && BSON_ITER_HOLDS_ARRAY(&at) &&
               bson_iter_recurse(&at, &item);
    while (has && bson_iter_next(&item)) {
        struct slice text = mongo_text_of(&item);
        if (label.size ? slice_equal(text, label) : slice_starts_with(text, SLICE(HISTORY_LANE)))
            return true;
    }
    return false;
}

/* Returns whether the document meets the conditions that the window's index does not cover. */
static bool is_match(const struct window *window, const bson_t *document, enum job_state *outcome)
{
    struct buffer no_labels = buffer_of((char[1]){""}, 1);
    struct history_columns columns;
    struct slice label, rest = window->filter.labels;
    mongo_read_document(document, &no_labels, &columns);
    *outcome = columns.outcome;
    if (!window->is_by_prefix)
        (void)window_label(window, &rest);
    while (rest.size) {
        slice_cut(rest, '\n', &label, &rest);
        if (!has_label(document, label))
            return false;
    }
    if (window->filter.has_key && has_label(document, SLICE("")))
        return false;
    return window_meets(window, &columns);
}

static const char *const position_fields[] = {"id", "ended_at", "bytes", NULL};
static const char *const condition_fields[] = {"id",  "ended_at", "bytes",  "topic", "job_id", "outcome",
                                               "url", "reason",   "status", "error", "labels", NULL};

/* Begins the reads of a window: one for each outcome, or only one. Returns their number. */
static size_t begin_look(const struct mongo *mongo, const struct window *window, const char *const *fields,
                         mongoc_cursor_t *cursors[OUTCOMES])
{
    unsigned states = window_states(&window->filter);
    size_t count = 0;
    if (window->is_by_prefix || window->filter.labels.size) {
        cursors[count++] = look_at(mongo, window, JOB_STATE_DEAD, fields);
        return count;
    }
    for (enum job_state state = JOB_STATE_DEAD; state <= JOB_STATE_CANCELLED; state++)
        if (states & 1u << state)
            cursors[count++] = look_at(mongo, window, state, fields);
    return count;
}

/* Ends the reads. Returns the first error. */
static enum status end_look(const struct mongo *mongo, mongoc_cursor_t **cursors, size_t count,
                            struct problem *problem)
{
    enum status status = STATUS_OK;
    struct problem other;
    for (size_t i = 0; i < count; i++) {
        enum status one = mongo_end_read(mongo, cursors[i], status == STATUS_OK ? problem : &other);
        status = status == STATUS_OK ? one : status;
    }
    return status;
}

static bool comes_first(const bson_t *a, const bson_t *b, bool is_newest_first)
{
    int64_t a_ms = mongo_number_of(a, "ended_at"), b_ms = mongo_number_of(b, "ended_at");
    bool is_less = a_ms != b_ms ? a_ms < b_ms : mongo_number_of(a, "id") < mongo_number_of(b, "id");
    return is_newest_first ? !is_less : is_less;
}

/* Adds a document of the window. Returns false if no further one is wanted. */
static bool take_position(struct positions *at, const struct window *window, const bson_t *document)
{
    size_t count = at->count;
    enum job_state ignored;
    bson_iter_t id;
    bool matches = window_is_covered(window) || is_match(window, document, &ignored);
    bool wants_more =
        positions_add(at, mongo_number_of(document, "ended_at"), mongo_number_of(document, "id"),
                      mongo_number_of(document, "bytes"), matches);
    if (at->count > count && bson_iter_init_find(&id, document, "_id")) {
        buffer_append(&at->keys, mongo_text_of(&id));
        buffer_append_byte(&at->keys, '\0');
    }
    return wants_more && at->seen < window->rows_max;
}

/* Merges the documents of all outcomes. */
enum status mongo_look(struct driver *driver, const struct window *window, struct positions *at,
                       struct problem *problem)
{
    const struct mongo *mongo = mongo_of(driver);
    mongoc_cursor_t *cursors[OUTCOMES];
    const bson_t *next[OUTCOMES]; /* the next document of each cursor; NULL: it has no more */
    size_t count =
        begin_look(mongo, window, window_is_covered(window) ? position_fields : condition_fields, cursors);
    for (size_t i = 0; i < count; i++)
        if (!mongoc_cursor_next(cursors[i], &next[i]))
            next[i] = NULL;
    for (bool wants_more = true; wants_more;) {
        size_t first = count;
        for (size_t i = 0; i < count; i++)
            if (next[i] && (first == count || comes_first(next[i], next[first], window->is_newest_first)))
                first = i;
        wants_more = first < count && take_position(at, window, next[first]);
        if (wants_more && !mongoc_cursor_next(cursors[first], &next[first])) {
            bson_error_t error;
            next[first] = NULL;
            wants_more = !mongoc_cursor_error(cursors[first], &error);
        }
    }
    return end_look(mongo, cursors, count, problem);
}

enum status mongo_count_prefix(struct driver *driver, struct slice prefix, int64_t *count,
                               struct problem *problem)
{
    const struct mongo *mongo = mongo_of(driver);
    bson_error_t error;
    bson_t *which = bson_new(), *options = mongo_options(mongo, "_id_", 0);
    put_prefix(which, prefix, WINDOW_LARGEST);
    mongo_put_number(options, "limit", WINDOW_PREFIX_MAX + 1);
    *count = mongoc_collection_count_documents(mongo->jobs, which, options, NULL, NULL, &error);
    bson_destroy(which);
    bson_destroy(options);
    return *count >= 0 ? STATUS_OK : mongo_failed(mongo, &error, problem);
}

/* ---- counts ---- */

/* Counts the documents of each outcome; the server only reads an index. */
static enum status count_covered(const struct mongo *mongo, const struct window *window,
                                 struct outcome_counts *counts, struct problem *problem)
{
    enum status status = STATUS_OK;
    unsigned states = window_states(&window->filter);
    for (enum job_state state = JOB_STATE_DEAD; state <= JOB_STATE_CANCELLED && status == STATUS_OK;
         state++) {
        bson_error_t error;
        const char *index;
        if (!(states & 1u << state))
            continue;
        bson_t *which = bson_new();
        put_window(which, window, state, &index);
        bson_t *options = mongo_options(mongo, index, 0);
        int64_t count = mongoc_collection_count_documents(mongo->jobs, which, options, NULL, NULL, &error);
        if (count >= 0)
            *outcome_count(counts, state) = count;
        else
            status = mongo_failed(mongo, &error, problem);
        bson_destroy(which);
        bson_destroy(options);
    }
    return status;
}

enum status mongo_count(struct driver *driver, const struct window *window, struct outcome_counts *counts,
                        struct problem *problem)
{
    const struct mongo *mongo = mongo_of(driver);
    struct window bounded = *window;
    mongoc_cursor_t *cursors[OUTCOMES];
    const bson_t *document;
    if (window_is_covered(window))
        return count_covered(mongo, window, counts, problem);
    bounded.rows_max = window->rows_max < COUNT_ROWS_MAX ? window->rows_max : COUNT_ROWS_MAX;
    size_t count = begin_look(mongo, &bounded, condition_fields, cursors);
    for (size_t i = 0; i < count; i++) {
        int64_t seen = 0;
        enum job_state outcome;
        for (; mongoc_cursor_next(cursors[i], &document); seen++)
            if (is_match(window, document, &outcome))
                ++*outcome_count(counts, outcome);
        counts->is_partial |= seen >= bounded.rows_max;
    }
    return end_look(mongo, cursors, count, problem);
}

/* The server only reads an index, and sends the time of each job: it would need aggregation for the steps. */
enum status mongo_plot(struct driver *driver, const struct outcome_steps *stats, struct outcome_counts *steps,
                       size_t step_count, struct problem *problem)
{
    const struct mongo *mongo = mongo_of(driver);
    const struct window window = {
        .filter = {.topic = stats->topic, .after_ms = stats->from_ms, .before_ms = stats->to_ms},
        .rows_max = INT64_MAX};
    enum status status = STATUS_OK;
    for (enum job_state state = JOB_STATE_DEAD; state <= JOB_STATE_CANCELLED && status == STATUS_OK;
         state++) {
        const char *index;
        const bson_t *document;
        bson_t *which = bson_new();
        put_window(which, &window, state, &index);
        bson_t *options = mongo_options(mongo, index, 0);
        mongo_put_number(options, "batchSize", TIMES_ROWS);
        BCON_APPEND(options, "projection", "{", "_id", BCON_INT32(0), "ended_at", BCON_INT32(1), "}");
        mongoc_cursor_t *cursor = mongo_begin_read(mongo->jobs, which, options);
        while (mongoc_cursor_next(cursor, &document)) {
            int64_t step = (mongo_number_of(document, "ended_at") - stats->from_ms) / stats->step_ms;
            if (step >= 0 && step < (int64_t)step_count)
                ++*outcome_count(&steps[step], state);
        }
        status = mongo_end_read(mongo, cursor, problem);
    }
    return status;
}

/* ---- rows ---- */

/* Returns the place of the key, or count if it is not there. */
static size_t find_key(struct slice keys, size_t count, struct slice key)
{
    for (size_t i = 0; i < count; i++) {
        struct slice one;
        slice_cut(keys, '\0', &one, &keys);
        if (slice_equal(one, key))
            return i;
    }
    return count;
}

/* Reads the rows with these keys. They come in the order of the keys, although the server does not sort them:
 * its memory for sorting is limited, and their texts may be long. */
static enum status fetch_keys(const struct mongo *mongo, struct slice keys, size_t count, bool has_bodies,
                              struct read_rows *rows, struct problem *problem)
{
    struct read_rows *found = NEW_ARRAY(struct read_rows, count);
    struct buffer labels;
    const bson_t *document;
    bson_t *which = bson_new(), *options = mongo_options(mongo, "_id_", (int64_t)count);
    buffer_init(&labels, LABELS_BYTES);
    mongo_put_keys(which, keys);
    if (!has_bodies)
        BCON_APPEND(options, "projection", "{", "body", BCON_INT32(0), "}");
    mongoc_cursor_t *cursor = mongo_begin_read(mongo->jobs, which, options);
    while (mongoc_cursor_next(cursor, &document)) {
        struct history_columns columns;
        bson_iter_t id;
        size_t place =
            bson_iter_init_find(&id, document, "_id") ? find_key(keys, count, mongo_text_of(&id)) : count;
        if (place == count || found[place].count)
            continue;
        mongo_read_document(document, &labels, &columns);
        read_rows_add(&found[place], &columns);
    }
    enum status status = mongo_end_read(mongo, cursor, problem);
    for (size_t i = 0; i < count; i++)
        read_rows_take(rows, &found[i]);
    free(found);
    buffer_fini(&labels);
    return status;
}

enum status mongo_fetch(struct driver *driver, const struct history_list *list, const struct positions *at,
                        struct read_rows *rows, struct problem *problem)
{
    return fetch_keys(mongo_of(driver), buffer_slice(&at->keys), at->count, list->has_bodies, rows, problem);
}

enum status mongo_find(struct driver *driver, struct slice topic, struct slice job_id, struct read_rows *rows,
                       struct problem *problem)
{
    const struct mongo *mongo = mongo_of(driver);
    char prefix[MONGO_ID_SIZE];
    struct buffer key;
    const bson_t *document;
    int64_t last_ms = -1;
    bson_t *which = bson_new(), *options = mongo_options(mongo, "_id_", SAME_ID_MAX);
    buffer_init(&key, MONGO_ID_SIZE);
    put_prefix(which, mongo_write_id(prefix, job_id, topic, -1), AFTER_DIGITS);
    BCON_APPEND(options, "sort", "{", "_id", BCON_INT32(-1), "}", "projection", "{", "ended_at",
                BCON_INT32(1), "}");
    mongoc_cursor_t *cursor = mongo_begin_read(mongo->jobs, which, options);
    while (mongoc_cursor_next(cursor, &document)) {
        bson_iter_t id;
        int64_t ended_ms = mongo_number_of(document, "ended_at");
        if (ended_ms <= last_ms || !bson_iter_init_find(&id, document, "_id"))
            continue;
        last_ms = ended_ms;
        buffer_clear(&key);
        buffer_append(&key, mongo_text_of(&id));
        buffer_append_byte(&key, '\0');
    }
    enum status status = mongo_end_read(mongo, cursor, problem);
    if (status == STATUS_OK && key.size)
        status = fetch_keys(mongo, buffer_slice(&key), 1, true, rows, problem);
    buffer_fini(&key);
    return status;
}

enum status mongo_has_rows(struct driver *driver, bool *has_rows, struct problem *problem)
{
    const struct mongo *mongo = mongo_of(driver);
    const bson_t *document;
    mongoc_cursor_t *cursor = mongo_begin_read(mongo->jobs, bson_new(), mongo_options(mongo, NULL, 1));
    *has_rows = mongoc_cursor_next(cursor, &document);
    return mongo_end_read(mongo, cursor, problem);
}

#endif
