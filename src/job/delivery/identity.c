#include "job/delivery/identity.h"

#include <assert.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <strings.h>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "job/delivery/digest.h"
#include "job/request.h"
#include "job/text/json.h"

enum {
    RSA_BITS_MIN = 2048,
    RSA_BITS_MAX = 8192,
    P256_BYTES = 32,
    RAW_MAX = RSA_BITS_MAX / 8, /* bytes of a signature or of a part of a public key */
    MEMBERS_MAX = 2 * RAW_MAX,  /* bytes of the public members of a key in JSON */
    KID_SIZE = 44 + 1,          /* SHA-256 in base64url, room for its padding, and a NUL */
};

enum algorithm { EDDSA, ES256, RS256 };

static const char *const words[] = {[EDDSA] = "EdDSA", [ES256] = "ES256", [RS256] = "RS256"};

struct identity_key {
    EVP_PKEY *private;
    enum algorithm algorithm;
    char id[KID_SIZE];     /* the thumbprint (RFC 7638) */
    struct buffer members; /* the members of the public key that the thumbprint covers, as JSON */
};

struct identity_keys {
    size_t count;
    struct identity_key items[IDENTITY_KEYS_MAX];
};

/* ---- the public key ---- */

static void put_bytes(struct json_writer *json, const char *name, const unsigned char *bytes, size_t size)
{
    struct buffer text;
    buffer_init(&text, 2 * RAW_MAX);
    base64url_append(&text, slice_from((const char *)bytes, size));
    json_add_text(json, name, buffer_slice(&text));
    buffer_fini(&text);
}

static void put_number(struct json_writer *json, const char *name, const EVP_PKEY *key, const char *parameter,
                       size_t size)
{
    unsigned char bytes[RAW_MAX];
    BIGNUM *number = NULL;
    bool is_known = EVP_PKEY_get_bn_param(key, parameter, &number) == 1;
    int length = size ? (int)size : is_known ? BN_num_bytes(number) : 0;
    is_known = is_known && length <= RAW_MAX && BN_bn2binpad(number, bytes, length) == length;
    assert(is_known);
    put_bytes(json, name, bytes, (size_t)length);
    BN_free(number);
}

/* Writes the members that a thumbprint covers, in the order of their names. */
static void write_members(struct identity_key *key)
{
    unsigned char point[32];
    size_t size = sizeof point;
    struct json_writer json = json_writer_to(&key->members);
    bool is_known = true;
    json_put_object(&json);
    switch (key->algorithm) {
    case EDDSA:
        is_known = EVP_PKEY_get_raw_public_key(key->private, point, &size) == 1;
        json_add_text(&json, "crv", SLICE("Ed25519"));
        json_add_text(&json, "kty", SLICE("OKP"));
        put_bytes(&json, "x", point, size);
        break;
    case ES256:
        json_add_text(&json, "crv", SLICE("P-256"));
        json_add_text(&json, "kty", SLICE("EC"));
        put_number(&json, "x", key->private, OSSL_PKEY_PARAM_EC_PUB_X, P256_BYTES);
        put_number(&json, "y", key->private, OSSL_PKEY_PARAM_EC_PUB_Y, P256_BYTES);
        break;
    case RS256:
        put_number(&json, "e", key->private, OSSL_PKEY_PARAM_RSA_E, 0);
        json_add_text(&json, "kty", SLICE("RSA"));
        put_number(&json, "n", key->private, OSSL_PKEY_PARAM_RSA_N, 0);
        break;
    }
    json_end_object(&json);
    assert(is_known && !key->members.failed);
}

static void write_id(struct identity_key *key)
{
    unsigned char digest[SHA256_BYTES];
    struct buffer id = buffer_of(key->id, sizeof key->id - 1);
    sha256(buffer_slice(&key->members), digest);
    base64url_append(&id, slice_from((const char *)digest, sizeof digest));
    key->id[id.size] = '\0';
}

void identity_keys_publish(const struct identity_keys *keys, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_add_array(&json, "keys");
    for (size_t i = 0; keys && i < keys->count; i++) {
        const struct identity_key *key = &keys->items[i];
        struct buffer *at = json_put(&json);
        buffer_append(at, slice_from(key->members.data, key->members.size - 1)); /* without its bracket */
        buffer_printf(at, ",\"alg\":\"%s\",\"use\":\"sig\",\"kid\":\"%s\"}", words[key->algorithm], key->id);
    }
    json_end_array(&json);
    json_end_object(&json);
}

/* ---- reading ---- */

