/* The life of a request, in the order of libmicrohttpd's callbacks:
 *
 *   http_request_begin   creates the request when its request line has arrived
 *   take_head            first call of the handler: checks the head; on_head or on_too_large; may suspend the
 *                        connection (http_request_hold)
 *   begin_body           in the same call, or in the call after resuming
 *   take_body            call of the handler for each piece of the body; on_large
 *   take_end             last call: on_request, on_too_large or on_over_limit; may suspend the connection
 *   http_answer          creates the response; resumes a suspended connection at the end of the turn
 *   send_answer          in the handler's call, or in the call after resuming
 *   http_request_end     frees the request, after its answer was sent or the client left */
#include "io/http/request_private.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>

#include "base/system.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/http/bytes.h"

enum {
    STREAM_BLOCK = 16 * 1024, /* most bytes of one chunk of a body without an end */
    DISCARD_MAX_BYTES =
        16 * 1024 * 1024 /* how many bytes of a body are discarded; after that the connection is closed */
};

/* --- A request and its parts --- */

struct slice http_request_method(const struct http_request *request)
{
    return slice_of(request->method);
}

struct slice http_request_target(const struct http_request *request)
{
    return request->target;
}

struct slice http_request_header(const struct http_request *request, const char *name)
{
    const char *value = NULL;
    size_t size = 0;
    if (MHD_lookup_connection_value_n(request->connection, MHD_HEADER_KIND, name, strlen(name), &value,
                                      &size) != MHD_YES ||
        !value)
        return SLICE("");
    return slice_trim(slice_from(value, size));
}

bool http_request_has_header(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value_n(request->connection, MHD_HEADER_KIND, name, strlen(name), NULL,
                                         NULL) == MHD_YES;
}

struct joining {
    struct slice name;
    struct buffer *joined;
    bool is_first;
};

static enum MHD_Result join_line(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                 const char *value, size_t size)
{
    struct joining *joining = arg;
    (void)kind;
    if (!slice_equal_nocase(slice_from(name, name_size), joining->name))
        return MHD_YES;
    if (!joining->is_first)
        buffer_append_byte(joining->joined, ',');
    joining->is_first = false;
    buffer_append(joining->joined, slice_trim(slice_from(value ? value : "", size)));
    return MHD_YES;
}

void http_request_join_header(const struct http_request *request, const char *name, struct buffer *joined)
{
    struct joining joining = {slice_of(name), joined, true};
    MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, join_line, &joining);
}

struct each_header {
    http_header_fn *fn;
    void *arg;
};

static enum MHD_Result each_line(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                 const char *value, size_t size)
{
    const struct each_header *each = arg;
    (void)kind;
    each->fn(each->arg, slice_from(name, name_size), slice_trim(slice_from(value ? value : "", size)));
    return MHD_YES;
}

void http_request_each_header(const struct http_request *request, http_header_fn *fn, void *arg)
{
    struct each_header each = {fn, arg};
    MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, each_line, &each);
}

struct slice http_request_body(const struct http_request *request)
{
    return buffer_slice(&request->body);
}

