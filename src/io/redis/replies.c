/* Functions that read a redis_reply, which is a reply of hiredis. */
#include <hiredis/hiredis.h>

#include "base/memory.h"
#include "io/redis/redis_private.h"

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

/* ---- the memory of replies ----
 *
 * The reader of hiredis asks for the memory of each part of a reply, and a claim has hundreds of parts. They
 * lie one after the other in blocks, which are freed together when the callback of the reply has returned. */

enum { BLOCK_BYTES = 4000, PART_ALIGNMENT = 8 };

struct reply_block {
    struct reply_block *next;
    size_t used, size;
    _Alignas(PART_ALIGNMENT) char bytes[];
};

void reply_memory_free(struct reply_memory *memory)
{
    while (memory->blocks) {
        struct reply_block *block = memory->blocks;
        memory->blocks = block->next;
        free(block);
    }
}

/* Returns NULL if there is no memory; the reader then fails. */
static void *part_new(const redisReadTask *task, size_t size)
{
    struct reply_memory *memory = task->privdata;
    struct reply_block *block = memory->blocks;
    size_t needed = (size + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
    if (!block || needed > block->size - block->used) {
        size_t bytes = needed > BLOCK_BYTES ? needed : BLOCK_BYTES;
        block = malloc(sizeof *block + bytes);
        if (!block)
            return NULL;
        *block = (struct reply_block){.next = memory->blocks, .size = bytes};
        memory->blocks = block;
    }
    void *part = block->bytes + block->used;
    block->used += needed;
    return part;
}

static redisReply *reply_new(const redisReadTask *task, int type)
{
    redisReply *reply = part_new(task, sizeof *reply);
    if (!reply)
        return NULL;
    memset(reply, 0, sizeof *reply);
    reply->type = type;
    if (task->parent)
        ((redisReply *)task->parent->obj)->element[task->idx] = reply;
    return reply;
}

static void *create_string(const redisReadTask *task, char *text, size_t size)
{
    redisReply *reply = reply_new(task, task->type);
    char *copy = reply ? part_new(task, size + 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    reply->str = copy;
    reply->len = size;
    return reply;
}

#if HIREDIS_MAJOR < 1
typedef int element_count;
#else
typedef size_t element_count;
#endif

static void *create_array(const redisReadTask *task, element_count count)
{
    redisReply *reply = reply_new(task, REDIS_REPLY_ARRAY);
    if (!reply || (uint64_t)count > SIZE_MAX / 2 / sizeof(redisReply *))
        return NULL;
    reply->elements = (size_t)count;
    reply->element = part_new(task, reply->elements * sizeof(redisReply *));
    return reply->element ? reply : NULL;
}

static void *create_integer(const redisReadTask *task, long long number)
{
    redisReply *reply = reply_new(task, REDIS_REPLY_INTEGER);
    if (reply)
        reply->integer = number;
    return reply;
}

static void *create_nil(const redisReadTask *task)
{
    return reply_new(task, REDIS_REPLY_NIL);
}

#if HIREDIS_MAJOR >= 1
/* duepost speaks version 2 of the protocol, in which these kinds do not occur. */
static void *create_double(const redisReadTask *task, double number, char *text, size_t size)
{
    (void)number, (void)text, (void)size;
    return create_nil(task);
}

static void *create_bool(const redisReadTask *task, int is_true)
{
    (void)is_true;
    return create_nil(task);
}
#endif

static void free_part(void *part)
{
    (void)part; /* reply_memory_free frees the block */
}

redisReader *reply_reader_new(struct reply_memory *memory)
{
    static redisReplyObjectFunctions functions = {
        .createString = create_string,
        .createArray = create_array,
        .createInteger = create_integer,
        .createNil = create_nil,
#if HIREDIS_MAJOR >= 1
        .createDouble = create_double,
        .createBool = create_bool,
#endif
        .freeObject = free_part,
    };
    redisReader *reader = redisReaderCreateWithFunctions(&functions);
    if (!reader)
        abort(); /* out of memory */
    reader->privdata = memory;
    return reader;
}

struct redis_reply *redis_reply_copy(const struct redis_reply *reply)
{
    redisReply *copy = NEW(redisReply);
    *copy = *raw(reply);
    if (copy->str) {
        copy->str = memory_resize(NULL, copy->len + 1);
        memcpy(copy->str, raw(reply)->str, copy->len + 1);
    }
    copy->element = copy->elements ? NEW_ARRAY(redisReply *, copy->elements) : NULL;
    for (size_t i = 0; i < copy->elements; i++)
        copy->element[i] = (redisReply *)(void *)redis_reply_copy(redis_reply_at(reply, i));
    return (struct redis_reply *)(void *)copy;
}

void redis_reply_free(struct redis_reply *reply)
{
    if (reply)
        freeReplyObject(reply);
}
