/* paging.c - lists in pages: the position in a list as a text, and the walk from page to page. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "app/app_private.h"
#include "base/encoding.h"
#include "base/timestamp.h"
#include "job/job_id.h"

#define SCORE_MAX (UINT64_C(1) << 53) /* largest integer that a double can hold exactly */

enum { SCORE_TEXT_MAX = 24 };

static void write_shard(struct buffer *text, size_t shard)
{
    if (shard > 0)
        buffer_printf(text, "%zu@", shard);
}

/* Removes "shard@" from the beginning of text. Topics have no '@'. */
static bool take_shard(struct slice *text, size_t shards, size_t *shard)
{
    struct slice number_text, rest;
    uint64_t number;
    *shard = 0;
    if (!slice_cut(*text, '@', &number_text, &rest))
        return text->size > 0;
    *text = rest;
    if (!slice_to_number(number_text, shards - 1, &number) || number == 0)
        return false;
    *shard = number;
    return true;
}

void cursor_write(struct buffer *text, const struct list_cursor *cursor, const struct app_progress *progress)
{
    char room[CURSOR_ROOM];
    struct buffer plain = buffer_of(room, sizeof room);
    if (!cursor->has_more)
        return;
    buffer_printf(&plain, "%lld:%lld:%lld:%llu:%d:%d:%zu:", (long long)cursor->began_ms,
                  (long long)progress->due_ms, (long long)progress->until_ms,
                  (unsigned long long)progress->left, progress->is_second, (int)cursor->state, cursor->shard);
    if (cursor->id.size)
        buffer_printf(&plain, "%.17g", cursor->score);
    buffer_append_byte(&plain, ':');
    buffer_append(&plain, cursor->id);
    assert(!plain.failed);
    base64url_append(text, buffer_slice(&plain));
}

static bool take_number(struct slice *text, uint64_t max, uint64_t *number)
{
    struct slice field;
    return slice_cut(*text, ':', &field, text) && slice_to_number(field, max, number);
}

static bool take_progress(struct slice *text, struct app_progress *progress)
{
    uint64_t due, until, is_second;
    if (!take_number(text, TIMESTAMP_MAX_MS, &due) || !take_number(text, TIMESTAMP_MAX_MS, &until) ||
        !take_number(text, UINT64_MAX, &progress->left) || !take_number(text, 1, &is_second))
        return false;
    progress->due_ms = (int64_t)due;
    progress->until_ms = (int64_t)until;
    progress->is_second = is_second;
    return true;
}

/* Reads a time in ms that was written with "%.17g" and may have a fraction. */
static bool read_score(struct slice text, double *score)
{
    struct slice whole, fraction;
    uint64_t number, ignored;
    char copy[SCORE_TEXT_MAX + 1] = "";
    bool has_fraction = slice_cut(text, '.', &whole, &fraction);
    if (text.size > SCORE_TEXT_MAX || !slice_to_number(whole, SCORE_MAX, &number) ||
        (has_fraction && !slice_to_number(fraction, UINT64_MAX, &ignored)))
        return false;
    memcpy(copy, text.data, text.size);
    *score = strtod(copy, NULL);
    return true;
}

bool cursor_parse(struct slice text, size_t shards, char room[CURSOR_ROOM], struct list_cursor *cursor,
                  struct app_progress *progress)
{
    struct buffer plain = buffer_of(room, CURSOR_ROOM);
    struct slice rest, score, topic, job_id;
    uint64_t began, state, shard;
    *cursor = (struct list_cursor){.shard = 0};
    if (!base64url_decode(text, &plain))
        return false;
    rest = buffer_slice(&plain);
    if (!take_number(&rest, TIMESTAMP_MAX_MS, &began) || !take_progress(&rest, progress) ||
        !take_number(&rest, JOB_STATE_CANCELLED, &state) || !take_number(&rest, shards - 1, &shard) ||
        !slice_cut(rest, ':', &score, &cursor->id))
        return false;
    cursor->began_ms = (int64_t)began;
    cursor->state = (enum job_state)state;
    cursor->shard = shard;
    cursor->has_more = true;
    if (score.size == 0 && cursor->id.size == 0)
        return began > 0;
    return read_score(score, &cursor->score) && job_key_parse(cursor->id, &topic, &job_id);
}