static const struct sockaddr *address_of(const struct http_request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

uint64_t http_request_origin(const struct http_request *request)
{
    const struct sockaddr *address = address_of(request);
    return address ? http_limits_address(address) : 0;
}

void http_request_from(const struct http_request *request, char text[HTTP_FROM_SIZE])
{
    const struct sockaddr *address = address_of(request);
    if (!address ||
        getnameinfo(address,
                    address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in),
                    text, HTTP_FROM_SIZE, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(text, HTTP_FROM_SIZE, "unknown");
}

bool http_request_is_over_limit(const struct http_request *request)
{
    const struct http_requests *requests = request->requests;
    return request->peer->is_extra ||
           requests->suspended >= requests->handler.max_waiting + requests->lingering;
}

void http_request_allow(struct http_request *request, size_t max_bytes)
{
    assert(request->is_called && request->state == REQUEST_BODY && max_bytes >= request->max_body_bytes);
    request->max_body_bytes = max_bytes;
}

bool http_request_set_guest(struct http_request *request)
{
    struct http_limits *limits = request->requests->handler.limits;
    request->is_guest = true;
    return !limits || http_limits_take_guest(limits, clock_boot_us());
}

void http_request_hold(struct http_request *request)
{
    assert(request->is_called && request->state == REQUEST_BODY && !request->response);
    request->is_held = true;
}

/* Lets libmicrohttpd call the handler again for a suspended connection. */
static void request_wake(struct http_request *request)
{
    struct http_requests *requests = request->requests;
    assert(request->state == REQUEST_ANSWER || request->state == REQUEST_HELD);
    list_remove(&request->link);
    list_append(&requests->answered, &request->link);
    requests->on_answered(requests->arg);
}

void http_request_proceed(struct http_request *request)
{
    request->is_held = false;
    if (!request->is_called)
        request_wake(request);
}

void http_request_set_context(struct http_request *request, void *context)
{
    request->context = context;
}

void *http_request_context(const struct http_request *request)
{
    return request->context;
}

/* --- Requests that may wait long --- */

bool http_request_has_left(const struct http_request *request)
{
    return http_peer_has_left(request->peer);
}

/* Called when the socket of a suspended connection is readable; libmicrohttpd does not watch this socket
 * while the connection is suspended. Either the client has closed its side, or it has sent its next request
 * before it has the answer. In both cases, the watch ends. */
static void on_leaving(void *arg, bool readable, bool writable)
{
    struct http_request *request = arg;
    (void)readable, (void)writable;
    watch_free(request->leaving);
    request->leaving = NULL;
    if (http_request_has_left(request))
        request->on_left(request->left_arg);
}

bool http_request_linger(struct http_request *request, void (*on_left)(void *arg), void *arg)
{
    struct http_requests *requests = request->requests;
    assert(!request->is_lingering && !request->response);
    if (!requests->handler.limits || !http_limits_linger(requests->handler.limits, &request->peer->share))
        return false;
    request->is_lingering = true;
    requests->lingering++;
    request->on_left = on_left;
    request->left_arg = arg;
    request->leaving = watch_new(requests->loop, request->peer->deadline.fd, on_leaving, request);
    watch_set(request->leaving, true, false);
    return true;
}

static void end_linger(struct http_request *request)
{
    if (!request->is_lingering)
        return;
    request->is_lingering = false;
    request->requests->lingering--;
    http_limits_end_linger(request->requests->handler.limits);
    watch_free(request->leaving);
    request->leaving = NULL;
}

/* --- Answers --- */

static void add_header(struct MHD_Response *response, struct slice name, struct slice value)
{
    char *name_text = slice_dup(name);
    char *value_text = slice_dup(value);
    if (MHD_add_response_header(response, name_text, value_text) != MHD_YES)
        log_debug("answer_header_dropped", LOG_TEXT("name", name_text));
    free(name_text);
    free(value_text);
}

static void add_head(struct MHD_Response *response, const struct http_answer *answer)
{
    if (answer->content_type.size)
        add_header(response, SLICE(MHD_HTTP_HEADER_CONTENT_TYPE), answer->content_type);
    for (size_t i = 0; i < answer->header_count; i++)
        add_header(response, answer->headers[i].name, answer->headers[i].value);
}

static struct MHD_Response *make_response(const struct http_answer *answer)
{
    /* libmicrohttpd copies the body and does not write to it, although the prototype lacks const. */
    void *body = (void *)(uintptr_t)answer->body.data;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer->body.size, body, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return NULL;
    add_head(response, answer);
    return response;
}

/* Returns whether memory for the answer must be reserved from the limits. A server without limits reserves
 * nothing, because it has only a few extra connections. */
static bool counts_answer(const struct http_request *request, size_t bytes)
{
    return bytes > HTTP_BODY_FREE_BYTES && request->requests->handler.limits && !request->answer_bytes;
}

bool http_request_take_room(struct http_request *request, size_t bytes)
{
    if (!counts_answer(request, bytes))
        return true;
    if (!http_limits_take_bytes(request->requests->handler.limits, bytes, false))
        return false;
    request->answer_bytes = bytes;
    return true;
}

/* Calls on_end, once. */
static void end_answer(struct http_request *request, bool was_sent)
{
    void (*on_end)(void *, bool) = request->on_end;
    request->on_end = NULL;
    if (on_end)
        on_end(request->end_arg, was_sent);
}

void http_answer(struct http_request *request, const struct http_answer *answer)
{
    struct http_requests *requests = request->requests;
    assert(!request->response && request->state != REQUEST_SENT);
    end_linger(request);
    request->on_end = answer->on_end;
    request->end_arg = answer->arg;
    if (counts_answer(request, answer->body.size)) {
        request->answer_bytes = answer->body.size;
        http_limits_add_bytes(requests->handler.limits, answer->body.size);
    }
    request->response = make_response(answer);
    request->status = answer->status;
    if (!request->response) { /* no memory for a large answer: the client gets only a status */
        request->response = make_response(&(struct http_answer){0});
        request->status = 503;
        end_answer(request, false);
    }
    assert(request->response);
    request->is_held = false;
    if (!request->is_called)
        request_wake(request);
}

/* --- Answers without an end --- */

/* Gives libmicrohttpd the next bytes of the body. Without any, suspends the connection until the next piece.
 */
static ssize_t stream_read(void *arg, uint64_t at, char *out, size_t max)
{
    struct http_request *request = arg;
    size_t left = request->stream.size - request->stream_sent, size = left < max ? left : max;
    (void)at;
    if (size > 0) {
        memcpy(out, request->stream.data + request->stream_sent, size);
        request->stream_sent += size;
        if (request->stream_sent == request->stream.size) {
            buffer_clear(&request->stream);
            request->stream_sent = 0;
        }
        return (ssize_t)size;
    }
    if (request->is_stream_over || request->requests->is_freed)
        return MHD_CONTENT_READER_END_OF_STREAM;
    list_append(&request->requests->waiting, &request->link);
    request->is_suspended = true;
    request->requests->suspended++;
    MHD_suspend_connection(request->connection);
    return 0;
}

/* Resumes the connection at the end of this turn, if it is suspended. */
static void stream_wake(struct http_request *request)
{
    struct http_requests *requests = request->requests;
    if (!request->is_suspended || request->state != REQUEST_SENT)
        return;
    list_remove(&request->link);
    list_append(&requests->answered, &request->link);
    requests->on_answered(requests->arg);
}

void http_stream_begin(struct http_request *request, const struct http_answer *head)
{
    assert(!request->response && request->state != REQUEST_SENT && head->on_end);
    request->on_end = head->on_end;
    request->end_arg = head->arg;
    request->is_stream = true;
    buffer_init(&request->stream, 2 * HTTP_STREAM_MAX);
    buffer_append(&request->stream, head->body);
    request->response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, stream_read, request, NULL);
    assert(request->response);
    add_head(request->response, head);
    request->status = head->status;
    if (!request->is_called)
        request_wake(request);
}

void http_stream_write(struct http_request *request, struct slice piece)
{
    struct buffer *stream = &request->stream;
    if (request->is_stream_over)
        return;
    if (stream->size - request->stream_sent + piece.size > HTTP_STREAM_MAX) {
        request->is_stream_over = true;
        http_deadline_cut(&request->peer->deadline);
        return;
    }
    if (stream->size + piece.size > stream->max) {
        memmove(stream->data, stream->data + request->stream_sent, stream->size - request->stream_sent);
        stream->size -= request->stream_sent;
        request->stream_sent = 0;
    }
    buffer_append(stream, piece);
    stream_wake(request);
}

size_t http_stream_waiting(const struct http_request *request)
{
    return request->stream.size - request->stream_sent;
}

void http_stream_end(struct http_request *request)
{
    request->is_stream_over = true;
    stream_wake(request);
}

static void give_bytes(struct http_request *request, size_t *taken, bool is_guest)
{
    if (*taken)
        http_limits_give_bytes(request->requests->handler.limits, *taken, is_guest);
    *taken = 0;
}

static void drop_body(struct http_request *request)
{
    buffer_fini(&request->body);
    give_bytes(request, &request->body_bytes, request->is_guest);
}

static enum MHD_Result send_answer(struct http_request *request)
{
    struct MHD_Response *response = request->response;
    if (request->on_end && http_request_has_left(request))
        return MHD_NO; /* close the connection, because the client has already closed its side */
    request->response = NULL;
    request->state = REQUEST_SENT;
    drop_body(request);
    if (request->must_close || request->requests->is_quiesced) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
        request->peer->lingers = true;
    }
    http_deadline_start(request->requests->deadlines, &request->peer->deadline, HTTP_STEP_SEND);
    enum MHD_Result result = MHD_queue_response(request->connection, request->status, response);
    MHD_destroy_response(response);
    if (request
            ->is_stream) /* what waits for the client is bounded, and libmicrohttpd closes idle connections */
        http_deadline_clear(&request->peer->deadline);
    return result;
}

