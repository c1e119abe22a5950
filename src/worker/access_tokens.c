/* access_tokens.c - gets the access tokens of receivers from their token servers (OAuth 2.0, RFC 6749, 4.4),
 * and shares them with the other processes.
 *
 * A token of this reactor is in one of these states:
 *
 *   none     a use asks Redis, and waits
 *   asking   Redis has the token, or says who gets it
 *   fetching this reactor gets it from the token server
 *   busy     another process gets it: this one asks Redis again in a moment
 *   known    uses take it at once
 *   failed   uses are held until hold_until_us
 *
 * If this process dies while it fetches, another one does at the end of FETCH_MS. If it dies before Redis has
 * the token, the token server has given one more than needed. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/encoding.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "io/loop.h"
#include "job/delivery/digest.h"
#include "job/text/sealed.h"
#include "worker/identity.h"
#include "worker/reach.h"

enum {
    TOKENS_MAX = 256, /* tokens that a reactor keeps */
    WAITING_MAX = 32, /* uses that wait for a token, and keep their slots; more are held */
    REQUEST_MAX = 3 * (2 * AUTH_TEXT_MAX + AUTH_TEXT_MAX + AUTH_SECRET_MAX) + 256,
    HEADER_MAX = 6 * (AUTH_TEXT_MAX + AUTH_SECRET_MAX),
};

#define FETCH_MS     INT64_C(10000) /* time limit of a request for a token */
#define BUSY_MS      INT64_C(12000) /* how long other processes wait for it */
#define BUSY_STEP_MS INT64_C(100)   /* how often they ask whether it is there */
#define SPARE_MAX_MS INT64_C(30000) /* a token is not used in its last 30 s, or last tenth */
#define REFUSED_MS   INT64_C(1000)  /* how long jobs are held if Redis does not answer, or there is no room */
#define NEW_US       INT64_C(10000000) /* a token that is newer is not the reason of a 401 */

struct access_token {
    struct list link; /* the token that was used last comes last */
    struct access_tokens *tokens;
    size_t uses;
    char id[DIGEST_TEXT_SIZE];
    char *value;      /* owned; NULL: not known yet. It stays until another one comes */
    char *stored;     /* owned: a value as Redis has it, sealed perhaps (base/seal.h): this one, or one that
                         does not open; NULL: none */
    int64_t since_us; /* CLOCK_BOOTTIME at which the token server gave the value */
    int64_t until_us; /* the value may be used until then; 0: it was refused */
    int64_t refused_since_us; /* since_us of the last value that was refused; 0: none */
    int64_t hold_until_us;
    bool is_asking; /* a call to Redis or to the token server is under way, or the timer runs */
    int64_t fails;
    struct timer *timer;
    struct list waiting; /* the uses */
    size_t waiting_count;
    int64_t fresh_ms; /* how long a value that Redis has not stored yet may be used */
    struct http_call *call;
    struct url url; /* points into token_url */
    char *token_url;
    struct buffer body, header; /* parts of the request */
};

struct access_tokens {
    struct loop *loop;
    struct store *store;
    struct http_client *client;
    const struct target_policy *targets;
    struct list tokens;
    size_t count;
};

/* ---- all tokens ---- */

struct access_tokens *access_tokens_new(const struct identities_options *options)
{
    struct access_tokens *tokens = NEW(struct access_tokens);
    *tokens = (struct access_tokens){.loop = options->loop,
                                     .store = options->store,
                                     .client = options->client,
                                     .targets = options->targets};
    list_init(&tokens->tokens);
    return tokens;
}

void access_tokens_reload(struct access_tokens *tokens, const struct target_policy *targets)
{
    tokens->targets = targets;
}

static void wipe(struct buffer *buffer)
{
    if (buffer->data)
        explicit_bzero(buffer->data, buffer->size);
    buffer_fini(buffer);
}

static void forget_value(struct access_token *token)
{
    if (token->value)
        explicit_bzero(token->value, strlen(token->value));
    if (token->stored)
        explicit_bzero(token->stored, strlen(token->stored));
    free(token->value);
    free(token->stored);
    token->value = token->stored = NULL;
}

