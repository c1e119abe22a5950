#include "job/topic/topic_auth.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>

#include "job/text/json.h"
#include "job/text/member.h"
#include "job/topic/topic_settings.h"

#define FIELD(member) MEMBER_FIELD(struct topic_settings, auth.member)
#define HAS(member)   MEMBER_HAS(struct topic_settings, auth.member.size)
#define NAMED(text)   MEMBER_NAMED("auth.", text)
#define EVERYWHERE    .flags = MEMBER_EVERYWHERE

/* ---- the table ---- */

static void auth_refuse(struct member_parse *parse, const struct member *member, const char *detail)
{
    job_errors_add(parse->errors, member->path, detail);
}

static void check_type(struct member_parse *parse, const struct member *member)
{
    const struct topic_settings *settings = parse->of;
    struct slice type = settings->auth.type;
    if (!slice_equal(type, SLICE("jwt")) && !slice_equal(type, SLICE("oauth2")) &&
        !slice_equal(type, SLICE("mtls")))
        auth_refuse(parse, member, "must be \"jwt\", \"oauth2\" or \"mtls\"");
}

/* Parses the next origin of the array. Returns false at its end, or if the item is not an origin. */
static bool next_origin(struct json_cursor *cursor, struct url *origin)
{
    struct slice item;
    const char *ignored;
    if (!json_next_item(cursor, &item))
        return false;
    if (!json_is_text(item) || json_has_escapes(item) ||
        url_parse(slice_from(item.data + 1, item.size - 2), origin, &ignored) != STATUS_OK) {
        cursor->is_ended = false;
        return false;
    }
    return true;
}

static void check_origins(struct member_parse *parse, const struct member *member)
{
    const struct topic_settings *settings = parse->of;
    struct json_cursor cursor;
    struct url origin;
    size_t count = 0;
    bool is_array = json_open(settings->auth.origins, &cursor) && cursor.close == ']';
    while (is_array && next_origin(&cursor, &origin)) {
        count++;
        is_array = origin.target.size == 0 || slice_equal(origin.target, SLICE("/"));
    }
    if (!is_array || !cursor.is_ended || count == 0 || count > AUTH_ORIGINS_MAX)
        auth_refuse(parse, member,
                    "must be an array of 1 to 20 urls without path and query, such as https://api.example");
}

static void check_algorithm(struct member_parse *parse, const struct member *member)
{
    const struct topic_settings *settings = parse->of;
    struct slice name = settings->auth.algorithm;
    if (!slice_equal(name, SLICE("EdDSA")) && !slice_equal(name, SLICE("ES256")) &&
        !slice_equal(name, SLICE("RS256")))
        auth_refuse(parse, member, "must be \"EdDSA\", \"ES256\" or \"RS256\"");
}

static void check_client_auth(struct member_parse *parse, const struct member *member)
{
    const struct topic_settings *settings = parse->of;
    if (!slice_equal(settings->auth.client_auth, SLICE("basic")) &&
        !slice_equal(settings->auth.client_auth, SLICE("post")))
        auth_refuse(parse, member, "must be \"basic\" or \"post\"");
}

enum auth_row {
    AUTH_TYPE,
    AUTH_ORIGINS,
    AUTH_AUDIENCE,
    AUTH_ALGORITHM,
    AUTH_TOKEN_URL,
    AUTH_CLIENT_ID,
    AUTH_CLIENT_SECRET,
    AUTH_SCOPE,
    AUTH_CLIENT_AUTH,
    AUTH_CERTIFICATE,
    AUTH_PRIVATE_KEY,
    AUTH_ROWS,
};

