#include "app/move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/app_private.h"
#include "base/encoding.h"
#include "base/log.h"
#include "base/memory.h"
#include "job/job_id.h"
#include "job/topic/topic_patterns.h"
#include "job/topic/topic_settings.h"

/* ---- kinds ---- */

const char *app_row_word(enum app_row_kind kind)
{
    static const char *const words[] = {
#define WORD(name, word) [APP_ROW_##name] = word,
        APP_ROWS(WORD)
#undef WORD
    };
    return words[kind];
}

enum app_row_kind app_row_kind(struct slice word)
{
    int kind = 0;
    while (kind < APP_ROWS_COUNT && !slice_equal(word, slice_of(app_row_word((enum app_row_kind)kind))))
        kind++;
    return (enum app_row_kind)kind;
}

static struct slice member_of(const struct data_row *row, struct slice name)
{
    for (size_t i = 0; i < row->count; i++)
        if (slice_equal(row->members[2 * i], name))
            return row->members[2 * i + 1];
    return SLICE("");
}

bool app_row_is_moving(const struct data_row *row)
{
    return app_row_kind(row->kind) == APP_ROW_JOB &&
           slice_equal(member_of(row, SLICE("place")), SLICE("leased"));
}

/* ---- cursors: "part:moving:unpaused:rows of each kind:place" in base64url ---- */

static void cursor_write_export(struct buffer *text, const struct app_export *export)
{
    char room[APP_EXPORT_CURSOR_MAX];
    struct buffer plain = buffer_of(room, sizeof room);
    buffer_printf(&plain, "%zu:%lld:%lld:", export->part, (long long)export->moving,
                  (long long)export->unpaused);
    for (int kind = 0; kind < APP_ROWS_COUNT; kind++)
        buffer_printf(&plain, "%lld:", (long long)export->rows[kind]);
    buffer_append(&plain, export->place);
    base64url_append(text, buffer_slice(&plain));
}

static bool take_count(struct slice *text, uint64_t max, int64_t *count)
{
    struct slice digits;
    uint64_t number;
    if (!slice_cut(*text, ':', &digits, text) || !slice_to_number(digits, max, &number))
        return false;
    *count = (int64_t)number;
    return true;
}

bool app_export_parse(const struct app *app, struct slice cursor, struct app_export *export)
{
    char room[APP_EXPORT_CURSOR_MAX];
    struct buffer plain = buffer_of(room, sizeof room);
    int64_t part;
    *export = (struct app_export){.part = 0};
    if (!base64url_decode(cursor, &plain))
        return false;
    struct slice rest = buffer_slice(&plain);
    if (!take_count(&rest, store_shards(app->store), &part) ||
        !take_count(&rest, INT64_MAX, &export->moving) || !take_count(&rest, INT64_MAX, &export->unpaused))
        return false;
    for (int kind = 0; kind < APP_ROWS_COUNT; kind++)
        if (!take_count(&rest, INT64_MAX, &export->rows[kind]))
            return false;
    if (rest.size > sizeof export->room)
        return false;
    if (rest.size)
        memcpy(export->room, rest.data, rest.size);
    export->part = (size_t)part;
    export->place = slice_from(export->room, rest.size);
    return true;
}

bool app_export_is_consistent(const struct app *app, const struct app_export *export)
{
    return export->moving == 0 && (export->unpaused == 0 || app->max_in_flight == 0);
}

/* ---- export ---- */

