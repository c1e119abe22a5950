#include "worker/identity.h"

#include <assert.h>
#include <stdlib.h>

#include "base/encoding.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/system.h"

enum {
    CLIENTS_MAX = 64,     /* certificates and proxies that one reactor uses at a time */
    CLIENT_IDLE_MAX = 64, /* idle connections of each */
    TOKEN_ID_BYTES = 16,
};

/* How long a job is held while each of CLIENTS_MAX clients has requests under way. */
#define CROWDED_WAIT_MS INT64_C(1000)

struct identity_client {
    struct list link; /* the client that was used last comes last */
    size_t uses;
    struct http_client *http;
    char *certificate, *private_key, *proxy; /* owned; NULL: none */
    char plain_proxy[PROXY_URL_MAX + 1];
    struct url proxy_url; /* points into plain_proxy; no host: the topic has no proxy */
};

struct identities {
    struct loop *loop;
    struct http_client *common;
    struct http_client_options
        options;           /* with the two texts below, because a reload frees those of the server */
    char *ca_file, *proxy; /* owned; NULL: none */
    struct access_tokens *tokens;
    struct list clients;
    size_t count;
};

static char *text_or_null(struct slice text)
{
    return text.size ? slice_dup(text) : NULL;
}

static char *text_copy(const char *text)
{
    return text ? slice_dup(slice_of(text)) : NULL;
}

