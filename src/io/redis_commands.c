/* This file has the commands of a link to Redis, and the messages of its channels. */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "io/redis_private.h"

enum { ARGS_ON_STACK = 64 };

static void on_reply(redisAsyncContext *context, void *reply, void *data)
{
    struct redis_link *link = context->data;
    struct pending *pending = data;
    redis_reply_fn *fn = pending->fn;
    void *arg = pending->arg;
    list_remove(&pending->link);
    free(pending);
    if (link->events.on_error && redis_reply_kind(reply) == REDIS_KIND_ERROR)
        link->events.on_error(link->events.arg, redis_reply_text(reply));
    fn(arg, reply);
}

static int send_argv(struct redis_link *link, redisCallbackFn *fn, void *data, size_t argc,
                     const struct slice *argv)
{
    const char *texts_on_stack[ARGS_ON_STACK];
    size_t sizes_on_stack[ARGS_ON_STACK];
    assert(argc > 0);
    bool is_small = argc <= ARGS_ON_STACK;
    const char **texts = is_small ? texts_on_stack : NEW_ARRAY(const char *, argc);
    size_t *sizes = is_small ? sizes_on_stack : NEW_ARRAY(size_t, argc);
    for (size_t i = 0; i < argc; i++) {
        texts[i] = argv[i].data ? argv[i].data : "";
        sizes[i] = argv[i].size;
    }
    int result = redisAsyncCommandArgv(link->context, fn, data, (int)argc, texts, sizes);
    if (!is_small) {
        free(texts);
        free(sizes);
    }
    return result;
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
    if (send_argv(link, on_reply, pending, argc, argv) != REDIS_OK) {
        fail_soon(link, pending);
        return;
    }
    pending->sent_us = clock_boot_us();
    list_append(&link->sent, &pending->link);
    if (!timer_is_running(link->deadline))
        timer_start(link->deadline, link->deadline_us);
}

void redis_send(struct redis_link *link, size_t argc, const struct slice *argv, redis_reply_fn *fn, void *arg)
{
    if (link->is_up)
        redis_link_send(link, argc, argv, fn, arg);
    else
        fail_soon(link, pending_new(fn, arg));
}

static void on_message(redisAsyncContext *context, void *reply, void *data)
{
    (void)context;
    const struct subscription *subscription = data;
    const struct redis_reply *message = reply;
    if (!message || redis_reply_size(message) != 3)
        return;
    struct slice kind = redis_reply_text(redis_reply_at(message, 0));
    if (slice_equal(kind, SLICE("subscribe")))
        subscription->fn(subscription->arg, redis_reply_text(redis_reply_at(message, 1)), SLICE(""));
    if (slice_equal(kind, SLICE("message")))
        subscription->fn(subscription->arg, redis_reply_text(redis_reply_at(message, 1)),
                         redis_reply_text(redis_reply_at(message, 2)));
}

void redis_subscribe(struct redis_link *link, struct slice channel, redis_message_fn *fn, void *arg)
{
    if (!link->is_up)
        return;
    struct subscription *subscription = NEW(struct subscription);
    subscription->fn = fn;
    subscription->arg = arg;
    list_append(&link->subscriptions, &subscription->link);
    send_argv(link, on_message, subscription, 2, (struct slice[]){SLICE("SUBSCRIBE"), channel});
}

static void command_fail(struct pending *pending)
{
    redis_reply_fn *fn = pending->fn;
    void *arg = pending->arg;
    list_remove(&pending->link);
    free(pending);
    fn(arg, NULL);
}

void redis_link_fail_unsent(void *arg)
{
    struct redis_link *link = arg;
    struct list unsent;
    list_move(&link->unsent, &unsent);
    while (!list_is_empty(&unsent))
        command_fail(LIST_ENTRY(unsent.next, struct pending, link));
}

void redis_link_drop_subscriptions(struct redis_link *link)
{
    for (struct list *entry; (entry = list_take(&link->subscriptions));)
        free(LIST_ENTRY(entry, struct subscription, link));
}
