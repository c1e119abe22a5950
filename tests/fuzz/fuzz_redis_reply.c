#include "fuzz_resp.h"
#include "io/redis/redis_private.h"

static void walk(const struct redis_reply *reply)
{
    enum redis_kind kind = redis_reply_kind(reply);
    struct slice text = redis_reply_text(reply);
    assert(text.size == 0 || kind == REDIS_KIND_TEXT || kind == REDIS_KIND_ERROR);
    assert(redis_reply_integer(reply) == 0 || kind == REDIS_KIND_INTEGER || kind == REDIS_KIND_TEXT);
    assert(redis_reply_integer(reply) <= REDIS_INTEGER_MAX &&
           redis_reply_integer(reply) >= -REDIS_INTEGER_MAX);
    assert(redis_reply_size(reply) == 0 || kind == REDIS_KIND_ARRAY);
    for (size_t i = 0; i < redis_reply_size(reply); i++)
        walk(redis_reply_at(reply, i));
    assert(!redis_reply_at(reply, redis_reply_size(reply)));
}

/* Input: bytes from a Redis, or from another program in its place. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!resp_is_modest(data, size))
        return 0;
    struct reply_memory memory = {NULL};
    redisReader *reader = reply_reader_new(&memory);
    void *got = NULL;
    redisReaderFeed(reader, (const char *)data, size);
    while (redisReaderGetReply(reader, &got) == REDIS_OK && got) {
        struct redis_reply *copy = redis_reply_copy(got);
        walk(got);
        reply_memory_free(&memory);
        walk(copy);
        redis_reply_free(copy);
        got = NULL;
    }
    redisReaderFree(reader);
    reply_memory_free(&memory);
    return 0;
}
