#include "qstash/message_id.h"

#include <assert.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/random.h"

#define OWNER_MARK QSTASH_TOPIC "~"

struct slice message_id_make(struct slice topic, int64_t now_ms, char room[MESSAGE_ID_MAX + 1])
{
    char unique[JOB_ID_NEW_SIZE];
    uint8_t random[10];
    assert(slice_starts_with(topic, SLICE(OWNER_MARK)) && topic.size <= strlen(OWNER_MARK) + JOB_SIBLING_MAX);
    struct slice kind = slice_skip(topic, strlen(OWNER_MARK));
    bool is_plain = slice_equal(topic, SLICE(QSTASH_TOPIC_MESSAGES));
    random_fill(random, sizeof random);
    job_id_make(now_ms, random, unique);
    int size = snprintf(room, MESSAGE_ID_MAX + 1, "msg_%.*s%s%.*s", is_plain ? 0 : (int)kind.size, kind.data,
                        is_plain ? "" : ".", JOB_ID_NEW_SIZE, unique);
    return slice_from(room, (size_t)size);
}

struct slice message_id_key(struct slice message_id, char room[MESSAGE_KEY_SIZE])
{
    struct buffer key = buffer_of(room, MESSAGE_KEY_SIZE);
    struct slice topic, job_id, kind = SLICE("messages");
    size_t end = message_id.size;
    if (message_id.size > MESSAGE_ID_MAX || !slice_starts_with(message_id, SLICE("msg_")))
        return SLICE("");
    while (end > 4 && message_id.data[end - 1] != '.')
        end--;
    if (end > 4)
        kind = slice_from(message_id.data + 4, end - 1 - 4);
    buffer_append(&key, SLICE(OWNER_MARK));
    buffer_append(&key, kind);
    buffer_append_byte(&key, '/');
    buffer_append(&key, message_id);
    return !key.failed && job_key_parse(buffer_slice(&key), &topic, &job_id) ? buffer_slice(&key) : SLICE("");
}

/* ---- dead letters ---- */

static struct slice with_prefix(struct slice id, struct slice from, struct slice to,
                                char room[MESSAGE_ID_MAX + 1])
{
    if (id.size > MESSAGE_ID_MAX || !slice_starts_with(id, from))
        return SLICE("");
    memcpy(room, to.data, to.size);
    memcpy(room + to.size, id.data + from.size, id.size - from.size);
    return slice_from(room, id.size);
}

struct slice dead_letter_id(struct slice message_id, char room[MESSAGE_ID_MAX + 1])
{
    return with_prefix(message_id, SLICE(MESSAGE_ID_PREFIX), SLICE(DLQ_ID_PREFIX), room);
}

struct slice dead_letter_message(struct slice dead_letter_id, char room[MESSAGE_ID_MAX + 1])
{
    return with_prefix(dead_letter_id, SLICE(DLQ_ID_PREFIX), SLICE(MESSAGE_ID_PREFIX), room);
}
