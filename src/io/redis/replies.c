/* Functions that read a redis_reply, which is a reply of hiredis. */
#include <hiredis/hiredis.h>

#include "base/memory.h"
#include "io/redis/redis.h"

static const redisReply *raw(const struct redis_reply *reply)
{
    return (const redisReply *)(const void *)reply;
}

enum redis_kind redis_reply_kind(const struct redis_reply *reply)
{
    switch (reply ? raw(reply)->type : REDIS_REPLY_NIL) {
    case REDIS_REPLY_INTEGER:
        return REDIS_KIND_INTEGER;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        return REDIS_KIND_TEXT;
    case REDIS_REPLY_ARRAY:
        return REDIS_KIND_ARRAY;
    case REDIS_REPLY_ERROR:
        return REDIS_KIND_ERROR;
    default:
        return REDIS_KIND_NIL;
    }
}

static int64_t bounded(int64_t number)
{
    if (number < -REDIS_INTEGER_MAX)
        return -REDIS_INTEGER_MAX;
    return number < REDIS_INTEGER_MAX ? number : REDIS_INTEGER_MAX;
}

int64_t redis_reply_integer(const struct redis_reply *reply)
{
    uint64_t number = 0;
    if (redis_reply_kind(reply) == REDIS_KIND_INTEGER)
        return bounded(raw(reply)->integer);
    if (redis_reply_kind(reply) == REDIS_KIND_TEXT &&
        slice_to_number(redis_reply_text(reply), INT64_MAX, &number))
        return bounded((int64_t)number);
    return 0;
}

struct slice redis_reply_text(const struct redis_reply *reply)
{
    enum redis_kind kind = redis_reply_kind(reply);
    if (kind != REDIS_KIND_TEXT && kind != REDIS_KIND_ERROR)
        return (struct slice){NULL, 0};
    return slice_from(raw(reply)->str, raw(reply)->len);
}

size_t redis_reply_size(const struct redis_reply *reply)
{
    return redis_reply_kind(reply) == REDIS_KIND_ARRAY ? raw(reply)->elements : 0;
}

const struct redis_reply *redis_reply_at(const struct redis_reply *reply, size_t index)
{
    if (index >= redis_reply_size(reply))
        return NULL;
    return (const struct redis_reply *)(const void *)raw(reply)->element[index];
}

/* hiredis frees a reply after its callback. This function moves the content into a new reply, so hiredis
 * frees only the outer struct. */
struct redis_reply *redis_reply_take(const struct redis_reply *reply)
{
    redisReply *from = (redisReply *)(uintptr_t)reply;
    redisReply *to = NEW(redisReply);
    *to = *from;
    *from = (redisReply){.type = REDIS_REPLY_NIL};
    return (struct redis_reply *)(void *)to;
}

void redis_reply_free(struct redis_reply *reply)
{
    if (reply)
        freeReplyObject(reply);
}
