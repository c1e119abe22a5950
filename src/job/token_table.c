#include "job/token_table.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "base/memory.h"

struct token_table {
    atomic_uint holders;
    size_t count;
    struct token tokens[TOKENS_MAX];
};

static enum status table_refuse(struct problem *problem, const char *path, unsigned line, const char *what)
{
    problem_set(problem, "%s:%u: %s", path, line, what);
    return STATUS_INVALID;
}

/* Returns an error if a new token has the name or the text of an earlier token. Otherwise returns NULL. */
static const char *why_double(const struct token_table *table, const struct token *token)
{
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->tokens[i].name, token->name) == 0)
            return "an earlier line has this name already";
        if (memcmp(table->tokens[i].digest, token->digest, TOKEN_DIGEST_BYTES) == 0)
            return "an earlier line has this token already, with another name";
    }
    return NULL;
}

static enum status add_line(struct token_table *table, const char *path, unsigned number, struct slice line,
                            struct problem *problem)
{
    struct problem why;
    struct token token;
    if (table->count == TOKENS_MAX) {
        problem_set(problem, "%s:%u: there are more than %d tokens", path, number, TOKENS_MAX);
        return STATUS_INVALID;
    }
    if (token_parse(line, &token, &why) != STATUS_OK)
        return table_refuse(problem, path, number, why.text);
    const char *what = why_double(table, &token);
    if (what) {
        token_fini(&token);
        return table_refuse(problem, path, number, what);
    }
    table->tokens[table->count++] = token;
    return STATUS_OK;
}

static enum status read_lines(struct token_table *table, const char *path, struct slice text,
                              struct problem *problem)
{
    struct slice line;
    for (unsigned number = 1; text.size; number++) {
        slice_cut(text, '\n', &line, &text);
        if (line.size && line.data[line.size - 1] == '\r')
            line.size--;
        line = slice_trim(line);
        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (add_line(table, path, number, line, problem) != STATUS_OK)
            return STATUS_INVALID;
    }
    return STATUS_OK;
}

enum status token_table_parse(const char *path, struct slice text, struct token_table **parsed,
                              struct problem *problem)
{
    struct token_table *table = NEW(struct token_table);
    table->holders = 1;
    enum status status = read_lines(table, path, text, problem);
    if (status == STATUS_OK)
        *parsed = table;
    else
        token_table_release(table);
    return status;
}

struct token_table *token_table_share(struct token_table *table)
{
    table->holders++;
    return table;
}

void token_table_release(struct token_table *table)
{
    if (!table || --table->holders > 0)
        return;
    for (size_t i = 0; i < table->count; i++)
        token_fini(&table->tokens[i]);
    free(table);
}

/* Compares the text with all tokens, and does not stop at a match. So the time does not show whether a text
 * is a token, or which one. */
struct token *token_table_find(struct token_table *table, struct slice text)
{
    uint8_t digest[TOKEN_DIGEST_BYTES];
    size_t found = 0;
    token_digest(text, digest);
    for (size_t i = 0; i < table->count; i++) {
        size_t is_it = CRYPTO_memcmp(table->tokens[i].digest, digest, TOKEN_DIGEST_BYTES) == 0;
        found |= (i + 1) & (0 - is_it);
    }
    return found ? &table->tokens[found - 1] : NULL;
}

const struct token *token_table_find_same(const struct token_table *table, const struct token *other)
{
    for (size_t i = 0; i < table->count; i++)
        if (memcmp(table->tokens[i].digest, other->digest, TOKEN_DIGEST_BYTES) == 0)
            return &table->tokens[i];
    return NULL;
}

size_t token_table_count(const struct token_table *table)
{
    return table->count;
}

const struct token *token_table_at(const struct token_table *table, size_t number)
{
    assert(number < table->count);
    return &table->tokens[number];
}
