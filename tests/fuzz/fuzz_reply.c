#include "store/call.h"

#include "base/log.h"
#include "fuzz_resp.h"

/* Checks properties that every reply must have. */
static void check_parts(const struct redis_reply *reply)
{
    size_t count = 0;
    if (reply_count(reply, 0, 1, 2, 5, &count))
        assert(count <= 5 && 1 + 2 * count <= redis_reply_size(reply));
    for (size_t i = 0; i < redis_reply_size(reply); i++) {
        struct slice text = redis_reply_text(redis_reply_at(reply, i));
        assert(!reply_has_topic(text) || !reply_has_id(text));
    }
    enum status status = reply_refuse("fuzz");
    assert(status == STATUS_UNKNOWN);
}

/* Input: a reply that describes a job. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!resp_is_modest(data, size))
        return 0;
    redisReader *reader = redisReaderCreate();
    void *got = NULL;
    struct stored_job job = {0};
    char tag[JOB_TAG_SIZE];
    static bool is_quiet;
    struct problem problem;
    if (!is_quiet)
        is_quiet = log_open("/dev/null", LOG_FORMAT_LOGFMT, LOG_LEVEL_ERROR, &problem) == STATUS_OK;
    assert(is_quiet);
    redisReaderFeed(reader, (const char *)data, size);
    if (redisReaderGetReply(reader, &got) == REDIS_OK && got && reply_read_job(got, &job)) {
        assert(redis_reply_size(got) >= 3);
        job_tag_of(&job, tag);
        assert(strlen(tag) == JOB_TAG_SIZE - 1);
    }
    if (got)
        check_parts(got);
    freeReplyObject(got);
    redisReaderFree(reader);
    return 0;
}
