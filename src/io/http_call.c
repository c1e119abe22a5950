/* The steps of a call, as libcurl reports them:
 *
 *   http_call_prepare       options that change from call to call
 *   on_open                 a socket for one address: may_connect is asked
 *   on_send                 a connection, new or reused: may_connect and may_send are asked
 *   on_header               head by head; the final one decides the status
 *   on_body                 keeps the beginning; reads the rest, so that the connection can be reused
 *   http_call_fill_outcome  the outcome, in http_call_outcome.c
 *
 * on_send refuses a connection that was closed while idle. The call then begins again on a fresh
 * connection. */
#include "io/http_call_private.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/test_point.h"
#include "io/retry_after.h"

enum {
    CONNECT_TIMEOUT_MS = 10 * 1000,
    CONNECTION_LIFETIME_S = 300,
    HEAD_MAX_BYTES = 64 * 1024, /* all heads of an answer, interim ones and trailers included */
    BODY_MAX_BYTES = 64 * 1024,
    DEFAULT_LINES = 3,
};

/* A name without a value suppresses a header that libcurl would add by itself. The caller's headers come
 * first and have priority. */
static const char *const no_defaults[DEFAULT_LINES] = {"Accept:", "Content-Type:", "Expect:"};

/* --- Callbacks of libcurl; none of them may call a function of libcurl --- */

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_call *call = arg;
    freeze_guard_leave(call->owner->guard); /* the guard may be inside for another call */
    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    /* The kept-alive connection ended without an answer, and libcurl wants to repeat the request. */
    if (call->outcome.was_sent) {
        call->verdict = FAILURE_RESET;
        return CURL_SOCKET_BAD;
    }
    if (!call->request.may_connect(call->request.arg, &address->addr)) {
        call->was_refused = true;
        call->owner->on_refused(call->owner->arg, call);
        return CURL_SOCKET_BAD;
    }
    call->was_opened = true;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0)
        http_sockets_add_connection(call->owner->sockets, fd);
    return fd;
}

static int on_close(void *sockets, curl_socket_t fd)
{
    return http_sockets_close(sockets, fd);
}

static bool parse_address(const char *ip, int port, struct sockaddr_storage *address)
{
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)address;
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, ip, &in->sin_addr) == 1) {
        in->sin_family = AF_INET;
        in->sin_port = htons((uint16_t)port);
        return true;
    }
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons((uint16_t)port);
    return inet_pton(AF_INET6, ip, &in6->sin6_addr) == 1;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): libcurl's prototype */
static int on_send(void *arg, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
    (void)local_ip;
    struct http_call *call = arg;
    const struct http_call_request *request = &call->request;
    struct sockaddr_storage address;
    call->local_port = local_port;
    freeze_guard_leave(call->owner->guard); /* the guard may be inside for another call */
    call->is_stale = !call->was_opened && !call->outcome.was_sent &&
                     http_sockets_is_stale(call->owner->sockets, local_port);
    if (call->is_stale)
        return CURL_PREREQFUNC_ABORT;
    TEST_POINT("before", "may_send");
    freeze_guard_enter(call->owner->guard, call); /* until libcurl has sent */
    if (call->outcome.was_sent)
        call->verdict = FAILURE_RESET; /* a repetition on another kept-alive connection */
    else if (!parse_address(remote_ip, remote_port, &address) ||
             !request->may_connect(request->arg, (struct sockaddr *)&address))
        call->verdict = FAILURE_TARGET_REFUSED;
    else if (!request->may_send(request->arg))
        call->verdict = FAILURE_UNSENT;
    else
        call->outcome.was_sent = true;
    call->outcome.is_reused = call->outcome.was_sent && !call->was_opened;
    if (call->verdict == FAILURE_NONE)
        return CURL_PREREQFUNC_OK;
    freeze_guard_leave(call->owner->guard);
    return CURL_PREREQFUNC_ABORT;
}

/* Returns the status in a line such as "HTTP/1.1 204 No Content". */
static int parse_status(struct slice line)
{
    struct slice version, rest;
    uint64_t status;
    if (!slice_cut(line, ' ', &version, &rest) || rest.size < 3 ||
        !slice_to_number(slice_from(rest.data, 3), 999, &status))
        return 0;
    return (int)status;
}

/* Returns the seconds until a date, or 0 for an invalid date or a date in the past. Uses curl_getdate,
 * because CURLINFO_RETRY_AFTER has a maximum of six hours in newer versions. */
