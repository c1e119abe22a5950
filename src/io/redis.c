/* This file has the connections of a link. redis_commands.c has its commands. */
#include "io/redis_private.h"

#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"

enum {
    RECONNECT_MIN_US = 50 * 1000,
    RECONNECT_MAX_US = 1000 * 1000,
    PROVEN_US = RECONNECT_MAX_US, /* a connection that lasted this long resets the waits */
};

static void set_why(struct redis_link *link, const char *why)
{
    snprintf(link->why, sizeof link->why, "%s", why);
}

/* ---- events of hiredis, on our loop ---- */

static void on_ready(void *arg, bool readable, bool writable)
{
    struct redis_link *link = arg;
    redisAsyncContext *context = link->context;
    if (writable && link->context == context)
        redisAsyncHandleWrite(context);
    if (readable && link->context == context) {
        link->heard_us = clock_boot_us();
        redisAsyncHandleRead(context);
    }
}

static void update_watch(struct redis_link *link)
{
    if (link->watch)
        watch_set(link->watch, link->wants_read, link->wants_write);
}

static void add_read(void *data)
{
    struct redis_link *link = data;
    link->wants_read = true;
    update_watch(link);
}

static void delete_read(void *data)
{
    struct redis_link *link = data;
    link->wants_read = false;
    update_watch(link);
}

/* Called when hiredis has data to write. After the connect, writing waits for the end of the turn instead of
 * for epoll, so that one write sends all commands of the turn. */
static void add_write(void *data)
{
    struct redis_link *link = data;
    if (link->context && (link->context->c.flags & REDIS_CONNECTED) && !link->is_dirty) {
        link->is_dirty = true;
        return;
    }
    link->wants_write = true;
    update_watch(link);
}

static void delete_write(void *data)
{
    struct redis_link *link = data;
    link->wants_write = false;
    update_watch(link);
}

static void redis_on_turn_end(void *arg)
{
    struct redis_link *link = arg;
    if (!link->is_dirty || !link->context)
        return;
    /* is_dirty stays set during the write, so that epoll is used for the part that hiredis could not
     * write. */
    redisAsyncHandleWrite(link->context);
    link->is_dirty = false;
}

/* ---- losing a connection ---- */

/* Returns the next wait. The waits start over after a connection that lasted PROVEN_US. Shorter connections
 * do not reset the waits, because some are dropped as soon as they are used: a replica accepts connections
 * but no writes. With a constant short wait the link would then reconnect in a busy loop. */
static int64_t next_wait_us(struct redis_link *link)
{
    if (link->is_up && clock_boot_us() - link->up_us >= PROVEN_US)
        link->reconnect_us = RECONNECT_MIN_US;
    int64_t wait_us = link->reconnect_us;
    link->reconnect_us = wait_us * 2 > RECONNECT_MAX_US ? RECONNECT_MAX_US : wait_us * 2;
    return wait_us;
}

/* Called at the end of each connection, and of each attempt to connect. */
static void lost(struct redis_link *link)
{
    bool was_up = link->is_up;
    link->failures += !was_up;
    int64_t wait_us = next_wait_us(link);
    link->context = NULL;
    link->is_up = false;
    link->is_dirty = false;
    link->wants_read = link->wants_write = false;
    watch_free(link->watch);
    link->watch = NULL;
    timer_stop(link->deadline);
    redis_link_drop_subscriptions(link);
    if (link->is_closing)
        return;
    timer_start(link->reconnect, wait_us);
    if (was_up)
        link->events.on_down(link->events.arg, link->why);
}

/* Called by hiredis once for each context that it frees, after all callbacks got NULL. */
static void cleanup(void *data)
{
    struct redis_link *link = data;
    if (link->context && link->context->errstr && link->context->errstr[0])
        set_why(link, link->context->errstr);
    lost(link);
}

void redis_link_reset(struct redis_link *link, const char *why)
{
    if (!link->context)
        return;
    set_why(link, why);
    redisAsyncFree(link->context); /* inside a callback of hiredis: freed when the callback returns */
}

void redis_link_move(struct redis_link *link, const char *why)
{
    link->reconnect_us = RECONNECT_MIN_US;
    if (link->resolver) { /* for the name of the old node */
        resolver_cancel(link->resolver);
        link->resolver = NULL;
        timer_start(link->reconnect, 0);
    }
    if (timer_is_running(link->reconnect))
        timer_start(link->reconnect, 0);
    redis_link_reset(link, why);
}

static void on_deadline(void *arg)
{
    struct redis_link *link = arg;
    if (!link->is_up) {
        redis_link_reset(link, "connecting took too long");
        return;
    }
    if (list_is_empty(&link->sent))
        return;
    struct pending *oldest = LIST_ENTRY(link->sent.next, struct pending, link);
    int64_t since_us = oldest->sent_us > link->heard_us ? oldest->sent_us : link->heard_us;
    int64_t left_us = since_us + link->deadline_us - clock_boot_us();
    if (left_us > 0)
        timer_start(link->deadline, left_us);
    else
        redis_link_reset(link, "Redis did not answer in time");
}

/* ---- connecting ---- */

