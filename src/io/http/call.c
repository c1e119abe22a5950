/* The steps of a call, as libcurl reports them:
 *
 *   http_call_prepare       sets the options that change from call to call
 *   on_open                 opens a socket for one address, if may_connect allows it
 *   on_send                 gets a new or reused connection; may_connect and may_send may refuse to send
 *   on_header               takes the heads of the answer; the last head has its status (answer.c)
 *   on_body                 keeps the beginning of the body; reads all of it, to reuse the connection
 *   http_call_fill_outcome  computes the outcome, in answer.c
 *
 * For a plain call (plain.c), libcurl opens the connection only (http_call_prepare_connect). The call
 * then continues in plain.c.
 *
 * on_send refuses a connection that was closed while idle. The call then begins again on a fresh
 * connection. */
#include "io/http/client_private.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "base/memory.h"
#include "base/test_point.h"

enum {
    CONNECT_TIMEOUT_MS = 10 * 1000,
    CONNECTION_LIFETIME_S = 300,
    DEFAULT_LINES = 3,
};

/* A name without a value suppresses a header that libcurl would otherwise add. If the caller sets one of
 * these headers, the caller's value is sent. */
static const char *const no_defaults[DEFAULT_LINES] = {"Accept:", "Content-Type:", "Expect:"};

bool http_call_begin_sending(struct http_call *call, const struct sockaddr *address, bool is_reused)
{
    const struct http_call_request *request = &call->request;
    TEST_POINT("before", "may_send");
    freeze_guard_enter(call->owner->guard, call);
    if (!address || !request->may_connect(request->arg, address))
        call->verdict = FAILURE_TARGET_REFUSED;
    else if (!request->may_send(request->arg))
        call->verdict = FAILURE_UNSENT;
    else
        call->outcome.was_sent = true;
    call->outcome.is_reused = call->outcome.was_sent && is_reused;
    if (call->outcome.was_sent)
        return true;
    freeze_guard_leave(call->owner->guard);
    return false;
}

/* These options fail only when there is no memory. */
#define SET(handle, option, value)                                                                           \
    do {                                                                                                     \
        CURLcode set_code = curl_easy_setopt((handle), (option), (value));                                   \
        assert(set_code == CURLE_OK);                                                                        \
    } while (0)

/* --- Callbacks of libcurl; they may not call functions of libcurl, except to set FORBID_REUSE, and to read
 * the certificate --- */

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_call *call = arg;
    freeze_guard_leave(call->owner->guard); /* the thread may be in the freeze guard for another call */
    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    /* libcurl wants to repeat the request, because the kept-alive connection ended without an answer. */
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
    call->open_errno = fd < 0 ? errno : 0;
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