static const struct member rows[AUTH_ROWS] = {
    [AUTH_TYPE] = {NAMED("type"), MEMBER_TEXT, .flags = MEMBER_EVERYWHERE | MEMBER_REQUIRED, FIELD(type),
                   HAS(type), .min = 1, .max = sizeof "oauth2" - 1, .check = check_type},
    [AUTH_ORIGINS] = {NAMED("origins"), MEMBER_JSON, EVERYWHERE, FIELD(origins), HAS(origins),
                      .check = check_origins},
    [AUTH_AUDIENCE] = {NAMED("audience"), MEMBER_TEXT, EVERYWHERE, FIELD(audience), HAS(audience), .min = 1,
                       .max = AUTH_TEXT_MAX},
    [AUTH_ALGORITHM] = {NAMED("algorithm"), MEMBER_TEXT, EVERYWHERE, FIELD(algorithm), HAS(algorithm),
                        .min = 1, .max = sizeof "EdDSA" - 1, .check = check_algorithm},
    [AUTH_TOKEN_URL] = {NAMED("tokenUrl"), MEMBER_URL, EVERYWHERE, FIELD(token_url), HAS(token_url),
                        .max = JOB_URL_MAX},
    [AUTH_CLIENT_ID] = {NAMED("clientId"), MEMBER_TEXT, EVERYWHERE, FIELD(client_id), HAS(client_id),
                        .min = 1, .max = AUTH_TEXT_MAX},
    [AUTH_CLIENT_SECRET] = {NAMED("clientSecret"), MEMBER_SECRET, EVERYWHERE, FIELD(client_secret),
                            HAS(client_secret), .min = 1, .max = AUTH_SECRET_MAX},
    [AUTH_SCOPE] = {NAMED("scope"), MEMBER_TEXT, EVERYWHERE, FIELD(scope), HAS(scope), .min = 1,
                    .max = AUTH_TEXT_MAX},
    [AUTH_CLIENT_AUTH] = {NAMED("clientAuth"), MEMBER_TEXT, EVERYWHERE, FIELD(client_auth), HAS(client_auth),
                          .min = 1, .max = sizeof "basic" - 1, .check = check_client_auth},
    [AUTH_CERTIFICATE] = {NAMED("certificate"), MEMBER_TEXT, EVERYWHERE, FIELD(certificate), HAS(certificate),
                          .min = 1, .max = AUTH_PEM_MAX},
    [AUTH_PRIVATE_KEY] = {NAMED("privateKey"), MEMBER_SECRET, EVERYWHERE, FIELD(private_key),
                          HAS(private_key), .min = 1, .max = AUTH_PEM_MAX},
};

const struct members topic_auth_members = {MEMBER_ROWS(rows), .noun = "setting", .prefix = "auth."};

/* ---- all of it ---- */

#define BIT(row) (1u << (row))

/* The members that a type needs, and those that it may have in addition to type and origins. */
static const struct auth_kind {
    struct slice type;
    unsigned needed, allowed;
} kinds[] = {
    {SLICE_INIT("jwt"), BIT(AUTH_AUDIENCE), BIT(AUTH_ALGORITHM)},
    {SLICE_INIT("oauth2"), BIT(AUTH_TOKEN_URL) | BIT(AUTH_CLIENT_ID) | BIT(AUTH_CLIENT_SECRET),
     BIT(AUTH_SCOPE) | BIT(AUTH_AUDIENCE) | BIT(AUTH_CLIENT_AUTH)},
    {SLICE_INIT("mtls"), BIT(AUTH_CERTIFICATE) | BIT(AUTH_PRIVATE_KEY), 0},
};

static struct slice text_of(const struct topic_settings *settings, enum auth_row row)
{
    struct slice text;
    memcpy(&text, (const char *)settings + rows[row].field, sizeof text);
    return text;
}

static void check_members(struct member_parse *parse, const struct auth_kind *kind)
{
    char detail[64];
    for (enum auth_row row = AUTH_AUDIENCE; row < AUTH_ROWS; row++) {
        bool is_there = text_of(parse->of, row).size > 0;
        bool is_allowed = (kind->needed | kind->allowed) & BIT(row);
        if (kind->needed & BIT(row) && !is_there)
            snprintf(detail, sizeof detail, "is required with type \"%.*s\"", SLICE_ARG(kind->type));
        else if (is_there && !is_allowed)
            snprintf(detail, sizeof detail, "cannot be combined with type \"%.*s\"", SLICE_ARG(kind->type));
        else
            continue;
        job_errors_add(parse->errors, rows[row].path, detail);
    }
}

/* Fills origins with that of the topic's url. The buffer has room for it (topic_settings.c). */
static void take_origin(struct member_parse *parse, struct topic_settings *settings)
{
    struct url url;
    const char *ignored;
    size_t start;
    if (url_parse(settings->url, &url, &ignored) != STATUS_OK) {
        job_errors_add(parse->errors, rows[AUTH_ORIGINS].path,
                       "is required, because url is not set in the same settings");
        return;
    }
    if (!parse->text->data)
        buffer_reserve(parse->text, parse->text->max);
    start = parse->text->size;
    buffer_append(parse->text, SLICE("[\""));
    buffer_append(parse->text, slice_from(settings->url.data, settings->url.size - url.target.size));
    buffer_append(parse->text, SLICE("\"]"));
    if (!parse->text->failed)
        settings->auth.origins = slice_skip(buffer_slice(parse->text), start);
}

/* A password of a key cannot be entered, so an encrypted key is not readable. */
static int no_password(char *text, int size, int is_writing, void *arg)
{
    (void)text, (void)size, (void)is_writing, (void)arg;
    return 0;
}

/* The HTTP client takes both as texts that end with a NUL. */
static bool is_text(struct slice pem)
{
    return pem.size && !memchr(pem.data, '\0', pem.size);
}