static enum MHD_Result request_suspend(struct http_request *request, enum request_state state)
{
    request->state = state;
    http_deadline_clear(&request->peer->deadline);
    list_append(&request->requests->waiting, &request->link);
    request->is_suspended = true;
    request->requests->suspended++;
    MHD_suspend_connection(request->connection);
    return MHD_YES;
}

/* Runs after a callback of the handler. Sends the answer if the handler has given one; otherwise suspends the
 * connection until the handler answers. */
static enum MHD_Result request_settle(struct http_request *request)
{
    return request->response ? send_answer(request) : request_suspend(request, REQUEST_ANSWER);
}

void http_requests_resume(struct http_requests *requests, struct list *list)
{
    for (struct list *link; (link = list_take(list));) {
        struct http_request *request = LIST_ENTRY(link, struct http_request, link);
        request->is_suspended = false;
        requests->suspended--;
        MHD_resume_connection(request->connection);
    }
}

/* --- Requests, in the order of libmicrohttpd's callbacks --- */

/* Ends libmicrohttpd's copy of the query before its first byte. libmicrohttpd would otherwise store each
 * parameter in 64 bytes of the connection's memory, and wait for ever if a head then has no room to arrive.
 */
static void hide_query(const char *target)
{
    char *query = target ? strchr((char *)(uintptr_t)target, '?') : NULL;
    if (query)
        query[1] = '\0';
}

