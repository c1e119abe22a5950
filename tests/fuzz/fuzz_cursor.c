#include "app/app_private.h"

#include "fuzz.h"

enum { SHARDS = 16 };

/* Each text that is accepted as a cursor must be written again as a text with the same position. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = input_of(data, size);
    struct list_cursor jobs, jobs_again;
    struct topic_cursor topics;
    struct receiver_cursor receivers;
    struct app_progress progress, again;
    char room[CURSOR_ROOM], room_again[CURSOR_ROOM];
    struct buffer written;
    buffer_init(&written, 4096);
    if (cursor_parse(text, SHARDS, room, &jobs, &progress)) {
        cursor_write(&written, &jobs, &progress);
        bool is_read = cursor_parse(buffer_slice(&written), SHARDS, room_again, &jobs_again, &again);
        assert(is_read && slice_equal(jobs.id, jobs_again.id) && jobs.shard == jobs_again.shard);
        assert(progress.due_ms == again.due_ms && progress.until_ms == again.until_ms);
        assert(progress.left == again.left && progress.is_second == again.is_second);
        assert(jobs.began_ms == jobs_again.began_ms);
    }
    if (cursor_parse_topic(text, SHARDS, &topics))
        cursor_write_topic(&written, &topics);
    if (cursor_parse_receiver(text, SHARDS, &receivers))
        cursor_write_receiver(&written, &receivers);
    buffer_fini(&written);
    return 0;
}
