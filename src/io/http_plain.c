/* A connection is either idle, and in the pool, or it carries one call:
 *
 *   http_plain_send   takes a kept-alive connection that the other end has not closed
 *   begin             asks may_connect and may_send; writes the request in one call
 *   on_readable       reads the answer, part by part (http_reader.h)
 *   connection_end    ends the call; the connection goes back to the pool, or is closed
 *
 * Anything unexpected closes the connection. */
#include "io/http_plain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "io/http_reader.h"

enum {
    ROOM_BYTES = 16 * 1024, /* size of one read */
    READS_MAX = 4,          /* maximum number of reads from one connection in a turn */
    BUCKETS = 1024,
};

/* As in libcurl: CURLOPT_MAXAGE_CONN, and our CURLOPT_MAXLIFETIME_CONN. */
#define IDLE_MAX_US INT64_C(118000000)
#define LIFE_MAX_US INT64_C(300000000)

struct http_connection {
    struct list link;     /* link in its bucket while idle; the latest one is the first */
    struct list age_link; /* link in the list of all idle connections; the latest one is the first */
    struct http_plain *plain;
    struct watch *watch;
    int fd;
    struct sockaddr_storage peer;
    int64_t opened_us, idle_us; /* times by loop_now_us */
    struct http_call *call;     /* NULL: idle */
    bool is_reused;
    size_t sent; /* bytes of the request that were sent */
    struct http_reader reader;
    size_t authority_size;
    char authority[];
};

struct http_plain {
    struct loop *loop;
    struct http_plain_events events;
    size_t max_idle, count; /* count is the number of all connections */
    struct list aged;
    struct list buckets[BUCKETS]; /* idle connections, by authority */
    char room[ROOM_BYTES];
};

/* ---- the pool ---- */

static struct list *bucket_of(struct http_plain *plain, struct slice authority)
{
    return &plain->buckets[hash_of(authority) % BUCKETS];
}

static struct slice authority_of(const struct http_connection *connection)
{
    return slice_from(connection->authority, connection->authority_size);
}

static void connection_close(struct http_connection *connection)
{
    list_remove(&connection->link);
    list_remove(&connection->age_link);
    connection->plain->count--;
    watch_free(connection->watch);
    http_reader_fini(&connection->reader);
    close(connection->fd);
    free(connection);
}

