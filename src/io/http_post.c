/* The steps of a post, as libcurl tells them:
 *
 *   http_post_prepare       what changes from post to post
 *   on_open                 a socket for one address: may_connect is asked
 *   on_send                 a connection is there, new or reused: may_connect and may_send are asked; one
 * that has died idle is not used on_header               head by head; the final one decides the status
 *   on_body                 the beginning is kept; the rest is read so that the connection can be used again
 *   http_post_fill_outcome  what became of it, in http_post_outcome.c
 */
#include "io/http_post.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/test_point.h"
#include "io/freeze_guard.h"
#include "io/retry_after.h"

enum {
    CONNECT_TIMEOUT_MS = 10 * 1000,
    CONNECTION_LIFETIME_S = 300,
    HEAD_MAX_BYTES = 64 * 1024, /* all heads of an answer, interim ones and trailers included */
    BODY_MAX_BYTES = 64 * 1024,
    DEFAULT_LINES = 3,
};

/* libcurl's own headers, suppressed: a name without a value. The caller's come first and win. */
static const char *const no_defaults[DEFAULT_LINES] = {"Accept:", "Content-Type:", "Expect:"};

/* --- What libcurl asks and tells; no libcurl function may be called in these --- */

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_post *post = arg;
    freeze_guard_leave(http_client_guard(post->client)); /* this is about another post than the one inside */
    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    /* The kept-alive connection died without an answer, and libcurl wants to repeat the request. */
    if (post->outcome.was_sent) {
        post->verdict = HTTP_ERROR_RESET;
        return CURL_SOCKET_BAD;
    }
    if (!post->request.may_connect(post->request.arg, &address->addr)) {
        post->was_refused = true;
        http_client_push(post->client, post);
        return CURL_SOCKET_BAD;
    }
    post->was_opened = true;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0)
        http_client_add_connection(post->client, fd);
    return fd;
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
    struct http_post *post = arg;
    const struct http_post_request *request = &post->request;
    struct sockaddr_storage address;
    post->local_port = local_port;
    freeze_guard_leave(http_client_guard(post->client)); /* this is about another post than the one inside */
    post->is_stale =
        !post->was_opened && !post->outcome.was_sent && http_client_is_stale(post->client, local_port);
    if (post->is_stale)
        return CURL_PREREQFUNC_ABORT;
    TEST_POINT("before", "may_send");
    freeze_guard_enter(http_client_guard(post->client), post); /* until libcurl has sent */
    if (post->outcome.was_sent)
        post->verdict = HTTP_ERROR_RESET; /* a repetition, over another kept-alive connection */
    else if (!parse_address(remote_ip, remote_port, &address) ||
             !request->may_connect(request->arg, (struct sockaddr *)&address))
        post->verdict = HTTP_ERROR_REFUSED;
    else if (!request->may_send(request->arg))
        post->verdict = HTTP_ERROR_UNSENT;
    else
        post->outcome.was_sent = true;
    post->outcome.is_reused = post->outcome.was_sent && !post->was_opened;
    if (post->verdict == HTTP_ERROR_NONE)
        return CURL_PREREQFUNC_OK;
    freeze_guard_leave(http_client_guard(post->client));
    return CURL_PREREQFUNC_ABORT;
}

/* "HTTP/1.1 204 No Content" */
static int parse_status(struct slice line)
{
    struct slice version, rest;
    uint64_t status;
    if (!slice_cut(line, ' ', &version, &rest) || rest.size < 3 ||
        !slice_to_number(slice_from(rest.data, 3), 999, &status))
        return 0;
    return (int)status;
}

/* The time until a date; 0 for one in the past and for nonsense. curl_getdate, because CURLINFO_RETRY_AFTER
 * has a maximum of six hours in newer versions. */
static int64_t post_seconds_until(struct slice date)
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

static int64_t post_retry_after(struct slice value)
{
    int64_t seconds = retry_after_seconds(value);
    return seconds >= 0 ? seconds : post_seconds_until(value);
}

