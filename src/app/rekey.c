#include "app/rekey.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/app_private.h"
#include "base/memory.h"
#include "base/seal.h"
#include "history/history.h"
#include "job/rekey.h"
#include "job/text/sealed.h"

enum {
    PAGE_TEXTS = 50,             /* about as many texts come with one call */
    STEP_TEXTS = 1000,           /* a step ends when it has read as many texts, */
    STEP_BYTES = 4 * 1024 * 1024 /* or as many bytes */
};

static const struct slice parts[] = {SLICE_INIT("topics"),    SLICE_INIT("patterns"),  SLICE_INIT("groups"),
                                     SLICE_INIT("schedules"), SLICE_INIT("workflows"), SLICE_INIT("waits"),
                                     SLICE_INIT("progress"),  SLICE_INIT("attempts"),  SLICE_INIT("jobs"),
                                     SLICE_INIT("kept")};
enum { PARTS = sizeof parts / sizeof *parts, WORKFLOWS_PART = 4 };

/* ---- cursors: "shard:part:cursor" ---- */

/* Returns whether the text has only the characters of a cursor of Redis or of the history. */
static bool is_cursor(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!isdigit((unsigned char)text.data[i]) && text.data[i] != '.')
            return false;
    return true;
}

bool app_rekey_parse(const struct app *app, struct slice cursor, struct app_rekey *rekey)
{
    struct slice word;
    uint64_t shard, part;
    *rekey = (struct app_rekey){.shard = 0};
    if (!slice_cut(cursor, ':', &word, &cursor) || !slice_to_number(word, store_shards(app->store), &shard) ||
        !slice_cut(cursor, ':', &word, &cursor) || !slice_to_number(word, PARTS - 1, &part) ||
        cursor.size >= sizeof rekey->cursor || !is_cursor(cursor))
        return false;
    rekey->shard = (size_t)shard;
    rekey->part = (size_t)part;
    snprintf(rekey->cursor, sizeof rekey->cursor, "%.*s", SLICE_ARG(cursor));
    return true;
}

void app_rekey_write(const struct app_rekey *rekey, struct buffer *cursor)
{
    buffer_printf(cursor, "%zu:%zu:%s", rekey->shard, rekey->part, rekey->cursor);
}

/* ---- a step ---- */

struct rekey_step {
    struct app *app;
    const struct app_caller *caller;
    struct app_rekey *rekey;
    size_t bytes;
    size_t pending;      /* calls under way that replace texts */
    enum status failure; /* the first failure of such a call */
    bool is_reading;
    bool has_next;       /* the part has another page */
    struct buffer fresh; /* scratch */
    /* Workflows of the page: their places, each with a newline. Each is read in pages of its own. */
    struct buffer places;
    size_t place, place_end; /* the workflow that is read now is between these two */
    char place_cursor[24];   /* empty: the next workflow is to begin */
    app_verdict_fn *fn;
    void *arg;
};

static void step_read(struct rekey_step *);

static void step_free(struct rekey_step *step)
{
    buffer_fini(&step->fresh);
    buffer_fini(&step->places);
    free(step);
}

static void step_end(struct rekey_step *step, enum status status)
{
    const struct app_rekey *rekey = step->rekey;
    if (rekey->changed)
        audit_write(step->caller,
                    &(struct audit_line){.event = "rekeyed",
                                         .kind = "data",
                                         .outcome = status == STATUS_OK ? "done" : "unknown",
                                         .numbers = {{"done", rekey->changed}, {"skipped", rekey->left}}});
    if (status == STATUS_OK)
        step->fn(step->arg, &(struct app_verdict){.end = STATUS_OK});
    else
        use_case_end(step->app, SLICE(""), status, NULL, step->fn, step->arg);
    step_free(step);
}

/* Goes to the next part when the current one has no more pages. */
static void step_advance(struct rekey_step *step)
{
    struct app_rekey *rekey = step->rekey;
    if (step->has_next)
        return;
    rekey->cursor[0] = '\0';
    if (rekey->shard == store_shards(step->app->store)) {
        rekey->is_over = true;
    } else if (++rekey->part == PARTS) {
        rekey->part = 0;
        rekey->shard++;
    }
}

