#include "cli/remote.h"

#include <curl/curl.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "job/target/url.h"

/* ---- one request at a time ---- */

enum { HEADER_MAX = 512 };
#define TIMEOUT_S 60L
/* After this time without a byte, a stream is broken: the server sends some every 15 s. */
#define SILENCE_S 40L

struct remote {
    struct remote_options options;
    const char *server;
    CURLM *multi; /* keeps the connection to the server open between requests */
    /* The handle of the latest request. Each request has a new handle: libcurl 7.88 writes to freed memory if
     * an answer begins with a folded header line, and is not the first answer of its handle. */
    CURL *easy;
    struct buffer text; /* see remote_text */
    bool has_sent;
    long status, retry_after_s; /* from the last answer of remote_ask */
    /* While remote_stream runs: gets the pieces of an answer whose status is 2xx. */
    remote_piece_fn *on_piece;
    void *piece_arg;
};

/* For an address without a scheme, http is assumed, as libcurl does. */
static bool is_address(const char *server)
{
    bool has_scheme = strstr(server, "://");
    return has_scheme ? strncmp(server, "http://", 7) == 0 || strncmp(server, "https://", 8) == 0
                      : server[0] != '\0';
}

enum status remote_options_check(const struct remote_options *options, struct problem *problem)
{
    if (options->server && !is_address(options->server)) {
        problem_set(problem,
                    "--server or DUEPOST_SERVER is %.200s: expected a URL such as http://127.0.0.1:7700",
                    options->server);
        return STATUS_INVALID;
    }
    if (options->ca_file && access(options->ca_file, R_OK) != 0) {
        problem_set(problem, "--ca-file: cannot read %.300s: %s", options->ca_file, strerror(errno));
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

struct remote *remote_new(const struct remote_options *options)
{
    struct remote *remote = NEW(struct remote);
    remote->options = *options;
    remote->server = options->server ? options->server : "http://127.0.0.1:7700";
    curl_global_init(CURL_GLOBAL_DEFAULT);
    remote->multi = curl_multi_init();
    if (!remote->multi)
        abort();
    buffer_init(&remote->text, REMOTE_ANSWER_MAX);
    return remote;
}

void remote_free(struct remote *remote)
{
    if (!remote)
        return;
    curl_easy_cleanup(remote->easy);
    curl_multi_cleanup(remote->multi);
    curl_global_cleanup();
    buffer_fini(&remote->text);
    free(remote);
}

/* A CURLOPT_WRITEFUNCTION, whose arg is a struct remote: gives a piece of a stream to its function, and keeps
 * an error. */
static size_t remote_on_piece(char *data, size_t unit, size_t count, void *arg)
{
    struct remote *remote = arg;
    struct slice piece = slice_from(data, unit * count);
    long status = 0;
    curl_easy_getinfo(remote->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status / 100 == 2)
        return remote->on_piece(remote->piece_arg, piece) ? piece.size : 0;
    buffer_append(&remote->text, piece);
    return remote->text.failed ? 0 : piece.size;
}

/* A CURLOPT_WRITEFUNCTION: appends to arg, which is a struct buffer. A full buffer ends the transfer. */
static size_t remote_on_data(char *data, size_t unit, size_t count, void *arg)
{
    struct buffer *answer = arg;
    buffer_append(answer, slice_from(data, unit * count));
    return answer->failed ? 0 : unit * count;
}

/* Returns the headers with one more at the end. */
static struct curl_slist *add_header(struct curl_slist *headers, const char *name, const char *value)
{
    struct buffer line;
    buffer_init(&line, HEADER_MAX);
    buffer_printf(&line, "%s%s", name, value);
    headers = curl_slist_append(headers, buffer_text(&line));
    buffer_fini(&line);
    return headers;
}

static CURLcode send_with(struct remote *remote, const char *method, const char *url,
                          struct curl_slist *headers, const char *body, struct buffer *answer)
{
    curl_easy_cleanup(remote->easy);
    CURL *easy = remote->easy = curl_easy_init();
    if (!easy)
        abort();
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* names such as ".." must not become another path */
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (remote->options.ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, remote->options.ca_file);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L); /* the server may have moved */
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, remote->options.trusts_any ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, remote->options.trusts_any ? 0L : 2L);
    if (remote->on_piece) {
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, SILENCE_S);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, remote_on_piece);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, remote);
    } else {
        curl_easy_setopt(easy, CURLOPT_TIMEOUT,
                         remote->options.timeout_s ? remote->options.timeout_s : TIMEOUT_S);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, remote_on_data);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
    }
    if (body)
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    int running = 0, left;
    CURLcode code = CURLE_FAILED_INIT;
    CURLMcode progress = curl_multi_add_handle(remote->multi, remote->easy);
    while (progress == CURLM_OK && curl_multi_perform(remote->multi, &running) == CURLM_OK && running)
        progress = curl_multi_poll(remote->multi, NULL, 0, (int)TIMEOUT_S * 1000, NULL);
    for (const CURLMsg *message; (message = curl_multi_info_read(remote->multi, &left));)
        code = message->data.result;
    curl_multi_remove_handle(remote->multi, remote->easy);
    remote->has_sent |= code != CURLE_URL_MALFORMAT && code != CURLE_UNSUPPORTED_PROTOCOL;
    return code;
}