/* Checks that the key belongs to the first certificate. */
static void check_pair(struct member_parse *parse, const struct topic_auth *auth)
{
    BIO *certificate_text = BIO_new_mem_buf(auth->certificate.data, (int)auth->certificate.size);
    BIO *key_text = BIO_new_mem_buf(auth->private_key.data, (int)auth->private_key.size);
    X509 *certificate = is_text(auth->certificate) && certificate_text
                            ? PEM_read_bio_X509(certificate_text, NULL, NULL, NULL)
                            : NULL;
    EVP_PKEY *key = is_text(auth->private_key) && key_text
                        ? PEM_read_bio_PrivateKey(key_text, NULL, no_password, NULL)
                        : NULL;
    if (!certificate)
        job_errors_add(parse->errors, rows[AUTH_CERTIFICATE].path,
                       "must be a certificate in PEM, and then those of its chain");
    if (!key)
        job_errors_add(parse->errors, rows[AUTH_PRIVATE_KEY].path,
                       "must be a private key in PEM without a password");
    if (certificate && key && X509_check_private_key(certificate, key) != 1)
        job_errors_add(parse->errors, rows[AUTH_PRIVATE_KEY].path, "does not belong to auth.certificate");
    ERR_clear_error();
    X509_free(certificate);
    EVP_PKEY_free(key);
    BIO_free(certificate_text);
    BIO_free(key_text);
}

/* Whether a client certificate is used only where there is TLS. */
static void check_all_https(struct member_parse *parse, const struct topic_auth *auth)
{
    struct json_cursor cursor;
    struct url origin;
    bool is_open = json_open(auth->origins, &cursor);
    while (is_open && next_origin(&cursor, &origin))
        if (!origin.is_https) {
            job_errors_add(parse->errors, rows[AUTH_ORIGINS].path,
                           "must have https urls only: a client certificate is sent with TLS");
            return;
        }
}

void topic_auth_check(struct member_parse *parse, const struct member *member)
{
    struct topic_settings *settings = parse->of;
    size_t errors_before = parse->errors->count;
    (void)member;
    if (parse->unknown)
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (slice_equal(kinds[i].type, settings->auth.type))
            check_members(parse, &kinds[i]);
    if (settings->auth.origins.size == 0)
        take_origin(parse, settings);
    if (parse->errors->count > errors_before || !slice_equal(settings->auth.type, SLICE("mtls")))
        return;
    check_pair(parse, &settings->auth);
    check_all_https(parse, &settings->auth);
}

/* ---- patches ---- */

static bool has_member(struct slice patch, struct slice quoted_name)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = json_open(patch, &cursor);
    while (is_open && json_next_member(&cursor, &key, &value))
        if (slice_equal(key, SLICE("\"auth\"")))
            return value.size && value.data[0] == '{' &&
                   json_has_member(value, quoted_name, JSON_NAMES_EXACT);
    return false;
}

/* Adds an error if the secret of this row stays the same, goes to another place, and is not in the patch. */
static void check_secret(const struct topic_settings *old, const struct topic_settings *new,
                         enum auth_row secret, struct slice patch, struct job_errors *errors)
{
    char quoted[32];
    struct slice kept = text_of(old, secret);
    bool is_moved = !slice_equal(old->auth.type, new->auth.type) ||
                    !slice_equal(old->auth.origins, new->auth.origins) ||
                    !slice_equal(old->auth.token_url, new->auth.token_url);
    int size = snprintf(quoted, sizeof quoted, "\"%.*s\"", SLICE_ARG(rows[secret].name));
    if (kept.size && is_moved && slice_equal(kept, text_of(new, secret)) &&
        !has_member(patch, slice_from(quoted, (size_t)size)))
        job_errors_add(errors, rows[secret].path,
                       "must be sent again with this change, which sends it to another place");
}

void topic_auth_check_patch(const struct topic_settings *old, const struct topic_settings *new,
                            struct slice patch, struct job_errors *errors)
{
    if (!old->has_auth || !new->has_auth)
        return;
    check_secret(old, new, AUTH_CLIENT_SECRET, patch, errors);
    check_secret(old, new, AUTH_PRIVATE_KEY, patch, errors);
}

/* ---- using ---- */

bool topic_auth_is(const struct topic_settings *settings, struct slice type, const struct url *url)
{
    struct json_cursor cursor;
    struct url origin;
    if (!settings || !settings->has_auth || !slice_equal(settings->auth.type, type) ||
        !json_open(settings->auth.origins, &cursor))
        return false;
    while (next_origin(&cursor, &origin))
        if (url_is_same_origin(&origin, url))
            return true;
    return false;
}
