/* The connections of a link to Redis. commands.c has the commands of a link. */
#include "io/redis/redis_private.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>

#include "base/system.h"
#include "base/memory.h"

enum {
    RECONNECT_MIN_US = 50 * 1000,
    RECONNECT_MAX_US = 1000 * 1000,
    PROVEN_US = RECONNECT_MAX_US, /* a connection that lasted this long resets the waits */
    IDLE_US = 5 * 1000 * 1000,    /* an idle connection gets a PING; services close idle ones after 15 s */
    READ_BYTES = 16 * 1024,
    READ_MAX_BYTES = 4 * READ_BYTES,
    OUT_KEPT_BYTES = 64 * 1024,
};

static void set_why(struct redis_link *link, const char *why)
{
    snprintf(link->why, sizeof link->why, "%s", why);
}

static void set_reply_why(struct redis_link *link, const struct redis_reply *reply)
{
    if (redis_reply_kind(reply) == REDIS_KIND_ERROR)
        snprintf(link->why, sizeof link->why, "%.*s", SLICE_ARG(redis_reply_text(reply)));
    else
        set_why(link, "Redis sent a reply without a command");
}

/* ---- losing a connection ---- */

/* Returns the next wait. After a connection that lasted PROVEN_US, the waits begin with the shortest one
 * again. Shorter connections do not reset the waits: for example, a replica accepts connections but no
 * writes, so each connection is dropped as soon as it is used. If these connections reset the waits, the link
 * would reconnect in a busy loop. */
static int64_t next_wait_us(struct redis_link *link)
{
    if (link->is_up && clock_boot_us() - link->up_us >= PROVEN_US)
        link->reconnect_us = RECONNECT_MIN_US;
    int64_t wait_us = link->reconnect_us;
    link->reconnect_us = wait_us * 2 > RECONNECT_MAX_US ? RECONNECT_MAX_US : wait_us * 2;
    return wait_us;
}

/* Drops the commands that wait to be written. */
static void forget_out(struct redis_link *link)
{
    buffer_clear(&link->out);
    link->out_sent = 0;
    if (link->out.capacity > OUT_KEPT_BYTES) { /* frees the memory that a large batch needed */
        buffer_fini(&link->out);
        buffer_init_fallible(&link->out, REDIS_OUT_MAX);
    }
}

/* Called at the end of each connection, and of each attempt to connect. */
static void lost(struct redis_link *link)
{
    bool was_up = link->is_up;
    link->failures += !was_up;
    int64_t wait_us = next_wait_us(link);
    watch_free(link->watch);
    link->watch = NULL;
    redis_stream_close(link->stream);
    link->stream = NULL;
    if (link->reader)
        redisReaderFree(link->reader);
    link->reader = NULL;
    reply_memory_free(&link->memory);
    forget_out(link);
    link->is_open = link->is_blocked = link->is_up = link->is_dropped = false;
    timer_stop(link->deadline);
    timer_stop(link->idle);
    redis_link_drop_subscriptions(link);
    if (link->is_closing)
        return;
    timer_start(link->reconnect, wait_us);
    if (was_up)
        link->events.on_down(link->events.arg, link->why);
}

/* Ends the connection: each command without a reply gets NULL. */
static void end_connection(struct redis_link *link)
{
    link->is_dropped = true; /* commands that these callbacks send fail, too */
    redis_link_fail_sent(link);
    lost(link);
}

/* Must not be called inside the callback of a reply. */
static void drop(struct redis_link *link, const char *why)
{
    set_why(link, why);
    end_connection(link);
}

void redis_link_reset(struct redis_link *link, const char *why)
{
    if (!link->stream || link->is_dropped)
        return;
    set_why(link, why);
    link->is_dropped = true;
    /* Drops the connection. Inside the callback of a reply, the connection is only marked, and take_replies
     * ends it later. */
    if (!link->is_in_callback)
        end_connection(link);
}

/* ---- bytes ---- */

static void update_watch(struct redis_link *link)
{
    bool wants_write = redis_stream_wants_write(link->stream);
    watch_set(link->watch, link->is_open || !wants_write, wants_write);
}

static void take_replies(struct redis_link *link)
{
    void *reply = NULL;
    while (link->stream) {
        if (redisReaderGetReply(link->reader, &reply) != REDIS_OK) {
            drop(link, link->reader->errstr);
            return;
        }
        if (!reply) {
            if (link->is_up && list_is_empty(&link->sent)) /* so that the deadline wakes no idle process */
                timer_stop(link->deadline);
            return;
        }
        link->is_in_callback = true;
        bool is_expected = redis_link_take_reply(link, reply);
        link->is_in_callback = false;
        if (!is_expected) /* Redis sends a reply without a command, for example, if it has too many clients */
            set_reply_why(link, reply);
        reply_memory_free(&link->memory);
        if (!is_expected || link->is_dropped)
            end_connection(link);
    }
}