static void on_hello(void *arg, const struct redis_reply *reply)
{
    struct redis_link *link = arg;
    if (!reply || link->is_up || !link->context)
        return;
    if (redis_reply_kind(reply) == REDIS_KIND_ARRAY) { /* the reply of ROLE */
        if (!slice_equal(redis_reply_text(redis_reply_at(reply, 0)), SLICE("master")))
            redis_link_reset(link, "this Redis is not the primary");
        return;
    }
    if (redis_reply_kind(reply) == REDIS_KIND_ERROR) {
        char why[sizeof link->why];
        snprintf(why, sizeof why, "%.*s", SLICE_ARG(redis_reply_text(reply)));
        redis_link_reset(link, why);
        return;
    }
    if (!slice_equal(redis_reply_text(reply), SLICE("PONG")))
        return;
    link->is_up = true;
    link->up_us = clock_boot_us();
    link->events.on_up(link->events.arg);
}

static void say_hello(struct redis_link *link)
{
    const struct redis_address *address = link->address;
    struct slice argv[3] = {SLICE("AUTH")};
    size_t argc = 1;
    if (address->user)
        argv[argc++] = slice_of(address->user);
    if (address->password) {
        argv[argc++] = slice_of(address->password);
        redis_link_send(link, argc, argv, on_hello, link);
    }
    if (address->database) {
        char number[16];
        snprintf(number, sizeof number, "%u", address->database);
        redis_link_send(link, 2, (struct slice[]){SLICE("SELECT"), slice_of(number)}, on_hello, link);
    }
    if (link->events.find)
        redis_link_send(link, 1, (struct slice[]){SLICE("ROLE")}, on_hello, link);
    redis_link_send(link, 1, (struct slice[]){SLICE("PING")}, on_hello, link);
}

static void on_connected(const redisAsyncContext *context, int status)
{
    struct redis_link *link = context->data;
    if (status != REDIS_OK) {
        set_why(link, context->c.errstr[0] ? context->c.errstr : "no connection");
        return;
    }
    if (!link->address->path)
        redisEnableKeepAlive(&link->context->c); /* otherwise a half-open connection would win a BLPOP */
    say_hello(link);
}

static void adopt_context(struct redis_link *link, redisAsyncContext *context)
{
    if (!context || context->err) {
        set_why(link, context ? context->errstr : "out of memory");
        if (context)
            redisAsyncFree(context);
        lost(link);
        return;
    }
    fcntl(context->c.fd, F_SETFD, FD_CLOEXEC);
    link->context = context;
    link->watch = watch_new(link->loop, context->c.fd, on_ready, link);
    context->data = link;
    context->ev.data = link;
    context->ev.addRead = add_read;
    context->ev.delRead = delete_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = delete_write;
    context->ev.cleanup = cleanup;
    timer_start(link->deadline, link->deadline_us);
    redisAsyncSetConnectCallback(context, on_connected);
}

static void connect_address(struct redis_link *link, const char *address)
{
    struct redis_node node = {.port = link->port};
    snprintf(node.host, sizeof node.host, "%s", address);
    if (link->events.on_peer)
        link->events.on_peer(link->events.arg, &node);
    adopt_context(link, redisAsyncConnect(address, link->port));
}

static void on_resolved(void *arg, const struct resolved *resolved)
{
    struct redis_link *link = arg;
    link->resolver = NULL;
    if (resolved->count) {
        connect_address(link, resolved->addresses[link->failures % resolved->count]);
        return;
    }
    set_why(link, resolved->why);
    lost(link);
}

static bool is_literal(const char *host)
{
    struct in6_addr ignored;
    return inet_pton(AF_INET, host, &ignored) == 1 || inet_pton(AF_INET6, host, &ignored) == 1;
}

static void connect_host(struct redis_link *link, const char *host, uint16_t port)
{
    link->port = port;
    if (is_literal(host))
        connect_address(link, host);
    else
        link->resolver = resolver_start(link->loop, host, on_resolved, link);
}

static void on_reconnect(void *arg)
{
    struct redis_link *link = arg;
    struct redis_node node;
    if (link->address->path) {
        adopt_context(link, redisAsyncConnectUnix(link->address->path));
    } else if (!link->events.find) {
        connect_host(link, link->address->host, link->address->port);
    } else if (link->events.find(link->events.find_arg, &node)) {
        connect_host(link, node.host, node.port);
    } else {
        set_why(link, link->address->is_cluster ? "no node of the Cluster has named the primary yet"
                                                : "no Sentinel has named the primary yet");
        lost(link);
    }
}

struct redis_link *redis_link_new(struct loop *loop, const struct redis_address *address, int64_t deadline_us,
                                  struct redis_link_events events)
{
    struct redis_link *link = NEW(struct redis_link);
    link->loop = loop;
    link->address = address;
    link->deadline_us = deadline_us;
    link->events = events;
    link->reconnect_us = RECONNECT_MIN_US;
    list_init(&link->sent);
    list_init(&link->unsent);
    list_init(&link->subscriptions);
    link->reconnect = timer_new(loop, on_reconnect, link);
    link->deadline = timer_new(loop, on_deadline, link);
    link->fail_unsent = timer_new(loop, redis_link_fail_unsent, link);
    link->send = hook_new(loop, LOOP_PHASE_SEND, redis_on_turn_end, link);
    timer_start(link->reconnect, 0);
    return link;
}

void redis_link_free(struct redis_link *link)
{
    if (!link)
        return;
    link->is_closing = true;
    if (link->resolver)
        resolver_cancel(link->resolver);
    if (link->context)
        redisAsyncFree(link->context);
    redis_link_fail_unsent(link);
    timer_free(link->reconnect);
    timer_free(link->deadline);
    timer_free(link->fail_unsent);
    hook_free(link->send);
    free(link);
}

bool redis_link_is_up(const struct redis_link *link)
{
    return link->is_up;
}

const char *redis_link_why(const struct redis_link *link)
{
    return link->why;
}