bool remote_has_sent(const struct remote *remote)
{
    return remote->has_sent;
}

struct remote_options remote_options(const struct remote *remote)
{
    struct remote_options options = remote->options;
    options.server = remote->server;
    return options;
}

/* Returns a hint that says what a user of the command line can do about an answer, beginning with a blank, or
 * "". The API writes the details in its answers for programmers, who know parameters and not options of
 * commands. */
static const char *remote_hint(long status, const char *detail)
{
    static const struct {
        const char *part, *hint;
    } hints[] = {
        {"nothing at this path",
         " Check the path of the server's URL (--server), and the version of the server."},
        {"with the parameter topic", " The parameter is the option --topic."},
        {"?resend=true", " With this command, use the option --resend."},
        {"{\"delivery\":\"pull\"}", " The command for this is duepost set TOPIC delivery=pull."},
    };
    if (status == 401)
        return " Set the token in DUEPOST_TOKEN or --token-file.";
    for (size_t i = 0; detail && i < sizeof hints / sizeof *hints; i++)
        if (strstr(detail, hints[i].part))
            return hints[i].hint;
    return "";
}

/* Writes the server's reason: "404: ...", or with the errors of a request: "400: url: is required; delay:
 * must be
 * ...". */
void remote_explain(long status, struct slice answer, struct problem *problem)
{
    json_t *json = json_loadb(answer.data ? answer.data : "", answer.size, 0, NULL);
    const char *detail = json_string_value(json_object_get(json, "detail"));
    const json_t *errors = json_object_get(json, "errors");
    if (json_array_size(errors) > 0) {
        struct buffer text;
        size_t i;
        json_t *error;
        buffer_init_fallible(&text, sizeof problem->text - 1);
        buffer_printf(&text, "%ld:", status);
        json_array_foreach(errors, i, error)
        {
            const char *field = json_string_value(json_object_get(error, "field"));
            const char *what = json_string_value(json_object_get(error, "detail"));
            buffer_printf(&text, "%s %s%s%s", i ? ";" : "", field ? field : "", field && field[0] ? ": " : "",
                          what ? what : "");
        }
        problem_set(problem, "%.*s", SLICE_ARG(buffer_slice(&text)));
        buffer_fini(&text);
    } else {
        problem_set(problem, "%ld: %s%s", status,
                    detail ? detail : "the server gives no reason; is it a duepost server?",
                    remote_hint(status, detail));
    }
    json_decref(json);
}