/* Reads at most READ_MAX_BYTES a turn. The loop calls again if there is more. */
static void read_replies(struct redis_link *link)
{
    char bytes[READ_BYTES];
    size_t count = sizeof bytes;
    struct problem problem;
    bool is_lost = false;
    for (size_t total = 0; !is_lost && total < READ_MAX_BYTES && count == sizeof bytes; total += count) {
        is_lost = !redis_stream_read(link->stream, bytes, sizeof bytes, &count, &problem);
        if (count > 0 && redisReaderFeed(link->reader, bytes, count) == REDIS_OK)
            link->heard_us = clock_boot_us();
    }
    take_replies(link);
    if (is_lost && link->stream)
        drop(link, problem.text);
}

/* Writes as many bytes as the socket accepts now. */
static void flush_out(struct redis_link *link)
{
    struct problem problem;
    size_t count = 1;
    while (link->out_sent < link->out.size && count > 0) {
        if (!redis_stream_write(link->stream, link->out.data + link->out_sent,
                                link->out.size - link->out_sent, &count, &problem)) {
            read_replies(link); /* before it closed the connection, Redis may have sent the reason */
            if (link->stream)
                drop(link, problem.text);
            return;
        }
        link->out_sent += count;
    }
    link->is_blocked = link->out_sent < link->out.size;
    if (!link->is_blocked)
        forget_out(link);
    update_watch(link);
}

/* Writes all commands of a turn together. */
static void redis_on_turn_end(void *arg)
{
    struct redis_link *link = arg;
    if (link->is_open && link->out.size && !link->is_blocked)
        flush_out(link);
}

static void open_stream(struct redis_link *link);

static void on_ready(void *arg, bool readable, bool writable)
{
    struct redis_link *link = arg;
    /* Tries to read and to write, whatever the event was: TLS may have to write before it can read, or to
     * read before it can write. */
    (void)readable, (void)writable;
    if (!link->is_open) {
        open_stream(link);
        return;
    }
    read_replies(link);
    if (link->stream && link->is_blocked)
        flush_out(link);
    else if (link->stream)
        update_watch(link);
}

void redis_link_move(struct redis_link *link, const char *why)
{
    link->reconnect_us = RECONNECT_MIN_US;
    if (link->resolver) { /* cancels the lookup of the old node's name */
        resolver_cancel(link->resolver);
        link->resolver = NULL;
        timer_start(link->reconnect, 0);
    }
    if (timer_is_armed(link->reconnect))
        timer_start(link->reconnect, 0);
    redis_link_reset(link, why);
}

