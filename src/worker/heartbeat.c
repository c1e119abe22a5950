#include "worker/heartbeat.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"

enum { TIMEOUT_MS = 10000 };

struct heartbeat {
    struct http_client *client;
    struct store *store;
    char *url; /* owned */
    int64_t every_us;
    int64_t called_us; /* CLOCK_BOOTTIME of the last call; 0: none */
    struct http_call *call;
    bool is_failing; /* the last call failed, which was logged */
};

/* The operator has chosen the url, so each address is allowed. */
static bool heartbeat_may_connect(void *arg, const struct sockaddr *address)
{
    (void)arg, (void)address;
    return true;
}

static bool heartbeat_may_send(void *arg)
{
    (void)arg;
    return true;
}

/* The url is not logged, because its path is often a secret. */
static void on_answer(void *arg, const struct http_outcome *outcome)
{
    struct heartbeat *heartbeat = arg;
    bool is_failing = outcome->error != FAILURE_NONE || outcome->status < 200 || outcome->status > 299;
    heartbeat->call = NULL;
    if (is_failing && !heartbeat->is_failing)
        log_warning("heartbeat_failed", LOG_NUMBER("status", outcome->status),
                    LOG_TEXT("error", outcome->error == FAILURE_NONE ? "" : failure_word(outcome->error)),
                    LOG_SLICE("why", outcome->detail), LOG_TEXT("do", "check --heartbeat-url"));
    if (!is_failing && heartbeat->is_failing)
        log_info("heartbeat_restored", LOG_NUMBER("status", outcome->status));
    heartbeat->is_failing = is_failing;
}

void heartbeat_tick(struct heartbeat *heartbeat)
{
    static const struct slice headers[] = {SLICE_INIT("User-Agent: duepost/" DUEPOST_VERSION)};
    struct problem ignored;
    int64_t now_us = clock_boot_us();
    if (!heartbeat || heartbeat->call || !store_is_ready(heartbeat->store, &ignored) ||
        (heartbeat->called_us && now_us - heartbeat->called_us < heartbeat->every_us))
        return;
    struct http_call_request request = {
        .method = HTTP_METHOD_GET,
        .url = slice_of(heartbeat->url),
        .headers = headers,
        .header_count = 1,
        .timeout_ms = TIMEOUT_MS,
        .may_connect = heartbeat_may_connect,
        .may_send = heartbeat_may_send,
        .on_done = on_answer,
        .arg = heartbeat,
    };
    heartbeat->called_us = now_us;
    heartbeat->call = http_call(heartbeat->client, &request);
}

struct heartbeat *heartbeat_new(struct http_client *client, struct store *store, const char *url,
                                int64_t every_ms)
{
    struct heartbeat *heartbeat = NEW(struct heartbeat);
    *heartbeat = (struct heartbeat){.client = client,
                                    .store = store,
                                    .url = slice_dup(slice_of(url)),
                                    .every_us = every_ms * 1000 - 500000};
    return heartbeat;
}

void heartbeat_free(struct heartbeat *heartbeat)
{
    if (!heartbeat)
        return;
    if (heartbeat->call)
        http_call_abort(heartbeat->call);
    free(heartbeat->url);
    free(heartbeat);
}