static bool is_loopback(const char *host)
{
    static const char *const blocks[] = {"127.0.0.0/8", "::1"};
    struct address_block block;
    struct address address;
    struct slice text = slice_of(host);
    if (text.size > 2 && text.data[0] == '[')
        text = slice_from(text.data + 1, text.size - 2);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (address_parse(text, &address) && address_block_parse(slice_of(blocks[i]), &block) &&
            address_block_has(&block, &address))
            return true;
    return false;
}

bool remote_is_local(const struct remote *remote)
{
    char *host = NULL;
    CURLU *url = curl_url();
    bool is_read = url &&
                   curl_url_set(url, CURLUPART_URL, remote->server, CURLU_DEFAULT_SCHEME) == CURLUE_OK &&
                   curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    bool is_local = is_read && (strcasecmp(host, "localhost") == 0 || is_loopback(host));
    curl_free(host);
    curl_url_cleanup(url);
    return is_local;
}

/* Returns the address of a server without "/" at its end, because each target begins with "/". */
static struct slice remote_address(const char *server)
{
    struct slice address = slice_of(server);
    while (address.size && address.data[address.size - 1] == '/')
        address.size--;
    return address;
}

enum status remote_ask(struct remote *remote, const char *method, const char *target, const char *body,
                       struct buffer *answer, struct problem *problem)
{
    struct curl_slist *headers = NULL;
    struct buffer url;
    long status = 0;
    if (body)
        headers = curl_slist_append(headers, "Content-Type: application/json");
    if (remote->options.authorization[0])
        headers = curl_slist_append(headers, remote->options.authorization);
    if (remote->options.key && strcmp(method, "POST") == 0)
        headers = add_header(headers, "Idempotency-Key: ", remote->options.key);
    buffer_init(&url, REMOTE_URL_MAX);
    buffer_printf(&url, "%.*s%s", SLICE_ARG(remote_address(remote->server)), target);
    CURLcode code = send_with(remote, method, buffer_text(&url), headers, body, answer);
    buffer_fini(&url);
    curl_slist_free_all(headers);
    curl_easy_getinfo(remote->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_off_t wait_s = 0;
    curl_easy_getinfo(remote->easy, CURLINFO_RETRY_AFTER, &wait_s);
    remote->status = code == CURLE_OK ? status : 0;
    remote->retry_after_s = (long)wait_s;
    if (code != CURLE_OK) {
        problem_set(problem, "%s: %s; check the server (--server URL or DUEPOST_SERVER)", remote->server,
                    curl_easy_strerror(code));
        return STATUS_FAILED;
    }
    if (status / 100 == 2)
        return STATUS_OK;
    remote_explain(status, buffer_slice(answer), problem);
    return STATUS_FAILED;
}

long remote_status(const struct remote *remote)
{
    return remote->status;
}

long remote_retry_after_s(const struct remote *remote)
{
    return remote->retry_after_s;
}

enum status remote_stream(struct remote *remote, const char *target, const char *header, remote_piece_fn *fn,
                          void *arg, long *status, struct problem *problem)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: text/event-stream");
    struct buffer url;
    if (header[0])
        headers = curl_slist_append(headers, header);
    if (remote->options.authorization[0])
        headers = curl_slist_append(headers, remote->options.authorization);
    buffer_init(&url, REMOTE_URL_MAX);
    buffer_printf(&url, "%.*s%s", SLICE_ARG(remote_address(remote->server)), target);
    buffer_clear(&remote->text);
    remote->on_piece = fn;
    remote->piece_arg = arg;
    CURLcode code = send_with(remote, "GET", buffer_text(&url), headers, NULL, NULL);
    remote->on_piece = NULL;
    buffer_fini(&url);
    curl_slist_free_all(headers);
    *status = 0;
    curl_easy_getinfo(remote->easy, CURLINFO_RESPONSE_CODE, status);
    if (*status && *status / 100 != 2)
        remote_explain(*status, buffer_slice(&remote->text), problem);
    else if (code != CURLE_OK)
        problem_set(problem, "%s: %s", remote->server, curl_easy_strerror(code));
    else
        return STATUS_OK;
    return STATUS_FAILED;
}

