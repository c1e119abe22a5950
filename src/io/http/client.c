/* Runs libcurl in our loop. libcurl names the sockets and the timeout that it waits for. The loop calls
 * libcurl when a socket is ready or the timeout has come. A callback of libcurl must not call libcurl. So the
 * callbacks only put ended calls into a list, and on_done is called after libcurl has returned. call.c
 * has the steps of one call. */
#include "io/http/client.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/system.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/test_point.h"
#include "io/http/client_private.h"

enum {
    BODY_GRACE_US = 2 * 1000 * 1000, /* time limit for the rest of the body after the final head */
    IDLE_CALLS_MAX = 1024,
    /* After this time in one turn, the remaining sockets of libcurl wait for the next turn. */
    TURN_MAX_US = 50 * 1000,
};

struct http_client {
    struct loop *loop;
    CURLM *multi;
    struct timer *curl_timer; /* timer for libcurl's timeouts */
    struct timer *own_timer;  /* ends draining calls at their time limit, and reports ended calls */
    struct hook *hook;
    struct http_call_owner owner;
    struct name_lookups *lookups;
    struct http_plain *plain; /* NULL: libcurl sends all requests */
    size_t tls_count;         /* number of calls with TLS that plain.c sends */
    char *ca_file, *certificate, *private_key;
    char *proxy;
    struct list fresh; /* calls for plain.c that have not begun */
    struct list running;
    struct list draining; /* running calls whose status is known, oldest first */
    struct list pushed;   /* running calls for which may_connect has refused an address in this turn */
    struct list ended;    /* ended calls, whose on_done will be called */
    struct list idle;     /* call objects that can be used again */
    size_t idle_count;
    size_t large_count; /* number of calls that may keep a large answer */
    bool has_new;       /* calls were added to libcurl, which has not begun them yet */
};

static bool is_libcurl_unsafe;

static struct http_client *client_of(const struct http_call *call)
{
    return call->owner->arg;
}

/* --- The end of a call --- */

/* Returns the url with the name that libcurl looks up for a call. */
static struct slice lookup_url(const struct http_call *call)
{
    const char *proxy = client_of(call)->proxy;
    return proxy ? slice_of(proxy) : call->request.url;
}

static void libcurl_add(struct http_call *call)
{
    struct http_client *client = client_of(call);
    if (name_lookups_must_renew(client->lookups, lookup_url(call), loop_now_us(client->loop),
                                call->name_entry))
        http_call_renew_name(call);
    client->has_new = true;
    call->is_in_libcurl = true;
    CURLMcode code = curl_multi_add_handle(client->multi, call->easy);
    assert(code == CURLM_OK);
}

/* Must not be called inside a libcurl callback. */
static void libcurl_remove(struct http_call *call)
{
    if (call->is_in_libcurl)
        curl_multi_remove_handle(client_of(call)->multi, call->easy);
    call->is_connecting = false;
    call->is_in_libcurl = false;
}

/* Ends all work for a call. Must not be called inside a libcurl callback. */
static void detach(struct http_call *call)
{
    libcurl_remove(call);
    http_plain_drop(call);
    http_reader_fini(&call->reader);
    if (call->deadline)
        timer_stop(call->deadline);
    list_remove(&call->link);
    list_remove(&call->drain_link);
    list_remove(&call->push_link);
}

/* Reports to name_lookups.c whether the name in the call's url was found. */
static void note_lookup(const struct http_call *call)
{
    struct http_client *client = client_of(call);
    int64_t now_us = loop_now_us(client->loop);
    bool has_addresses = call->was_opened || call->was_refused;
    if (has_addresses && !call->outcome.was_sent && call->outcome.error != FAILURE_UNSENT)
        name_lookups_failed(client->lookups, lookup_url(call));
    else if (has_addresses)
        name_lookups_found(client->lookups, lookup_url(call), now_us);
    else if (call->outcome.error == FAILURE_TIMEOUT && !call->outcome.was_sent)
        name_lookups_abandoned(client->lookups, now_us);
}

/* Starts a call again. Used only while no byte of its request has been sent. */
static void begin_again(struct http_call *call)
{
    struct http_client *client = client_of(call);
    detach(call);
    http_call_prepare_again(call);
    list_append(&client->running, &call->link);
    libcurl_add(call);
}

