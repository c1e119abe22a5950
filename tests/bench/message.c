#include "message.h"

static const char *find(struct slice text, const char *word)
{
    return memmem(text.data, text.size, word, strlen(word));
}

int64_t message_number(struct slice text, const char *key)
{
    const char *at = find(text, key), *end = text.data + text.size;
    if (!at)
        return -1;
    int64_t number = 0;
    for (at += strlen(key); at < end && *at == ' '; at++)
        continue;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (*at - '0');
    return number;
}

bool message_read(struct slice bytes, struct message *message)
{
    const char *end = find(bytes, "\r\n\r\n");
    if (!end)
        return false;
    message->head = slice_from(bytes.data, (size_t)(end + 4 - bytes.data));
    int64_t length = message_number(message->head, "Content-Length:");
    if (length < 0)
        length = message_number(message->head, "content-length:"); /* as undici writes it */
    size_t body_size = length > 0 ? (size_t)length : 0;
    if (bytes.size - message->head.size < body_size)
        return false;
    message->body = slice_from(end + 4, body_size);
    message->size = message->head.size + body_size;
    return true;
}
