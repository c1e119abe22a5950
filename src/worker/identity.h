/* identity.h - how the request of an attempt says to its receiver who it is (job/topic/topic_auth.h), and the
 * proxy through which it goes. The objects of this file belong to one reactor.
 *
 * A client certificate or a proxy belongs to connections, and not to requests. So each pair of them has an
 * HTTP client of its own, with its own connections and TLS sessions: no request can use a connection that was
 * opened for another one.
 *
 * An access token is requested once for all processes (scripts/access.lua), and used until shortly before its
 * end. While it is missing, the jobs that need it are held without an attempt: a token server that fails is
 * not a failure of the receiver. */
#ifndef DUEPOST_WORKER_IDENTITY_H
#define DUEPOST_WORKER_IDENTITY_H

#include "base/list.h"
#include "io/http/client.h"
#include "job/delivery/delivery_form.h"
#include "job/delivery/identity.h"
#include "job/target/target.h"
#include "job/target/url.h"
#include "job/topic/topic_settings.h"
#include "store/store.h"

struct identities;

struct identities_options {
    struct loop *loop;
    struct store *store;
    struct http_client *client;                       /* sends all other requests, and those for tokens */
    const struct http_client_options *client_options; /* options of the client */
    const struct target_policy *targets;              /* where token servers may be */
};

/* Borrows what options point to, except client_options, which are copied. */
struct identities *identities_new(const struct identities_options *);

/* Replaces the policy, and borrows it. */
void identities_reload(struct identities *, const struct target_policy *);

/* Call it after the store was freed. Every use must have ended. NULL is ignored. */
void identities_free(struct identities *);

/* Receives the answer to identity_ask. wait_ms is -1 if the request can be sent. Otherwise the job must be
 * held for wait_ms. */
typedef void identity_fn(void *arg, int64_t wait_ms);

/* The identity that one request uses. All members are 0 until identity_ask is called. Do not move it in
 * memory before identity_drop. */
struct identity_use {
    struct identity_client *client; /* NULL: the client of all other requests */
    struct access_token *token;     /* NULL: the request has none */
    int64_t token_since_us;         /* when the token that the request was written with had come */
    bool is_token_old;              /* and whether it was so old that a 401 may mean that it was revoked */
    struct list link;               /* in the list of the uses that wait for the token */
    bool is_waiting;
    int64_t wait_ms;
    identity_fn *fn;
    void *arg;
};

enum identity_answer { IDENTITY_READY, IDENTITY_HELD, IDENTITY_ASKED };

/* Prepares a request to this url. settings may be NULL. IDENTITY_HELD: the job must be held for wait_ms.
 * IDENTITY_ASKED: fn is called, unless the use is dropped. */
enum identity_answer identity_ask(struct identity_use *, struct identities *, const struct topic_settings *,
                                  const struct url *, identity_fn *, void *arg);

/* Returns the client that sends the request. */
struct http_client *identity_client(const struct identity_use *, struct identities *);

/* Returns the url of the topic's proxy without user and password, or NULL if the topic has none. It is valid
 * until identity_drop. */
const struct url *identity_proxy(const struct identity_use *);

/* The parts of a request that identity_write needs. */
struct identity_facts {
    const struct topic_settings *settings; /* may be NULL */
    const struct url *url;
    struct slice topic;
    const struct identity_keys *keys; /* may be NULL */
    struct slice issuer;
    int64_t seconds; /* since 1970 */
};

/* Adds the header Authorization, if the request has one by these settings. */
void identity_write(struct identity_use *, const struct identity_facts *, struct header_lines *);

/* Returns whether this answer says that the token of the request was revoked: the job is sent again with a
 * new one, without an attempt. A token that was new when it was sent is not the reason of a 401. */
bool identity_is_revoked(struct identity_use *, const struct http_outcome *);

/* Ends the use. Allowed in any state and more than once. */
void identity_drop(struct identity_use *);

/* ---- access tokens (access_tokens.c) ---- */

struct access_tokens;

struct access_tokens *access_tokens_new(const struct identities_options *);
void access_tokens_reload(struct access_tokens *, const struct target_policy *);
void access_tokens_free(struct access_tokens *); /* NULL is ignored */

/* The parts of identity_ask and the functions after it that concern a token. */
enum identity_answer access_token_ask(struct identity_use *, struct access_tokens *,
                                      const struct topic_auth *);
void access_token_write(struct identity_use *, struct header_lines *);
bool access_token_is_revoked(const struct identity_use *);
void access_token_drop(struct identity_use *);

#endif
