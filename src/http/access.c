#include "http/access.h"

#include <stdio.h>

#include "base/log.h"
#include "base/system.h"
#include "http/wrong_tokens.h"
#include "job/target/url.h"
#include "job/token.h"

#define SECOND_NS INT64_C(1000000000)

static int64_t now_ns(void)
{
    return clock_boot_us() * 1000;
}

enum { RETRY_AFTER_SIZE = 24, USED_STEP_MS = 1000 };

/* Writes the value of Retry-After. */
static void write_wait(int64_t wait_ns, char seconds[RETRY_AFTER_SIZE])
{
    snprintf(seconds, RETRY_AFTER_SIZE, "%lld", (long long)((wait_ns + SECOND_NS - 1) / SECOND_NS));
}

/* ---- authentication ---- */

/* Finds the token in the query, if the API (dialect) accepts it there. */
static bool read_parameter(const struct exchange *exchange, struct slice *text)
{
    struct slice pair, name, query = exchange->query;
    while (exchange->dialect->token_parameter && query.size) {
        slice_cut(query, '&', &pair, &query);
        slice_cut(pair, '=', &name, text);
        if (slice_equal(name, slice_of(exchange->dialect->token_parameter)))
            return true;
    }
    return false;
}

/* Reads "Bearer" and a token (RFC 6750, section 2.1). Returns false for another scheme, and without a
 * token. */
static bool read_bearer(const struct exchange *exchange, struct slice *text)
{
    struct slice scheme;
    struct slice value = http_request_header(exchange->request, "Authorization");
    if (value.size == 0)
        return read_parameter(exchange, text) && text->size > 0;
    if (!slice_cut(value, ' ', &scheme, text) || !slice_equal_nocase(scheme, SLICE("Bearer")))
        return false;
    *text = slice_trim(*text);
    return text->size > 0;
}

static void refuse_unauthenticated(struct exchange *exchange, const char *challenge, const char *detail)
{
    struct http_header header = {SLICE("WWW-Authenticate"), slice_of(challenge)};
    exchange_refuse_with(exchange, 401, &header, "%s", detail);
}

/* Returns whether the token file as it is now still gives the request the rights that it had at its start. */
static bool is_still_admitted(const struct exchange *exchange)
{
    struct token_table *tokens = exchange->site->options.tokens;
    if (!tokens || tokens == exchange->tokens)
        return true;
    const struct token *token = token_table_find_same(tokens, exchange->token);
    if (!token || exchange->method->scopes & ~token->scopes)
        return false;
    const struct app_caller caller = {.topics = slice_of(token->topics)};
    return exchange->method->reach != REACH_TOPIC || app_caller_reaches(&caller, exchange->topic);
}

/* peer is the request. */
static bool has_left(const void *peer)
{
    return http_request_has_left(peer) || !is_still_admitted(http_request_context(peer));
}

/* Refuses an unknown token: after too many from one address with 429. */
static void refuse_wrong(struct exchange *exchange)
{
    int64_t wait_ns;
    bool is_first;
    char seconds[RETRY_AFTER_SIZE], from[APP_FROM_SIZE];
    metrics_count(exchange->site->options.metrics, METRICS_COUNTER_WRONG_TOKENS, 1);
    if (wrong_tokens_count(http_request_origin(exchange->request), now_ns(), &wait_ns, &is_first)) {
        refuse_unauthenticated(exchange, "Bearer realm=\"duepost\", error=\"invalid_token\"",
                               "The token is unknown.");
        return;
    }
    if (is_first) {
        http_request_from(exchange->request, from);
        log_warning(
            "wrong_tokens", LOG_TEXT("from", from),
            LOG_TEXT("what",
                     "this address sends many unknown tokens: they are answered 429, valid ones as usual"));
    }
    write_wait(wait_ns, seconds);
    struct http_header header = {SLICE("Retry-After"), slice_of(seconds)};
    exchange_refuse_with(exchange, 429, &header,
                         "The token is unknown, as are many others that this address has sent.");
}

