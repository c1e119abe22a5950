/* topic_auth.h - the setting "auth" of a topic: how duepost says to receivers who it is, in addition to
 * signing requests.
 *
 * jwt      each request has a JSON Web Token, signed with a key of the server (job/delivery/identity.h)
 * oauth2   each request has an access token, which a token server gives for client credentials (RFC
 * 6749, 4.4) mtls     connections are made with a client certificate
 *
 * It is used only for requests to its origins. If a client sends no origins, the origin of the url that it
 * sets in the same text becomes the only one and is stored, so a later change of a url sends nothing
 * elsewhere. Secrets are never shown. A patch that sends a secret to another place than before must have the
 * secret, too. */
#ifndef DUEPOST_JOB_TOPIC_TOPIC_AUTH_H
#define DUEPOST_JOB_TOPIC_TOPIC_AUTH_H

#include <stdbool.h>

#include "base/slice.h"
#include "job/target/url.h"

enum {
    AUTH_ORIGINS_MAX = 20,
    AUTH_TEXT_MAX = 255,      /* bytes of audience, clientId, scope */
    AUTH_SECRET_MAX = 1024,   /* bytes of clientSecret */
    AUTH_PEM_MAX = 12 * 1024, /* bytes of a certificate with its chain, and of a private key */
};

/* All slices borrow the text of the settings. */
struct topic_auth {
    struct slice type;      /* "jwt", "oauth2", "mtls" */
    struct slice origins;   /* JSON array of urls without a path */
    struct slice audience;  /* jwt, oauth2; empty: not set */
    struct slice algorithm; /* jwt: "EdDSA", "ES256", "RS256"; empty: that of the server's first key */
    struct slice token_url, client_id, client_secret, scope; /* oauth2 */
    struct slice
        client_auth; /* oauth2: how client_id and client_secret are sent: "basic", "post"; empty: basic */
    struct slice certificate, private_key; /* mtls, PEM */
};

struct member_parse;
struct member;
struct members;
struct topic_settings;
struct job_errors;

extern const struct members topic_auth_members; /* fields of struct topic_settings */

/* Checks "auth" as a whole, and sets its origins if a client has sent none. */
void topic_auth_check(struct member_parse *, const struct member *);

/* Adds an error if the new settings send a secret of the old ones to another place, and the patch does not
 * have the secret. */
void topic_auth_check_patch(const struct topic_settings *old, const struct topic_settings *new,
                            struct slice patch, struct job_errors *);

/* Returns whether "auth" has this type and is used for this url. settings may be NULL. */
bool topic_auth_is(const struct topic_settings *, struct slice type, const struct url *);

#endif
