#include "job/delivery/signature.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "base/encoding.h"
#include "job/delivery/digest.h"

enum {
    /* The standard requires 24, but shorter keys are in use, even in the standard's own examples. */
    SHARED_MIN = 16,
    SEED_BYTES = 32,
    PUBLIC_BYTES = 32,
    PRIVATE_BYTES = SEED_BYTES + PUBLIC_BYTES,
    SIGNATURE_BYTES = 64,
    ID_BYTES = 16,
    BASE64_MAX = 4 * ((SIGNING_KEY_BYTES_MAX + 2) / 3),
};

static const struct slice shared_prefix = SLICE_INIT("whsec_"), private_prefix = SLICE_INIT("whsk_"),
                          public_prefix = SLICE_INIT("whpk_");

/* ---- base64 ---- */

static void put_base64(struct buffer *out, const unsigned char *bytes, size_t size)
{
    unsigned char text[BASE64_MAX + 1];
    int length = EVP_EncodeBlock(text, bytes, (int)size);
    buffer_append(out, slice_from((const char *)text, (size_t)length));
}

/* Decodes base64, and returns the number of decoded bytes. Returns 0 if text is not base64 in its only valid
 * spelling (base64.h), or has more than SIGNING_KEY_BYTES_MAX bytes. */
static size_t read_base64(struct slice text, unsigned char bytes[SIGNING_KEY_BYTES_MAX])
{
    unsigned char room[BASE64_MAX / 4 * 3], again[BASE64_MAX + 1];
    if (text.size == 0 || text.size % 4 || text.size > BASE64_MAX)
        return 0;
    int size = EVP_DecodeBlock(room, (const unsigned char *)text.data, (int)text.size);
    if (size < 0)
        return 0;
    for (size_t i = text.size; i > text.size - 2 && text.data[i - 1] == '='; i--)
        size--;
    if (size > SIGNING_KEY_BYTES_MAX || EVP_EncodeBlock(again, room, size) != (int)text.size ||
        memcmp(again, text.data, text.size) != 0)
        return 0;
    memcpy(bytes, room, (size_t)size);
    return (size_t)size;
}

/* ---- keys ---- */

static EVP_PKEY *private_key(const struct signing_key *key)
{
    EVP_PKEY *private = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, key->bytes, SEED_BYTES);
    assert(private);
    return private;
}

/* Returns whether the second half of these bytes is the public key that belongs to the first half, the
 * ed25519 seed. */
static bool is_pair(const struct signing_key *key)
{
    unsigned char public[PUBLIC_BYTES];
    size_t size = sizeof public;
    EVP_PKEY *private = private_key(key);
    bool is_known = EVP_PKEY_get_raw_public_key(private, public, &size) == 1;
    EVP_PKEY_free(private);
    return is_known && memcmp(public, key->bytes + SEED_BYTES, PUBLIC_BYTES) == 0;
}

enum status signing_key_parse(struct slice text, struct signing_key *key, const char **detail)
{
    key->is_private = slice_starts_with(text, private_prefix);
    if (!key->is_private && !slice_starts_with(text, shared_prefix)) {
        *detail = "must begin with whsec_ or whsk_";
        return STATUS_INVALID;
    }
    key->size =
        read_base64(slice_skip(text, key->is_private ? private_prefix.size : shared_prefix.size), key->bytes);
    if (key->is_private && (key->size != PRIVATE_BYTES || !is_pair(key)))
        *detail = "must be whsk_ and base64 of an ed25519 seed of 32 bytes and its public key";
    else if (!key->is_private && key->size < SHARED_MIN)
        *detail = "must be whsec_ and base64 of 16 to 64 bytes";
    else
        return STATUS_OK;
    return STATUS_INVALID;
}

void signing_key_write(const struct signing_key *key, struct buffer *out)
{
    buffer_append(out, key->is_private ? private_prefix : shared_prefix);
    put_base64(out, key->bytes, key->size);
}

void signing_key_show(const struct signing_key *key, struct buffer *out)
{
    buffer_append(out, key->is_private ? public_prefix : shared_prefix);
    if (key->is_private)
        put_base64(out, key->bytes + SEED_BYTES, PUBLIC_BYTES);
    else
        buffer_append(out, SLICE("***"));
}

enum status signing_keys_parse(struct slice text, struct signing_keys *keys, struct problem *problem)
{
    struct slice line;
    keys->count = 0;
    for (size_t number = 1; text.size; number++) {
        const char *detail;
        slice_cut(text, '\n', &line, &text);
        if (slice_ends_with(line, SLICE("\r")))
            line.size--;
        line = slice_trim(line);
        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (keys->count == SIGNING_KEYS_MAX) {
            problem_set(problem, "line %zu: at most %d keys sign at once", number, SIGNING_KEYS_MAX);
            return STATUS_INVALID;
        }
        if (signing_key_parse(line, &keys->items[keys->count], &detail) != STATUS_OK) {
            problem_set(problem, "line %zu: a key %s", number, detail);
            return STATUS_INVALID;
        }
        keys->count++;
    }
    if (keys->count == 0)
        problem_set(problem, "it has no key; a key is whsec_ and base64 of 24 to 64 random bytes");
    return keys->count ? STATUS_OK : STATUS_INVALID;
}

/* ---- signing ---- */

void webhook_id_make(struct slice id, int64_t created_ms, char text[WEBHOOK_ID_SIZE])
{
    unsigned char digest[SHA256_BYTES];
    char named[512];
    int length = snprintf(named, sizeof named, "%.*s %lld", SLICE_ARG(id), (long long)created_ms);
    assert(length > 0 && (size_t)length < sizeof named);
    sha256(slice_from(named, (size_t)length), digest);
    static const struct slice prefix = SLICE_INIT("msg_");
    memcpy(text, prefix.data, prefix.size);
    hex_write(text + prefix.size, digest, ID_BYTES);
    text[prefix.size + (size_t)2 * ID_BYTES] = '\0';
}