static void token_free(struct access_token *token)
{
    assert(token->uses == 0);
    if (token->call)
        http_call_abort(token->call);
    list_remove(&token->link);
    token->tokens->count--;
    forget_value(token);
    timer_free(token->timer);
    wipe(&token->body);
    wipe(&token->header);
    free(token->token_url);
    free(token);
}

void access_tokens_free(struct access_tokens *tokens)
{
    if (!tokens)
        return;
    while (!list_is_empty(&tokens->tokens))
        token_free(LIST_ENTRY(tokens->tokens.next, struct access_token, link));
    free(tokens);
}

/* ---- the end of a wait ---- */

static void tell_all(struct access_token *token, int64_t wait_ms)
{
    struct list waiting;
    token->is_asking = false;
    list_move(&token->waiting, &waiting);
    token->uses++; /* the token lives until all were called */
    for (struct list *link; (link = list_take(&waiting));) {
        struct identity_use *use = LIST_ENTRY(link, struct identity_use, link);
        use->is_waiting = false;
        token->waiting_count--;
        use->fn(use->arg, wait_ms);
    }
    token->uses--;
}

static void take_value(struct access_token *token, struct slice value, struct slice stored)
{
    forget_value(token);
    token->value = slice_dup(value);
    token->stored = slice_dup(stored);
}

/* Takes a value that another process has stored. Returns false if this process cannot open it. */
static bool take_stored(struct access_token *token, struct slice stored)
{
    struct buffer room;
    buffer_init(&room, stored.size + 1);
    buffer_reserve(&room, stored.size);
    struct slice value = sealed_value_open(slice_of(token->id), stored, &room);
    bool is_open = !sealed_value_is(stored) || !slice_equal(value, SLICE(SEALED_VALUE_SHUT));
    if (is_open)
        take_value(token, value, stored);
    wipe(&room);
    return is_open;
}

/* Takes a value of the token server, and seals it for Redis if the process has keys. */
static void take_fetched(struct access_token *token, struct slice value)
{
    struct buffer stored;
    buffer_init(&stored, SEAL_SIZE(ACCESS_TOKEN_MAX) + sizeof "\"\\u001e\"");
    sealed_value_append(&stored, slice_of(token->id), value);
    assert(!stored.failed);
    take_value(token, value, buffer_slice(&stored));
    wipe(&stored);
}

/* The value may be used from now on. */
static void token_begin(struct access_token *token, int64_t ms, int64_t age_ms)
{
    int64_t now_us = clock_boot_us();
    token->since_us = now_us - age_ms * 1000;
    token->until_us = now_us + ms * 1000;
    token->fails = 0;
    tell_all(token, -1);
}

static void token_hold(struct access_token *token, int64_t ms)
{
    token->hold_until_us = clock_boot_us() + ms * 1000;
    tell_all(token, ms);
}

/* ---- the token server ---- */

/* Redis says how long all processes leave the token server alone. */
static void on_failed(void *arg, enum status status, const struct store_access *access)
{
    token_hold(arg, status == STATUS_OK ? access->ms : REFUSED_MS);
}

static void token_fail(struct access_token *token, const char *why)
{
    log_warning("access_token_failed", LOG_SLICE("server", token->url.host), LOG_TEXT("why", why),
                LOG_TEXT("do", "the jobs that need the token are held; check auth of their topics"));
    store_access_fail(token->tokens->store, slice_of(token->id), token->fails, on_failed, token);
}

/* If Redis has not stored the token, it is used here, and the other processes get tokens of their own. */
static void on_kept(void *arg, enum status status, const struct store_access *access)
{
    struct access_token *token = arg;
    (void)status, (void)access;
    token_begin(token, token->fresh_ms, 0);
}