/* Returns whether nothing has arrived since the connection was idle, and whether it is young enough. */
static bool is_usable(const struct http_connection *connection)
{
    char byte;
    int64_t now_us = loop_now_us(connection->plain->loop);
    if (now_us - connection->idle_us > IDLE_MAX_US || now_us - connection->opened_us > LIFE_MAX_US)
        return false;
    return recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* Takes an idle connection out of the pool, or returns NULL. */
static struct http_connection *pool_take(struct http_plain *plain, struct slice authority)
{
    struct list *bucket = bucket_of(plain, authority), *next;
    for (struct list *link = bucket->next; link != bucket; link = next) {
        struct http_connection *connection = LIST_ENTRY(link, struct http_connection, link);
        next = link->next;
        if (!slice_equal(authority_of(connection), authority))
            continue;
        if (is_usable(connection)) {
            list_remove(&connection->link);
            list_remove(&connection->age_link);
            return connection;
        }
        connection_close(connection);
    }
    return NULL;
}

static struct http_connection *oldest_idle(struct http_plain *plain)
{
    return list_is_empty(&plain->aged) ? NULL
                                       : LIST_ENTRY(plain->aged.next, struct http_connection, age_link);
}

static void pool_put(struct http_plain *plain, struct http_connection *connection)
{
    struct http_connection *oldest;
    connection->idle_us = loop_now_us(plain->loop);
    connection->is_reused = true;
    list_append(bucket_of(plain, authority_of(connection))->next,
                &connection->link); /* inserts it as the first element */
    list_append(&plain->aged, &connection->age_link);
    while ((oldest = oldest_idle(plain)) &&
           (plain->count > plain->max_idle || connection->idle_us - oldest->idle_us > IDLE_MAX_US))
        connection_close(oldest);
}

/* ---- the end of a call ---- */

static void connection_end(struct http_connection *connection, CURLcode code)
{
    struct http_plain *plain = connection->plain;
    struct http_call *call = connection->call;
    size_t request_bytes = call->head.size + call->request.body.size;
    bool is_kept = code == CURLE_OK && !connection->reader.is_last && connection->sent == request_bytes;
    connection->call = NULL;
    call->connection = NULL;
    http_reader_fini(&connection->reader);
    connection->reader = (struct http_reader){0};
    if (is_kept)
        pool_put(plain, connection);
    else
        connection_close(connection);
    plain->events.on_end(plain->events.arg, call, code);
}

/* Ends a call with a message for people. */
static void connection_fail(struct http_connection *connection, CURLcode code, const char *detail)
{
    struct http_call *call = connection->call;
    snprintf(call->error_text, sizeof call->error_text, "%s", detail);
    connection_end(connection, code);
}

static void connection_break(struct http_connection *connection, CURLcode code, const char *what, int error)
{
    char detail[100];
    snprintf(detail, sizeof detail, "%s failure: %s", what, strerror(error));
    connection_fail(connection, code, detail);
}

/* ---- the request ---- */

/* Writes as much as the kernel takes. Returns 0 or errno. */
static int connection_push(struct http_connection *connection)
{
    const struct http_call *call = connection->call;
    struct slice head = buffer_slice(&call->head), body = call->request.body;
    while (connection->sent < head.size + body.size) {
        size_t of_head = connection->sent < head.size ? connection->sent : head.size;
        size_t of_body = connection->sent - of_head;
        struct iovec parts[] = {
            {(void *)(uintptr_t)(head.data + of_head), head.size - of_head},
            {(void *)(uintptr_t)slice_skip(body, of_body).data, body.size - of_body},
        };
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = body.size > of_body ? 2 : 1};
        ssize_t sent = sendmsg(connection->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR)
            return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
        connection->sent += sent > 0 ? (size_t)sent : 0;
    }
    return 0;
}

static void connection_begin(struct http_connection *connection, struct http_call *call)
{
    connection->call = call;
    connection->sent = 0;
    call->connection = connection;
    http_reader_begin(&connection->reader, call->request.method == HTTP_METHOD_HEAD);
    if (!http_call_begin_sending(call, (struct sockaddr *)&connection->peer, connection->is_reused)) {
        connection_end(connection, CURLE_ABORTED_BY_CALLBACK);
        return;
    }
    int error = connection_push(connection);
    freeze_guard_leave(call->owner->guard);
    if (error && connection->sent == 0)
        connection_break(connection, CURLE_SEND_ERROR, "Send", error);
    else if (connection->sent <
             call->head.size + call->request.body.size) /* after a failed write, an answer may still come */
        watch_set(connection->watch, true, error == 0);
}

bool http_plain_send(struct http_plain *plain, struct http_call *call)
{
    struct http_connection *connection = pool_take(plain, call->authority);
    if (!connection)
        return false;
    connection_begin(connection, call);
    return true;
}

/* ---- the answer ---- */

/* Returns false when the call has ended. */
static bool take_part(struct http_connection *connection, enum http_read read, struct slice part)
{
    struct http_call *call = connection->call;
    switch (read) {
    case HTTP_READ_LINE:
        if (http_call_take_line(call, part))
            return true;
        break;
    case HTTP_READ_BODY:
        if (http_call_take_body(call, part))
            return true;
        break;
    case HTTP_READ_BAD:
        call->verdict = FAILURE_PROTOCOL;
        connection_fail(connection, CURLE_WEIRD_SERVER_REPLY, "The answer is not valid HTTP/1.1");
        return false;
    default: /* HTTP_READ_LONG */
        call->verdict = FAILURE_ANSWER_TOO_LARGE;
        break;
    }
    connection_end(connection, CURLE_WRITE_ERROR);
    return false;
}

