/* The steps of a post, as libcurl tells them:
 *
 *   http_post   fills an easy handle; all posts of a turn are started at its end
 *   on_open     a socket for one address: may_connect is asked
 *   on_send     a connection is there, new or reused: may_connect and may_send are asked
 *   on_header   head by head; the final one decides the status
 *   on_body     thrown away; read only so that the connection can be used again
 *   end_post    outcome made, handle taken out of the multi handle
 *   deliver     on_done, outside of every libcurl call
 */
#include "io/http_client.h"

#include <arpa/inet.h>
#include <assert.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"

enum {
    CONNECT_TIMEOUT_MS = 10 * 1000,
    CONNECTION_LIFETIME_S = 300,
    HEAD_MAX_BYTES = 64 * 1024, /* all heads of an answer, interim ones and trailers included */
    BODY_MAX_BYTES = 64 * 1024,
    BODY_GRACE_US = 2 * 1000 * 1000, /* what a body may take once the status is known */
    IDLE_POSTS_MAX = 1024,
    DEFAULT_LINES = 3,
};

/* libcurl's own headers, suppressed: a name without a value. The caller's come first and win. */
static const char *const no_defaults[DEFAULT_LINES] = {"Accept:", "Content-Type:", "Expect:"};

struct http_client {
    struct loop *loop;
    CURLM *multi;
    struct timer *curl_timer; /* libcurl's */
    struct timer *own_timer;  /* for ended and draining */
    struct hook *hook;
    char *ca_file;
    struct socket **sockets; /* by descriptor */
    size_t socket_count;
    struct list running;
    struct list draining; /* of the running: those whose status is known, oldest first */
    struct list ended;    /* on_done is due */
    struct list idle;     /* to be used again */
    size_t idle_count;
    bool has_new; /* posts that libcurl has not begun */
};

/* A watch stays with its descriptor while the connection is kept alive. */
struct socket {
    struct http_client *client;
    struct watch *watch;
    int fd;
};

struct http_post {
    struct list link;
    struct list drain_link;
    int64_t drain_until_us;
    struct http_client *client;
    CURL *easy;
    struct http_post_request request;
    struct http_outcome outcome;
    enum http_error verdict; /* why a callback ended it */
    struct curl_slist *lines;
    size_t line_capacity;
    char *text; /* url and lines, each with a NUL behind it */
    size_t text_capacity;
    size_t head_bytes;
    size_t body_bytes;
    int status;    /* of the head that is being read */
    bool has_head; /* the final one, whole */
    bool has_retry_after;
    bool was_opened;  /* a socket, for an allowed address */
    bool was_refused; /* an address, before connecting */
};

/* --- What libcurl asks and tells; no libcurl function may be called in these --- */

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_post *post = arg;
    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    /* The kept-alive connection died without an answer, and libcurl wants to repeat the request. */
    if (post->outcome.was_sent) {
        post->verdict = HTTP_ERROR_RESET;
        return CURL_SOCKET_BAD;
    }
    if (!post->request.may_connect(post->request.arg, &address->addr)) {
        post->was_refused = true;
        return CURL_SOCKET_BAD;
    }
    post->was_opened = true;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
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
    (void)local_ip, (void)local_port;
    struct http_post *post = arg;
    const struct http_post_request *request = &post->request;
    struct sockaddr_storage address;
    if (post->outcome.was_sent)
        post->verdict = HTTP_ERROR_RESET; /* a repetition, over another kept-alive connection */
    else if (!parse_address(remote_ip, remote_port, &address) ||
             !request->may_connect(request->arg, (struct sockaddr *)&address))
        post->verdict = HTTP_ERROR_REFUSED;
    else if (!request->may_send(request->arg))
        post->verdict = HTTP_ERROR_UNSENT;
    else
        post->outcome.was_sent = true;
    return post->verdict == HTTP_ERROR_NONE ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
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

static void begin_draining(struct http_post *post)
{
    struct http_client *client = post->client;
    post->drain_until_us = loop_now_us(client->loop) + BODY_GRACE_US;
    list_append(&client->draining, &post->drain_link);
    if (!timer_is_running(client->own_timer))
        timer_start(client->own_timer, BODY_GRACE_US);
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
    } else if (line.data[0] == '\r' || line.data[0] == '\n') {
        post->has_head = post->status >= 200;
        if (post->has_head)
            begin_draining(post);
    }
    return line.size;
}