static const char *fault_of(const struct http_outcome *http, struct buffer *room,
                            struct access_answer *answer, char text[HTTP_DETAIL_MAX + 64])
{
    if (http->error != FAILURE_NONE) {
        snprintf(text, HTTP_DETAIL_MAX + 64, "%s: %.*s", failure_word(http->error), SLICE_ARG(http->detail));
        return text;
    }
    if (http->status != 200) {
        snprintf(text, HTTP_DETAIL_MAX + 64, "the token server answered %d, expected 200", http->status);
        return text;
    }
    return http->is_answer_cut ? "the answer is too long, or incomplete"
                               : access_answer_read(http->answer, room, answer);
}

static void on_fetched(void *arg, const struct http_outcome *http)
{
    struct access_token *token = arg;
    struct access_answer answer = {.seconds = 0};
    struct buffer room;
    char text[HTTP_DETAIL_MAX + 64];
    buffer_init(&room, ACCESS_ANSWER_ROOM);
    token->call = NULL;
    const char *fault = fault_of(http, &room, &answer, text);
    if (fault) {
        token_fail(token, fault);
    } else {
        int64_t ms = answer.seconds * 1000, spare_ms = ms / 10 < SPARE_MAX_MS ? ms / 10 : SPARE_MAX_MS;
        take_fetched(token, answer.token);
        token->until_us = 0; /* until Redis has it */
        token->fresh_ms = ms - spare_ms;
        store_access_keep(token->tokens->store, slice_of(token->id), slice_of(token->stored), token->fresh_ms,
                          on_kept, token);
    }
    wipe(&room);
}

static bool may_connect(void *arg, const struct sockaddr *address)
{
    const struct access_token *token = arg;
    const struct access_tokens *tokens = token->tokens;
    char ignored[TARGET_WHY_SIZE];
    const struct reach reach = {.targets = tokens->targets,
                                .store = tokens->store,
                                .url = &token->url,
                                .has_proxy = http_client_has_proxy(tokens->client)};
    return reach_permits(&reach, address, ignored);
}

static bool may_send(void *arg)
{
    (void)arg;
    return true;
}

static void token_fetch(struct access_token *token)
{
    const struct slice headers[] = {
        SLICE("Content-Type: application/x-www-form-urlencoded"),
        SLICE("Accept: application/json"),
        SLICE("User-Agent: duepost/" DUEPOST_VERSION),
        buffer_slice(&token->header),
    };
    const struct http_call_request request = {
        .url = slice_of(token->token_url),
        .headers = headers,
        .header_count = token->header.size ? 4 : 3,
        .body = buffer_slice(&token->body),
        .timeout_ms = FETCH_MS,
        .needs_fresh = true,
        .wants_large_answer = true,
        .needs_large_answer = true,
        .may_connect = may_connect,
        .may_send = may_send,
        .on_done = on_fetched,
        .arg = token,
    };
    token->call = http_call(token->tokens->client, &request);
}

/* ---- Redis ---- */

static void token_ask_redis(void *arg);

static void on_shut_forgotten(void *arg, enum status status, const struct store_access *access)
{
    (void)access;
    if (status == STATUS_OK)
        token_ask_redis(arg);
    else
        token_hold(arg, REFUSED_MS);
}

/* Lets Redis forget a token that was sealed with a key that this process lacks, and asks again. The process
 * that has stored the token continues to use it. */
static void forget_shut(struct access_token *token, struct slice stored)
{
    log_warning("access_token_shut", LOG_SLICE("server", token->url.host),
                LOG_TEXT("then", "this process gets another token"),
                LOG_TEXT("do", "give all processes the same encryption-keys"));
    free(token->stored);
    token->stored = slice_dup(stored); /* until Redis has answered */
    store_access_drop(token->tokens->store, slice_of(token->id), slice_of(token->stored), on_shut_forgotten,
                      token);
}

