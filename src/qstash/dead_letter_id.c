#include "qstash/dead_letter_id.h"

static struct slice with_prefix(struct slice id, const char *from, const char *to,
                                char room[MESSAGE_ID_MAX + 1])
{
    size_t size = strlen(from);
    if (id.size > MESSAGE_ID_MAX || !slice_starts_with(id, slice_of(from)))
        return SLICE("");
    memcpy(room, to, size);
    memcpy(room + size, id.data + size, id.size - size);
    return slice_from(room, id.size);
}

struct slice dead_letter_id(struct slice message_id, char room[MESSAGE_ID_MAX + 1])
{
    return with_prefix(message_id, "msg_", "dlq_", room);
}

struct slice dead_letter_message(struct slice dead_letter_id, char room[MESSAGE_ID_MAX + 1])
{
    return with_prefix(dead_letter_id, "dlq_", "msg_", room);
}