struct page_call {
    struct app *app;
    const struct app_caller *caller;
    struct app_export *export;
    size_t left, bytes, lines;
    app_row_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

static void read_rows(struct page_call *);

static void audit_export(const struct app_caller *caller, size_t lines, bool is_over)
{
    audit_write(caller, &(struct audit_line){.event = "exported",
                                             .kind = "data",
                                             .outcome = "done",
                                             .part = is_over ? "last" : "page",
                                             .numbers = {{"lines", (int64_t)lines}}});
}

static void end_page(struct page_call *call)
{
    char room[2 * APP_EXPORT_CURSOR_MAX];
    struct buffer cursor = buffer_of(room, sizeof room);
    if (!call->export->is_over)
        cursor_write_export(&cursor, call->export);
    audit_export(call->caller, call->lines, call->export->is_over);
    call->fn(call->arg, &(struct app_verdict){.end = STATUS_OK, .page = {.cursor = buffer_slice(&cursor)}});
    free(call);
}

static void take_row(struct page_call *call, const struct data_row *row)
{
    enum app_row_kind kind = app_row_kind(row->kind);
    if (kind == APP_ROWS_COUNT)
        return; /* not written by export.lua */
    call->export->rows[kind]++;
    call->export->moving += app_row_is_moving(row);
    for (size_t i = 0; i < 2 * row->count; i++)
        call->bytes += row->members[i].size;
    call->lines++;
    call->left--;
    call->each(call->arg, row);
}

/* Keeps where the next step begins. Returns false if the place is too long, which export.lua never writes. */
static bool keep_place(struct app_export *export, const struct app *app, struct slice place)
{
    if (place.size > sizeof export->room)
        return false;
    if (place.size)
        memcpy(export->room, place.data, place.size);
    export->place = slice_from(export->room, place.size);
    export->part += place.size == 0;
    export->is_over = export->part > store_shards(app->store);
    return true;
}

static void on_rows(void *arg, enum status status, const struct store_rows *found)
{
    struct page_call *call = arg;
    for (size_t i = 0; status == STATUS_OK && i < found->count; i++)
        take_row(call, &found->rows[i]);
    if (status == STATUS_OK && !keep_place(call->export, call->app, found->place))
        status = STATUS_UNAVAILABLE;
    if (status != STATUS_OK) {
        use_case_end(call->app, SLICE(""), status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status, NULL,
                     call->fn, call->arg);
        free(call);
        return;
    }
    call->export->unpaused += found->unpaused;
    if (call->export->is_over || call->left == 0 || call->bytes >= APP_EXPORT_BYTES)
        end_page(call);
    else
        read_rows(call);
}

static void read_rows(struct page_call *call)
{
    store_export(call->app->store, call->export->part, call->export->place, call->left, on_rows, call);
}

void app_export_page(struct app *app, const struct app_caller *caller, struct app_export *export, size_t max,
                     app_row_fn *each, app_verdict_fn *fn, void *arg)
{
    struct page_call *call = NEW(struct page_call);
    *call = (struct page_call){
        .app = app, .caller = caller, .export = export, .left = max, .each = each, .fn = fn, .arg = arg};
    read_rows(call);
}

struct counts_call {
    struct app *app;
    app_export_counts_fn *fn;
    void *arg;
};

static void on_counts(void *arg, enum status status, const struct store_counts *found)
{
    struct counts_call *call = arg;
    struct problem why;
    if (status == STATUS_OK) {
        struct app_export_counts counts = {.shards = store_shards(call->app->store),
                                           .jobs = found->jobs,
                                           .leased = found->leased,
                                           .ended = found->kept,
                                           .outbox = found->outbox,
                                           .now_ms = app_now_ms(call->app)};
        call->fn(call->arg, &(struct app_verdict){.end = STATUS_OK}, &counts);
    } else {
        struct app_verdict verdict = use_case_verdict(call->app, SLICE(""), STATUS_UNAVAILABLE, &why);
        call->fn(call->arg, &verdict, NULL);
    }
    free(call);
}

void app_export_counts(struct app *app, app_export_counts_fn *fn, void *arg)
{
    struct counts_call *call = NEW(struct counts_call);
    *call = (struct counts_call){app, fn, arg};
    store_audit(app->store, on_counts, call);
}

/* ---- import of a pattern ---- */

/* A pattern's text has the settings of shorter patterns, too, and the target may have other ones. So only the
 * pattern's own settings are taken from the row, and the texts of all patterns are written anew. */

enum { TRIES_MAX = 5 };

struct pattern_import {
    struct app *app;
    struct slice name, text;
    struct buffer own;       /* settings of the row */
    struct pattern_set *set; /* patterns of the target */
    struct store_pattern written[STORE_PATTERNS_MAX];
    int tries;
    app_verdict_fn *fn;
    void *arg;
};

static void read_patterns(struct pattern_import *);

/* Ends the import of a row with INVALID. */
static void refuse_row(const char *why, app_verdict_fn *fn, void *arg)
{
    use_case_refuse_field("", why, fn, arg);
}

static void pattern_free(struct pattern_import *import)
{
    pattern_set_fini(import->set);
    free(import->set);
    buffer_fini(&import->own);
    free(import);
}

static void pattern_end(struct pattern_import *import, enum status status, const char *why)
{
    if (why)
        refuse_row(why, import->fn, import->arg);
    else if (status == STATUS_SAME || status == STATUS_EXISTS)
        use_case_refuse(status, import->fn, import->arg);
    else
        use_case_end(import->app, SLICE(""), status, NULL, import->fn, import->arg);
    pattern_free(import);
}

/* Writes the own settings in the text of a pattern, as topic_settings_write writes them. Returns false if
 * they cannot be read, or need a later version. */
static bool write_own(struct slice text, struct buffer *own)
{
    struct topic_settings settings;
    struct buffer plain;
    buffer_init(&plain, TOPIC_LAYERS_BYTES_MAX);
    bool is_read =
        topic_layers_own(text, &plain) && topic_settings_read(buffer_slice(&plain), &settings) == STATUS_OK;
    bool is_whole = is_read && settings.lacks.size == 0;
    buffer_clear(own);
    if (is_whole)
        topic_settings_write(&settings, own);
    if (is_read)
        topic_settings_fini(&settings);
    buffer_fini(&plain);
    return is_whole && !own->failed;
}

static void on_pattern_set(void *arg, enum status status)
{
    struct pattern_import *import = arg;
    if (status == STATUS_STALE && ++import->tries < TRIES_MAX)
        read_patterns(import);
    else if (status == STATUS_STALE)
        pattern_end(import, STATUS_UNAVAILABLE, NULL);
    else
        pattern_end(import, status, status == STATUS_NO_LIMIT ? "there is no such limit" : NULL);
}

/* Ends the import if the target has a pattern with this name, and returns true. */
static bool is_there(struct pattern_import *import)
{
    struct slice text = pattern_set_text(import->set, import->name);
    struct buffer own;
    if (text.size == 0)
        return false;
    buffer_init(&own, TOPIC_SETTINGS_BYTES_MAX);
    bool is_same = write_own(text, &own) && slice_equal(buffer_slice(&own), buffer_slice(&import->own));
    buffer_fini(&own);
    pattern_end(import, is_same ? STATUS_SAME : STATUS_EXISTS, NULL);
    return true;
}

static void on_found_patterns(void *arg, enum status status, const struct store_patterns *found)
{
    struct pattern_import *import = arg;
    bool fits = true;
    if (status != STATUS_OK) {
        pattern_end(import, status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status, NULL);
        return;
    }
    pattern_set_fini(import->set);
    *import->set = (struct pattern_set){.count = 0};
    for (size_t i = 0; i < found->count; i++)
        fits = fits && pattern_set_add(import->set, found->patterns[i].name, found->patterns[i].text);
    if (fits && is_there(import))
        return;
    if (!fits ||
        pattern_set_change(import->set, import->name, buffer_slice(&import->own)) != PATTERN_SET_DONE) {
        pattern_end(import, STATUS_INVALID,
                    "the patterns of this server have no room for it, or cannot be read");
        return;
    }
    for (size_t i = 0; i < import->set->count; i++)
        import->written[i] = (struct store_pattern){buffer_slice(&import->set->patterns[i].name),
                                                    buffer_slice(&import->set->patterns[i].text)};
    struct store_patterns patterns = {found->version, import->written, import->set->count};
    store_set_patterns(import->app->store, &patterns, on_pattern_set, import);
}

static void read_patterns(struct pattern_import *import)
{
    store_patterns(import->app->store, on_found_patterns, import);
}

static void import_pattern(struct app *app, const struct data_row *row, app_verdict_fn *fn, void *arg)
{
    struct pattern_import *import = NEW(struct pattern_import);
    *import = (struct pattern_import){.app = app,
                                      .name = row->name,
                                      .text = member_of(row, SLICE("settings")),
                                      .set = NEW(struct pattern_set),
                                      .fn = fn,
                                      .arg = arg};
    buffer_init(&import->own, TOPIC_SETTINGS_BYTES_MAX);
    if (write_own(import->text, &import->own))
        read_patterns(import);
    else
        pattern_end(import, STATUS_INVALID,
                    "settings cannot be read, or need a later version or an encryption key");
}

/* ---- import ---- */

enum { WHY_MAX = 256 }; /* bytes of a reason of import.lua, which may name a limit */

struct import_call {
    struct app *app;
    struct slice id;
    app_verdict_fn *fn;
    void *arg;
};

static void on_imported(void *arg, enum status status, struct slice why)
{
    struct import_call *call = arg;
    char text[WHY_MAX];
    snprintf(text, sizeof text, "%.*s", SLICE_ARG(why));
    if (status == STATUS_INVALID)
        refuse_row(text, call->fn, call->arg);
    else if (status == STATUS_SAME || status == STATUS_EXISTS)
        use_case_refuse(status, call->fn, call->arg);
    else
        use_case_end(call->app, call->id, status, NULL, call->fn, call->arg);
    free(call);
}

/* Returns what is wrong with the name of a row, or NULL. The name decides in which shard the row is. */
static const char *fault_of_name(enum app_row_kind kind, struct slice name)
{
    struct slice topic, rest;
    switch (kind) {
    case APP_ROW_LIMIT:
        return limit_name_is_valid(name) ? NULL : "name is not that of a limit";
    case APP_ROW_PATTERN:
        return topic_pattern_is_open(name) ? NULL : "name is not a pattern";
    case APP_ROW_TOPIC:
        return topic_is_valid(name) ? NULL : "name is not a topic";
    case APP_ROW_KEY:
        return slice_cut(name, '\n', &topic, &rest) && topic_is_valid(topic) && lane_key_is_valid(rest)
                   ? NULL
                   : "name is not a topic and a key";
    case APP_ROW_GROUP:
        return topic_is_valid(name) || group_name_is_valid(name) ? NULL : "name is not a group";
    case APP_ROW_JOB:
    case APP_ROW_ENDED:
        return job_key_parse(name, &topic, &rest) ? NULL : "name is not topic/jobId";
    default:
        return slice_cut(name, '/', &topic, &rest) && topic_is_valid(topic) && rest.size
                   ? NULL
                   : "name does not begin with a topic and a slash";
    }
}

void app_import(struct app *app, const struct data_row *row, bool takes_moving, app_verdict_fn *fn, void *arg)
{
    enum app_row_kind kind = app_row_kind(row->kind);
    const char *fault =
        kind == APP_ROWS_COUNT ? "this version does not know the kind" : fault_of_name(kind, row->name);
    if (!fault && kind == APP_ROW_LIMIT && store_shards(app->store) > 1)
        fault = LIMIT_NEEDS_ONE_SHARD;
    if (!fault && !takes_moving && app_row_is_moving(row))
        fault = "an attempt was under way; with moving=true, the job is imported and attempted again";
    if (fault) {
        refuse_row(fault, fn, arg);
        return;
    }
    struct slice id, key; /* the name of a key begins with its topic and a newline */
    slice_cut(row->name, '\n', &id, &key);
    if (use_case_is_unready(app, kind == APP_ROW_PATTERN ? SLICE("") : id, fn, arg))
        return;
    if (kind == APP_ROW_PATTERN) {
        import_pattern(app, row, fn, arg);
        return;
    }
    struct import_call *call = NEW(struct import_call);
    *call = (struct import_call){app, id, fn, arg};
    store_import(app->store, row, on_imported, call);
}

void app_import_audit(const struct app_caller *caller, const struct app_imports *imports, bool is_whole)
{
    audit_write(caller, &(struct audit_line){.event = "imported",
                                             .kind = "data",
                                             .outcome = is_whole ? "done" : "unknown",
                                             .numbers = {{"imported", (int64_t)imports->imported},
                                                         {"same", (int64_t)imports->same},
                                                         {"exists", (int64_t)imports->exists},
                                                         {"refused", (int64_t)imports->refused}}});
}
