#include "cli/remote_calls.h"

#include <curl/curl.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"

enum { HEADER_MAX = 512 };
#define CONNECT_TIMEOUT_MS 10000L

struct remote_calls {
    struct remote_options options;
    CURLM *multi;
    struct list list; /* all calls */
};

struct remote_call {
    struct remote_calls *calls;
    struct list link;
    CURL *easy;
    struct curl_slist *headers;
    struct buffer answer;
    remote_call_fn *done;
    void *arg;
};

struct remote_calls *remote_calls_new(struct remote *remote)
{
    struct remote_calls *calls = NEW(struct remote_calls);
    calls->options = remote_options(remote);
    remote_set_sent(remote);
    list_init(&calls->list);
    calls->multi = curl_multi_init();
    if (!calls->multi)
        abort();
    return calls;
}

void remote_calls_free(struct remote_calls *calls)
{
    if (!calls)
        return;
    while (!list_is_empty(&calls->list))
        remote_call_cancel(LIST_ENTRY(list_pop(&calls->list), struct remote_call, link));
    curl_multi_cleanup(calls->multi);
    free(calls);
}

/* ---- a call ---- */

static void add_header(struct remote_call *call, const char *name, const char *value)
{
    struct buffer line;
    buffer_init(&line, HEADER_MAX);
    buffer_printf(&line, "%s%s", name, value);
    call->headers = curl_slist_append(call->headers, buffer_text(&line));
    buffer_fini(&line);
}

static void set_options(struct remote_call *call, const struct remote_request *request)
{
    const struct remote_options *options = &call->calls->options;
    struct buffer url;
    CURL *easy = call->easy;
    if (request->body.size) {
        add_header(call, "Content-Type: ", "application/json");
        add_header(call, "Expect:", "");
    }
    if (options->authorization[0])
        call->headers = curl_slist_append(call->headers, options->authorization);
    if (request->key)
        add_header(call, "Idempotency-Key: ", request->key);
    buffer_init(&url, REMOTE_URL_MAX);
    buffer_printf(&url, "%.*s%s", SLICE_ARG(remote_address(options->server)), request->target);
    curl_easy_setopt(easy, CURLOPT_URL, buffer_text(&url));
    buffer_fini(&url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    if (request->body.size) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)request->body.size);
        curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body.data);
    }
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (options->ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L); /* the server may have moved */
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, request->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, remote_on_data);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &call->answer);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
}

struct remote_call *remote_call_start(struct remote_calls *calls, const struct remote_request *request,
                                      remote_call_fn *done, void *arg)
{
    struct remote_call *call = NEW(struct remote_call);
    *call = (struct remote_call){.calls = calls, .done = done, .arg = arg};
    list_append(&calls->list, &call->link);
    buffer_init(&call->answer, REMOTE_ANSWER_MAX);
    call->easy = curl_easy_init();
    if (!call->easy)
        abort();
    set_options(call, request);
    curl_multi_add_handle(calls->multi, call->easy);
    return call;
}

void remote_call_cancel(struct remote_call *call)
{
    list_remove(&call->link);
    curl_multi_remove_handle(call->calls->multi, call->easy);
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    buffer_fini(&call->answer);
    free(call);
}

/* ---- progress ---- */

static void call_end(struct remote_call *call, CURLcode code)
{
    long status = 0;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK)
        call->done(call->arg, status, buffer_slice(&call->answer));
    else
        call->done(call->arg, 0, slice_of(curl_easy_strerror(code)));
    remote_call_cancel(call);
}

void remote_calls_step(struct remote_calls *calls)
{
    int running, queued;
    const CURLMsg *message;
    curl_multi_perform(calls->multi, &running);
    while ((message = curl_multi_info_read(calls->multi, &queued))) {
        CURLcode code =
            message->data.result; /* copied, because the message is freed when its handle is removed */
        struct remote_call *call = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        if (message->msg == CURLMSG_DONE)
            call_end(call, code);
    }
}

void remote_calls_wait(struct remote_calls *calls, const int *descriptors, size_t count, int timeout_ms)
{
    struct curl_waitfd ready[REMOTE_CALLS_WAIT_MAX];
    if (count > REMOTE_CALLS_WAIT_MAX)
        return;
    for (size_t i = 0; i < count; i++)
        ready[i] = (struct curl_waitfd){.fd = descriptors[i], .events = CURL_WAIT_POLLIN};
    curl_multi_poll(calls->multi, ready, (unsigned)count, timeout_ms, NULL);
}