static int64_t call_seconds_until(struct slice date)
{
    char text[64];
    if (date.size >= sizeof text)
        return 0;
    memcpy(text, date.data, date.size);
    text[date.size] = '\0';
    int64_t then = curl_getdate(text, NULL), now = time(NULL);
    if (then <= now)
        return 0;
    return then - now < RETRY_AFTER_MAX_S ? then - now : RETRY_AFTER_MAX_S;
}

static int64_t call_retry_after(struct slice value)
{
    int64_t seconds = retry_after_seconds(value);
    return seconds >= 0 ? seconds : call_seconds_until(value);
}

static void keep_again(struct http_call *call, struct slice value)
{
    struct slice parts[] = {call->has_again ? SLICE(", ") : SLICE(""), value};
    call->has_again = true;
    for (size_t i = 0; i < 2; i++) {
        size_t room = HTTP_AGAIN_MAX - call->again_bytes;
        size_t size = parts[i].size < room ? parts[i].size : room;
        memcpy(call->again + call->again_bytes, parts[i].data, size);
        call->again_bytes += size;
    }
}

static struct slice header_value(struct slice line, const char *name)
{
    struct slice value = slice_skip(line, strlen(name));
    while (value.size && (value.data[value.size - 1] == '\n' || value.data[value.size - 1] == '\r'))
        value.size--;
    return slice_trim(value);
}

/* Keeps the line of a header if the call wants it. A line that does not fit is left out. */
static void keep_line(struct http_call *call, struct slice line)
{
    struct slice text = header_value(line, "");
    size_t size = call->headers.size;
    if (!call->request.wants_headers || text.size == 0 ||
        call->headers.size + text.size + 1 > HTTP_ANSWER_HEAD_MAX)
        return;
    buffer_append(&call->headers, text);
    buffer_append_byte(&call->headers, '\n');
    if (call->headers.failed) { /* no memory */
        call->headers.failed = false;
        call->headers.size = size;
    }
}

static size_t on_header(char *data, size_t unit, size_t count, void *arg)
{
    struct http_call *call = arg;
    struct slice line = slice_from(data, unit * count);
    call->head_bytes += line.size;
    if (call->head_bytes > HEAD_MAX_BYTES) {
        call->verdict = FAILURE_ANSWER_TOO_LARGE;
        return 0;
    }
    if (call->has_head) /* a trailer */
        return line.size;
    if (!slice_starts_with(line, SLICE("HTTP/")))
        keep_line(call, line);
    if (line.size >= 5 && slice_starts_with(line, SLICE("HTTP/"))) {
        call->status = parse_status(line);
        buffer_clear(&call->headers);
        call->has_retry_after = false;
        call->has_again = false;
        call->again_bytes = 0;
    } else if (line.size >= 12 && slice_equal_nocase(slice_from(line.data, 12), SLICE("Retry-After:"))) {
        call->has_retry_after = true;
        call->retry_after_s = call_retry_after(slice_skip(line, strlen("Retry-After:")));
    } else if (line.size >= 14 && slice_equal_nocase(slice_from(line.data, 14), SLICE("Duepost-Again:"))) {
        keep_again(call, header_value(line, "Duepost-Again:"));
    } else if (line.data[0] == '\r' || line.data[0] == '\n') {
        call->has_head = call->status >= 200;
        if (call->has_head)
            call->owner->on_head(call->owner->arg, call);
    }
    return line.size;
}

static size_t on_body(char *data, size_t unit, size_t count, void *arg)
{
    struct http_call *call = arg;
    if (call->is_large) {
        size_t room = HTTP_LARGE_ANSWER_MAX - call->large_answer.size;
        buffer_append(&call->large_answer, slice_from(data, unit * count < room ? unit * count : room));
    } else if (call->body_bytes < HTTP_ANSWER_MAX) {
        size_t room = HTTP_ANSWER_MAX - call->body_bytes;
        memcpy(call->answer + call->body_bytes, data, unit * count < room ? unit * count : room);
    }
    call->body_bytes += unit * count;
    if (call->body_bytes <= BODY_MAX_BYTES)
        return unit * count;
    call->verdict = FAILURE_ANSWER_TOO_LARGE;
    return 0;
}

/* --- The options of each call --- */