static size_t on_header(char *data, size_t unit, size_t count, void *arg)
{
    struct http_post *post = arg;
    struct slice line = slice_from(data, unit * count);
    post->head_bytes += line.size;
    if (post->head_bytes > HEAD_MAX_BYTES) {
        post->verdict = HTTP_ERROR_TOO_LARGE;
        return 0;
    }
    if (post->has_head) /* a trailer */
        return line.size;
    if (line.size >= 5 && slice_starts_with(line, SLICE("HTTP/"))) {
        post->status = parse_status(line);
        post->has_retry_after = false;
    } else if (line.size >= 12 && slice_equal_nocase(slice_from(line.data, 12), SLICE("Retry-After:"))) {
        post->has_retry_after = true;
        post->retry_after_s = post_retry_after(slice_skip(line, strlen("Retry-After:")));
    } else if (line.data[0] == '\r' || line.data[0] == '\n') {
        post->has_head = post->status >= 200;
        if (post->has_head)
            http_client_drain(post->client, post);
    }
    return line.size;
}

static size_t on_body(char *data, size_t unit, size_t count, void *arg)
{
    struct http_post *post = arg;
    if (post->body_bytes < HTTP_ANSWER_MAX) {
        size_t room = HTTP_ANSWER_MAX - post->body_bytes;
        memcpy(post->answer + post->body_bytes, data, unit * count < room ? unit * count : room);
    }
    post->body_bytes += unit * count;
    if (post->body_bytes <= BODY_MAX_BYTES)
        return unit * count;
    post->verdict = HTTP_ERROR_TOO_LARGE;
    return 0;
}

/* --- What each post is given --- */

/* Out of memory is the only way in which these options fail. */
#define SET(handle, option, value)                                                                           \
    do {                                                                                                     \
        CURLcode set_code = curl_easy_setopt((handle), (option), (value));                                   \
        assert(set_code == CURLE_OK);                                                                        \
    } while (0)