static size_t on_body(char *data, size_t unit, size_t count, void *arg)
{
    (void)data;
    struct http_post *post = arg;
    post->body_bytes += unit * count;
    if (post->body_bytes <= BODY_MAX_BYTES)
        return unit * count;
    post->verdict = HTTP_ERROR_TOO_LARGE;
    return 0;
}

/* --- How a post ends --- */

static enum http_error error_of(const struct http_post *post, CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return HTTP_ERROR_DNS;
    case CURLE_COULDNT_CONNECT:
        return post->was_refused && !post->was_opened ? HTTP_ERROR_REFUSED : HTTP_ERROR_CONNECT;
    case CURLE_OPERATION_TIMEDOUT:
        return HTTP_ERROR_TIMEOUT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_SHUTDOWN_FAILED:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_USE_SSL_FAILED:
        return HTTP_ERROR_TLS;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
        return HTTP_ERROR_RESET;
    case CURLE_OUT_OF_MEMORY: /* what libcurl says of a header line over its own limit of 100 KiB */
        return HTTP_ERROR_TOO_LARGE;
    default:
        return HTTP_ERROR_PROTOCOL;
    }
}

/* Seconds or a date; libcurl parses both, and says 0 for a time in the past, for nonsense and without any. */
static int64_t retry_after_ms(const struct http_post *post)
{
    const int64_t max_s = INT64_C(366) * 24 * 3600;
    curl_off_t seconds = 0;
    if (!post->has_retry_after)
        return -1;
    curl_easy_getinfo(post->easy, CURLINFO_RETRY_AFTER, &seconds);
    return (seconds < 0 ? 0 : seconds > max_s ? max_s : seconds) * 1000;
}

static void fill_outcome(struct http_post *post, CURLcode code)
{
    struct http_outcome *outcome = &post->outcome;
    curl_off_t total_us = 0;
    curl_easy_getinfo(post->easy, CURLINFO_TOTAL_TIME_T, &total_us);
    outcome->duration_ms = total_us / 1000;
    outcome->retry_after_ms = -1;
    if (post->has_head) {
        outcome->status = post->status;
        outcome->retry_after_ms = retry_after_ms(post);
    } else {
        outcome->error = post->verdict != HTTP_ERROR_NONE ? post->verdict : error_of(post, code);
    }
}

/* Out of libcurl's hands; must not be called inside a libcurl callback. */
static void detach(struct http_post *post)
{
    curl_multi_remove_handle(post->client->multi, post->easy);
    list_remove(&post->link);
    list_remove(&post->drain_link);
}

static void end_post(struct http_post *post, CURLcode code)
{
    fill_outcome(post, code);
    detach(post);
    list_append(&post->client->ended, &post->link);
}

static void free_post(struct http_post *post)
{
    curl_easy_cleanup(post->easy);
    free(post->lines);
    free(post->text);
    free(post);
}

static void recycle(struct http_post *post)
{
    struct http_client *client = post->client;
    if (client->idle_count >= IDLE_POSTS_MAX) {
        free_post(post);
        return;
    }
    list_append(&client->idle, &post->link);
    client->idle_count++;
}

static void deliver(struct http_client *client)
{
    for (struct list *link; (link = list_take(&client->ended));) {
        struct http_post *post = LIST_ENTRY(link, struct http_post, link);
        post->request.on_done(post->request.arg, &post->outcome);
        recycle(post);
    }
}

/* --- libcurl in our loop --- */

static void collect(struct http_client *client)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(client->multi, &left));) {
        void *post = NULL;
        CURLcode code = message->data.result; /* message dies with the handle's removal */
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &post);
        end_post(post, code);
    }
}

static void act(struct http_client *client, curl_socket_t fd, int events)
{
    int running;
    curl_multi_socket_action(client->multi, fd, events, &running);
    collect(client);
}

