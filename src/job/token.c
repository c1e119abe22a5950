#include "job/token.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "job/sha256.h"
#include "job/topic_patterns.h"

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
