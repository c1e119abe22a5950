/* tokens.c - GET /access and GET /tokens */
#include "api/handler.h"
#include "base/json_writer.h"
#include "job/token.h"

enum { SCOPES_ALL = SCOPE_SCHEDULE | SCOPE_READ | SCOPE_CANCEL | SCOPE_ADMIN | SCOPE_LEASE };

/* Adds the words of a list such as "orders-*,mail" as an array. */
static void add_words(struct json_writer *json, const char *name, struct slice list, char separator)
{
    json_add_array(json, name);
    while (list.size) {
        struct slice word;
        slice_cut(list, separator, &word, &list);
        json_put_text(json, word);
    }
    json_end_array(json);
}

static void add_scopes(struct json_writer *json, unsigned scopes)
{
    char text[TOKEN_SCOPES_SIZE];
    token_scopes_text(scopes, text);
    add_words(json, "scopes", slice_of(text), ',');
}

/* Adds the rights of a token. A token without a list of topics has a right to all topics and all groups. */
static void add_rights(struct json_writer *json, const struct token *token)
{
    json_add_text(json, "name", slice_of(token->name));
    add_scopes(json, token->scopes);
    if (token->topics)
        add_words(json, "topics", slice_of(token->topics), ',');
    if (token->groups || token->topics)
        add_words(json, "groups", slice_of(token->groups), ',');
    if (token->rate.period_ns)
        json_add_number(json, "jobsPerHour",
                        token->rate.step_ns ? INT64_C(3600000000000) / token->rate.step_ns : 0);
}

HANDLER(access_handle)
{
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_bool(&json, "tokens", exchange->token != NULL);
    if (exchange->token)
        add_rights(&json, exchange->token);
    else
        add_scopes(&json, SCOPES_ALL);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(tokens_handle)
{
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    size_t count = exchange->tokens ? token_table_count(exchange->tokens) : 0;
    json_put_object(&json);
    json_add_array(&json, "tokens");
    for (size_t i = 0; i < count; i++) {
        json_put_object(&json);
        add_rights(&json, token_table_at(exchange->tokens, i));
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}
