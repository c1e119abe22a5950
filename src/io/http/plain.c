/* A connection is either idle, and in the pool, or it carries one call:
 *
 *   http_plain_send   takes a kept-alive connection that the receiver has not closed
 *   begin             asks may_connect and may_send; writes the request in one call
 *   on_readable       reads the answer, part by part (reader.h)
 *   connection_end    ends the call; the connection goes back to the pool, or is closed
 *
 * Anything unexpected closes the connection. */
#include "io/http/client_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/memory.h"

/* ---- the url ---- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Returns whether host is an IPv4 address as inet_ntop writes it. */
static bool is_canonical_address(struct slice host)
{
    struct slice number;
    uint64_t value;
    int count = 0;
    for (bool has_more = true; has_more; count++) {
        has_more = slice_cut(host, '.', &number, &host);
        if (!slice_to_number(number, 255, &value) || (number.size > 1 && number.data[0] == '0'))
            return false;
    }
    return count == 4;
}

/* Returns whether libcurl would use the host exactly as it is written in the url. */
static bool is_simple_host(struct slice host)
{
    size_t label = host.size;
    for (size_t i = 0; i < host.size; i++) {
        char byte = host.data[i];
        if (!(byte >= 'a' && byte <= 'z') && !is_digit(byte) && byte != '.' && byte != '-')
            return false;
    }
    if (host.size == 0 || host.data[0] == '.' || host.data[host.size - 1] == '.')
        return false;
    while (label > 0 && host.data[label - 1] != '.')
        label--;
    return !is_digit(host.data[label]) || is_canonical_address(host);
}

bool http_plain_url_split(struct slice url, struct http_plain_url *parts)
{
    struct slice host, port;
    uint64_t number;
    size_t size = 0;
    parts->is_tls = slice_starts_with(url, SLICE("https://"));
    if (!parts->is_tls && !slice_starts_with(url, SLICE("http://")))
        return false;
    struct slice rest = slice_skip(url, parts->is_tls ? strlen("https://") : strlen("http://"));
    while (size < rest.size && rest.data[size] != '/' && rest.data[size] != '?' && rest.data[size] != '#')
        size++;
    parts->authority = slice_from(rest.data, size);
    parts->origin = slice_from(url.data, (size_t)(rest.data - url.data) + size);
    parts->target = slice_skip(rest, size);
    if (parts->target.size == 0)
        parts->target = SLICE("/");
    if (parts->target.data[0] != '/')
        return false;
    for (size_t i = 0; i < parts->target.size; i++)
        if (parts->target.data[i] <= ' ' || parts->target.data[i] > '~' || parts->target.data[i] == '#')
            return false;
    bool has_port = slice_cut(parts->authority, ':', &host, &port);
    return is_simple_host(host) &&
           (!has_port || (slice_to_number(port, 65535, &number) && number > 0 && port.data[0] != '0'));
}

/* ---- the head ---- */

void http_plain_head_write(struct buffer *head, const struct http_call_request *request,
                           const struct http_plain_url *url)
{
    static const struct {
        const char *name;
        bool has_length; /* has Content-Length even for an empty body */
    } methods[] = {
        [HTTP_METHOD_POST] = {"POST ", true},      [HTTP_METHOD_GET] = {"GET ", false},
        [HTTP_METHOD_PUT] = {"PUT ", true},        [HTTP_METHOD_PATCH] = {"PATCH ", true},
        [HTTP_METHOD_DELETE] = {"DELETE ", false}, [HTTP_METHOD_HEAD] = {"HEAD ", false},
    };
    struct slice host = url->authority, default_port = url->is_tls ? SLICE(":443") : SLICE(":80");
    if (slice_ends_with(host, default_port))
        host.size -= default_port.size;
    buffer_clear(head);
    buffer_append(head, slice_of(methods[request->method].name));
    buffer_append(head, url->target);
    buffer_append(head, SLICE(" HTTP/1.1\r\nHost: "));
    buffer_append(head, host);
    buffer_append(head, SLICE("\r\n"));
    for (size_t i = 0; i < request->header_count; i++) {
        struct slice line = request->headers[i], name, value;
        if (slice_cut(line, ':', &name, &value) && slice_trim(value).size == 0)
            line.size = name.size + 1; /* "Name:" */
        buffer_append(head, line);
        buffer_append(head, SLICE("\r\n"));
    }
    if (methods[request->method].has_length || request->body.size) {
        buffer_append(head, SLICE("Content-Length: "));
        buffer_append_number(head, (int64_t)request->body.size);
        buffer_append(head, SLICE("\r\n"));
    }
    buffer_append(head, SLICE("\r\n"));
}

