/* remote.h - the server that a command calls; one request at a time. */
#ifndef DUEPOST_CLI_REMOTE_H
#define DUEPOST_CLI_REMOTE_H

#include <jansson.h>

#include "base/buffer.h"
#include "base/status.h"

struct remote;

struct remote_options {
    const char *server;        /* its URL; NULL: "http://127.0.0.1:7700" */
    const char *authorization; /* a header; "": none */
    const char *ca_file;       /* trusted certificates for https; NULL: those of this host */
};

/* Borrows the strings. */
struct remote *remote_new(const struct remote_options *);
void remote_free(struct remote *); /* NULL is ignored */

/* Sends one request and puts the answer's body into answer. body is JSON or NULL. OK: the status is 2xx.
 * FAILED: problem has the reason, in the server's words where it gave one. */
enum status remote_ask(struct remote *, const char *method, const char *target, const char *body,
                       struct buffer *answer, struct problem *) MUST_USE;

/* As remote_ask, but returns the answer as JSON (free it with json_decref). NULL: problem says why. */
json_t *remote_ask_json(struct remote *, const char *method, const char *target, const char *body,
                        struct problem *);

/* POSTs to any URL with these header lines. OK: an answer came; *status is its status, whatever it is. */
enum status remote_post(struct remote *, const char *url, const char *const *headers, size_t count,
                        const char *body, struct buffer *answer, long *status, struct problem *) MUST_USE;

#endif