static void free_secret(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

struct identities *identities_new(const struct identities_options *options)
{
    struct identities *identities = NEW(struct identities);
    *identities = (struct identities){
        .loop = options->loop, .common = options->client, .options = *options->client_options};
    identities->options.max_idle = CLIENT_IDLE_MAX;
    identities->ca_file = text_copy(options->client_options->ca_file);
    identities->proxy = text_copy(options->client_options->proxy);
    identities->options.ca_file = identities->ca_file;
    identities->options.proxy = identities->proxy;
    identities->tokens = access_tokens_new(options);
    list_init(&identities->clients);
    return identities;
}

void identities_reload(struct identities *identities, const struct target_policy *targets)
{
    access_tokens_reload(identities->tokens, targets);
}

/* ---- clients ---- */

static void client_free(struct identities *identities, struct identity_client *client)
{
    assert(client->uses == 0);
    list_remove(&client->link);
    http_client_free(client->http);
    free(client->certificate);
    free_secret(client->private_key);
    free_secret(client->proxy);
    free(client);
    identities->count--;
}

void identities_free(struct identities *identities)
{
    if (!identities)
        return;
    while (!list_is_empty(&identities->clients))
        client_free(identities, LIST_ENTRY(identities->clients.next, struct identity_client, link));
    access_tokens_free(identities->tokens);
    free(identities->ca_file);
    free_secret(identities->proxy);
    free(identities);
}

static bool is_same(const char *text, struct slice other)
{
    return text ? slice_equal(slice_of(text), other) : other.size == 0;
}

/* Frees the client that was used least recently and has no request under way. Returns false if all have one.
 */
static bool make_room(struct identities *identities)
{
    for (struct list *link = identities->clients.next; link != &identities->clients; link = link->next) {
        struct identity_client *client = LIST_ENTRY(link, struct identity_client, link);
        if (client->uses == 0) {
            client_free(identities, client);
            return true;
        }
    }
    return false;
}

static struct identity_client *client_new(struct identities *identities, const struct topic_auth *auth,
                                          struct slice proxy)
{
    struct identity_client *client = NEW(struct identity_client);
    struct http_client_options options = identities->options;
    const char *ignored;
    client->certificate = text_or_null(auth->certificate);
    client->private_key = text_or_null(auth->private_key);
    client->proxy = text_or_null(proxy);
    proxy_url_plain(proxy, client->plain_proxy);
    if (url_parse(slice_of(client->plain_proxy), &client->proxy_url, &ignored) != STATUS_OK)
        client->proxy_url.host = SLICE("");
    options.certificate = client->certificate;
    options.private_key = client->private_key;
    if (client->proxy)
        options.proxy = client->proxy;
    client->http = http_client_new(identities->loop, &options);
    list_init(&client->link);
    identities->count++;
    return client;
}

/* Returns the client with this certificate and this proxy, or NULL if there is no room for it. */
static struct identity_client *find_client(struct identities *identities, const struct topic_auth *auth,
                                           struct slice proxy)
{
    struct identity_client *client = NULL;
    for (struct list *link = identities->clients.next; !client && link != &identities->clients;
         link = link->next) {
        struct identity_client *each = LIST_ENTRY(link, struct identity_client, link);
        if (is_same(each->certificate, auth->certificate) && is_same(each->private_key, auth->private_key) &&
            is_same(each->proxy, proxy))
            client = each;
    }
    if (!client && identities->count == CLIENTS_MAX && !make_room(identities))
        return NULL;
    if (!client)
        client = client_new(identities, auth, proxy);
    list_remove(&client->link);
    list_append(&identities->clients, &client->link);
    return client;
}

/* ---- a request ---- */

enum identity_answer identity_ask(struct identity_use *use, struct identities *identities,
                                  const struct topic_settings *settings, const struct url *url,
                                  identity_fn *fn, void *arg)
{
    static const struct topic_auth none = {.type = SLICE_INIT("")};
    bool has_certificate = topic_auth_is(settings, SLICE("mtls"), url);
    if (has_certificate || (settings && settings->egress_proxy.size)) {
        use->client =
            find_client(identities, has_certificate ? &settings->auth : &none, settings->egress_proxy);
        use->wait_ms = CROWDED_WAIT_MS;
        if (!use->client)
            return IDENTITY_HELD;
        use->client->uses++;
    }
    if (!topic_auth_is(settings, SLICE("oauth2"), url))
        return IDENTITY_READY;
    use->fn = fn;
    use->arg = arg;
    return access_token_ask(use, identities->tokens, &settings->auth);
}

struct http_client *identity_client(const struct identity_use *use, struct identities *identities)
{
    return use->client ? use->client->http : identities->common;
}

const struct url *identity_proxy(const struct identity_use *use)
{
    return use->client && use->client->proxy_url.host.size ? &use->client->proxy_url : NULL;
}

/* Writes a token that the server signs itself. */
static void write_own(const struct identity_facts *facts, struct header_lines *lines)
{
    char room[sizeof "Bearer " + IDENTITY_TOKEN_MAX], id[2 * TOKEN_ID_BYTES];
    unsigned char random[TOKEN_ID_BYTES];
    struct buffer value = buffer_of(room, sizeof room);
    random_fill(random, sizeof random);
    hex_write(id, random, sizeof random);
    const struct identity_claims claims = {
        .issuer = facts->issuer,
        .subject = facts->topic,
        .audience = facts->settings->auth.audience,
        .token_id = slice_from(id, sizeof id),
        .seconds = facts->seconds,
    };
    buffer_append(&value, SLICE("Bearer "));
    identity_token_write(facts->keys, facts->settings->auth.algorithm, &claims, &value);
    header_lines_add(lines, SLICE("Authorization"), buffer_slice(&value));
    lines->text->failed |= value.failed;
}

void identity_write(struct identity_use *use, const struct identity_facts *facts, struct header_lines *lines)
{
    if (use->token)
        access_token_write(use, lines);
    else if (topic_auth_is(facts->settings, SLICE("jwt"), facts->url))
        write_own(facts, lines);
}

bool identity_is_revoked(struct identity_use *use, const struct http_outcome *http)
{
    return use->token && http->error == FAILURE_NONE && http->status == 401 && access_token_is_revoked(use);
}

void identity_drop(struct identity_use *use)
{
    if (use->client)
        use->client->uses--;
    use->client = NULL;
    access_token_drop(use);
}