/* Continues when a page has been read and each of its texts replaced. */
static void step_go_on(struct rekey_step *step)
{
    const struct app_rekey *rekey = step->rekey;
    if (step->is_reading || step->pending)
        return;
    bool is_in_page = step->place_cursor[0] || step->place_end < step->places.size;
    if (step->failure == STATUS_OK && !is_in_page)
        step_advance(step);
    bool is_enough = rekey->examined >= STEP_TEXTS || step->bytes >= STEP_BYTES;
    if (step->failure != STATUS_OK || rekey->is_over || (is_enough && !is_in_page))
        step_end(step, step->failure);
    else
        step_read(step);
}

/* ---- texts in Redis ---- */

struct replacing {
    struct rekey_step *step;
    struct store_secret secret;
    struct slice fresh;
    struct buffer texts; /* owned: all of them */
};

static void on_replaced(void *arg, enum status status)
{
    struct replacing *replacing = arg;
    struct rekey_step *step = replacing->step;
    if (status_is_done(status))
        step->rekey->changed++;
    else if (status != STATUS_STALE && step->failure == STATUS_OK)
        step->failure = status == STATUS_FULL ? STATUS_FULL : STATUS_UNAVAILABLE;
    buffer_fini(&replacing->texts);
    free(replacing);
    step->pending--;
    step_go_on(step);
}

static void replace_text(struct rekey_step *step, const struct store_secret *secret)
{
    struct replacing *replacing = NEW(struct replacing);
    struct slice fresh = buffer_slice(&step->fresh);
    size_t bytes = secret->key.size + secret->field.size + secret->text.size + fresh.size;
    replacing->step = step;
    buffer_init(&replacing->texts, bytes);
    buffer_reserve(&replacing->texts, bytes);
    buffer_append(&replacing->texts, secret->key);
    buffer_append(&replacing->texts, secret->field);
    buffer_append(&replacing->texts, secret->text);
    buffer_append(&replacing->texts, fresh);
    const char *at = replacing->texts.data;
    replacing->secret.key = slice_from(at, secret->key.size);
    replacing->secret.field = slice_from(at += secret->key.size, secret->field.size);
    replacing->secret.text = slice_from(at += secret->field.size, secret->text.size);
    replacing->fresh = slice_from(at + secret->text.size, fresh.size);
    step->pending++;
    store_reseal(step->app->store, step->rekey->shard, &replacing->secret, replacing->fresh, on_replaced,
                 replacing);
}

static void take_secret(struct rekey_step *step, const struct store_secret *secret)
{
    if (slice_equal(secret->key, parts[WORKFLOWS_PART])) {
        buffer_append(&step->places, secret->field);
        buffer_append_byte(&step->places, '\n');
        return;
    }
    step->rekey->examined++;
    step->bytes += secret->text.size;
    switch (rekey_text(secret->key, secret->field, secret->text, &step->fresh)) {
    case REKEY_CURRENT:
        return;
    case REKEY_CHANGED:
        replace_text(step, secret);
        return;
    case REKEY_LEFT:
        step->rekey->left++;
        return;
    }
}

static void on_secrets(void *arg, enum status status, const struct store_secrets *found)
{
    struct rekey_step *step = arg;
    bool is_of_place = step->place_cursor[0];
    for (size_t i = 0; status == STATUS_OK && i < found->count; i++)
        take_secret(step, &found->items[i]);
    if (status != STATUS_OK) {
        step->failure = STATUS_UNAVAILABLE;
    } else if (is_of_place) {
        snprintf(step->place_cursor, sizeof step->place_cursor, "%.*s", SLICE_ARG(found->next));
    } else {
        step->has_next = found->next.size;
        snprintf(step->rekey->cursor, sizeof step->rekey->cursor, "%.*s", SLICE_ARG(found->next));
    }
    step->is_reading = false;
    step_go_on(step);
}

/* Begins the next workflow of the page. */
static void begin_place(struct rekey_step *step)
{
    struct slice place, rest = slice_skip(buffer_slice(&step->places), step->place_end);
    slice_cut(rest, '\n', &place, &rest);
    step->place = step->place_end;
    step->place_end = step->place + place.size + 1;
    snprintf(step->place_cursor, sizeof step->place_cursor, "0");
}