static void end_call(struct http_call *call, CURLcode code)
{
    if (call->is_stale && code != CURLE_OPERATION_TIMEDOUT) {
        begin_again(call);
        return;
    }
    http_call_fill_outcome(call, code);
    note_lookup(call);
    detach(call);
    call->is_ended = true;
    list_append(&client_of(call)->ended, &call->link);
}

static void on_head(void *arg, struct http_call *call)
{
    struct http_client *client = arg;
    call->drain_until_us = loop_now_us(client->loop) + BODY_GRACE_US;
    list_append(&client->draining, &call->drain_link);
    timer_arm(client->own_timer, BODY_GRACE_US);
}

static void recycle(struct http_call *call)
{
    struct http_client *client = client_of(call);
    http_call_release(call);
    if (call->is_large) {
        buffer_fini(&call->large_answer);
        call->is_large = false;
        client->large_count--;
    }
    if (call->is_plain && call->is_tls)
        client->tls_count--;
    if (client->idle_count >= IDLE_CALLS_MAX) {
        http_call_free(call);
        return;
    }
    list_append(&client->idle, &call->link);
    client->idle_count++;
}

static void deliver(struct http_client *client)
{
    for (struct list *link; (link = list_take(&client->ended));) {
        struct http_call *call = LIST_ENTRY(link, struct http_call, link);
        TEST_POINT("after", "http_call");
        call->request.on_done(call->request.arg, &call->outcome);
        recycle(call);
    }
}

/* --- Plain calls --- */

static void on_plain_end(void *arg, struct http_call *call, CURLcode code)
{
    (void)arg;
    end_call(call, code);
}

static void on_plain_ready(void *arg)
{
    deliver(arg);
}

static void on_plain_deadline(void *arg)
{
    struct http_call *call = arg;
    struct http_client *client = client_of(call);
    if (call->connection)
        snprintf(call->error_text, sizeof call->error_text, "The call timed out after %lld ms",
                 (long long)call->request.timeout_ms);
    end_call(call, CURLE_OPERATION_TIMEDOUT);
    deliver(client);
}

static void end_crowded(struct http_call *call)
{
    call->outcome = (struct http_outcome){.error = FAILURE_CROWDED, .retry_after_ms = -1};
    call->is_ended = true;
    list_append(&client_of(call)->ended, &call->link);
}

/* Sends a plain call over a kept-alive connection. Without such a connection, libcurl opens a new one. */
static void begin_plain(struct http_client *client, struct http_call *call)
{
    int64_t now_us = loop_now_us(client->loop);
    bool may_reuse = !call->request.needs_fresh;
    if (!call->deadline)
        call->deadline = timer_new(client->loop, on_plain_deadline, call);
    timer_start(call->deadline, (call->request.timeout_ms > 0 ? call->request.timeout_ms : 1) * 1000);
    list_append(&client->running, &call->link);
    if (may_reuse && http_plain_send(client->plain, call))
        return;
    if (!name_lookups_may_begin(client->lookups, lookup_url(call), now_us)) {
        detach(call);
        end_crowded(call);
        return;
    }
    http_call_prepare_connect(call);
    libcurl_add(call);
}

/* Makes libcurl open another connection for a plain call. */
static void connect_again(struct http_call *call)
{
    libcurl_remove(call);
    http_call_prepare_connect(call);
    libcurl_add(call);
}

/* Sends a plain call over the connection that libcurl has opened for it. libcurl may already have closed this
 * connection: when libcurl begins another call, it closes each connection that no call uses and that the
 * receiver has closed, or (newer versions) that has data to read, such as a TLS session ticket. Then the call
 * connects again. The call's deadline limits how often this happens. */
static void continue_plain(struct http_client *client, struct http_call *call)
{
    struct http_wire wire = {.fd = http_call_take_connection(call)};
    if (wire.fd < 0) {
        connect_again(call);
        return;
    }
    if (call->is_tls) {
        wire.tls = http_call_take_handle(call);
        wire.multi = client->multi;
        wire.handles = client->owner.handles;
    }
    libcurl_remove(call);
    http_call_release(call);
    assert(!http_sockets_is_handing_over(client->owner.sockets));
    http_plain_send_over(client->plain, &wire, call);
}

/* --- libcurl in our loop --- */

static void collect(struct http_client *client)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(client->multi, &left));) {
        void *private = NULL;
        CURLcode code = message->data.result; /* the message is freed when the handle is removed */
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        struct http_call *call = private;
        if (!call) /* the handle belongs to a connection of plain.c */
            continue;
        if (call->is_connecting && code == CURLE_OK)
            continue_plain(client, call);
        else
            end_call(call, code);
    }
}