static void on_ready(void *arg, bool readable, bool writable)
{
    struct socket *socket = arg;
    struct http_client *client = socket->client; /* socket may be closed and freed by what follows */
    act(client, socket->fd, (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0));
    deliver(client);
}

static void on_curl_timer(void *arg)
{
    struct http_client *client = arg;
    client->has_new = false;
    act(client, CURL_SOCKET_TIMEOUT, 0);
    deliver(client);
}

static void on_own_timer(void *arg)
{
    struct http_client *client = arg;
    int64_t now_us = loop_now_us(client->loop);
    while (!list_is_empty(&client->draining)) {
        struct http_post *post = LIST_ENTRY(client->draining.next, struct http_post, drain_link);
        if (post->drain_until_us > now_us) {
            timer_start(client->own_timer, post->drain_until_us - now_us);
            break;
        }
        end_post(post, CURLE_OK);
    }
    deliver(client);
}

/* The posts of a turn start together. What ends at once is told in the next turn, because the roles have
 * gathered already what this one brought. */
static void on_turn_end(void *arg)
{
    struct http_client *client = arg;
    if (!client->has_new)
        return;
    client->has_new = false;
    act(client, CURL_SOCKET_TIMEOUT, 0);
    if (!list_is_empty(&client->ended))
        timer_start(client->own_timer, 0);
}

static int on_timeout(CURLM *multi, long timeout_ms, void *arg)
{
    (void)multi;
    struct http_client *client = arg;
    if (timeout_ms < 0)
        timer_stop(client->curl_timer);
    else
        timer_start(client->curl_timer, (int64_t)timeout_ms * 1000);
    return 0;
}

static struct socket *find_socket(struct http_client *client, curl_socket_t fd)
{
    return (size_t)fd < client->socket_count ? client->sockets[fd] : NULL;
}

static struct socket *add_socket(struct http_client *client, curl_socket_t fd)
{
    size_t count = client->socket_count;
    if ((size_t)fd >= count) {
        size_t wanted = ((size_t)fd + 1) * 2;
        client->sockets = memory_resize(client->sockets, wanted * sizeof *client->sockets);
        memset(client->sockets + count, 0, (wanted - count) * sizeof *client->sockets);
        client->socket_count = wanted;
    }
    struct socket *socket = NEW(struct socket);
    socket->client = client;
    socket->fd = fd;
    socket->watch = watch_new(client->loop, fd, on_ready, socket);
    client->sockets[fd] = socket;
    return socket;
}

static void free_socket(struct http_client *client, curl_socket_t fd)
{
    struct socket *socket = find_socket(client, fd);
    if (!socket)
        return;
    client->sockets[fd] = NULL;
    watch_free(socket->watch);
    free(socket);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
    (void)easy, (void)unused;
    struct http_client *client = arg;
    struct socket *socket = find_socket(client, fd);
    if (what == CURL_POLL_REMOVE) {
        if (socket)
            watch_set(socket->watch, false, false);
        return 0;
    }
    if (!socket)
        socket = add_socket(client, fd);
    watch_set(socket->watch, what & CURL_POLL_IN, what & CURL_POLL_OUT);
    return 0;
}

/* A socket may be closed while libcurl has it watched: closing has to end the watch, too. */
static int on_close(void *arg, curl_socket_t fd)
{
    free_socket(arg, fd);
    return close(fd);
}