/* Returns false when the call has ended. */
static bool take_bytes(struct http_connection *connection, struct slice bytes)
{
    struct http_call *call = connection->call;
    for (;;) {
        struct slice part = SLICE("");
        size_t before = bytes.size;
        enum http_read read = http_reader_next(&connection->reader, &bytes, &part);
        if (read == HTTP_READ_END) {
            connection->reader.is_last |= bytes.size > 0; /* bytes that no request asked for */
            connection_end(connection, CURLE_OK);
            return false;
        }
        call->head_bytes += read == HTTP_READ_BODY ? 0 : before - bytes.size;
        if (read == HTTP_READ_MORE)
            return true;
        if (!take_part(connection, read, part))
            return false;
    }
}

static void on_end_of_input(struct http_connection *connection)
{
    const struct http_call *call = connection->call;
    if (http_reader_may_close(&connection->reader)) {
        connection->reader.is_last = true;
        connection_end(connection, CURLE_OK);
    } else if (call->head_bytes == 0) {
        connection_fail(connection, CURLE_GOT_NOTHING, "Empty reply from server");
    } else if (!call->has_head) {
        connection_fail(connection, CURLE_WEIRD_SERVER_REPLY,
                        "The connection was closed within the answer's head");
    } else {
        connection_end(connection, CURLE_PARTIAL_FILE);
    }
}

static void connection_on_readable(struct http_connection *connection)
{
    char *room = connection->plain->room;
    for (int reads = 0; reads < READS_MAX; reads++) {
        ssize_t size = recv(connection->fd, room, ROOM_BYTES, MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return;
        if (size < 0) {
            connection_break(connection, CURLE_RECV_ERROR, "Recv", errno);
            return;
        }
        if (size == 0) {
            on_end_of_input(connection);
            return;
        }
        if (!take_bytes(connection, slice_from(room, (size_t)size)) || size < ROOM_BYTES)
            return;
    }
}

static void on_watch(void *arg, bool readable, bool writable)
{
    struct http_connection *connection = arg;
    struct http_plain *plain = connection->plain;
    if (!connection->call) { /* the connection is idle: the other end has closed it, or has sent bytes without
                                a request */
        connection_close(connection);
        return;
    }
    if (writable) {
        const struct http_call *call = connection->call;
        int error = connection_push(connection);
        if (error || connection->sent == call->head.size + call->request.body.size)
            watch_set(connection->watch, true, false);
    }
    if (readable)
        connection_on_readable(connection);
    plain->events.on_ready(plain->events.arg);
}

/* ---- connections ---- */

void http_plain_send_over(struct http_plain *plain, int fd, struct http_call *call)
{
    struct http_connection *connection = memory_new(sizeof *connection + call->authority.size);
    socklen_t size = sizeof connection->peer;
    list_init(&connection->link);
    list_init(&connection->age_link);
    connection->plain = plain;
    connection->fd = fd;
    connection->opened_us = loop_now_us(plain->loop);
    connection->authority_size = call->authority.size;
    memcpy(connection->authority, call->authority.data, call->authority.size);
    connection->watch = watch_new(plain->loop, fd, on_watch, connection);
    watch_set(connection->watch, true, false);
    plain->count++;
    if (getpeername(fd, (struct sockaddr *)&connection->peer, &size) == 0) {
        connection_begin(connection, call);
        return;
    }
    connection->call = call; /* the other end has already reset the connection */
    call->connection = connection;
    connection_break(connection, CURLE_COULDNT_CONNECT, "Connect", errno);
}

void http_plain_drop(struct http_call *call)
{
    if (call->connection)
        connection_close(call->connection);
    call->connection = NULL;
}

void http_plain_shut(const struct http_connection *connection)
{
    shutdown(connection->fd, SHUT_RDWR);
}

struct http_plain *http_plain_new(struct loop *loop, size_t max_idle, const struct http_plain_events *events)
{
    struct http_plain *plain = NEW(struct http_plain);
    plain->loop = loop;
    plain->events = *events;
    plain->max_idle = max_idle;
    list_init(&plain->aged);
    for (size_t i = 0; i < BUCKETS; i++)
        list_init(&plain->buckets[i]);
    return plain;
}

void http_plain_free(struct http_plain *plain)
{
    if (!plain)
        return;
    while (!list_is_empty(&plain->aged))
        connection_close(LIST_ENTRY(list_pop(&plain->aged), struct http_connection, age_link));
    free(plain);
}
