/* failure.h - why an HTTP call has no answer: one list for the HTTP client, the records of attempts, the API
 * and the metrics. */
#ifndef DUEPOST_BASE_FAILURE_H
#define DUEPOST_BASE_FAILURE_H

#include <stdbool.h>

#include "base/slice.h"

/* Those that end an attempt, with the word of the API. */
#define FAILURES(X)                                                                                          \
    X(DNS, "dns")                                                                                            \
    X(CONNECT, "connect")                                                                                    \
    X(TLS, "tls")                                                                                            \
    X(TIMEOUT, "timeout")                                                                                    \
    X(RESET, "reset")                       /* the connection ended without an answer */                     \
    X(TARGET_REFUSED, "target_refused")     /* no address of the receiver was allowed */                     \
    X(ANSWER_TOO_LARGE, "answer_too_large") /* the head exceeds its limit; a body does not */                \
    X(PROTOCOL, "protocol")                 /* the answer is not HTTP */

enum failure {
    FAILURE_NONE, /* an answer came; its status counts as soon as its head is complete */
#define FAILURE_NAME(name, word) FAILURE_##name,
    FAILURES(FAILURE_NAME)
#undef FAILURE_NAME
        FAILURE_OTHER, /* a word that a later version wrote */
    /* The following ones have no word: they are the HTTP client's. */
    FAILURE_IDLE_CLOSED, /* RESET of a reused connection before any part of an answer: most likely it was
                            closed as idle while the request was on its way */
    FAILURE_UNSENT,      /* the caller refused at the last moment; nothing was passed to the network */
    FAILURE_CROWDED,     /* too many name lookups are under way; nothing was sent */
};

/* Returns the word: "" for NONE, "other" for OTHER. */
const char *failure_word(enum failure);

/* Parses a word; OTHER for an unknown word of small letters and _. False: anything else. */
bool failure_parse(struct slice word, enum failure *);

#endif
