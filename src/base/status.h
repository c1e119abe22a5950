/* status.h - the result of every call that can fail.
 *
 * A failure of the outside world is a status. A mistake of the caller is an assert, which stays in release
 * builds. A caller that needs details for people passes a struct problem of its own. */
#ifndef DUEPOST_BASE_STATUS_H
#define DUEPOST_BASE_STATUS_H

#include <stdbool.h>

#define MUST_USE __attribute__((warn_unused_result))

enum status {
    STATUS_OK = 0,
    STATUS_INVALID,    /* the input breaks a rule */
    STATUS_EXISTS,     /* another job has this id */
    STATUS_REPEATED,   /* the same request was already answered */
    STATUS_REUSED,     /* the idempotency key belongs to another request */
    STATUS_NOT_FOUND,  /* no job has this id */
    STATUS_LEASED,     /* an attempt is running */
    STATUS_EXPIRED,    /* the job has expired */
    STATUS_NO_URL,     /* neither the job nor its topic has a url; nothing changed */
    STATUS_NOT_PULL,   /* jobs of the topic are POSTed, and are not leased by workers; nothing changed */
    STATUS_UNREADABLE, /* the record in Redis cannot be read; nothing changed */
    STATUS_LACKING,    /* the record needs a later version of duepost; nothing changed */
    STATUS_STALE,      /* the job was changed or leased in the meantime; this call changed nothing */
    STATUS_REPLACED, /* a new job has replaced the job during this attempt; this call changed nothing else */
    STATUS_FULL,     /* a limit was reached; nothing changed */
    STATUS_UNAVAILABLE, /* Redis cannot serve now; nothing changed */
    STATUS_UNKNOWN,     /* the call was sent, but no answer came: the change may or may not have happened */
    STATUS_UNDURABLE,   /* Redis has carried the call out, but too few replicas have confirmed it in time */
    STATUS_NO_MEMORY,   /* no memory for data that a client sized; nothing changed */
    STATUS_FAILED,      /* the system failed: a file, a socket, a process */

    /* Only use cases (app/) end with the following. Nothing changed, except with SAME. */
    STATUS_SAME,        /* the same job already exists */
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

#endif