void *http_request_begin(void *arg, const char *target, struct MHD_Connection *connection)
{
    struct http_requests *requests = arg;
    struct slice text = slice_of(target);
    struct http_peer *peer =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    struct http_tail tail;
    http_bytes_take_tail(&requests->bytes, peer->deadline.fd, &tail);
    struct http_request *request = memory_new(sizeof *request + text.size + tail.bytes.size);
    char *copy = (char *)(request + 1);
    list_init(&request->link);
    request->requests = requests;
    request->connection = connection;
    request->peer = peer;
    request->target_at = target;
    request->target_seen = text.size;
    request->max_body_bytes = requests->handler.max_body_bytes;
    if (text.size)
        memcpy(copy, text.data, text.size);
    if (tail.bytes.size)
        memcpy(copy + text.size, tail.bytes.data, tail.bytes.size);
    request->target = slice_from(copy, text.size + tail.bytes.size);
    request->tail = tail;
    buffer_fini(&request->tail.bytes);
    hide_query(target);
    if (request->peer->deadline.step == HTTP_STEP_NEXT)
        http_deadline_start(requests->deadlines, &request->peer->deadline, HTTP_STEP_HEAD);
    return request;
}

static void call(struct http_request *request, void (*fn)(void *, struct http_request *))
{
    request->is_called = true;
    fn(request->requests->handler.arg, request);
    request->is_called = false;
}

static enum MHD_Result refuse_malformed(struct http_request *request, const char *why)
{
    const struct http_handler *handler = &request->requests->handler;
    request->must_close = true;
    request->is_called = true;
    handler->on_malformed(handler->arg, request, why);
    request->is_called = false;
    return request_settle(request);
}

static enum MHD_Result refuse_body(struct http_request *request)
{
    const struct http_handler *handler = &request->requests->handler;
    request->must_close = true;
    call(request, request->has_no_room ? handler->on_over_limit : handler->on_too_large);
    return request_settle(request);
}

/* Runs when on_head has decided. If a response is queued in the first call of the handler, libmicrohttpd does
 * not read a body, and closes the connection. A request without a body is answered in the last call, which
 * follows at once, so that the connection stays open. */
static enum MHD_Result begin_body(struct http_request *request)
{
    struct http_requests *requests = request->requests;
    request->state = REQUEST_BODY;
    request->must_close |= request->response && request->has_body;
    if (request->response)
        return request->has_body ? send_answer(request) : MHD_YES;
    if (request->content_length > request->max_body_bytes)
        return refuse_body(request);
    if (request->has_body)
        http_deadline_start(requests->deadlines, &request->peer->deadline, HTTP_STEP_BODY);
    buffer_init_fallible(&request->body, requests->handler.max_body_bytes);
    return MHD_YES;
}

static enum MHD_Result take_head(struct http_request *request, const char *method, const char *version)
{
    struct http_requests *requests = request->requests;
    struct http_framing framing;
    request->method = method;
    request->state = REQUEST_BODY;
    requests->pending++;
    const char *why =
        http_head_check(&(struct http_head_seen){request->connection, method, version, request->target_at,
                                                 request->target_seen, request->target, &requests->bytes,
                                                 request->peer->deadline.fd},
                        &framing);
    if (why)
        return refuse_malformed(request, why);
    request->has_body = framing.is_chunked || framing.content_length > 0;
    request->content_length = framing.content_length;
    /* libmicrohttpd accepts chunk lines that another parser may split elsewhere (ended by LF alone, or with
     * LF in an extension), and libmicrohttpd does not show these lines. So no request is read after a chunked
     * body. */
    request->must_close = framing.is_chunked || request->peer->is_extra;
    call(request, requests->handler.on_head);
    return request->is_held ? request_suspend(request, REQUEST_HELD) : begin_body(request);
}