void cursor_write_history(struct buffer *text, const struct history_position *position,
                          const struct app_progress *progress)
{
    buffer_printf(text, "h.%lld.%lld.%lld", (long long)position->began_ms, (long long)position->ended_ms,
                  (long long)position->number);
    if (progress->due_ms || progress->left)
        buffer_printf(text, ".%lld.%llu", (long long)progress->due_ms, (unsigned long long)progress->left);
}

static bool take_part(struct slice *text, int64_t max, int64_t *part)
{
    struct slice digits;
    uint64_t number = 0;
    slice_cut(*text, '.', &digits, text);
    if (!slice_to_number(digits, (uint64_t)max, &number))
        return false;
    *part = (int64_t)number;
    return true;
}

static bool take_history_progress(struct slice *text, struct app_progress *progress)
{
    int64_t left = 0;
    if (!take_part(text, TIMESTAMP_MAX_MS, &progress->due_ms) || !take_part(text, INT64_MAX, &left))
        return false;
    progress->left = (uint64_t)left;
    return true;
}

bool cursor_parse_history(struct slice text, struct history_position *position, struct app_progress *progress)
{
    struct slice kind;
    *progress = (struct app_progress){.left = 0};
    return slice_cut(text, '.', &kind, &text) && slice_equal(kind, SLICE("h")) &&
           take_part(&text, TIMESTAMP_MAX_MS, &position->began_ms) && position->began_ms > 0 &&
           take_part(&text, TIMESTAMP_MAX_MS, &position->ended_ms) &&
           take_part(&text, INT64_MAX, &position->number) &&
           (text.size == 0 || take_history_progress(&text, progress)) && text.size == 0;
}

void cursor_write_topic(struct buffer *text, const struct topic_cursor *cursor)
{
    write_shard(text, cursor->shard);
    buffer_append(text, cursor->name);
}

bool cursor_parse_topic(struct slice text, size_t shards, struct topic_cursor *cursor)
{
    *cursor = (struct topic_cursor){.shard = 0};
    if (!take_shard(&text, shards, &cursor->shard))
        return false;
    cursor->name = text;
    return text.size == 0 || topic_is_valid(text);
}

void cursor_write_place(struct buffer *text, size_t shard, struct slice place)
{
    struct buffer plain;
    if (place.size == 0 && shard == 0)
        return;
    buffer_init(&plain, APP_CURSOR_MAX);
    buffer_printf(&plain, "%zu@", shard);
    buffer_append(&plain, place);
    base64url_append(text, buffer_slice(&plain));
    buffer_fini(&plain);
}

bool cursor_parse_place(struct slice text, size_t shards, struct buffer *room, size_t *shard,
                        struct slice *place)
{
    struct slice digits;
    uint64_t number;
    if (!base64url_decode(text, room) || !slice_cut(buffer_slice(room), '@', &digits, place) ||
        !slice_to_number(digits, shards - 1, &number))
        return false;
    *shard = number;
    return true;
}

void cursor_write_receiver(struct buffer *text, const struct receiver_cursor *cursor)
{
    write_shard(text, cursor->shard);
    if (cursor->version)
        buffer_append_number(text, cursor->version);
}

bool cursor_parse_receiver(struct slice text, size_t shards, struct receiver_cursor *cursor)
{
    uint64_t version = 0;
    *cursor = (struct receiver_cursor){.shard = 0};
    if (!take_shard(&text, shards, &cursor->shard))
        return false;
    if (text.size > 0 && (!slice_to_number(text, SCORE_MAX, &version) || version == 0))
        return false;
    cursor->version = (int64_t)version;
    return true;
}

/* ---- the walk from page to page ---- */

void app_walk_keep(struct app_walk *walk, size_t shard, struct slice place)
{
    bool fits = place.size <= sizeof walk->room;
    if (fits && place.size)
        memmove(walk->room, place.data, place.size);
    walk->shard = fits ? shard : 0;
    walk->place = slice_from(walk->room, fits ? place.size : 0);
    walk->has_more = walk->shard > 0 || walk->place.size > 0;
}

void app_walk_begin(struct app_walk *walk)
{
    walk->pages++;
    walk->page(walk->arg);
}

void app_walk_on(struct app_walk *walk, bool wants_more)
{
    bool may_read = !walk->pages_max || walk->pages < walk->pages_max;
    if (wants_more && walk->has_more && may_read)
        app_walk_begin(walk);
    else
        walk->end(walk->arg);
}
