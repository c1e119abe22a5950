#include "api/cursor.h"

#include "job/job_id.h"

#define SCORE_MAX (UINT64_C(1) << 53) /* what a score holds exactly */

void cursor_write(struct buffer *text, const struct store_cursor *cursor)
{
    if (cursor->shard > 0)
        buffer_printf(text, "%zu@", cursor->shard);
    if (cursor->id.size)
        buffer_printf(text, "%.0f:%.*s", cursor->score, SLICE_ARG(cursor->id));
}

bool cursor_parse(struct slice text, size_t shards, struct store_cursor *cursor)
{
    struct slice shard, place, score, topic, job_id;
    uint64_t number;
    *cursor = (struct store_cursor){.shard = 0};
    if (slice_cut(text, '@', &shard, &place)) { /* no id has an '@' */
        if (!slice_to_number(shard, shards - 1, &number) || number == 0)
            return false;
        cursor->shard = number;
        if (place.size == 0)
            return true;
        text = place;
    }
    if (!slice_cut(text, ':', &score, &cursor->id) || !job_key_parse(cursor->id, &topic, &job_id) ||
        !slice_to_number(score, SCORE_MAX, &number))
        return false;
    cursor->score = (double)number;
    return true;
}
