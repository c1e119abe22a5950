/* status.h - the result of every call that can fail.
 *
 * A failure of the outside world is a status. A mistake of the caller is an assert, which stays in release
 * builds. A caller that needs details for people passes a struct problem of its own. */
#ifndef DUEPOST_BASE_STATUS_H
#define DUEPOST_BASE_STATUS_H

#include <stdbool.h>

#include "base/slice.h"

#define MUST_USE __attribute__((warn_unused_result))

enum status {
    STATUS_OK = 0,
    STATUS_INVALID,    /* the input breaks a rule */
    STATUS_EXISTS,     /* another job has this id */
    STATUS_REPEATED,   /* the same request was already answered */
    STATUS_THROTTLED,  /* another job with the same throttle key stands for this one; nothing changed */
    STATUS_REUSED,     /* the idempotency key belongs to another request */
    STATUS_NOT_FOUND,  /* no job has this id */
    STATUS_LEASED,     /* an attempt is running */
    STATUS_EXPIRED,    /* the job has expired */
    STATUS_NO_URL,     /* neither the job nor its topic has a url; nothing changed */
    STATUS_NOT_PULL,   /* jobs of the topic are POSTed, and are not leased by workers; nothing changed */
    STATUS_UNREADABLE, /* the record in Redis cannot be read; nothing changed */
    STATUS_LACKING,    /* the record needs a later version of duepost; nothing changed */
    STATUS_NO_LIMIT,   /* there is no limit of this name; nothing changed */
    STATUS_IN_USE,     /* topics or patterns name the limit; nothing changed */
    STATUS_STALE,      /* the job was changed or leased in the meantime; this call changed nothing */
    STATUS_REPLACED, /* a new job has replaced the job during this attempt; this call changed nothing else */
    STATUS_NO_LINE,  /* a request waits for the end of the job, which needs the line of the attempt; nothing
                        changed */
    STATUS_FULL,     /* a limit was reached; nothing changed */
    STATUS_QUOTA,    /* the topic has as many jobs as its quota allows; nothing changed */
    STATUS_UNAVAILABLE, /* Redis cannot serve now; nothing changed */
    STATUS_UNKNOWN,     /* the call was sent, but no answer came: the change may or may not have happened */
    STATUS_UNDURABLE,   /* Redis has carried the call out, but too few replicas have confirmed it in time */
    STATUS_NO_MEMORY,   /* no memory for data that a client sized; nothing changed */
    STATUS_FAILED,      /* the system failed: a file, a socket, a process */

    /* Only use cases (app/) end with the following. Nothing changed, except with SAME. */
    STATUS_SAME,        /* the same job already exists */
    STATUS_DEBOUNCED,   /* the job has replaced the one before with the same debounce key */
    STATUS_NOT_REACHED, /* the caller has no right to the topic */
    STATUS_SIBLING,     /* only the server writes to this sibling topic */
    STATUS_ID_TAKEN,    /* the job is dead, and another job has its id */
    STATUS_ENDED,       /* the job was delivered or cancelled */
    STATUS_NO_BODY,     /* the job cannot run again, because the history does not have its body */
    STATUS_CONTENDED,   /* each of several tries failed, because another process changed the job or the
                           settings during the try */
    STATUS_NOT_HELD,    /* the token does not hold the lease of the job */
    STATUS_TOO_LARGE,   /* the jobs of all endpoints of a group are together over 4 MiB */
    STATUS_HISTORY_UNAVAILABLE, /* the history cannot be read now */
    STATUS_NO_HISTORY,          /* the server keeps no history */
};

/* Returns whether the call was carried out, and its result is known. */
static inline bool status_is_done(enum status status)
{
    return status == STATUS_OK || status == STATUS_UNDURABLE;
}

/* An error message for people: one sentence that says what was found, what was expected and what to do. */
struct problem {
    char text[512];
};

void problem_set(struct problem *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- failures of HTTP calls ---- */

/* Why an HTTP call has no answer: one list for the HTTP client, the records of attempts, the API
 * and the metrics. */

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