/* Reserves memory for the body's growth. */
static bool take_growth(struct http_request *request)
{
    size_t bytes = request->body.capacity;
    if (bytes <= HTTP_BODY_FREE_BYTES || bytes <= request->body_bytes)
        return true;
    struct http_limits *limits = request->requests->handler.limits;
    request->has_no_room =
        !limits || !http_limits_take_bytes(limits, bytes - request->body_bytes, request->is_guest);
    if (!request->has_no_room)
        request->body_bytes = bytes;
    return !request->has_no_room;
}

/* Keeps a piece of the body. At the first piece that does not fit, on_large sees the part of the body that
 * fits, and decides whether the larger body is allowed. */
static bool keep(struct http_request *request, struct slice piece)
{
    const struct http_handler *handler = &request->requests->handler;
    struct buffer *body = &request->body;
    size_t room = body->max - body->size, fitting = piece.size < room ? piece.size : room;
    buffer_append(body, slice_from(piece.data, fitting));
    if (fitting < piece.size && body->max < request->max_body_bytes &&
        handler->on_large(handler->arg, request))
        body->max = request->max_body_bytes;
    buffer_append(body, slice_skip(piece, fitting));
    return !body->failed && take_growth(request);
}

/* Handles a piece of the body. libmicrohttpd allows no response between the head and the end of the body, so
 * even a body that is not kept is read to its end. */
static enum MHD_Result take_body(struct http_request *request, struct slice piece)
{
    if (!request->is_discarded) {
        if (keep(request, piece))
            return MHD_YES;
        drop_body(request);
        request->is_discarded = true;
    }
    request->discarded_bytes += piece.size;
    return request->discarded_bytes <= DISCARD_MAX_BYTES ? MHD_YES : MHD_NO;
}

static enum MHD_Result take_end(struct http_request *request)
{
    if (request->response)
        return send_answer(request);
    if (request->is_discarded)
        return refuse_body(request);
    call(request, request->requests->handler.on_request);
    return request_settle(request);
}

enum MHD_Result http_request_advance(void *arg, struct MHD_Connection *connection, const char *url,
                                     const char *method, const char *version, const char *upload,
                                     size_t *upload_size, void **context)
{
    (void)arg, (void)connection, (void)url;
    struct http_request *request = *context;
    enum MHD_Result result;
    switch (request->state) {
    case REQUEST_HEAD:
        return take_head(request, method, version);
    case REQUEST_HELD: /* still held: the server is being freed */
        return request->is_held ? MHD_NO : begin_body(request);
    case REQUEST_BODY:
        if (*upload_size == 0)
            return take_end(request);
        result = take_body(request, slice_from(upload, *upload_size));
        *upload_size = 0;
        return result;
    case REQUEST_ANSWER:
        return request->response ? send_answer(request) : MHD_NO;
    case REQUEST_SENT:
        break;
    }
    return MHD_NO;
}

void http_request_end(void *arg, struct MHD_Connection *connection, void **context,
                      enum MHD_RequestTerminationCode why)
{
    (void)connection;
    struct http_requests *requests = arg;
    struct http_request *request = *context;
    if (!request)
        return;
    *context = NULL;
    if (request->state != REQUEST_HEAD) {
        requests->pending--;
        if (request->state != REQUEST_SENT && !request->response && requests->handler.on_gone)
            requests->handler.on_gone(requests->handler.arg, request);
    }
    end_linger(request);
    /* A client that has reset the connection has not read the answer. A client that has closed the connection
     * may have read the answer. */
    end_answer(request, request->state == REQUEST_SENT && why == MHD_REQUEST_TERMINATED_COMPLETED_OK &&
                            !http_peer_is_broken(request->peer));
    http_deadline_start(requests->deadlines, &request->peer->deadline, HTTP_STEP_NEXT);
    list_remove(&request->link);
    requests->suspended -= request->is_suspended;
    drop_body(request);
    if (request->is_stream)
        buffer_fini(&request->stream);
    give_bytes(request, &request->answer_bytes, false);
    http_bytes_free_tail(&requests->bytes, &request->tail);
    if (request->response)
        MHD_destroy_response(request->response);
    free(request);
}