/* Finds the algorithm of a key. Returns false if a key of its kind cannot sign. */
static bool find_algorithm(const EVP_PKEY *key, enum algorithm *algorithm)
{
    char group[64] = "";
    switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_ED25519:
        *algorithm = EDDSA;
        return true;
    case EVP_PKEY_EC:
        *algorithm = ES256;
        return EVP_PKEY_get_group_name(key, group, sizeof group, NULL) == 1 &&
               (slice_equal(slice_of(group), SLICE("prime256v1")) ||
                slice_equal(slice_of(group), SLICE("P-256")));
    case EVP_PKEY_RSA:
        *algorithm = RS256;
        return EVP_PKEY_get_bits(key) >= RSA_BITS_MIN && EVP_PKEY_get_bits(key) <= RSA_BITS_MAX;
    default:
        return false;
    }
}

/* A password cannot be entered. */
static int no_password(char *text, int size, int is_writing, void *arg)
{
    (void)text, (void)size, (void)is_writing, (void)arg;
    return 0;
}

static bool add_key(struct identity_keys *keys, EVP_PKEY *private)
{
    struct identity_key *key = &keys->items[keys->count];
    if (!find_algorithm(private, &key->algorithm))
        return false;
    key->private = private;
    buffer_init(&key->members, MEMBERS_MAX);
    write_members(key);
    write_id(key);
    keys->count++;
    return true;
}

/* Takes the next block of PEM from the front of *text. Skips blocks with other labels than a private key,
 * such as the parameters of a curve. Returns false at the end. */
static bool next_block(struct slice *text, struct slice *block)
{
    static const char begin[] = "-----BEGIN ";
    const char *at;
    while (text->size && (at = memmem(text->data, text->size, begin, strlen(begin)))) {
        struct slice from = slice_skip(*text, (size_t)(at - text->data));
        const char *next = memmem(from.data + strlen(begin), from.size - strlen(begin), begin, strlen(begin));
        *block = slice_from(from.data, next ? (size_t)(next - from.data) : from.size);
        *text = slice_skip(from, block->size);
        struct slice label, rest;
        slice_cut(*block, '\n', &label, &rest);
        if (memmem(label.data, label.size, "PRIVATE KEY", strlen("PRIVATE KEY")))
            return true;
    }
    return false;
}

static EVP_PKEY *read_key(struct slice block)
{
    BIO *bio = BIO_new_mem_buf(block.data, (int)block.size);
    assert(bio);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
    BIO_free(bio);
    ERR_clear_error();
    return key;
}

/* Adds the key of a block. Returns what is wrong with it, or NULL. */
static const char *take_block(struct identity_keys *keys, struct slice block)
{
    EVP_PKEY *private = read_key(block);
    if (!private)
        return "must be a private key in PEM without a password";
    if (keys->count < IDENTITY_KEYS_MAX && add_key(keys, private))
        return NULL;
    EVP_PKEY_free(private);
    return keys->count == IDENTITY_KEYS_MAX ? "is one too many; at most 8 keys are read"
                                            : "must be Ed25519, EC P-256, or RSA of 2048 to 8192 bits";
}

enum status identity_keys_parse(struct slice text, struct identity_keys **result, struct problem *problem)
{
    struct identity_keys *keys = NEW(struct identity_keys);
    struct slice block;
    const char *fault = NULL;
    while (!fault && next_block(&text, &block))
        fault = take_block(keys, block);
    if (fault)
        problem_set(problem, "key %zu %s", keys->count + 1, fault);
    else if (keys->count == 0)
        problem_set(problem, "it has no key; openssl genpkey -algorithm ed25519 makes one");
    if (fault || keys->count == 0) {
        identity_keys_free(keys);
        return STATUS_INVALID;
    }
    *result = keys;
    return STATUS_OK;
}

void identity_keys_free(struct identity_keys *keys)
{
    for (size_t i = 0; keys && i < keys->count; i++) {
        EVP_PKEY_free(keys->items[i].private);
        buffer_fini(&keys->items[i].members);
    }
    free(keys);
}

/* ---- signing ---- */

static const struct identity_key *find_key(const struct identity_keys *keys, struct slice algorithm)
{
    for (size_t i = 0; keys && i < keys->count; i++)
        if (algorithm.size == 0 || slice_equal(algorithm, slice_of(words[keys->items[i].algorithm])))
            return &keys->items[i];
    return NULL;
}

bool identity_keys_have(const struct identity_keys *keys, struct slice algorithm)
{
    return find_key(keys, algorithm);
}

/* Converts an ECDSA signature of OpenSSL, which is DER, to that of RFC 7518: r and s, 32 bytes each. */
static size_t raw_of_der(unsigned char raw[RAW_MAX], size_t size)
{
    const unsigned char *at = raw;
    ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &at, (long)size);
    assert(signature);
    bool is_written = BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw, P256_BYTES) == P256_BYTES &&
                      BN_bn2binpad(ECDSA_SIG_get0_s(signature), raw + P256_BYTES, P256_BYTES) == P256_BYTES;
    assert(is_written);
    ECDSA_SIG_free(signature);
    return (size_t)2 * P256_BYTES;
}

