/* The commands of a link to Redis, and the messages of the channels to which the link subscribes. */
#include <assert.h>
#include <stdlib.h>

#include "base/system.h"
#include "base/memory.h"
#include "io/redis/redis_private.h"

enum {
    SIZE_TEXT_MAX = 32
}; /* more than the bytes of a size, with its mark and line end, and of a line end */

/* Appends a size, such as "$12" and a line end. */
static void put_size(struct buffer *out, char mark, size_t size)
{
    char text[SIZE_TEXT_MAX];
    char *end = text + sizeof text, *at = end;
    *--at = '\n';
    *--at = '\r';
    do {
        *--at = (char)('0' + size % 10);
        size /= 10;
    } while (size);
    *--at = mark;
    buffer_append(out, slice_from(at, (size_t)(end - at)));
}

/* Appends a command to the bytes to write. Returns false, and appends nothing, if the command does not fit or
 * if there is no memory. Both are possible, because clients decide the size of a command. */
static bool append_argv(struct buffer *out, size_t argc, const struct slice *argv)
{
    assert(argc > 0);
    size_t size = out->size;
    put_size(out, '*', argc);
    for (size_t i = 0; i < argc; i++) {
        put_size(out, '$', argv[i].size);
        char *at = buffer_extend(out, argv[i].size + 2);
        if (!at)
            break;
        if (argv[i].size)
            memcpy(at, argv[i].data, argv[i].size);
        memcpy(at + argv[i].size, "\r\n", 2);
    }
    bool fits = !out->failed;
    if (!fits)
        out->size = size;
    out->failed = false;
    return fits;
}

static struct pending *pending_new(redis_reply_fn *fn, void *arg)
{
    struct pending *pending = NEW(struct pending);
    pending->fn = fn;
    pending->arg = arg;
    list_init(&pending->link);
    return pending;
}

static void fail_soon(struct redis_link *link, struct pending *pending)
{
    list_append(&link->unsent, &pending->link);
    timer_start(link->fail_unsent, 0);
}

void redis_link_send(struct redis_link *link, size_t argc, const struct slice *argv, redis_reply_fn *fn,
                     void *arg)
{
    struct pending *pending = pending_new(fn, arg);
    if (!link->is_open || link->is_dropped || !append_argv(&link->out, argc, argv)) {
        fail_soon(link, pending);
        return;
    }
    pending->sent_us = clock_boot_us();
    list_append(&link->sent, &pending->link);
    timer_arm(link->deadline, link->deadline_us);
}

void redis_send(struct redis_link *link, size_t argc, const struct slice *argv, redis_reply_fn *fn, void *arg)
{
    if (link->is_up)
        redis_link_send(link, argc, argv, fn, arg);
    else
        fail_soon(link, pending_new(fn, arg));
}

/* ---- channels ---- */

void redis_subscribe(struct redis_link *link, struct slice channel, redis_message_fn *fn, void *arg)
{
    if (!link->is_up || link->is_dropped ||
        !append_argv(&link->out, 2, (struct slice[]){SLICE("SUBSCRIBE"), channel}))
        return;
    struct subscription *subscription = NEW(struct subscription);
    subscription->channel = slice_dup(channel);
    subscription->fn = fn;
    subscription->arg = arg;
    list_append(&link->subscriptions, &subscription->link);
}

/* Handles a message, or the answer to SUBSCRIBE. Returns false if the reply is neither. */
static bool take_message(struct redis_link *link, const struct redis_reply *reply)
{
    struct slice kind = redis_reply_text(redis_reply_at(reply, 0));
    struct slice channel = redis_reply_text(redis_reply_at(reply, 1));
    bool is_message = slice_equal(kind, SLICE("message"));
    if (redis_reply_size(reply) != 3 || (!is_message && !slice_equal(kind, SLICE("subscribe"))))
        return false;
    for (struct list *entry = link->subscriptions.next; entry != &link->subscriptions; entry = entry->next) {
        const struct subscription *subscription = LIST_ENTRY(entry, struct subscription, link);
        if (!slice_equal(slice_of(subscription->channel), channel))
            continue;
        subscription->fn(subscription->arg, channel,
                         is_message ? redis_reply_text(redis_reply_at(reply, 2)) : SLICE(""));
        return true;
    }
    return false;
}

void redis_link_drop_subscriptions(struct redis_link *link)
{
    for (struct list *entry; (entry = list_take(&link->subscriptions));) {
        struct subscription *subscription = LIST_ENTRY(entry, struct subscription, link);
        free(subscription->channel);
        free(subscription);
    }
}

/* ---- replies ---- */

static void pending_end(struct pending *pending, const struct redis_reply *reply)
{
    redis_reply_fn *fn = pending->fn;
    void *arg = pending->arg;
    list_remove(&pending->link);
    free(pending);
    fn(arg, reply);
}

bool redis_link_take_reply(struct redis_link *link, const struct redis_reply *reply)
{
    if (!list_is_empty(&link->subscriptions) && take_message(link, reply))
        return true;
    struct list *oldest = list_take(&link->sent);
    if (!oldest)
        return false;
    if (link->events.on_error && redis_reply_kind(reply) == REDIS_KIND_ERROR)
        link->events.on_error(link->events.arg, redis_reply_text(reply));
    pending_end(LIST_ENTRY(oldest, struct pending, link), reply);
    return true;
}

static void fail_all(struct list *commands)
{
    struct list failed;
    list_move(commands, &failed);
    while (!list_is_empty(&failed))
        pending_end(LIST_ENTRY(failed.next, struct pending, link), NULL);
}

void redis_link_fail_unsent(void *arg)
{
    struct redis_link *link = arg;
    fail_all(&link->unsent);
}

void redis_link_fail_sent(struct redis_link *link)
{
    fail_all(&link->sent);
}