static void read_secrets(struct rekey_step *step)
{
    const struct app_rekey *rekey = step->rekey;
    struct slice what = parts[rekey->part], cursor = slice_of(rekey->cursor[0] ? rekey->cursor : "0");
    if (!step->place_cursor[0] && step->place_end < step->places.size)
        begin_place(step);
    if (step->place_cursor[0]) {
        what = slice_from(step->places.data + step->place, step->place_end - step->place - 1);
        cursor = slice_of(step->place_cursor);
    } else { /* a new page */
        buffer_clear(&step->places);
        step->place = step->place_end = 0;
    }
    store_secrets(step->app->store, rekey->shard, what, cursor, PAGE_TEXTS, on_secrets, step);
}

/* ---- rows of the history ---- */

static void on_appended(void *arg, enum status status, const char *why)
{
    struct rekey_step *step = arg;
    (void)why;
    if (status != STATUS_OK)
        step->failure = STATUS_HISTORY_UNAVAILABLE;
    step->pending--;
    step_go_on(step);
}

/* Writes the row as it was in the outbox. */
static void write_entry(const struct history_row *row, struct buffer *text)
{
    buffer_printf(text, "%s %lld %d %zu ", job_state_word(row->state), (long long)row->ended_ms, row->losses,
                  row->record.size);
    buffer_append(text, row->record);
    buffer_append(text, row->lines);
}

static void take_row(struct rekey_step *step, const struct history_row *row)
{
    struct buffer text;
    step->rekey->examined++;
    if (row->is_unreadable)
        return;
    buffer_init_fallible(&text, (size_t)2 * JOB_RECORD_MAX);
    write_entry(row, &text);
    step->bytes += text.size;
    enum rekey_answer answer =
        text.failed ? REKEY_LEFT
                    : rekey_ended(row->id, buffer_slice(&text), row->is_body_left_out, &step->fresh);
    if (answer == REKEY_LEFT)
        step->rekey->left++;
    if (answer == REKEY_CHANGED) {
        const struct history_entry entry = {row->id, buffer_slice(&step->fresh), true};
        step->rekey->changed++;
        step->pending++;
        history_append(step->app->history, &entry, 1, on_appended, step);
    }
    buffer_fini(&text);
}

static void on_rows(void *arg, enum status status, const struct history_page *page, const char *why)
{
    struct rekey_step *step = arg;
    (void)why;
    for (size_t i = 0; status == STATUS_OK && i < page->count; i++)
        take_row(step, &page->rows[i]);
    if (status != STATUS_OK) {
        step->failure = STATUS_HISTORY_UNAVAILABLE;
    } else {
        step->has_next = page->next.is_set;
        if (step->has_next)
            snprintf(step->rekey->cursor, sizeof step->rekey->cursor, "%lld.%lld",
                     (long long)page->next.ended_ms, (long long)page->next.row);
    }
    step->is_reading = false;
    step_go_on(step);
}

static void read_rows(struct rekey_step *step)
{
    struct history_list list = {.has_bodies = true, .max = PAGE_TEXTS};
    long long ended_ms, row;
    if (!step->app->history) {
        step->rekey->is_over = true;
        step_end(step, STATUS_OK);
        return;
    }
    if (sscanf(step->rekey->cursor, "%lld.%lld", &ended_ms, &row) == 2)
        list.from = (struct history_cursor){true, ended_ms, row};
    step->is_reading = true;
    history_list(step->app->history, &list, on_rows, step);
}

static void step_read(struct rekey_step *step)
{
    if (step->rekey->shard == store_shards(step->app->store)) {
        read_rows(step);
        return;
    }
    step->is_reading = true;
    read_secrets(step);
}

void app_rekey_step(struct app *app, const struct app_caller *caller, struct app_rekey *rekey,
                    app_verdict_fn *fn, void *arg)
{
    if (!seal_is_on()) {
        fn(arg, &(struct app_verdict){.end = STATUS_INVALID});
        return;
    }
    struct rekey_step *step = NEW(struct rekey_step);
    *step = (struct rekey_step){.app = app, .caller = caller, .rekey = rekey, .fn = fn, .arg = arg};
    buffer_init_fallible(&step->fresh, (size_t)2 * JOB_RECORD_MAX);
    buffer_init(&step->places, (size_t)16 * 1024 * 1024);
    step_read(step);
}