/* Replaces each number that jansson refuses by 0: integers beyond int64_t, and numbers beyond the range of
 * double. The API lists such numbers, because it neither reads nor changes the body of a job. */
static void replace_large_numbers(char *at, const char *end)
{
    static const char digits[] = "-+.0123456789eE";
    for (bool is_text = false; at < end; at++) {
        if (is_text && *at == '\\')
            at++;
        else if (*at == '"')
            is_text = !is_text;
        if (is_text || !memchr(digits, *at, sizeof "-+.0123456789" - 1))
            continue;
        size_t size = strspn(at, digits);
        errno = 0;
        bool is_integer = strcspn(at, ".eE") >= size;
        if (is_integer)
            (void)strtoll(at, NULL, 10);
        if (is_integer ? errno == ERANGE : isinf(strtod(at, NULL))) {
            memset(at, ' ', size);
            *at = '0';
        }
        at += size - 1;
    }
}

json_t *remote_ask_json(struct remote *remote, const char *method, const char *target, const char *body,
                        struct problem *problem)
{
    json_t *json = NULL;
    buffer_clear(&remote->text);
    if (remote_ask(remote, method, target, body, &remote->text, problem) == STATUS_OK) {
        struct slice text = buffer_slice(&remote->text);
        json = json_loadb(text.data ? text.data : "", text.size, JSON_ALLOW_NUL, NULL);
        if (!json) {
            char *copy = slice_dup(text);
            replace_large_numbers(copy, copy + text.size);
            json = json_loadb(copy, text.size, JSON_ALLOW_NUL, NULL);
            free(copy);
        }
        if (!json)
            problem_set(problem, "the answer of %s is not JSON; is it a duepost server?", remote->server);
    }
    return json;
}

struct slice remote_text(const struct remote *remote)
{
    return buffer_slice(&remote->text);
}

enum status remote_post(struct remote *remote, const char *url, const char *const *headers, size_t count,
                        const char *body, struct buffer *answer, long *status, struct problem *problem)
{
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < count; i++)
        list = curl_slist_append(list, headers[i]);
    CURLcode code = send_with(remote, "POST", url, list, body, answer);
    curl_slist_free_all(list);
    curl_easy_getinfo(remote->easy, CURLINFO_RESPONSE_CODE, status);
    if (code != CURLE_OK)
        problem_set(problem, "%.300s: %s", url, curl_easy_strerror(code));
    return code == CURLE_OK ? STATUS_OK : STATUS_FAILED;
}

void remote_library(struct library *library)
{
    library_set(library, "jansson", jansson_version_str());
}

/* ---- many requests at once ---- */

/* The command waits for other events at the same time. Each call that is not cancelled calls back exactly
 * once, within remote_calls_wait. */

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
    size_t answer_max; /* 0: a longer answer is an error */
    bool is_cut;
    remote_call_fn *done;
    void *arg;
};

