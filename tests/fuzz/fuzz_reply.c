#include "store/reply.h"

#include "fuzz_resp.h"

/* A job as Redis tells it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!resp_is_modest(data, size))
        return 0;
    redisReader *reader = redisReaderCreate();
    void *got = NULL;
    struct store_job job = {0};
    char tag[JOB_TAG_SIZE];
    redisReaderFeed(reader, (const char *)data, size);
    if (redisReaderGetReply(reader, &got) == REDIS_OK && got && reply_read_job(got, &job)) {
        assert(redis_reply_size(got) >= 3);
        store_job_tag(&job, tag);
        assert(strlen(tag) == JOB_TAG_SIZE - 1);
    }
    freeReplyObject(got);
    redisReaderFree(reader);
    return 0;
}