static void on_answer(void *arg, enum status status, const struct store_access *access)
{
    struct access_token *token = arg;
    if (status != STATUS_OK) {
        token_hold(token, REFUSED_MS);
        return;
    }
    switch (access->answer) {
    case STORE_ACCESS_TOKEN:
        if (take_stored(token, access->token))
            token_begin(token, access->ms, access->age_ms);
        else
            forget_shut(token, access->token);
        return;
    case STORE_ACCESS_FETCH:
        token->fails = access->fails;
        token_fetch(token);
        return;
    case STORE_ACCESS_BUSY:
        timer_arm(token->timer, BUSY_STEP_MS * 1000);
        return;
    case STORE_ACCESS_WAIT:
    case STORE_ACCESS_DONE:
        token_hold(token, access->ms > 0 ? access->ms : REFUSED_MS);
        return;
    }
}

static void token_ask_redis(void *arg)
{
    struct access_token *token = arg;
    token->is_asking = true;
    store_access_ask(token->tokens->store, slice_of(token->id), BUSY_MS, on_answer, token);
}

/* ---- a token ---- */

/* Appends a value as a form has it. */
static void put_encoded(struct buffer *out, struct slice value)
{
    for (size_t i = 0; i < value.size; i++) {
        unsigned char byte = (unsigned char)value.data[i];
        if (byte < 0x80 && (isalnum(byte) || strchr("-._~", byte)))
            buffer_append_byte(out, (char)byte);
        else
            buffer_printf(out, "%%%02X", byte);
    }
}

static void put_form(struct buffer *out, const char *name, struct slice value)
{
    if (value.size == 0)
        return;
    buffer_printf(out, "&%s=", name);
    put_encoded(out, value);
}

static void write_request(struct access_token *token, const struct topic_auth *auth)
{
    bool is_basic = !slice_equal(auth->client_auth, SLICE("post"));
    struct buffer pair;
    buffer_init(&token->body, REQUEST_MAX);
    buffer_init(&token->header, HEADER_MAX);
    buffer_append(&token->body, SLICE("grant_type=client_credentials"));
    put_form(&token->body, "scope", auth->scope);
    put_form(&token->body, "audience", auth->audience);
    if (!is_basic) {
        put_form(&token->body, "client_id", auth->client_id);
        put_form(&token->body, "client_secret", auth->client_secret);
        return;
    }
    buffer_init(&pair, HEADER_MAX);
    put_encoded(&pair, auth->client_id); /* RFC 6749, 2.3.1 */
    buffer_append_byte(&pair, ':');
    put_encoded(&pair, auth->client_secret);
    buffer_append(&token->header, SLICE("Authorization: Basic "));
    base64_append(&token->header, buffer_slice(&pair));
    wipe(&pair);
    assert(!token->body.failed && !token->header.failed);
}

/* Writes the digest of all that a token depends on. */
static void write_id(const struct topic_auth *auth, char id[DIGEST_TEXT_SIZE])
{
    const struct slice parts[] = {auth->token_url, auth->client_id, auth->client_secret,
                                  auth->scope,     auth->audience,  auth->client_auth};
    struct buffer all;
    buffer_init(&all, JOB_URL_MAX + 4 * AUTH_TEXT_MAX + AUTH_SECRET_MAX + 256);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buffer_printf(&all, "%zu:", parts[i].size);
        buffer_append(&all, parts[i]);
    }
    digest_make(buffer_slice(&all), id);
    wipe(&all);
}

/* Frees the token that was used least recently. Returns false if all are in use. */
static bool make_room(struct access_tokens *tokens)
{
    for (struct list *link = tokens->tokens.next; link != &tokens->tokens; link = link->next) {
        struct access_token *token = LIST_ENTRY(link, struct access_token, link);
        if (token->uses == 0 && !token->is_asking) {
            token_free(token);
            return true;
        }
    }
    return false;
}

static struct access_token *token_new(struct access_tokens *tokens, const struct topic_auth *auth,
                                      const char id[DIGEST_TEXT_SIZE])
{
    struct access_token *token = NEW(struct access_token);
    const char *ignored;
    token->tokens = tokens;
    memcpy(token->id, id, sizeof token->id);
    list_init(&token->link);
    list_init(&token->waiting);
    token->timer = timer_new(tokens->loop, token_ask_redis, token);
    token->token_url = slice_dup(auth->token_url);
    if (url_parse(slice_of(token->token_url), &token->url, &ignored) != STATUS_OK)
        token->url.host = SLICE("");
    write_request(token, auth);
    tokens->count++;
    return token;
}

