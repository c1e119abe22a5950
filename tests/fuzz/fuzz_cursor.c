#include "api/cursor.h"

#include "fuzz.h"

enum { SHARDS = 16 };

/* Whatever stands for a place in a list is spelt as one that stands for it, too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = input_of(data, size);
    struct store_cursor jobs, jobs_again;
    struct store_topic_cursor topics;
    struct store_receiver_cursor receivers;
    int64_t begin_ms;
    struct buffer written;
    buffer_init(&written, 4096);
    if (cursor_parse(text, SHARDS, &jobs)) {
        cursor_write(&written, &jobs);
        bool is_read = cursor_parse(buffer_slice(&written), SHARDS, &jobs_again);
        assert(is_read && slice_equal(jobs.id, jobs_again.id) && jobs.shard == jobs_again.shard);
    }
    if (cursor_parse_redrive(text, SHARDS, &jobs, &begin_ms))
        assert(begin_ms >= 0 && jobs.shard < SHARDS);
    if (cursor_parse_topic(text, SHARDS, &topics))
        cursor_write_topic(&written, &topics);
    if (cursor_parse_receiver(text, SHARDS, &receivers))
        cursor_write_receiver(&written, &receivers);
    buffer_fini(&written);
    return 0;
}