/* Notes that the token is used now (app/token_uses.h). Writes rarely, because reactors share the memory. */
static void note_use(const struct exchange *exchange)
{
    struct token *token = exchange->token;
    int64_t now_ms = exchange->site->options.app ? app_now_ms(exchange->site->options.app) : 0;
    if (now_ms - token->used_ms >= USED_STEP_MS)
        token->used_ms = now_ms;
}

static bool authenticate(struct exchange *exchange, struct token_table *tokens)
{
    struct slice text;
    if (!read_bearer(exchange, &text)) {
        refuse_unauthenticated(exchange, "Bearer realm=\"duepost\"",
                               "The request needs a token: send \"Authorization: Bearer ...\".");
        return false;
    }
    exchange->token = token_table_find(tokens, text);
    if (!exchange->token) {
        refuse_wrong(exchange);
        return false;
    }
    note_use(exchange);
    exchange->tokens = token_table_share(tokens);
    exchange->caller.has_left = has_left;
    exchange->caller.name = exchange->token->name;
    exchange->caller.topics = slice_of(exchange->token->topics);
    exchange->caller.groups = slice_of(exchange->token->groups);
    return true;
}

/* ---- rate ---- */

static bool is_in_time(struct exchange *exchange)
{
    int64_t wait_ns;
    char seconds[RETRY_AFTER_SIZE];
    if (token_rate_take(&exchange->token->rate, now_ns(), &wait_ns))
        return true;
    write_wait(wait_ns, seconds);
    struct http_header header = {SLICE("Retry-After"), slice_of(seconds)};
    exchange_refuse_with(exchange, 429, &header, "Token %s has sent too many requests for its rate.",
                         exchange->token->name);
    return false;
}

void access_charge(struct exchange *exchange, size_t jobs)
{
    if (exchange->token && jobs > 1)
        token_rate_charge(&exchange->token->rate, now_ns(), jobs - 1);
}

/* ---- scopes and topics ---- */

bool access_has_scopes(struct exchange *exchange, unsigned wanted)
{
    unsigned missing = exchange->token ? wanted & ~exchange->token->scopes : 0;
    char scopes[TOKEN_SCOPES_SIZE];
    if (missing == 0)
        return true;
    token_scopes_text(missing, scopes);
    struct http_header header = {SLICE("WWW-Authenticate"),
                                 SLICE("Bearer realm=\"duepost\", error=\"insufficient_scope\"")};
    exchange_refuse_with(exchange, 403, &header, "Token %s lacks the scope %s.", exchange->token->name,
                         scopes);
    return false;
}

/* Answers 403. The answer is the same whether the topic exists or not. */
static bool refuse_reach(struct exchange *exchange, const char *what, struct slice topic)
{
    exchange_refuse(exchange, 403, "Token %s has no access to %s%.*s.", exchange->token->name, what,
                    SLICE_ARG(topic));
    return false;
}

/* Returns whether the token has access to all topics. Returns false after answering 403; hint is a sentence
 * about what the client can do. */
static bool reaches_all(struct exchange *exchange, const char *hint)
{
    if (exchange->caller.topics.size == 0)
        return true;
    exchange_refuse(exchange, 403, "Token %s is limited to some topics. %s", exchange->token->name, hint);
    return false;
}

bool access_admit_topic(struct exchange *exchange, struct slice topic)
{
    if (topic.size == 0)
        return reaches_all(exchange, "Select one of them with the parameter topic; GET /access lists them.");
    return app_caller_reaches(&exchange->caller, topic) || refuse_reach(exchange, "topic ", topic);
}

static bool is_in_reach(struct exchange *exchange)
{
    switch (exchange->method->reach) {
    case REACH_ALL:
        return reaches_all(exchange, "This request needs a token for all topics.");
    case REACH_TOPIC:
        return access_admit_topic(exchange, exchange->topic);
    case REACH_GROUP:
        return app_caller_reaches_group(&exchange->caller, exchange->key) ||
               refuse_reach(exchange, "group ", exchange->key);
    default:
        return true;
    }
}