static struct access_token *find_token(struct access_tokens *tokens, const struct topic_auth *auth)
{
    char id[DIGEST_TEXT_SIZE];
    struct access_token *token = NULL;
    write_id(auth, id);
    for (struct list *link = tokens->tokens.next; !token && link != &tokens->tokens; link = link->next) {
        struct access_token *each = LIST_ENTRY(link, struct access_token, link);
        if (strcmp(each->id, id) == 0)
            token = each;
    }
    if (!token && tokens->count == TOKENS_MAX && !make_room(tokens))
        return NULL;
    if (!token)
        token = token_new(tokens, auth, id);
    list_remove(&token->link);
    list_append(&tokens->tokens, &token->link);
    return token;
}

enum identity_answer access_token_ask(struct identity_use *use, struct access_tokens *tokens,
                                      const struct topic_auth *auth)
{
    struct access_token *token = find_token(tokens, auth);
    int64_t now_us = clock_boot_us();
    use->wait_ms = REFUSED_MS;
    if (!token)
        return IDENTITY_HELD;
    use->token = token;
    token->uses++;
    if (token->value && now_us < token->until_us)
        return IDENTITY_READY;
    if (now_us < token->hold_until_us) {
        use->wait_ms = (token->hold_until_us - now_us) / 1000 + 1;
        return IDENTITY_HELD;
    }
    if (token->waiting_count == WAITING_MAX)
        return IDENTITY_HELD;
    token->waiting_count++;
    list_init(&use->link);
    list_append(&token->waiting, &use->link);
    use->is_waiting = true;
    if (!token->is_asking)
        token_ask_redis(token);
    return IDENTITY_ASKED;
}

void access_token_write(struct identity_use *use, struct header_lines *lines)
{
    const struct access_token *token = use->token;
    struct buffer value;
    assert(token->value);
    buffer_init(&value, ACCESS_TOKEN_MAX + sizeof "Bearer ");
    buffer_append(&value, SLICE("Bearer "));
    buffer_append(&value, slice_of(token->value));
    header_lines_add(lines, SLICE("Authorization"), buffer_slice(&value));
    wipe(&value);
    use->token_since_us = token->since_us;
    use->is_token_old = clock_boot_us() - token->since_us >= NEW_US;
}

/* A token that is refused, while Redis forgets it. */
struct refused_token {
    char id[DIGEST_TEXT_SIZE];
    char *stored; /* owned: as Redis has it */
};

static void on_dropped(void *arg, enum status status, const struct store_access *access)
{
    struct refused_token *refused = arg;
    (void)status, (void)access; /* after a failure, the receivers of other processes refuse it, too */
    explicit_bzero(refused->stored, strlen(refused->stored));
    free(refused->stored);
    free(refused);
}

/* The age when the request was sent counts: a receiver that is slow to refuse each token would otherwise get
 * the job again and again. */
bool access_token_is_revoked(const struct identity_use *use)
{
    struct access_token *token = use->token;
    if (use->token_since_us == token->refused_since_us) /* another attempt has found this */
        return true;
    if (!use->is_token_old)
        return false;
    if (use->token_since_us != token->since_us || token->until_us == 0) /* there is another one, or soon */
        return true;
    struct refused_token *refused = NEW(struct refused_token);
    memcpy(refused->id, token->id, sizeof refused->id);
    refused->stored = slice_dup(slice_of(token->stored));
    token->until_us = 0;
    token->refused_since_us = token->since_us;
    store_access_drop(token->tokens->store, slice_of(refused->id), slice_of(refused->stored), on_dropped,
                      refused);
    return true;
}

void access_token_drop(struct identity_use *use)
{
    if (use->is_waiting) {
        list_remove(&use->link);
        use->token->waiting_count--;
    }
    use->is_waiting = false;
    if (use->token)
        use->token->uses--;
    use->token = NULL;
}
