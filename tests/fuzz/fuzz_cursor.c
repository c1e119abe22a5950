#include "app/cursor.h"

#include "fuzz.h"

enum { SHARDS = 16 };

/* Whatever stands for a place in a list is spelt as one that stands for it, too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = input_of(data, size);
    struct store_cursor jobs, jobs_again;
    struct store_topic_cursor topics;
    struct store_receiver_cursor receivers;
    int64_t due_ms, due_again_ms;
    char room[CURSOR_ROOM], room_again[CURSOR_ROOM];
    struct buffer written;
    buffer_init(&written, 4096);
    if (cursor_parse(text, SHARDS, room, &jobs, &due_ms)) {
        cursor_write(&written, &jobs, due_ms);
        bool is_read = cursor_parse(buffer_slice(&written), SHARDS, room_again, &jobs_again, &due_again_ms);
        assert(is_read && slice_equal(jobs.id, jobs_again.id) && jobs.shard == jobs_again.shard);
        assert(due_ms == due_again_ms && jobs.began_ms == jobs_again.began_ms);
    }
    if (cursor_parse_topic(text, SHARDS, &topics))
        cursor_write_topic(&written, &topics);
    if (cursor_parse_receiver(text, SHARDS, &receivers))
        cursor_write_receiver(&written, &receivers);
    buffer_fini(&written);
    return 0;
}