static void on_refused(void *arg, struct http_call *call)
{
    struct http_client *client = arg;
    if (list_is_empty(&call->push_link))
        list_append(&client->pushed, &call->push_link);
}

/* Makes libcurl try the next address of the name at once. After a refused address, libcurl 7.88 has no socket
 * and would wait for half of the remaining time. Pausing and continuing a handle makes libcurl handle it at
 * once. */
static void push(struct http_client *client)
{
    for (struct list *link; (link = list_take(&client->pushed));) {
        CURL *easy = LIST_ENTRY(link, struct http_call, push_link)->easy;
        curl_easy_pause(easy, CURLPAUSE_RECV);
        curl_easy_pause(easy, CURLPAUSE_CONT);
    }
}

static void act(struct http_client *client, curl_socket_t fd, int events)
{
    int running;
    http_call_forget_alert();
    curl_multi_socket_action(client->multi, fd, events, &running);
    freeze_guard_leave(client->owner.guard);
    collect(client);
    push(client);
}

/* Handles one ready socket. A thousand TLS handshakes that are ready at the same time would take seconds. So
 * libcurl works for a limited time in each turn of the loop. The remaining sockets are ready again in the
 * next turn; before it, Redis and our clients are served. */
static void on_ready(void *arg, int fd, bool readable, bool writable)
{
    struct http_client *client = arg;
    if (clock_steady_us() - loop_now_us(client->loop) > TURN_MAX_US)
        return;
    act(client, fd, (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0));
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
        struct http_call *call = LIST_ENTRY(client->draining.next, struct http_call, drain_link);
        if (call->drain_until_us > now_us) {
            timer_start(client->own_timer, call->drain_until_us - now_us);
            break;
        }
        end_call(call, CURLE_PARTIAL_FILE);
    }
    deliver(client);
}

/* Starts the calls of this turn together. For calls that end at once, on_done is called in the next turn,
 * because the hooks of this turn have already run. */
static void client_on_turn_end(void *arg)
{
    struct http_client *client = arg;
    for (struct list *link; (link = list_take(&client->fresh));)
        begin_plain(client, LIST_ENTRY(link, struct http_call, link));
    if (client->has_new) {
        client->has_new = false;
        act(client, CURL_SOCKET_TIMEOUT, 0);
    }
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

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
    (void)easy, (void)unused;
    struct http_client *client = arg;
    freeze_guard_leave(client->owner.guard); /* libcurl calls this function after it has sent */
    http_sockets_watch(client->owner.sockets, fd, what & CURL_POLL_IN,
                       what & CURL_POLL_OUT); /* neither: REMOVE */
    return 0;
}

/* Shuts the connection of a call. The freeze guard calls this function in a signal handler, after this thread
 * was frozen during a send. Functions of libcurl must not be called here, so a connection of libcurl is found
 * by its local port. */
static void shut_connection(void *arg, const void *what)
{
    const struct http_client *client = arg;
    const struct http_call *call = what;
    if (call->connection)
        http_plain_shut(call->connection);
    else
        http_sockets_shut(client->owner.sockets, call->local_port);
}

/* --- Calls --- */

static struct http_call *take_call(struct http_client *client)
{
    struct list *link = list_take(&client->idle);
    if (!link)
        return http_call_new(&client->owner);
    client->idle_count--;
    return LIST_ENTRY(link, struct http_call, link);
}

/* Lets the call keep a large answer, unless HTTP_LARGE_ANSWERS_MAX calls already do. */
static void keep_large_answer(struct http_client *client, struct http_call *call, bool is_needed)
{
    if (client->large_count >= HTTP_LARGE_ANSWERS_MAX && !is_needed)
        return;
    buffer_init_fallible(&call->large_answer, HTTP_LARGE_ANSWER_MAX);
    call->is_large = true;
    client->large_count++;
}