/* ---- connections ---- */

enum {
    READS_MAX = 4,       /* maximum number of reads from one connection in a turn */
    IDLE_EVENTS_MAX = 8, /* maximum number of TLS records without data, such as session tickets, while idle */
    BUCKETS = 1024,
};

/* The same limits as for libcurl's connections: the default of CURLOPT_MAXAGE_CONN, and the value that
 * call.c sets for CURLOPT_MAXLIFETIME_CONN. */
#define IDLE_MAX_US INT64_C(118000000)
#define LIFE_MAX_US INT64_C(300000000)

struct http_connection {
    /* While the connection is idle: link in its bucket, newest connection first. Otherwise: link in unread,
     * or none. */
    struct list link;
    struct list age_link; /* link in kind->aged while the connection is idle */
    struct http_plain *plain;
    struct kind *kind;
    struct watch *watch;
    struct http_wire wire;
    struct sockaddr_storage peer;
    int64_t opened_us, idle_us; /* times by loop_now_us */
    struct http_call *call;     /* NULL: idle */
    bool is_reused;
    unsigned idle_events;
    size_t sent;             /* bytes of the request that were sent */
    struct http_flood flood; /* detects too many TLS records without data while an answer is awaited */
    size_t origin_size;
    char origin[];
};

/* All connections with TLS, or all without TLS. */
struct kind {
    size_t max_idle, count; /* count includes the connections that carry a call */
    struct list aged;       /* idle connections, oldest first */
};

struct http_plain {
    struct loop *loop;
    struct http_plain_events events;
    struct kind open, tls;
    struct list buckets[BUCKETS]; /* hash table of the idle connections, by origin */
    struct list unread;           /* connections with TLS that may have more to read */
    struct timer *timer;          /* runs while the list unread is not empty */
    char room[HTTP_WIRE_ROOM];
};

/* ---- the pool ---- */

static struct list *bucket_of(struct http_plain *plain, struct slice origin)
{
    return &plain->buckets[hash_of(origin) % BUCKETS];
}

static struct slice origin_of(const struct http_connection *connection)
{
    return slice_from(connection->origin, connection->origin_size);
}

static void connection_close(struct http_connection *connection)
{
    list_remove(&connection->link);
    list_remove(&connection->age_link);
    connection->kind->count--;
    watch_free(connection->watch);
    http_wire_close(&connection->wire);
    free(connection);
}

/* Returns whether an idle connection can carry a request: it is young enough, and nothing has arrived on it
 * since its last answer. */
static bool is_usable(struct http_connection *connection)
{
    int64_t now_us = loop_now_us(connection->plain->loop);
    return now_us - connection->idle_us <= IDLE_MAX_US && now_us - connection->opened_us <= LIFE_MAX_US &&
           http_wire_is_silent(&connection->wire);
}