/* --- Posts --- */

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
    SET(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    SET(easy, CURLOPT_OPENSOCKETDATA, post);
    /* A connection outlives the post that opened it. */
    SET(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    SET(easy, CURLOPT_CLOSESOCKETDATA, post->client);
    SET(easy, CURLOPT_PREREQFUNCTION, on_send);
    SET(easy, CURLOPT_PREREQDATA, post);
    SET(easy, CURLOPT_HEADERFUNCTION, on_header);
    SET(easy, CURLOPT_HEADERDATA, post);
    SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    SET(easy, CURLOPT_WRITEDATA, post);
}

/* What is the same for each post is set once: resetting a handle costs more than a small post. */
static void set_constants(struct http_post *post)
{
    CURL *easy = post->easy;
    SET(easy, CURLOPT_POST, 1L);
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_PROXY, "");
    SET(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    SET(easy, CURLOPT_HTTP09_ALLOWED, 0L);
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(easy, CURLOPT_PATH_AS_IS, 1L);
    SET(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    SET(easy, CURLOPT_PIPEWAIT, 0L);
    SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    SET(easy, CURLOPT_MAXLIFETIME_CONN, (long)CONNECTION_LIFETIME_S);
    SET(easy, CURLOPT_QUICK_EXIT, 1L); /* a dead name's lookup is left behind, not waited for */
    SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    /* The default bundle alone is parsed once and kept; beside a directory it would be parsed for each
     * connection. A directory is searched for one name at a time. */
    SET(easy, CURLOPT_CAPATH, post->client->ca_file ? "/etc/ssl/certs" : NULL);
    if (post->client->ca_file)
        SET(easy, CURLOPT_CAINFO, post->client->ca_file);
}

static struct http_post *take_post(struct http_client *client)
{
    struct list *link = list_take(&client->idle);
    if (link) {
        client->idle_count--;
        return LIST_ENTRY(link, struct http_post, link);
    }
    struct http_post *post = NEW(struct http_post);
    post->client = client;
    list_init(&post->link);
    list_init(&post->drain_link);
    post->easy = curl_easy_init();
    assert(post->easy);
    set_callbacks(post);
    set_constants(post);
    return post;
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
    SET(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    SET(easy, CURLOPT_CONNECTTIMEOUT_MS,
        (long)(timeout_ms < CONNECT_TIMEOUT_MS ? timeout_ms : CONNECT_TIMEOUT_MS));
}

static void reset_post(struct http_post *post, const struct http_post_request *request)
{
    post->request = *request;
    post->outcome = (struct http_outcome){0};
    post->verdict = HTTP_ERROR_NONE;
    post->head_bytes = 0;
    post->body_bytes = 0;
    post->status = 0;
    post->has_head = false;
    post->has_retry_after = false;
    post->was_opened = false;
    post->was_refused = false;
}

struct http_post *http_post(struct http_client *client, const struct http_post_request *request)
{
    struct http_post *post = take_post(client);
    reset_post(post, request);
    set_request(post, request);
    list_append(&client->running, &post->link);
    client->has_new = true;
    CURLMcode code = curl_multi_add_handle(client->multi, post->easy);
    assert(code == CURLM_OK);
    return post;
}

void http_post_abort(struct http_post *post)
{
    detach(post);
    recycle(post);
}

/* --- The client --- */

static void init_curl(void)
{
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    assert(code == CURLE_OK);
}

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
    struct http_client *client = NEW(struct http_client);
    client->loop = loop;
    client->ca_file = options->ca_file ? slice_dup(slice_of(options->ca_file)) : NULL;
    list_init(&client->running);
    list_init(&client->draining);
    list_init(&client->ended);
    list_init(&client->idle);
    client->curl_timer = timer_new(loop, on_curl_timer, client);
    client->own_timer = timer_new(loop, on_own_timer, client);
    client->hook = hook_new(loop, LOOP_PHASE_SEND, on_turn_end, client);
    client->multi = curl_multi_init();
    assert(client->multi);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    /* Nothing may queue inside libcurl: a post that waits there would spend its lease. 0 is no limit here,
     * but for the kept-alive connections 0 would mean libcurl's own choice. */
    curl_multi_setopt(client->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, 0L);
    curl_multi_setopt(client->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 0L);
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)(options->max_idle ? options->max_idle : 1));
    return client;
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    while (!list_is_empty(&client->running))
        http_post_abort(LIST_ENTRY(client->running.next, struct http_post, link));
    while (!list_is_empty(&client->ended))
        http_post_abort(LIST_ENTRY(client->ended.next, struct http_post, link));
    for (struct list *link; (link = list_take(&client->idle));)
        free_post(LIST_ENTRY(link, struct http_post, link));
    curl_multi_cleanup(client->multi); /* closes the kept-alive connections through on_close */
    for (size_t fd = 0; fd < client->socket_count; fd++)
        free_socket(client, (curl_socket_t)fd);
    hook_free(client->hook);
    timer_free(client->curl_timer);
    timer_free(client->own_timer);
    free(client->sockets);
    free(client->ca_file);
    free(client);
}