static size_t identity_sign(const struct identity_key *key, struct slice text, unsigned char raw[RAW_MAX])
{
    size_t size = RAW_MAX;
    const EVP_MD *digest = key->algorithm == EDDSA ? NULL : EVP_sha256();
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_signed = context && EVP_DigestSignInit(context, NULL, digest, NULL, key->private) == 1 &&
                     EVP_DigestSign(context, raw, &size, (const unsigned char *)text.data, text.size) == 1;
    assert(is_signed);
    EVP_MD_CTX_free(context);
    return key->algorithm == ES256 ? raw_of_der(raw, size) : size;
}

static void write_claims(const struct identity_claims *claims, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_add_text(&json, "iss", claims->issuer);
    json_add_text(&json, "sub", claims->subject);
    json_add_text(&json, "aud", claims->audience);
    json_add_number(&json, "iat", claims->seconds);
    json_add_number(&json, "exp", claims->seconds + IDENTITY_TOKEN_S);
    json_add_text(&json, "jti", claims->token_id);
    json_end_object(&json);
}

void identity_token_write(const struct identity_keys *keys, struct slice algorithm,
                          const struct identity_claims *claims, struct buffer *out)
{
    const struct identity_key *key = find_key(keys, algorithm);
    unsigned char raw[RAW_MAX];
    char head[128], claims_room[IDENTITY_TOKEN_MAX];
    struct buffer text = buffer_of(claims_room, sizeof claims_room);
    size_t start = out->size;
    if (!key) {
        out->failed = true;
        return;
    }
    int size = snprintf(head, sizeof head, "{\"alg\":\"%s\",\"typ\":\"JWT\",\"kid\":\"%s\"}",
                        words[key->algorithm], key->id);
    write_claims(claims, &text);
    base64url_append(out, slice_from(head, (size_t)size));
    buffer_append_byte(out, '.');
    base64url_append(out, buffer_slice(&text));
    out->failed |= text.failed;
    if (out->failed)
        return;
    size_t raw_size = identity_sign(key, slice_skip(buffer_slice(out), start), raw);
    buffer_append_byte(out, '.');
    base64url_append(out, slice_from((const char *)raw, raw_size));
}

/* ---- answers of token servers ---- */

/* Returns a string without its quotes, and any other value as it is. */
static struct slice plain_text(struct slice value)
{
    return json_is_text(value) ? slice_from(value.data + 1, value.size - 2) : value;
}

/* Reads the number of seconds, whose fraction is ignored. Some servers send it as a string. */
static const char *read_seconds(struct slice value, int64_t *seconds)
{
    uint64_t number = 0;
    struct slice whole, fraction;
    *seconds = ACCESS_EXPIRES_DEFAULT_S;
    if (value.size == 0 || slice_equal(value, SLICE("null")))
        return NULL;
    if (value.data[0] == '-')
        return "the answer's expires_in is negative";
    slice_cut(value, '.', &whole, &fraction);
    if (!slice_to_number(whole, INT64_MAX / 2, &number) || number == 0)
        return "the answer's expires_in is not a number of seconds above 0";
    *seconds = number > ACCESS_EXPIRES_MAX_S ? ACCESS_EXPIRES_MAX_S : (int64_t)number;
    return NULL;
}

const char *access_answer_read(struct slice text, struct buffer *room, struct access_answer *answer)
{
    const struct json_limits limits = {.depth = 16, .members = 100};
    struct json_fault fault;
    struct json_cursor cursor;
    struct slice key, value, type = SLICE("bearer"), seconds = SLICE("");
    *answer = (struct access_answer){.seconds = 0};
    if (json_check(text, &limits, &fault) != STATUS_OK || !json_open(text, &cursor) || cursor.close != '}')
        return "the answer is not a JSON object";
    while (json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"access_token\"")) && json_is_text(value))
            answer->token = json_text(value, room);
        else if (slice_equal(key, SLICE("\"token_type\"")))
            type = plain_text(value);
        else if (slice_equal(key, SLICE("\"expires_in\"")))
            seconds = plain_text(value);
    }
    if (answer->token.size == 0 || answer->token.size > ACCESS_TOKEN_MAX ||
        !header_value_is_valid(answer->token))
        return "the answer has no access_token of 1 to 8192 visible characters";
    if (type.size != strlen("bearer") || strncasecmp(type.data, "bearer", type.size) != 0)
        return "the answer's token_type is not Bearer";
    return read_seconds(seconds, &answer->seconds);
}