/* Admits this process itself. The time that this takes does not depend on how much of the token is right. */
static bool admit_inner(struct exchange *exchange)
{
    struct slice text, wanted = exchange->site->options.inner_token;
    unsigned char difference = 0;
    bool is_whole = read_bearer(exchange, &text) && text.size == wanted.size;
    for (size_t i = 0; is_whole && i < wanted.size; i++)
        difference |= (unsigned char)(text.data[i] ^ wanted.data[i]);
    if (is_whole && difference == 0) {
        exchange->caller.name = "outbox";
        return true;
    }
    refuse_unauthenticated(exchange, "Bearer realm=\"duepost\"", "This socket is for duepost itself.");
    return false;
}

/* ---- */

bool access_admit(struct exchange *exchange)
{
    if (exchange->is_inner)
        return admit_inner(exchange);
    struct token_table *tokens = exchange->site->options.tokens;
    bool is_free = exchange->method->reach == REACH_FREE;
    if (!tokens) /* health checks, such as those of a load balancer, use any name */
        return (is_free && exchange->is_probe) || origin_admit(exchange);
    if (is_free || exchange_is_guest(exchange))
        return true;
    return authenticate(exchange, tokens) && is_in_time(exchange) &&
           access_has_scopes(exchange, exchange->method->scopes) && is_in_reach(exchange);
}

bool access_admit_job(struct exchange *exchange)
{
    if (exchange->method->reach != REACH_JOB || app_caller_reaches(&exchange->caller, exchange->topic))
        return true;
    exchange->dialect->refuse_job(exchange);
    return false;
}

/* ---- servers without tokens ---- */

/* Returns the host of "host:port" or "[v6]:port", with its brackets. io/http/gate.h has checked the syntax.
 */
static struct slice host_of(struct slice text)
{
    struct slice host, port;
    if (text.size == 0 || text.data[0] != '[') {
        slice_cut(text, ':', &host, &port);
        return host;
    }
    const char *end = memchr(text.data, ']', text.size);
    return end ? slice_from(text.data, (size_t)(end + 1 - text.data)) : text;
}

static bool is_loopback(struct slice host)
{
    static const struct address_block v4 = {{false, {127}}, 8}, v6 = {{true, {[15] = 1}}, 128};
    struct address address;
    bool has_brackets = host.size > 2 && host.data[0] == '[';
    if (has_brackets)
        host = slice_from(host.data + 1, host.size - 2);
    return address_parse(host, &address) && address.is_v6 == has_brackets &&
           (address_block_has(&v4, &address) || address_block_has(&v6, &address));
}

/* Returns whether host is in names, a list separated by commas. */
static bool is_one_of(struct slice names, struct slice host)
{
    struct slice name;
    bool is_found = false, more = true;
    while (more && !is_found) {
        more = slice_cut(names, ',', &name, &names);
        is_found = url_host_equal(slice_trim(name), host);
    }
    return is_found;
}

static bool is_this_host(const struct site_options *options, struct slice host)
{
    return is_loopback(host) || url_host_is_localhost(host) || url_host_equal(options->listen_host, host) ||
           (options->hosts.size && is_one_of(options->hosts, host));
}

/* Returns whether origin is http:// or https:// followed by the value of Host (RFC 6454, section 7). */
static bool is_same_site(struct slice origin, struct slice host)
{
    static const struct slice schemes[] = {SLICE("http://"), SLICE("https://")};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (origin.size > schemes[i].size && slice_starts_with(origin, schemes[i]))
            return slice_equal_nocase(slice_skip(origin, schemes[i].size), host);
    return false;
}

bool origin_admit(struct exchange *exchange)
{
    struct slice host = slice_trim(http_request_header(exchange->request, "Host"));
    /* Host may be missing in HTTP/1.0, which browsers do not use. */
    if (host.size && !is_this_host(&exchange->site->options, host_of(host))) {
        exchange_refuse(
            exchange, 403,
            "Without tokens (--tokens) duepost answers to localhost and the names of --hosts only, "
            "not to %.*s.",
            SLICE_ARG(host));
        return false;
    }
    struct slice origin = slice_trim(http_request_header(exchange->request, "Origin"));
    if (origin.size && !is_same_site(origin, host)) {
        exchange_refuse(exchange, 403,
                        "Without tokens (--tokens) duepost refuses web pages of other sites: Origin is "
                        "%.*s, Host is %.*s.",
                        SLICE_ARG(origin), SLICE_ARG(host));
        return false;
    }
    return true;
}