static void set_callbacks(struct http_post *post)
{
    CURL *easy = post->easy;
    SET(easy, CURLOPT_PRIVATE, post);
    SET(easy, CURLOPT_ERRORBUFFER, post->error_text);
    SET(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    SET(easy, CURLOPT_OPENSOCKETDATA, post);
    /* A connection outlives the post that opened it. */
    SET(easy, CURLOPT_CLOSESOCKETFUNCTION, http_client_close_socket);
    SET(easy, CURLOPT_CLOSESOCKETDATA, post->client);
    SET(easy, CURLOPT_PREREQFUNCTION, on_send);
    SET(easy, CURLOPT_PREREQDATA, post);
    SET(easy, CURLOPT_HEADERFUNCTION, on_header);
    SET(easy, CURLOPT_HEADERDATA, post);
    SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    SET(easy, CURLOPT_WRITEDATA, post);
}

/* What is the same for each post is set once: resetting a handle costs more than a small post. */
static void set_constants(struct http_post *post, const char *ca_file, const char *proxy)
{
    CURL *easy = post->easy;
    SET(easy, CURLOPT_POST, 1L);
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_PROXY, proxy ? proxy : "");
    SET(easy, CURLOPT_NOPROXY, "");                  /* else the environment's would lead past the proxy */
    SET(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* the proxy's 200 to CONNECT is no answer to the POST */
    SET(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    SET(easy, CURLOPT_HTTP09_ALLOWED, 0L);
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    /* Of HTTP/2, libcurl 7.88 reads frames for as long as there are any: one receiver could keep the loop. */
    SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(easy, CURLOPT_PATH_AS_IS, 1L);
    SET(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    SET(easy, CURLOPT_MAXLIFETIME_CONN, (long)CONNECTION_LIFETIME_S);
    SET(easy, CURLOPT_QUICK_EXIT, 1L); /* a dead name's lookup is left behind, not waited for */
    SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    /* The default bundle alone is parsed once and kept; beside a directory it would be parsed for each
     * connection. A directory is searched for one name at a time. */
    SET(easy, CURLOPT_CAPATH, ca_file ? "/etc/ssl/certs" : NULL);
    if (ca_file)
        SET(easy, CURLOPT_CAINFO, ca_file);
}

struct http_post *http_post_new(struct http_client *client, const char *ca_file, const char *proxy)
{
    struct http_post *post = NEW(struct http_post);
    post->client = client;
    list_init(&post->link);
    list_init(&post->drain_link);
    list_init(&post->push_link);
    post->easy = curl_easy_init();
    assert(post->easy);
    set_callbacks(post);
    set_constants(post, ca_file, proxy);
    return post;
}

void http_post_free(struct http_post *post)
{
    curl_easy_cleanup(post->easy);
    free(post->lines);
    free(post->text);
    free(post);
}

static void make_room(struct http_post *post, const struct http_post_request *request)
{
    size_t text_size = request->url.size + 1;
    size_t line_count = request->header_count + DEFAULT_LINES;
    for (size_t i = 0; i < request->header_count; i++)
        text_size += request->headers[i].size + 1;
    if (text_size > post->text_capacity) {
        post->text = memory_resize(post->text, text_size);
        post->text_capacity = text_size;
    }
    if (line_count > post->line_capacity) {
        post->lines = memory_resize(post->lines, line_count * sizeof *post->lines);
        post->line_capacity = line_count;
    }
}

static char *put_text(char *at, struct slice text)
{
    memcpy(at, text.data, text.size);
    at[text.size] = '\0';
    return at + text.size + 1;
}

/* To libcurl "Name:" means to leave a header out, and "Name;" to send it empty. */
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

/* libcurl only reads the list, so it can lie in memory that is used again. */
static void put_lines(struct http_post *post, char *at, const struct http_post_request *request)
{
    size_t count = request->header_count + DEFAULT_LINES;
    for (size_t i = 0; i < count; i++) {
        bool is_ours = i >= request->header_count;
        /* libcurl's struct lacks a const here. */
        post->lines[i].data = is_ours ? (char *)(uintptr_t)no_defaults[i - request->header_count] : at;
        post->lines[i].next = i + 1 < count ? &post->lines[i + 1] : NULL;
        if (!is_ours)
            at += put_line(at, request->headers[i]);
    }
}

static void set_request(struct http_post *post, const struct http_post_request *request)
{
    CURL *easy = post->easy;
    int64_t timeout_ms = request->timeout_ms > 0 ? request->timeout_ms : 1;
    make_room(post, request);
    put_lines(post, put_text(post->text, request->url), request);
    SET(easy, CURLOPT_URL, post->text);
    SET(easy, CURLOPT_HTTPHEADER, post->lines);
    SET(easy, CURLOPT_POSTFIELDS, request->body.size ? request->body.data : "");
    SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    SET(easy, CURLOPT_FRESH_CONNECT, (long)request->needs_fresh);
    SET(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    SET(easy, CURLOPT_CONNECTTIMEOUT_MS,
        (long)(timeout_ms < CONNECT_TIMEOUT_MS ? timeout_ms : CONNECT_TIMEOUT_MS));
}

/* What the post before left behind. */
static void forget(struct http_post *post)
{
    post->outcome = (struct http_outcome){0};
    post->verdict = HTTP_ERROR_NONE;
    post->head_bytes = 0;
    post->body_bytes = 0;
    post->status = 0;
    post->has_head = false;
    post->is_ended = false;
    post->has_retry_after = false;
    post->was_opened = false;
    post->was_refused = false;
    post->is_stale = false;
    post->error_text[0] = '\0';
}

void http_post_prepare(struct http_post *post, const struct http_post_request *request)
{
    forget(post);
    post->request = *request;
    set_request(post, request);
}

void http_post_prepare_again(struct http_post *post)
{
    struct http_post_request request = post->request;
    curl_off_t spent_us = 0;
    curl_easy_getinfo(post->easy, CURLINFO_TOTAL_TIME_T, &spent_us);
    request.timeout_ms -= spent_us / 1000;
    request.needs_fresh = true;
    http_post_prepare(post, &request);
}