static void sign_private(const struct signing_key *key, struct slice content,
                         unsigned char signature[SIGNATURE_BYTES])
{
    size_t size = SIGNATURE_BYTES;
    EVP_PKEY *private = private_key(key);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int ok =
        context && EVP_DigestSignInit(context, NULL, NULL, NULL, private) == 1 &&
        EVP_DigestSign(context, signature, &size, (const unsigned char *)content.data, content.size) == 1;
    assert(ok && size == SIGNATURE_BYTES);
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(private);
}

/* Signs with any key, and appends the signature in base64. */
static void signature_append(const struct signing_key *key, struct slice content, struct buffer *out)
{
    unsigned char signature[SIGNATURE_BYTES];
    if (key->is_private)
        sign_private(key, content, signature);
    else
        sha256_hmac(slice_from((const char *)key->bytes, key->size), content, signature);
    put_base64(out, signature, key->is_private ? SIGNATURE_BYTES : SHA256_BYTES);
}

void signature_write(const struct signing_keys *keys, struct slice webhook_id, int64_t seconds,
                     struct slice body, struct buffer *out)
{
    struct buffer content;
    buffer_init_fallible(&content, webhook_id.size + body.size + 32);
    buffer_append(&content, webhook_id);
    buffer_printf(&content, ".%lld.", (long long)seconds);
    buffer_append(&content, body);
    out->failed |= content.failed;
    for (size_t i = 0; i < keys->count && !out->failed; i++) {
        if (i)
            buffer_append_byte(out, ' ');
        const struct signing_key *key = &keys->items[i];
        buffer_append(out, key->is_private ? SLICE("v1a,") : SLICE("v1,"));
        signature_append(key, buffer_slice(&content), out);
    }
    buffer_fini(&content);
}

/* ---- HTTP message signatures ---- */

void content_digest_write(struct slice body, struct buffer *out)
{
    unsigned char digest[SHA256_BYTES];
    sha256(body, digest);
    buffer_append(out, SLICE("sha-256=:"));
    put_base64(out, digest, sizeof digest);
    buffer_append_byte(out, ':');
}

/* Writes the parameters of the signature of one key. */
static void put_parameters(const struct signing_key *key, int64_t seconds, struct buffer *out)
{
    const unsigned char *shown = key->is_private ? key->bytes + SEED_BYTES : key->bytes;
    char id[FINGERPRINT_SIZE];
    fingerprint_make(slice_from((const char *)shown, key->is_private ? PUBLIC_BYTES : key->size), id);
    buffer_printf(out,
                  "(\"@method\" \"@target-uri\" \"content-digest\" \"webhook-id\");created=%lld;"
                  "keyid=\"%s\";alg=\"%s\"",
                  (long long)seconds, id, key->is_private ? "ed25519" : "hmac-sha256");
}

/* Writes the url as a receiver puts it together: the path is never empty. */
static void put_target(struct slice url, struct buffer *out)
{
    const char *host = memmem(url.data, url.size, "://", 3);
    size_t start = host ? (size_t)(host - url.data) + 3 : 0, end = start;
    while (end < url.size && url.data[end] != '/' && url.data[end] != '?')
        end++;
    buffer_append(out, slice_from(url.data, end));
    if (end == url.size || url.data[end] != '/')
        buffer_append_byte(out, '/');
    buffer_append(out, slice_skip(url, end));
}

void signed_message_write(const struct signing_keys *keys, const struct signed_message *message,
                          struct buffer *input, struct buffer *signature)
{
    struct buffer text;
    buffer_init(&text, MESSAGE_SIGNED_TEXT_MAX);
    buffer_printf(&text, "\"@method\": %.*s\n\"@target-uri\": ", SLICE_ARG(message->method));
    put_target(message->url, &text);
    buffer_printf(&text, "\n\"content-digest\": %.*s\n\"webhook-id\": %.*s\n\"@signature-params\": ",
                  SLICE_ARG(message->digest), SLICE_ARG(message->webhook_id));
    size_t common = text.size;
    for (size_t i = 0; i < keys->count; i++) {
        text.size = common;
        put_parameters(&keys->items[i], message->seconds, &text);
        input->failed |= text.failed;
        buffer_printf(input, "%ssig%zu=", i ? ", " : "", i + 1);
        buffer_append(input, slice_skip(buffer_slice(&text), common));
        buffer_printf(signature, "%ssig%zu=:", i ? ", " : "", i + 1);
        signature_append(&keys->items[i], buffer_slice(&text), signature);
        buffer_append_byte(signature, ':');
    }
    buffer_fini(&text);
}

void signature_library(struct library *library)
{
    library_set(library, "OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING));
}

/* {"alg":"HS256","typ":"JWT"} in base64url. */
#define HEADER "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"

void jwt_append(struct buffer *token, struct slice key, struct slice claims)
{
    size_t start = token->size;
    unsigned char mac[SHA256_BYTES];
    buffer_append(token, SLICE(HEADER "."));
    base64url_append(token, claims);
    if (token->failed)
        return;
    sha256_hmac(key, slice_from(token->data + start, token->size - start), mac);
    buffer_append_byte(token, '.');
    base64url_append(token, slice_from((const char *)mac, sizeof mac));
}

void jwt_append_digest(struct buffer *out, struct slice bytes)
{
    unsigned char digest[SHA256_BYTES];
    sha256(bytes, digest);
    base64url_append(out, slice_from((const char *)digest, sizeof digest));
}
