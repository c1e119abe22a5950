#include "api/access.h"

#include <stdio.h>

#include "api/origin.h"
#include "api/problem.h"
#include "api/route.h"
#include "base/clock.h"
#include "job/token_table.h"
#include "job/topic_patterns.h"

#define SECOND_NS INT64_C(1000000000)

static int64_t now_ns(void)
{
    return clock_boot_us() * 1000;
}

/* ---- who ---- */

/* "Bearer" and a token (RFC 6750, section 2.1); false: another scheme, or nothing. */
static bool read_bearer(const struct exchange *exchange, struct slice *text)
{
    struct slice scheme;
    struct slice value = http_request_header(exchange->request, "Authorization");
    if (!slice_cut(value, ' ', &scheme, text) || !slice_equal_nocase(scheme, SLICE("Bearer")))
        return false;
    *text = slice_trim(*text);
    return text->size > 0;
}

static void refuse_stranger(struct exchange *exchange, const char *challenge, const char *detail)
{
    struct http_header header = {SLICE("WWW-Authenticate"), slice_of(challenge)};
    problem_answer_with(exchange, 401, &header, "%s", detail);
}

static bool know(struct exchange *exchange, struct token_table *tokens)
{
    struct slice text;
    if (!read_bearer(exchange, &text)) {
        refuse_stranger(exchange, "Bearer realm=\"duepost\"",
                        "This needs a token: send it as \"Authorization: Bearer ...\".");
        return false;
    }
    exchange->token = token_table_find(tokens, text);
    if (!exchange->token) {
        refuse_stranger(exchange, "Bearer realm=\"duepost\", error=\"invalid_token\"",
                        "This token is not known here.");
        return false;
    }
    exchange->tokens = token_table_share(tokens);
    return true;
}

/* ---- how fast ---- */

static bool is_in_time(struct exchange *exchange)
{
    int64_t wait_ns;
    char seconds[24];
    if (token_rate_take(&exchange->token->rate, now_ns(), &wait_ns))
        return true;
    snprintf(seconds, sizeof seconds, "%lld", (long long)((wait_ns + SECOND_NS - 1) / SECOND_NS));
    struct http_header header = {SLICE("Retry-After"), slice_of(seconds)};
    problem_answer_with(exchange, 429, &header, "The rate of token %s is used up.", exchange->token->name);
    return false;
}

void access_charge(struct exchange *exchange, size_t jobs)
{
    if (exchange->token && jobs > 1)
        token_rate_charge(&exchange->token->rate, now_ns(), jobs - 1);
}

/* ---- what ---- */

static bool has_scopes(struct exchange *exchange)
{
    unsigned missing = exchange->method->scopes & ~exchange->token->scopes;
    char scopes[TOKEN_SCOPES_SIZE];
    if (missing == 0)
        return true;
    token_scopes_text(missing, scopes);
    struct http_header header = {SLICE("WWW-Authenticate"),
                                 SLICE("Bearer realm=\"duepost\", error=\"insufficient_scope\"")};
    problem_answer_with(exchange, 403, &header, "Token %s lacks the scope %s.", exchange->token->name,
                        scopes);
    return false;
}

struct slice access_topics(const struct exchange *exchange)
{
    return exchange->token ? slice_of(exchange->token->topics) : (struct slice){NULL, 0};
}

/* Without topics, a token reaches all of them. */
bool access_has_topic(const struct exchange *exchange, struct slice topic)
{
    struct slice patterns = access_topics(exchange);
    return patterns.size == 0 || topic_patterns_match(patterns, topic);
}

/* It tells nothing of what there is. */
static void write_refusal(struct buffer *members, const struct exchange *exchange, const char *what,
                          struct slice topic)
{
    problem_write(members, "Token %s does not reach %s%.*s.", exchange->token->name, what, SLICE_ARG(topic));
}

static bool refuse(struct exchange *exchange, const char *what, struct slice topic)
{
    struct buffer *members = api_members(exchange->api);
    write_refusal(members, exchange, what, topic);
    problem_answer_members(exchange, 403, buffer_slice(members));
    return false;
}

bool access_admit_topic(struct exchange *exchange, struct slice topic)
{
    if (topic.size == 0)
        return access_topics(exchange).size == 0 ||
               refuse(exchange, "all topics; name one that it does", topic);
    return access_has_topic(exchange, topic) || refuse(exchange, "topic ", topic);
}

void access_write_topic_refused(struct buffer *members, const struct exchange *exchange, struct slice topic)
{
    write_refusal(members, exchange, "topic ", topic);
}

static bool is_in_reach(struct exchange *exchange)
{
    switch (exchange->method->reach) {
    case REACH_ALL:
        return access_topics(exchange).size == 0 || refuse(exchange, "all topics", SLICE(""));
    case REACH_TOPIC:
        return access_admit_topic(exchange, exchange->topic);
    default:
        return true;
    }
}

/* ---- */

bool access_admit(struct exchange *exchange)
{
    struct token_table *tokens = exchange->api->options.tokens;
    if (exchange->method->reach == REACH_FREE)
        return true;
    if (!tokens)
        return origin_admit(exchange);
    return know(exchange, tokens) && is_in_time(exchange) && has_scopes(exchange) && is_in_reach(exchange);
}

bool access_admit_job(struct exchange *exchange)
{
    if (exchange->method->reach != REACH_JOB || access_has_topic(exchange, exchange->topic))
        return true;
    problem_answer_status(exchange, STATUS_NOT_FOUND, "");
    return false;
}

const char *access_name(const struct exchange *exchange)
{
    return exchange->token ? exchange->token->name : "-";
}