/* Takes an idle connection out of the pool, or returns NULL. */
static struct http_connection *pool_take(struct http_plain *plain, struct slice origin)
{
    struct list *bucket = bucket_of(plain, origin), *next;
    for (struct list *link = bucket->next; link != bucket; link = next) {
        struct http_connection *connection = LIST_ENTRY(link, struct http_connection, link);
        next = link->next;
        if (!slice_equal(origin_of(connection), origin))
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

static struct http_connection *oldest_idle(struct kind *kind)
{
    return list_is_empty(&kind->aged) ? NULL : LIST_ENTRY(kind->aged.next, struct http_connection, age_link);
}

static void pool_put(struct http_plain *plain, struct http_connection *connection)
{
    struct http_connection *oldest;
    struct kind *kind = connection->kind;
    int64_t now_us = loop_now_us(plain->loop);
    connection->idle_us = now_us;
    connection->idle_events = 0;
    connection->is_reused = true;
    list_remove(&connection->link);
    list_append(bucket_of(plain, origin_of(connection))->next,
                &connection->link); /* inserts the connection as the first element */
    list_append(&kind->aged, &connection->age_link);
    while ((oldest = oldest_idle(kind)) &&
           (kind->count > kind->max_idle || now_us - oldest->idle_us > IDLE_MAX_US))
        connection_close(oldest);
}

/* ---- the end of a call ---- */

static void connection_end(struct http_connection *connection, CURLcode code)
{
    struct http_plain *plain = connection->plain;
    struct http_call *call = connection->call;
    size_t request_bytes = call->head.size + call->request.body.size;
    bool is_kept = code == CURLE_OK && !call->reader.is_last && connection->sent == request_bytes;
    connection->call = NULL;
    call->connection = NULL;
    if (is_kept)
        pool_put(plain, connection);
    else
        connection_close(connection);
    plain->events.on_end(plain->events.arg, call, code);
}

/* Ends a call with a failure; detail is a message for people. */
static void connection_fail(struct http_connection *connection, CURLcode code, const char *detail)
{
    struct http_call *call = connection->call;
    snprintf(call->error_text, sizeof call->error_text, "%s", detail);
    connection_end(connection, code);
}

/* Ends a call whose connection has failed. */
static void connection_break(struct http_connection *connection, CURLcode code)
{
    char detail[CURL_ERROR_SIZE];
    snprintf(detail, sizeof detail, "%s", connection->wire.error_text);
    connection_fail(connection, code, detail);
}

/* Ends a call of which nothing could be sent. The receiver may have said why before it closed the
 * connection. */
static void connection_refuse(struct http_connection *connection, CURLcode code)
{
    bool has_alert =
        !connection->is_reused && http_wire_has_alert(&connection->wire, connection->plain->room);
    connection_break(connection, has_alert ? CURLE_SSL_CONNECT_ERROR : code);
}

/* ---- the request ---- */

/* Writes as many bytes of the request as the connection accepts now. */
static CURLcode connection_push(struct http_connection *connection)
{
    const struct http_call *call = connection->call;
    return http_wire_send(&connection->wire, buffer_slice(&call->head), call->request.body, &connection->sent,
                          connection->plain->room);
}

static void connection_begin(struct http_connection *connection, struct http_call *call)
{
    connection->call = call;
    connection->sent = 0;
    connection->flood = (struct http_flood){0};
    call->connection = connection;
    if (!http_call_begin_sending(call, (struct sockaddr *)&connection->peer, connection->is_reused)) {
        connection_end(connection, CURLE_ABORTED_BY_CALLBACK);
        return;
    }
    CURLcode code = connection_push(connection);
    freeze_guard_leave(call->owner->guard);
    if (code != CURLE_OK && connection->sent == 0)
        connection_refuse(connection, code);
    else if (connection->sent <
             call->head.size + call->request.body.size) /* after a failed write, an answer may still come */
        watch_set(connection->watch, true, code == CURLE_OK);
}

bool http_plain_send(struct http_plain *plain, struct http_call *call)
{
    struct http_connection *connection = pool_take(plain, call->origin);
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
    if (http_call_take(call, read, part))
        return true;
    if (read == HTTP_READ_NO_MEMORY)
        connection_fail(connection, CURLE_OUT_OF_MEMORY, "Out of memory");
    else
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
        enum http_read read = http_reader_next(&call->reader, &bytes, &part);
        if (read == HTTP_READ_END) {
            call->reader.is_last |= bytes.size > 0; /* bytes that no request asked for */
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
    struct http_call *call = connection->call;
    if (http_reader_may_close(&call->reader)) {
        call->reader.is_last = true;
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

/* Ends a call if its receiver sends TLS records without data and without end. (The data of an answer has its
 * own limits.) */
static void cut_flood(struct http_connection *connection)
{
    if (!connection->wire.tls || !http_flood_has_come(&connection->flood, connection->wire.fd))
        return;
    connection->call->verdict = FAILURE_PROTOCOL;
    connection->call->fault = "The receiver sends too many TLS records without data";
    connection_end(connection, CURLE_WEIRD_SERVER_REPLY);
}

/* Without TLS, a socket that has more to read is readable again in the next turn. With TLS, libcurl may have
 * taken more bytes from the socket than it has returned, and the socket is not readable then. So a connection
 * with TLS is read until nothing is left; after READS_MAX reads, the next turn continues. */
static void connection_on_readable(struct http_connection *connection)
{
    struct http_plain *plain = connection->plain;
    for (int reads = 0; reads < READS_MAX; reads++) {
        size_t size = 0;
        CURLcode code = http_wire_receive(&connection->wire, plain->room, &size);
        if (code == CURLE_AGAIN) {
            cut_flood(connection);
            return;
        }
        if (code != CURLE_OK) {
            connection_break(connection, code);
            return;
        }
        if (size == 0) {
            on_end_of_input(connection);
            return;
        }
        if (!take_bytes(connection, slice_from(plain->room, size)))
            return;
        if (!connection->wire.tls && size < HTTP_WIRE_ROOM)
            return;
    }
    if (connection->wire.tls && list_is_empty(&connection->link)) {
        list_append(&plain->unread, &connection->link);
        timer_start(plain->timer, 0);
    }
}

static void on_timer(void *arg)
{
    struct http_plain *plain = arg;
    struct list unread;
    list_move(&plain->unread, &unread);
    for (struct list *link; (link = list_take(&unread));)
        connection_on_readable(LIST_ENTRY(link, struct http_connection, link));
    plain->events.on_ready(plain->events.arg);
}

/* Closes an idle connection if the receiver has closed it, or has sent data without a request. */
static void connection_on_idle_event(struct http_connection *connection)
{
    if (!connection->wire.tls || ++connection->idle_events > IDLE_EVENTS_MAX ||
        !http_wire_is_silent(&connection->wire))
        connection_close(connection);
}

static void on_watch(void *arg, bool readable, bool writable)
{
    struct http_connection *connection = arg;
    struct http_plain *plain = connection->plain;
    if (!connection->call) {
        connection_on_idle_event(connection);
        return;
    }
    if (writable) {
        const struct http_call *call = connection->call;
        CURLcode code = connection_push(connection);
        if (code != CURLE_OK || connection->sent == call->head.size + call->request.body.size)
            watch_set(connection->watch, true, false);
    }
    if (readable)
        connection_on_readable(connection);
    plain->events.on_ready(plain->events.arg);
}

/* ---- the pool's life, and calls ---- */

void http_plain_send_over(struct http_plain *plain, const struct http_wire *wire, struct http_call *call)
{
    struct http_connection *connection = memory_new(sizeof *connection + call->origin.size);
    socklen_t size = sizeof connection->peer;
    list_init(&connection->link);
    list_init(&connection->age_link);
    connection->plain = plain;
    connection->kind = wire->tls ? &plain->tls : &plain->open;
    connection->wire = *wire;
    connection->opened_us = loop_now_us(plain->loop);
    connection->origin_size = call->origin.size;
    memcpy(connection->origin, call->origin.data, call->origin.size);
    connection->watch = watch_new(plain->loop, wire->fd, on_watch, connection);
    watch_set(connection->watch, true, false);
    connection->kind->count++;
    http_wire_begin(&connection->wire);
    if (getpeername(wire->fd, (struct sockaddr *)&connection->peer, &size) == 0) {
        connection_begin(connection, call);
        return;
    }
    connection->call = call; /* the receiver has already reset the connection */
    call->connection = connection;
    snprintf(connection->wire.error_text, sizeof connection->wire.error_text, "Connect failure: %s",
             strerror(errno));
    connection_refuse(connection, CURLE_COULDNT_CONNECT);
}

void http_plain_drop(struct http_call *call)
{
    if (call->connection)
        connection_close(call->connection);
    call->connection = NULL;
}

void http_plain_shut(const struct http_connection *connection)
{
    shutdown(connection->wire.fd, SHUT_RDWR);
}

static void kind_init(struct kind *kind, size_t max_idle)
{
    kind->max_idle = max_idle;
    list_init(&kind->aged);
}

struct http_plain *http_plain_new(struct loop *loop, size_t max_idle, const struct http_plain_events *events)
{
    struct http_plain *plain = NEW(struct http_plain);
    plain->loop = loop;
    plain->events = *events;
    kind_init(&plain->open, max_idle);
    kind_init(&plain->tls, max_idle < HTTP_PLAIN_TLS_MAX ? max_idle : HTTP_PLAIN_TLS_MAX);
    for (size_t i = 0; i < BUCKETS; i++)
        list_init(&plain->buckets[i]);
    list_init(&plain->unread);
    plain->timer = timer_new(loop, on_timer, plain);
    return plain;
}

static void kind_close_all(struct kind *kind)
{
    for (struct list *link; (link = list_take(&kind->aged));)
        connection_close(LIST_ENTRY(link, struct http_connection, age_link));
}

void http_plain_free(struct http_plain *plain)
{
    if (!plain)
        return;
    kind_close_all(&plain->open);
    kind_close_all(&plain->tls);
    timer_free(plain->timer);
    free(plain);
}