struct remote_calls *remote_calls_new(struct remote *remote)
{
    struct remote_calls *calls = NEW(struct remote_calls);
    calls->options = remote_options(remote);
    remote->has_sent = true; /* by the calls */
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

/* A CURLOPT_WRITEFUNCTION, whose arg is a struct remote_call: keeps the beginning of the answer. */
static size_t remote_on_beginning(char *data, size_t unit, size_t count, void *arg)
{
    struct remote_call *call = arg;
    size_t room = call->answer_max - call->answer.size, size = unit * count;
    call->is_cut |= size > room;
    buffer_append(&call->answer, slice_from(data, size < room ? size : room));
    return size;
}

/* Sets the parts of a request that goes to another server. */
static void set_foreign(struct remote_call *call, const struct remote_request *request)
{
    static const char *const defaults[] = {"Accept:", "Expect:", "Content-Type:"};
    CURL *easy = call->easy;
    bool is_head = strcmp(request->method, "HEAD") == 0;
    size_t count = sizeof defaults / sizeof *defaults;
    for (size_t i = 0; i < request->header_count; i++) {
        char *line = slice_dup(request->headers[i]), *colon = strchr(line, ':');
        if (colon && slice_trim(slice_of(colon + 1)).size == 0) {
            strcpy(colon, ";"); /* libcurl's form of a header without a value */
        }
        if (strncasecmp(line, "Content-Type:", sizeof "Content-Type:" - 1) == 0)
            count = sizeof defaults / sizeof *defaults - 1;
        call->headers = curl_slist_append(call->headers, line);
        free(line);
    }
    for (size_t i = 0; i < count; i++) /* libcurl adds none of its own */
        call->headers = curl_slist_append(call->headers, defaults[i]);
    call->answer_max = request->answer_max;
    /* On a connection that the other side has closed, libcurl would send the request a second time. */
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy, CURLOPT_URL, request->url);
    curl_easy_setopt(easy, CURLOPT_NOBODY, is_head ? 1L : 0L);
    if (!is_head)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    /* As in a delivery, only these methods announce an empty body. */
    bool has_length = strcmp(request->method, "POST") == 0 || strcmp(request->method, "PUT") == 0 ||
                      strcmp(request->method, "PATCH") == 0;
    if (has_length || request->body.size) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)request->body.size);
        curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body.size ? request->body.data : "");
    }
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, remote_on_beginning);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
}

/* Sets the parts of a request that goes to the server. */
static void set_ours(struct remote_call *call, const struct remote_request *request)
{
    const struct remote_options *options = &call->calls->options;
    struct buffer url;
    CURL *easy = call->easy;
    if (request->body.size) {
        call->headers = curl_slist_append(call->headers, "Content-Type: application/json");
        call->headers = curl_slist_append(call->headers, "Expect:");
    }
    if (options->authorization[0])
        call->headers = curl_slist_append(call->headers, options->authorization);
    if (request->key)
        call->headers = add_header(call->headers, "Idempotency-Key: ", request->key);
    buffer_init(&url, REMOTE_URL_MAX);
    buffer_printf(&url, "%.*s%s", SLICE_ARG(remote_address(options->server)), request->target);
    curl_easy_setopt(easy, CURLOPT_URL, buffer_text(&url));
    buffer_fini(&url);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* names such as ".." must not become another path */
    if (request->method)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    if (options->socket)
        curl_easy_setopt(easy, CURLOPT_ABSTRACT_UNIX_SOCKET, options->socket);
    if (request->body.size) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)request->body.size);
        curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body.data);
    }
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, remote_on_data);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &call->answer);
}

struct remote_call *remote_call_start(struct remote_calls *calls, const struct remote_request *request,
                                      remote_call_fn *done, void *arg)
{
    const struct remote_options *options = &calls->options;
    struct remote_call *call = NEW(struct remote_call);
    *call = (struct remote_call){.calls = calls, .done = done, .arg = arg};
    list_append(&calls->list, &call->link);
    buffer_init(&call->answer, REMOTE_ANSWER_MAX);
    CURL *easy = call->easy = curl_easy_init();
    if (!easy)
        abort();
    if (request->url)
        set_foreign(call, request);
    else
        set_ours(call, request);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (options->ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L); /* the server may have moved */
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, request->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_multi_add_handle(calls->multi, call->easy);
    return call;
}

const char *remote_call_header(const struct remote_call *call, const char *name)
{
    struct curl_header *header;
    return curl_easy_header(call->easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value
                                                                                         : NULL;
}

bool remote_call_is_cut(const struct remote_call *call)
{
    return call->is_cut;
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
        if (message->msg == CURLMSG_DONE) {
            long status = 0;
            curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
            if (code == CURLE_OK)
                call->done(call->arg, status, buffer_slice(&call->answer));
            else
                call->done(call->arg, 0, slice_of(curl_easy_strerror(code)));
            remote_call_cancel(call);
        }
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
