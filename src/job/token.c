#include "job/token.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/encoding.h"
#include "base/memory.h"
#include "job/delivery/digest.h"
#include "job/topic/topic_patterns.h"

/* ---- rates ---- */

#define SECOND_NS INT64_C(1000000000)

static int64_t period_of(struct slice word)
{
    if (slice_equal(word, SLICE("s")))
        return SECOND_NS;
    if (slice_equal(word, SLICE("m")))
        return 60 * SECOND_NS;
    return slice_equal(word, SLICE("h")) ? 3600 * SECOND_NS : 0;
}

bool token_rate_parse(struct slice text, struct token_rate *rate)
{
    struct slice number, word;
    uint64_t count;
    *rate = (struct token_rate){.period_ns = 0};
    if (!slice_cut(text, '/', &number, &word) || !slice_to_number(number, TOKEN_RATE_MAX, &count) ||
        count == 0)
        return false;
    rate->period_ns = period_of(word);
    rate->step_ns = rate->period_ns / (int64_t)count;
    return rate->period_ns > 0;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool token_rate_take(struct token_rate *rate, int64_t now_ns, int64_t *wait_ns)
{
    if (rate->period_ns == 0)
        return true;
    int64_t full_ns = rate->full_ns, next_ns;
    do {
        next_ns = later(full_ns, now_ns) + rate->step_ns;
        *wait_ns = next_ns - now_ns - rate->period_ns;
        if (*wait_ns > 0)
            return false;
    } while (!atomic_compare_exchange_weak(&rate->full_ns, &full_ns, next_ns));
    return true;
}

void token_rate_charge(struct token_rate *rate, int64_t now_ns, size_t count)
{
    if (rate->period_ns == 0)
        return;
    int64_t full_ns = rate->full_ns, next_ns;
    do {
        next_ns = later(full_ns, now_ns) + rate->step_ns * (int64_t)count;
    } while (!atomic_compare_exchange_weak(&rate->full_ns, &full_ns, next_ns));
}

static const struct {
    struct slice word;
    unsigned scope;
} scopes[] = {
    {SLICE_INIT("schedule"), SCOPE_SCHEDULE}, {SLICE_INIT("read"), SCOPE_READ},
    {SLICE_INIT("cancel"), SCOPE_CANCEL},     {SLICE_INIT("admin"), SCOPE_ADMIN},
    {SLICE_INIT("lease"), SCOPE_LEASE},
};

enum { SCOPES = sizeof scopes / sizeof *scopes };

/* ---- a line ---- */

/* Takes the next word from the front of *rest. Words are separated by spaces and tabs; the word is empty at
 * the end. */
static struct slice take_word(struct slice *rest)
{
    size_t size = 0;
    *rest = slice_trim(*rest);
    while (size < rest->size && rest->data[size] != ' ' && rest->data[size] != '\t')
        size++;
    struct slice word = slice_from(rest->data, size);
    *rest = slice_skip(*rest, size);
    return word;
}

static bool is_name(struct slice word)
{
    for (size_t i = 0; i < word.size; i++) {
        char byte = word.data[i];
        bool is_alphanumeric =
            (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
        if (!is_alphanumeric && byte != '.' && byte != '_' && byte != '-')
            return false;
    }
    /* If the name is missing, the line begins with the digest, which has a ':', or by mistake with the token
     * itself, "dp_...". */
    return word.size > 0 && word.size <= TOKEN_NAME_MAX && !slice_starts_with(word, SLICE("dp_"));
}

static int lower_hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool read_digest(struct slice word, struct token *token)
{
    struct slice prefix = SLICE("sha256:");
    if (word.size != prefix.size + 2 * (size_t)TOKEN_DIGEST_BYTES || !slice_starts_with(word, prefix))
        return false;
    const char *digits = word.data + prefix.size;
    for (size_t i = 0; i < TOKEN_DIGEST_BYTES; i++) {
        int high = lower_hex_value(digits[2 * i]), low = lower_hex_value(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        token->digest[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

static enum status bad(struct problem *problem, const char *what)
{
    problem_set(problem, "%s", what);
    return STATUS_INVALID;
}

static enum status read_scopes(struct slice value, struct token *token, struct problem *problem)
{
    struct slice word, rest = value;
    bool has_more = true;
    while (has_more) {
        int i = 0;
        has_more = slice_cut(rest, ',', &word, &rest);
        while (i < SCOPES && !slice_equal(word, scopes[i].word))
            i++;
        if (i == SCOPES)
            return bad(problem, "scopes= takes some of schedule,read,cancel,admin,lease, without spaces");
        token->scopes |= scopes[i].scope;
    }
    return STATUS_OK;
}

static enum status read_topics(struct slice value, struct token *token, struct problem *problem)
{
    struct problem why;
    if (topic_patterns_check(value, &why) != STATUS_OK) {
        problem_set(problem, "topics=: %s", why.text);
        return STATUS_INVALID;
    }
    token->topics = slice_dup(value);
    return STATUS_OK;
}

static enum status read_groups(struct slice value, struct token *token, struct problem *problem)
{
    struct problem why;
    if (topic_patterns_check(value, &why) != STATUS_OK) {
        problem_set(problem, "groups=: %s", why.text);
        return STATUS_INVALID;
    }
    token->groups = slice_dup(value);
    return STATUS_OK;
}

static enum status read_rate(struct slice value, struct token *token, struct problem *problem)
{
    if (token_rate_parse(value, &token->rate))
        return STATUS_OK;
    problem_set(problem, "rate= takes 1 to %d per s, m or h, such as 1000/s", TOKEN_RATE_MAX);
    return STATUS_INVALID;
}

static const struct {
    struct slice name;
    enum status (*read)(struct slice value, struct token *, struct problem *);
} fields[] = {
    {SLICE_INIT("scopes="), read_scopes},
    {SLICE_INIT("topics="), read_topics},
    {SLICE_INIT("groups="), read_groups},
    {SLICE_INIT("rate="), read_rate},
};

enum { FIELDS = sizeof fields / sizeof *fields };

static enum status read_field(struct slice word, unsigned *given, struct token *token,
                              struct problem *problem)
{
    for (unsigned i = 0; i < FIELDS; i++) {
        if (!slice_starts_with(word, fields[i].name))
            continue;
        if (*given & 1U << i) {
            problem_set(problem, "%.*s appears twice", SLICE_ARG(fields[i].name));
            return STATUS_INVALID;
        }
        *given |= 1U << i;
        return fields[i].read(slice_skip(word, fields[i].name.size), token, problem);
    }
    return bad(problem, "only scopes=, topics=, groups= and rate= may follow the name and the digest, "
                        "separated by spaces");
}

static enum status read_line(struct slice line, struct token *token, struct problem *problem)
{
    struct slice rest = line, word = take_word(&rest);
    unsigned given = 0;
    enum status status = STATUS_OK;
    if (!is_name(word))
        return bad(problem, "a line begins with a name: 1 to 64 characters of A-Z a-z 0-9 . _ -");
    token->name = slice_dup(word);
    if (!read_digest(take_word(&rest), token))
        return bad(problem,
                   "after the name, expected sha256: and 64 hex digits in lower case, the digest of the "
                   "token and not the token itself (duepost token new prints such a line)");
    while (status == STATUS_OK && (word = take_word(&rest)).size)
        status = read_field(word, &given, token, problem);
    if (status == STATUS_OK && token->scopes == 0)
        return bad(problem, "scopes= is missing: add some of schedule,read,cancel,admin,lease");
    return status;
}

enum status token_parse(struct slice line, struct token *token, struct problem *problem)
{
    *token = (struct token){.name = NULL};
    enum status status = read_line(line, token, problem);
    if (status != STATUS_OK)
        token_fini(token);
    return status;
}

void token_fini(struct token *token)
{
    free(token->name);
    free(token->topics);
    free(token->groups);
    *token = (struct token){.name = NULL};
}

/* ---- making one ---- */

void token_make(const uint8_t random[TOKEN_RANDOM_BYTES], char text[TOKEN_TEXT_SIZE])
{
    static const struct slice prefix = SLICE_INIT("dp_");
    memcpy(text, prefix.data, prefix.size);
    hex_write(text + prefix.size, random, TOKEN_RANDOM_BYTES);
}

void token_digest(struct slice text, uint8_t digest[TOKEN_DIGEST_BYTES])
{
    static_assert((int)TOKEN_DIGEST_BYTES == (int)SHA256_BYTES, "the digest is SHA-256");
    sha256(text, digest);
}

void token_write(struct buffer *line, struct slice name, struct slice text, struct slice fields_text)
{
    uint8_t digest[TOKEN_DIGEST_BYTES];
    char hex[2 * TOKEN_DIGEST_BYTES];
    token_digest(text, digest);
    buffer_append(line, name);
    buffer_append(line, SLICE(" sha256:"));
    hex_write(hex, digest, TOKEN_DIGEST_BYTES);
    buffer_append(line, slice_from(hex, sizeof hex));
    buffer_append_byte(line, ' ');
    buffer_append(line, fields_text);
}

void token_scopes_text(unsigned set, char text[TOKEN_SCOPES_SIZE])
{
    size_t size = 0;
    text[0] = '\0';
    for (int i = 0; i < SCOPES; i++)
        if (set & scopes[i].scope)
            size += (size_t)snprintf(text + size, TOKEN_SCOPES_SIZE - size, "%s%.*s", size ? "," : "",
                                     SLICE_ARG(scopes[i].word));
}

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

struct token *token_table_change(struct token_table *table, size_t number)
{
    assert(number < table->count);
    return &table->tokens[number];
}
