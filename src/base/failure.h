/* failure.h - why an HTTP call has no answer: one list for the HTTP client, the records of attempts, the API
 * and the metrics. */
#ifndef DUEPOST_BASE_FAILURE_H
#define DUEPOST_BASE_FAILURE_H

#include <stdbool.h>

#include "base/slice.h"

/* The failures that end an attempt, with their words in the API. */
#define FAILURES(X)                                                                                          \
    X(DNS, "dns")                                                                                            \
    X(CONNECT, "connect")                                                                                    \
    X(TLS, "tls")                                                                                            \
    X(TIMEOUT, "timeout")                                                                                    \
    X(RESET, "reset")                   /* the connection ended without an answer */                         \
    X(TARGET_REFUSED, "target_refused") /* no address of the receiver was allowed */                         \
    X(ANSWER_TOO_LARGE,                                                                                      \
      "answer_too_large") /* the head of the answer exceeds its limit; a large body is not a failure */      \
    X(PROTOCOL,                                                                                              \
      "protocol") /* the answer is not HTTP, or requires a protocol that the client does not support */      \
    X(WORKER, "worker")               /* a worker has reported that its job failed */                        \
    X(LEASE_EXPIRED, "lease_expired") /* a worker did not end its lease in time */

enum failure {
    FAILURE_NONE, /* an answer came; its status counts as soon as its head is complete */
#define FAILURE_NAME(name, word) FAILURE_##name,
    FAILURES(FAILURE_NAME)
#undef FAILURE_NAME
        FAILURE_OTHER, /* the record has a word that only a later version knows */
    /* The following failures have no word, because only the HTTP client uses them. */
    FAILURE_IDLE_CLOSED, /* RESET of a reused connection before any part of an answer: most likely it was
                            closed as idle while the request was on its way */
    FAILURE_UNSENT, /* may_send refused the request just before it was sent; nothing was passed to the network
                     */
    FAILURE_CROWDED, /* too many name lookups are under way, or only a libcurl that is not safe could send the
                        request; nothing was sent */
};

/* Returns the word of a failure: "" for NONE, "other" for OTHER. */
const char *failure_word(enum failure);

/* Parses a word. An unknown word of small letters and '_' becomes OTHER. Returns false for any other text. */
bool failure_parse(struct slice word, enum failure *);

#endif
