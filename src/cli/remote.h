/* remote.h - the server that a command speaks with; one request at a time. */
#ifndef DUEPOST_CLI_REMOTE_H
#define DUEPOST_CLI_REMOTE_H

#include <jansson.h>

#include "base/buffer.h"
#include "base/status.h"

struct remote;

struct remote_options {
    const char *server;        /* its URL; NULL: "http://127.0.0.1:7700" */
    const char *authorization; /* a header; "": none */
    const char *ca_file;       /* what to trust with https; NULL: what this host trusts */
};

/* Borrows the texts. */
struct remote *remote_new(const struct remote_options *);
void remote_free(struct remote *); /* NULL is fine */

/* Sends one request; body is JSON or NULL. What comes is put into answer. OK: a 2xx. FAILED: problem says, in
 * the server's words where there are some, why not. */
enum status remote_ask(struct remote *, const char *method, const char *target, const char *body,
                       struct buffer *answer, struct problem *) MUST_USE;

/* The same, with the answer as JSON: json_decref. NULL: problem says why. */
json_t *remote_ask_json(struct remote *, const char *method, const char *target, const char *body,
                        struct problem *);

/* POSTs to any url, with these header lines. OK: *status is that of the answer, whatever it is. */
enum status remote_post(struct remote *, const char *url, const char *const *headers, size_t count,
                        const char *body, struct buffer *answer, long *status, struct problem *) MUST_USE;

#endif