struct http_call *http_call(struct http_client *client, const struct http_call_request *request)
{
    TEST_POINT("before", "http_call");
    struct http_call *call = take_call(client);
    struct http_plain_url parts;
    bool is_plain = client->plain && http_plain_url_split(request->url, &parts) &&
                    (!parts.is_tls || client->tls_count < HTTP_PLAIN_TLS_MAX || is_libcurl_unsafe);
    if (is_plain) {
        http_call_prepare_plain(call, request, parts.is_tls, parts.origin);
        client->tls_count += parts.is_tls;
        http_plain_head_write(&call->head, request, &parts);
    } else {
        http_call_prepare(call, request);
    }
    if (request->wants_large_answer)
        keep_large_answer(client, call, request->needs_large_answer);
    if (is_plain) {
        list_append(&client->fresh, &call->link);
    } else if (!is_libcurl_unsafe &&
               name_lookups_may_begin(client->lookups, lookup_url(call), loop_now_us(client->loop))) {
        list_append(&client->running, &call->link);
        libcurl_add(call);
    } else {
        end_crowded(call);
        timer_start(client->own_timer, 0);
    }
    return call;
}

bool http_call_hurry(struct http_call *call)
{
    if (call->is_ended)
        return true;
    if (!call->has_head)
        return false;
    end_call(call, CURLE_PARTIAL_FILE);
    timer_start(client_of(call)->own_timer, 0);
    return true;
}

void http_call_abort(struct http_call *call)
{
    detach(call);
    recycle(call);
}

/* --- The client --- */

bool http_client_has_proxy(const struct http_client *client)
{
    return client->proxy != NULL;
}

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
    client->certificate = options->certificate ? slice_dup(slice_of(options->certificate)) : NULL;
    client->private_key = options->private_key ? slice_dup(slice_of(options->private_key)) : NULL;
    client->proxy = options->proxy ? slice_dup(slice_of(options->proxy)) : NULL;
    list_init(&client->fresh);
    list_init(&client->running);
    list_init(&client->draining);
    list_init(&client->pushed);
    list_init(&client->ended);
    list_init(&client->idle);
    client->curl_timer = timer_new(loop, on_curl_timer, client);
    client->own_timer = timer_new(loop, on_own_timer, client);
    client->hook = hook_new(loop, LOOP_PHASE_SEND, client_on_turn_end, client);
    client->owner.ca_file = client->ca_file;
    client->owner.certificate = client->certificate;
    client->owner.private_key = client->private_key;
    client->owner.proxy = client->proxy;
    client->owner.on_head = on_head;
    client->owner.on_refused = on_refused;
    client->owner.arg = client;
    client->owner.sockets = http_sockets_new(loop, on_ready, client);
    client->owner.handles = http_handles_new();
    client->lookups = name_lookups_new();
    if ((!options->uses_libcurl_only || is_libcurl_unsafe) && !options->proxy)
        client->plain = http_plain_new(loop, options->max_idle,
                                       &(struct http_plain_events){on_plain_end, on_plain_ready, client});
    client->owner.guard = freeze_guard_new(shut_connection, client);
    client->multi = curl_multi_init();
    assert(client->multi);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    /* Without a limit on connections (0), calls never wait in a queue of libcurl, where the leases of their
     * jobs would expire. For CURLMOPT_MAXCONNECTS (kept-alive connections), 0 would not mean none but
     * libcurl's own limit, so the smallest value is 1. */
    curl_multi_setopt(client->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, 0L);
    curl_multi_setopt(client->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 0L);
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)(options->max_idle ? options->max_idle : 1));
    return client;
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    while (!list_is_empty(&client->fresh))
        http_call_abort(LIST_ENTRY(client->fresh.next, struct http_call, link));
    while (!list_is_empty(&client->running))
        http_call_abort(LIST_ENTRY(client->running.next, struct http_call, link));
    while (!list_is_empty(&client->ended))
        http_call_abort(LIST_ENTRY(client->ended.next, struct http_call, link));
    for (struct list *link; (link = list_take(&client->idle));)
        http_call_free(LIST_ENTRY(link, struct http_call, link));
    http_plain_free(client->plain); /* the plain connections use the multi handle */
    curl_multi_cleanup(
        client->multi); /* closes libcurl's kept-alive connections through http_sockets_close */
    http_sockets_free(client->owner.sockets);
    http_handles_free(client->owner.handles);
    freeze_guard_free(client->owner.guard);
    name_lookups_free(client->lookups);
    hook_free(client->hook);
    timer_free(client->curl_timer);
    timer_free(client->own_timer);
    free(client->ca_file);
    free(client->certificate);
    if (client->private_key)
        explicit_bzero(client->private_key, strlen(client->private_key));
    free(client->private_key);
    free(client->proxy);
    free(client);
}

void http_client_distrust_libcurl(void)
{
    is_libcurl_unsafe = true;
}

void http_client_library(struct library *library)
{
    library_set(library, "libcurl", curl_version_info(CURLVERSION_NOW)->version);
}