/* These options fail only when there is no memory. */
#define SET(handle, option, value)                                                                           \
    do {                                                                                                     \
        CURLcode set_code = curl_easy_setopt((handle), (option), (value));                                   \
        assert(set_code == CURLE_OK);                                                                        \
    } while (0)

static void set_callbacks(struct http_call *call)
{
    CURL *easy = call->easy;
    SET(easy, CURLOPT_PRIVATE, call);
    SET(easy, CURLOPT_ERRORBUFFER, call->error_text);
    SET(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    SET(easy, CURLOPT_OPENSOCKETDATA, call);
    /* A connection outlives the call that opened it. */
    SET(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    SET(easy, CURLOPT_CLOSESOCKETDATA, call->owner->sockets);
    SET(easy, CURLOPT_PREREQFUNCTION, on_send);
    SET(easy, CURLOPT_PREREQDATA, call);
    SET(easy, CURLOPT_HEADERFUNCTION, on_header);
    SET(easy, CURLOPT_HEADERDATA, call);
    SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    SET(easy, CURLOPT_WRITEDATA, call);
}

/* Sets the options that are the same for each call, only once, because resetting a handle costs more than a
 * small call. */
static void set_constants(struct http_call *call, const char *ca_file, const char *proxy)
{
    CURL *easy = call->easy;
    SET(easy, CURLOPT_POST, 1L);
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_PROXY, proxy ? proxy : "");
    SET(easy, CURLOPT_NOPROXY, "");                  /* ignores the environment's list */
    SET(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* the proxy answers CONNECT, not the request */
    SET(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    SET(easy, CURLOPT_HTTP09_ALLOWED, 0L);
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    /* Only HTTP/1.1 is used. libcurl 7.88 reads HTTP/2 frames for as long as they arrive, so one receiver
     * could block the loop. */
    SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(easy, CURLOPT_PATH_AS_IS, 1L);
    SET(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    SET(easy, CURLOPT_MAXLIFETIME_CONN, (long)CONNECTION_LIFETIME_S);
    SET(easy, CURLOPT_QUICK_EXIT, 1L); /* an unfinished name lookup is abandoned, not waited for */
    SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    /* The default bundle alone is parsed once and cached. Together with a directory it would be parsed for
     * each connection. In a directory, libcurl reads only the certificates that it needs. */
    SET(easy, CURLOPT_CAPATH, ca_file ? "/etc/ssl/certs" : NULL);
    if (ca_file)
        SET(easy, CURLOPT_CAINFO, ca_file);
}

struct http_call *http_call_new(const struct http_call_owner *owner)
{
    struct http_call *call = NEW(struct http_call);
    call->owner = owner;
    list_init(&call->link);
    list_init(&call->drain_link);
    list_init(&call->push_link);
    call->easy = curl_easy_init();
    assert(call->easy);
    call->method = HTTP_METHOD_POST;
    call->has_body = true;
    buffer_init_fallible(&call->headers, HTTP_ANSWER_HEAD_MAX);
    set_callbacks(call);
    set_constants(call, owner->ca_file, owner->proxy);
    return call;
}

void http_call_free(struct http_call *call)
{
    curl_easy_cleanup(call->easy);
    free(call->lines);
    free(call->text);
    buffer_fini(&call->headers);
    buffer_fini(&call->large_answer);
    free(call);
}

static void make_room(struct http_call *call, const struct http_call_request *request)
{
    size_t text_size = request->url.size + 1;
    size_t line_count = request->header_count + DEFAULT_LINES;
    for (size_t i = 0; i < request->header_count; i++)
        text_size += request->headers[i].size + 1;
    if (text_size > call->text_capacity) {
        call->text = memory_resize(call->text, text_size);
        call->text_capacity = text_size;
    }
    if (line_count > call->line_capacity) {
        call->lines = memory_resize(call->lines, line_count * sizeof *call->lines);
        call->line_capacity = line_count;
    }
}

static char *put_text(char *at, struct slice text)
{
    memcpy(at, text.data, text.size);
    at[text.size] = '\0';
    return at + text.size + 1;
}

/* Writes a line for libcurl. "Name:" would remove a header, so a header without a value is written as
 * "Name;". */
static size_t put_line(char *at, struct slice line)
{
    struct slice name, value;
    if (slice_cut(line, ':', &name, &value) && slice_trim(value).size == 0) {
        put_text(at, name);
        at[name.size] = ';';
        at[name.size + 1] = '\0';
        return name.size + 2;
    }
    put_text(at, line);
    return line.size + 1;
}

/* Fills the list of headers. libcurl only reads the list, so its memory can be reused. */
static void put_lines(struct http_call *call, char *at, const struct http_call_request *request)
{
    size_t count = request->header_count + DEFAULT_LINES;
    for (size_t i = 0; i < count; i++) {
        bool is_ours = i >= request->header_count;
        /* libcurl's struct lacks a const here. */
        call->lines[i].data = is_ours ? (char *)(uintptr_t)no_defaults[i - request->header_count] : at;
        call->lines[i].next = i + 1 < count ? &call->lines[i + 1] : NULL;
        if (!is_ours)
            at += put_line(at, request->headers[i]);
    }
}

/* libcurl has three kinds of request: with a body, without a body, and HEAD, which expects no answer body.
 * The method's name replaces the name of the kind. The order matters, because each of the three options
 * resets the other two. */
static void set_method(struct http_call *call, const struct http_call_request *request)
{
    static const struct {
        const char *name;
        bool has_body; /* even for an empty body */
    } methods[] = {
        [HTTP_METHOD_POST] = {NULL, true},        [HTTP_METHOD_GET] = {"GET", false},
        [HTTP_METHOD_PUT] = {"PUT", true},        [HTTP_METHOD_PATCH] = {"PATCH", true},
        [HTTP_METHOD_DELETE] = {"DELETE", false}, [HTTP_METHOD_HEAD] = {NULL, false},
    };
    enum http_method method = request->method;
    bool has_body = methods[method].has_body || request->body.size > 0;
    assert(method != HTTP_METHOD_HEAD || !has_body);
    if (call->method == method && call->has_body == has_body)
        return;
    if (has_body)
        SET(call->easy, CURLOPT_POST, 1L);
    else if (method == HTTP_METHOD_HEAD)
        SET(call->easy, CURLOPT_NOBODY, 1L);
    else
        SET(call->easy, CURLOPT_HTTPGET, 1L);
    SET(call->easy, CURLOPT_CUSTOMREQUEST, methods[method].name);
    call->method = method;
    call->has_body = has_body;
}

static void set_start(struct http_call *call, bool needs_fresh, int64_t timeout_ms)
{
    if (timeout_ms < 1)
        timeout_ms = 1;
    SET(call->easy, CURLOPT_FRESH_CONNECT, (long)needs_fresh);
    SET(call->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    SET(call->easy, CURLOPT_CONNECTTIMEOUT_MS,
        (long)(timeout_ms < CONNECT_TIMEOUT_MS ? timeout_ms : CONNECT_TIMEOUT_MS));
}

static void set_request(struct http_call *call, const struct http_call_request *request)
{
    CURL *easy = call->easy;
    make_room(call, request);
    put_lines(call, put_text(call->text, request->url), request);
    SET(easy, CURLOPT_URL, call->text);
    SET(easy, CURLOPT_HTTPHEADER, call->lines);
    set_method(call, request);
    if (call->has_body) {
        SET(easy, CURLOPT_POSTFIELDS, request->body.size ? request->body.data : "");
        SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    }
    set_start(call, request->needs_fresh, request->timeout_ms);
}

/* Resets the state of the previous call. */
static void forget(struct http_call *call)
{
    call->outcome = (struct http_outcome){0};
    call->verdict = FAILURE_NONE;
    call->head_bytes = 0;
    call->body_bytes = 0;
    call->status = 0;
    call->has_head = false;
    call->is_ended = false;
    call->has_retry_after = false;
    call->has_again = false;
    call->again_bytes = 0;
    call->was_opened = false;
    call->was_refused = false;
    call->is_stale = false;
    call->error_text[0] = '\0';
    buffer_clear(&call->headers);
}

void http_call_prepare(struct http_call *call, const struct http_call_request *request)
{
    forget(call);
    call->request = *request;
    call->request.headers = NULL; /* copied; the caller's array may not exist when the call begins again */
    call->request.header_count = 0;
    set_request(call, request);
}

void http_call_prepare_again(struct http_call *call)
{
    curl_off_t spent_us = 0;
    curl_easy_getinfo(call->easy, CURLINFO_TOTAL_TIME_T, &spent_us);
    forget(call);
    call->request.timeout_ms -= spent_us / 1000;
    set_start(call, true, call->request.timeout_ms);
}
