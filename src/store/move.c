/* move.c - reads all that a shard has as rows, and writes such rows to another Redis. */
#include <assert.h>

#include "base/memory.h"
#include "store/store_private.h"

enum {
    FIRST_ROW = 3, /* index of the first row in the reply of export.lua */
    ROW_HEAD = 2,  /* kind and name of a row, before its members */
};

/* ---- reading ---- */

/* Counts the texts of all rows. Returns false if export.lua cannot have sent these rows. */
static bool count_texts(const struct redis_reply *reply, size_t *count)
{
    *count = 0;
    for (size_t i = FIRST_ROW; i < redis_reply_size(reply); i++) {
        size_t size = redis_reply_size(redis_reply_at(reply, i));
        if (size < ROW_HEAD || (size - ROW_HEAD) % 2 != 0)
            return false;
        *count += size - ROW_HEAD;
    }
    return true;
}

static void read_rows(const struct redis_reply *reply, struct data_row *rows, struct slice *texts)
{
    for (size_t i = FIRST_ROW; i < redis_reply_size(reply); i++) {
        const struct redis_reply *row = redis_reply_at(reply, i);
        *rows++ = (struct data_row){.kind = redis_reply_text(redis_reply_at(row, 0)),
                                    .name = redis_reply_text(redis_reply_at(row, 1)),
                                    .members = texts,
                                    .count = (redis_reply_size(row) - ROW_HEAD) / 2};
        for (size_t n = ROW_HEAD; n < redis_reply_size(row); n++)
            *texts++ = redis_reply_text(redis_reply_at(row, n));
    }
}

static void export_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct store_rows found = {.count = 0};
    struct data_row *rows = NULL;
    struct slice *texts = NULL;
    size_t count = 0;
    if (status == STATUS_OK && (redis_reply_size(reply) < FIRST_ROW || !count_texts(reply, &count)))
        status = reply_refuse("export");
    if (status == STATUS_OK) {
        found.place = redis_reply_text(redis_reply_at(reply, 1));
        found.unpaused = redis_reply_integer(redis_reply_at(reply, 2));
        found.count = redis_reply_size(reply) - FIRST_ROW;
        rows = NEW_ARRAY(struct data_row, found.count + 1);
        texts = NEW_ARRAY(struct slice, count + 1);
        read_rows(reply, rows, texts);
        found.rows = rows;
    }
    CALL_FN(call, store_export_fn)(call->arg, status, &found);
    free(rows);
    free(texts);
}

void store_export(struct store *store, size_t part, struct slice place, size_t max, store_export_fn *fn,
                  void *arg)
{
    bool is_common = part == 0;
    assert(part <= store_shards(store));
    struct shard *shard = store_shard(store, is_common ? store_patterns_shard(store) : part - 1);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_EXPORT, shard->reads, export_end, ANY_FN(fn), arg);
    store_call_text(call, place);
    store_call_text(call, is_common ? SLICE("common") : SLICE("shard"));
    store_call_number(call, (int64_t)max);
    store_call_send(call);
}

/* ---- writing ---- */

static void import_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct slice word, why, text = redis_reply_text(result);
    enum status end = status;
    slice_cut(text, ' ', &word, &why);
    if (status_is_done(status)) {
        if (slice_equal(word, SLICE("same")))
            end = status == STATUS_OK ? STATUS_SAME : status;
        else if (slice_equal(word, SLICE("exists")))
            end = STATUS_EXISTS;
        else if (slice_equal(word, SLICE("refused")))
            end = STATUS_INVALID;
        else if (!slice_equal(word, SLICE("imported")))
            end = reply_refuse("import");
    }
    CALL_FN(call, store_import_fn)(call->arg, end, why);
}

void store_import(struct store *store, const struct data_row *row, store_import_fn *fn, void *arg)
{
    struct slice head, rest;
    slice_cut(row->name, '\n', &head, &rest); /* the name of a key begins with its topic and a newline */
    bool is_limit = slice_equal(row->kind, SLICE("limit"));
    struct shard *shard = is_limit ? store_shard(store, 0) : store_shard_of(store, head);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_IMPORT, import_end, ANY_FN(fn), arg);
    store_call_text(call, row->kind);
    store_call_text(call, row->name);
    store_call_number(call, (int64_t)row->count);
    for (size_t i = 0; i < 2 * row->count; i++)
        store_call_text(call, row->members[i]);
    call->bytes += BATCH_ROW_WEIGHT + row->count * BATCH_MEMBER_WEIGHT;
    store_call_send(call);
}