static void on_deadline(void *arg)
{
    struct redis_link *link = arg;
    if (!link->is_up) {
        redis_link_reset(link, link->stream && redis_stream_is_in_handshake(link->stream)
                                   ? "the TLS handshake took too long; does this port speak TLS?"
                                   : "connecting took too long");
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

static void on_pong(void *arg, const struct redis_reply *reply)
{
    (void)arg, (void)reply; /* the reply is ignored; if none comes, the deadline ends the connection */
}

/* Sends a PING, which keeps an idle connection open and detects a half-open one. */
static void on_idle(void *arg)
{
    struct redis_link *link = arg;
    int64_t left_us = link->heard_us + IDLE_US - clock_boot_us();
    if (left_us <= 0 && list_is_empty(&link->sent))
        redis_link_send(link, 1, (struct slice[]){SLICE("PING")}, on_pong, link);
    timer_start_aligned(link->idle, left_us > 0 ? left_us : IDLE_US);
}

/* ---- connecting ---- */

static void on_hello(void *arg, const struct redis_reply *reply)
{
    struct redis_link *link = arg;
    if (!reply || link->is_up || link->is_dropped)
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
    timer_start(link->idle, IDLE_US);
    link->events.on_up(link->events.arg);
}

static void say_hello(struct redis_link *link)
{
    const struct redis_address *address = link->address;
    char *password = secret_copy(address->password);
    struct slice argv[3] = {SLICE("AUTH")};
    size_t argc = 1;
    if (address->user)
        argv[argc++] = slice_of(address->user);
    if (password) {
        argv[argc++] = slice_of(password);
        redis_link_send(link, argc, argv, on_hello, link);
    }
    secret_free_copy(password);
    if (address->database) {
        char number[16];
        snprintf(number, sizeof number, "%u", address->database);
        redis_link_send(link, 2, (struct slice[]){SLICE("SELECT"), slice_of(number)}, on_hello, link);
    }
    if (link->events.find)
        redis_link_send(link, 1, (struct slice[]){SLICE("ROLE")}, on_hello, link);
    redis_link_send(link, 1, (struct slice[]){SLICE("PING")}, on_hello, link);
}

/* Continues to open the stream. Called when the stream's descriptor is ready. */
static void open_stream(struct redis_link *link)
{
    struct problem problem;
    switch (redis_stream_open(link->stream, &problem)) {
    case REDIS_STREAM_OPENING:
        update_watch(link);
        break;
    case REDIS_STREAM_OPEN:
        link->is_open = true;
        update_watch(link);
        say_hello(link);
        break;
    case REDIS_STREAM_LOST:
        drop(link, problem.text);
        break;
    }
}

static void use_stream(struct redis_link *link, struct redis_stream *stream, const struct problem *problem)
{
    if (!stream) {
        drop(link, problem->text);
        return;
    }
    link->stream = stream;
    link->reader = reply_reader_new(&link->memory);
    link->watch = watch_new(link->loop, redis_stream_fd(stream), on_ready, link);
    update_watch(link);
    timer_start(link->deadline, link->deadline_us);
}

static void connect_address(struct redis_link *link, const char *address)
{
    struct redis_node node = {.port = link->port};
    struct problem problem;
    snprintf(node.host, sizeof node.host, "%s", address);
    if (link->events.on_peer)
        link->events.on_peer(link->events.arg, &node);
    struct redis_stream *stream =
        redis_stream_tcp(address, link->port, link->address->tls, link->host, &problem);
    use_stream(link, stream, &problem);
}

static void connect_path(struct redis_link *link, const char *path)
{
    struct problem problem;
    struct redis_stream *stream = redis_stream_unix(path, &problem);
    use_stream(link, stream, &problem);
}

static void on_resolved(void *arg, const struct resolved *resolved)
{
    struct redis_link *link = arg;
    link->resolver = NULL;
    if (resolved->count)
        connect_address(link, resolved->addresses[link->failures % resolved->count]);
    else
        drop(link, resolved->why);
}

static bool is_literal(const char *host)
{
    struct in6_addr ignored;
    return inet_pton(AF_INET, host, &ignored) == 1 || inet_pton(AF_INET6, host, &ignored) == 1;
}

static void connect_host(struct redis_link *link, const char *host, uint16_t port)
{
    link->port = port;
    snprintf(link->host, sizeof link->host, "%s", host);
    if (is_literal(host))
        connect_address(link, host);
    else
        link->resolver = resolver_start(link->loop, host, on_resolved, link);
}

static void on_reconnect(void *arg)
{
    struct redis_link *link = arg;
    struct redis_node node;
    struct problem why;
    if (link->address->path) {
        connect_path(link, link->address->path);
    } else if (!link->events.find) {
        connect_host(link, link->address->host, link->address->port);
    } else if (link->events.find(link->events.find_arg, &node, &why)) {
        connect_host(link, node.host, node.port);
    } else {
        drop(link, why.text);
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
    buffer_init_fallible(&link->out, REDIS_OUT_MAX);
    list_init(&link->sent);
    list_init(&link->unsent);
    list_init(&link->subscriptions);
    link->reconnect = timer_new(loop, on_reconnect, link);
    link->deadline = timer_new(loop, on_deadline, link);
    link->idle = timer_new(loop, on_idle, link);
    link->fail_unsent = timer_new(loop, redis_link_fail_unsent, link);
    link->send = hook_new(loop, LOOP_PHASE_SEND, redis_on_turn_end, link);
    timer_start(link->reconnect, 0);
    return link;
}

void redis_link_free(struct redis_link *link)
{
    if (!link)
        return;
    assert(!link->is_in_callback);
    link->is_closing = true;
    if (link->resolver)
        resolver_cancel(link->resolver);
    if (link->stream)
        end_connection(link);
    redis_link_fail_unsent(link);
    timer_free(link->reconnect);
    timer_free(link->deadline);
    timer_free(link->idle);
    timer_free(link->fail_unsent);
    hook_free(link->send);
    buffer_fini(&link->out);
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

void redis_library(struct library *library)
{
    char version[LIBRARY_VERSION_SIZE];
    snprintf(version, sizeof version, "%d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
    library_set(library, "hiredis", version);
}