static int on_send(void *arg, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
    (void)local_ip;
    struct http_call *call = arg;
    struct sockaddr_storage address;
    if (call->was_opened)
        call->outcome.certificate_until_ms = http_call_certificate_until(call->easy);
    if (call->is_connecting) /* plain.c calls may_connect and may_send later */
        return CURL_PREREQFUNC_OK;
    call->local_port = local_port;
    freeze_guard_leave(call->owner->guard); /* the thread may be in the freeze guard for another call */
    call->is_stale = !call->was_opened && !call->outcome.was_sent &&
                     http_sockets_is_stale(call->owner->sockets, local_port);
    if (call->is_stale)
        return CURL_PREREQFUNC_ABORT;
    if (call->outcome.was_sent) { /* libcurl repeats the request on another kept-alive connection */
        call->verdict = FAILURE_RESET;
        return CURL_PREREQFUNC_ABORT;
    }
    bool is_address = parse_address(remote_ip, remote_port, &address);
    bool may_send =
        http_call_begin_sending(call, is_address ? (struct sockaddr *)&address : NULL, !call->was_opened);
    return may_send ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

/* The reader gets the lines of the heads, to decide whether the connection may be used again. libcurl decides
 * how the body is framed. */
static size_t on_header(char *data, size_t unit, size_t count, void *arg)
{
    struct http_call *call = arg;
    struct slice bytes = slice_from(data, unit * count), line = bytes;
    bool is_trailer = call->has_head;
    call->head_bytes += bytes.size;
    enum http_read read = is_trailer ? HTTP_READ_LINE : http_reader_next(&call->reader, &bytes, &line);
    if (!http_call_take(call, read, line))
        return 0;
    if (!is_trailer && call->has_head && call->reader.is_last)
        SET(call->easy, CURLOPT_FORBID_REUSE, 1L);
    return unit * count;
}

static size_t on_body(char *data, size_t unit, size_t count, void *arg)
{
    return http_call_take(arg, HTTP_READ_BODY, slice_from(data, unit * count)) ? unit * count : 0;
}

/* --- The options of each call --- */

static void set_callbacks(struct http_call *call)
{
    CURL *easy = call->easy;
    SET(easy, CURLOPT_PRIVATE, call);
    SET(easy, CURLOPT_ERRORBUFFER, call->error_text);
    SET(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    SET(easy, CURLOPT_OPENSOCKETDATA, call);
    /* on_close gets the sockets and not the call, because a connection may stay open after the end of the
     * call that opened it. */
    SET(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    SET(easy, CURLOPT_CLOSESOCKETDATA, call->owner->sockets);
    SET(easy, CURLOPT_PREREQFUNCTION, on_send);
    SET(easy, CURLOPT_PREREQDATA, call);
    SET(easy, CURLOPT_HEADERFUNCTION, on_header);
    SET(easy, CURLOPT_HEADERDATA, call);
    SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    SET(easy, CURLOPT_WRITEDATA, call);
}

/* A text that lives as long as the client. libcurl reads it as PEM. */
#define blob_of(text)                                                                                        \
    (struct curl_blob)                                                                                       \
    {                                                                                                        \
        .data = (void *)(uintptr_t)(text), .len = strlen(text), .flags = CURL_BLOB_NOCOPY                    \
    }

/* Sets the options that are the same for each call. */
static void set_constants(struct http_call *call, const struct http_call_owner *owner)
{
    CURL *easy = call->easy;
    const char *ca_file = owner->ca_file, *proxy = owner->proxy;
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_PROXY, proxy ? proxy : "");
    SET(easy, CURLOPT_NOPROXY, ""); /* ignores NO_PROXY of the environment */
    SET(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS,
        1L); /* the proxy's answer to CONNECT is not the answer to the request */
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
    SET(easy, CURLOPT_RESOLVE, NULL);
    SET(easy, CURLOPT_MAXLIFETIME_CONN, (long)CONNECTION_LIFETIME_S);
    SET(easy, CURLOPT_QUICK_EXIT, 1L); /* do not wait for an unfinished name lookup at the end of a call */
    http_call_set_tls(easy);
    SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    /* Without ca_file, libcurl uses the system's CA bundle and caches it; if a directory were set as well,
     * libcurl would parse the bundle for each connection. With ca_file, the directory adds the system's CAs;
     * from a directory, libcurl reads only the certificates that it needs. */
    SET(easy, CURLOPT_CAPATH, ca_file ? "/etc/ssl/certs" : NULL);
    if (ca_file)
        SET(easy, CURLOPT_CAINFO, ca_file);
    if (owner->certificate) {
        SET(easy, CURLOPT_SSLCERT_BLOB, &blob_of(owner->certificate));
        SET(easy, CURLOPT_SSLKEY_BLOB, &blob_of(owner->private_key));
    }
}

/* Takes ownership of the handle. */
static void use_handle(struct http_call *call, CURL *easy)
{
    assert(easy && !call->easy);
    call->easy = easy;
    set_callbacks(call);
    set_constants(call, call->owner);
}

/* Gives a new handle the TLS sessions of this call's earlier handles. (If many calls shared them,
 * libcurl 7.88 would resume only a third of the sessions, because one connection removes a session that
 * another connection is using.) */
static void share_sessions(struct http_call *call)
{
    if (!call->sessions) {
        call->sessions = curl_share_init();
        CURLSHcode code = curl_share_setopt(call->sessions, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
        assert(code == CURLSHE_OK);
    }
    SET(call->easy, CURLOPT_SHARE, call->sessions);
}

struct http_call *http_call_new(const struct http_call_owner *owner)
{
    struct http_call *call = NEW(struct http_call);
    call->owner = owner;
    list_init(&call->link);
    list_init(&call->drain_link);
    list_init(&call->push_link);
    buffer_init(&call->head, HTTP_HEAD_MAX);
    buffer_init_fallible(&call->headers, HTTP_ANSWER_HEAD_MAX);
    return call;
}

void http_call_free(struct http_call *call)
{
    http_call_release(call);
    if (call->sessions)
        curl_share_cleanup(call->sessions);
    free(call->lines);
    free(call->text);
    buffer_fini(&call->head);
    buffer_fini(&call->headers);
    buffer_fini(&call->large_answer);
    timer_free(call->deadline);
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

/* Writes a header line for libcurl. libcurl sends a header with an empty value only if the line is "Name;";
 * the line "Name:" would remove the header. */
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

/* Fills the list of headers. libcurl only reads the list, so the list's memory can be reused for the next
 * call. */
static void put_lines(struct http_call *call, char *at, const struct http_call_request *request)
{
    size_t count = request->header_count + DEFAULT_LINES;
    for (size_t i = 0; i < count; i++) {
        bool is_ours = i >= request->header_count;
        /* The member data of libcurl's struct is not const, so the cast removes the const. */
        call->lines[i].data = is_ours ? (char *)(uintptr_t)no_defaults[i - request->header_count] : at;
        call->lines[i].next = i + 1 < count ? &call->lines[i + 1] : NULL;
        if (!is_ours)
            at += put_line(at, request->headers[i]);
    }
}

/* libcurl has three kinds of request: with a body, without a body, and HEAD, which expects no answer body.
 * Each of the three has its own option. CURLOPT_CUSTOMREQUEST is set last, and replaces the method's name
 * that libcurl would send. */
static void set_method(struct http_call *call, const struct http_call_request *request)
{
    static const struct {
        const char *name;
        bool has_body; /* this kind of request has a body, which may be empty */
    } methods[] = {
        [HTTP_METHOD_POST] = {NULL, true},        [HTTP_METHOD_GET] = {"GET", false},
        [HTTP_METHOD_PUT] = {"PUT", true},        [HTTP_METHOD_PATCH] = {"PATCH", true},
        [HTTP_METHOD_DELETE] = {"DELETE", false}, [HTTP_METHOD_HEAD] = {NULL, false},
    };
    enum http_method method = request->method;
    bool has_body = methods[method].has_body || request->body.size > 0;
    assert(method != HTTP_METHOD_HEAD || !has_body);
    if (method == HTTP_METHOD_HEAD)
        SET(call->easy, CURLOPT_NOBODY, 1L);
    if (has_body) {
        SET(call->easy, CURLOPT_POST, 1L);
        SET(call->easy, CURLOPT_POSTFIELDS, request->body.size ? request->body.data : "");
        SET(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    }
    if (methods[method].name)
        SET(call->easy, CURLOPT_CUSTOMREQUEST, methods[method].name);
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
    set_start(call, request->needs_fresh, request->timeout_ms);
}

/* Resets the state of the previous call, and of an earlier begin of this call. */
static void forget(struct http_call *call)
{
    http_reader_begin(&call->reader, call->request.method == HTTP_METHOD_HEAD);
    call->outcome = (struct http_outcome){0};
    call->verdict = FAILURE_NONE;
    call->fault = NULL;
    call->head_bytes = 0;
    call->body_bytes = 0;
    call->status = 0;
    call->has_head = false;
    call->is_ended = false;
    call->has_retry_after = false;
    http_call_clear_replies(call);
    call->open_errno = 0;
    call->was_opened = false;
    call->was_refused = false;
    call->is_stale = false;
    call->is_plain = false;
    call->error_text[0] = '\0';
    buffer_clear(&call->headers);
    /* Resets the freeze guard: its timer may have fired just before the previous call was aborted. */
    freeze_guard_has_struck(call->owner->guard, call);
}

static void keep_request(struct http_call *call, const struct http_call_request *request)
{
    call->request = *request;
    call->request.headers = NULL; /* the headers are copied, because the caller's array may not exist when the
                                     call begins again */
    call->request.header_count = 0;
}

void http_call_prepare(struct http_call *call, const struct http_call_request *request)
{
    keep_request(call, request);
    forget(call);
    use_handle(call, curl_easy_init());
    if (request->url.size > 4 && (request->url.data[4] | 0x20) == 's') /* https */
        share_sessions(call);
    set_request(call, request);
}

void http_call_renew_name(struct http_call *call)
{
    call->renewal = (struct curl_slist){.data = call->name_entry};
    SET(call->easy, CURLOPT_RESOLVE, &call->renewal);
}

void http_call_release(struct http_call *call)
{
    if (call->easy && call->is_plain) /* the handle has only connected */
        http_handles_give(call->owner->handles, call->easy);
    else
        curl_easy_cleanup(call->easy);
    call->easy = NULL;
}

void http_call_prepare_plain(struct http_call *call, const struct http_call_request *request, bool is_tls,
                             struct slice origin)
{
    keep_request(call, request);
    forget(call);
    call->is_plain = true;
    call->begun_us = clock_steady_us();
    call->is_tls = is_tls;
    call->origin = origin;
}

void http_call_prepare_connect(struct http_call *call)
{
    struct http_call_request only_url = {.url = call->request.url};
    make_room(call, &only_url);
    put_text(call->text, call->request.url);
    if (!call->easy)
        use_handle(call, http_handles_take(call->owner->handles));
    call->is_connecting = true;
    SET(call->easy, CURLOPT_URL, call->text);
    SET(call->easy, CURLOPT_CONNECT_ONLY, 1L);
    set_start(call, true, call->request.timeout_ms);
}

int http_call_take_connection(const struct http_call *call)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    curl_easy_getinfo(call->easy, CURLINFO_ACTIVESOCKET, &fd);
    if (fd == CURL_SOCKET_BAD)
        return -1;
    if (call->is_tls)
        http_sockets_release(call->owner->sockets, fd);
    else
        http_sockets_hand_over(call->owner->sockets, fd);
    return fd;
}

CURL *http_call_take_handle(struct http_call *call)
{
    CURL *taken = call->easy;
    SET(taken, CURLOPT_PRIVATE, NULL); /* the call may end before the connection is closed */
    SET(taken, CURLOPT_OPENSOCKETFUNCTION, NULL);
    SET(taken, CURLOPT_PREREQFUNCTION, NULL);
    call->easy = NULL;
    call->is_connecting = false;
    call->is_in_libcurl = false;
    return taken;
}

/* The same handle begins again, because nothing was sent on the connection, and so no answer was read. */
void http_call_prepare_again(struct http_call *call)
{
    curl_off_t spent_us = 0;
    curl_easy_getinfo(call->easy, CURLINFO_TOTAL_TIME_T, &spent_us);
    forget(call);
    call->request.timeout_ms -= spent_us / 1000;
    set_start(call, true, call->request.timeout_ms);
}
