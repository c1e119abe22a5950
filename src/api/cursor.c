#include "api/cursor.h"

#include "job/job_id.h"
#include "job/timestamp.h"

#define SCORE_MAX (UINT64_C(1) << 53) /* what a score, or a version, holds exactly */

static void write_shard(struct buffer *text, size_t shard)
{
    if (shard > 0)
        buffer_printf(text, "%zu@", shard);
}

/* Takes "shard@" off text. No id and no topic has an '@'. */
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

void cursor_write(struct buffer *text, const struct store_cursor *cursor)
{
    write_shard(text, cursor->shard);
    if (cursor->id.size)
        buffer_printf(text, "%.0f:%.*s", cursor->score, SLICE_ARG(cursor->id));
}

bool cursor_parse(struct slice text, size_t shards, struct store_cursor *cursor)
{
    struct slice score, topic, job_id;
    uint64_t number;
    *cursor = (struct store_cursor){.shard = 0};
    if (!take_shard(&text, shards, &cursor->shard))
        return false;
    if (text.size == 0)
        return true;
    if (!slice_cut(text, ':', &score, &cursor->id) || !job_key_parse(cursor->id, &topic, &job_id) ||
        !slice_to_number(score, SCORE_MAX, &number))
        return false;
    cursor->score = (double)number;
    return true;
}

bool cursor_parse_redrive(struct slice text, size_t shards, struct store_cursor *cursor, int64_t *begin_ms)
{
    struct slice begin, rest;
    uint64_t number;
    *begin_ms = 0;
    if (!slice_cut(text, '!', &begin, &rest))
        return cursor_parse(text, shards, cursor);
    if (!slice_to_number(begin, TIMESTAMP_MAX_MS, &number))
        return false;
    *begin_ms = (int64_t)number;
    return cursor_parse(rest, shards, cursor);
}

void cursor_write_topic(struct buffer *text, const struct store_topic_cursor *cursor)
{
    write_shard(text, cursor->shard);
    buffer_append(text, cursor->name);
}

bool cursor_parse_topic(struct slice text, size_t shards, struct store_topic_cursor *cursor)
{
    *cursor = (struct store_topic_cursor){.shard = 0};
    if (!take_shard(&text, shards, &cursor->shard))
        return false;
    cursor->name = text;
    return text.size == 0 || topic_is_valid(text);
}

void cursor_write_receiver(struct buffer *text, const struct store_receiver_cursor *cursor)
{
    write_shard(text, cursor->shard);
    if (cursor->version)
        buffer_append_number(text, cursor->version);
}

bool cursor_parse_receiver(struct slice text, size_t shards, struct store_receiver_cursor *cursor)
{
    uint64_t version = 0;
    *cursor = (struct store_receiver_cursor){.shard = 0};
    if (!take_shard(&text, shards, &cursor->shard))
        return false;
    if (text.size > 0 && (!slice_to_number(text, SCORE_MAX, &version) || version == 0))
        return false;
    cursor->version = (int64_t)version;
    return true;
}
