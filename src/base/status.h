/* status.h - how a call ended, for everything that can fail.
 *
 * The world's failures are statuses; the caller's mistakes are asserts, which
 * stay in release builds. Detail for people travels in a caller-owned problem. */
#ifndef DUEPOST_BASE_STATUS_H
#define DUEPOST_BASE_STATUS_H

#define MUST_USE __attribute__((warn_unused_result))

enum status {
    STATUS_OK = 0,
    STATUS_INVALID,     /* the input breaks a rule */
    STATUS_EXISTS,      /* another job has this id */
    STATUS_REPEATED,    /* this very request was answered before */
    STATUS_REUSED,      /* its idempotency key belongs to another request */
    STATUS_NOT_FOUND,   /* no job has this id */
    STATUS_LEASED,      /* refused, because an attempt is running */
    STATUS_EXPIRED,     /* refused, because the job's time is over */
    STATUS_NO_URL,      /* neither the job nor its topic has a url; nothing changed */
    STATUS_UNREADABLE,  /* its record in Redis is not one that duepost wrote; nothing changed */
    STATUS_LACKING,     /* its record needs a later version; nothing changed */
    STATUS_STALE,       /* someone else holds or changed the job; nothing changed */
    STATUS_FULL,        /* a bound was reached; nothing changed */
    STATUS_UNAVAILABLE, /* Redis cannot serve now; nothing changed */
    STATUS_UNKNOWN,     /* sent, but no answer came: done or not done */
    STATUS_NO_MEMORY,   /* for what a client sized; nothing changed */
    STATUS_FAILED,      /* the system refused: a file, a socket, a process */
};

/* One word, lower case, for logs. Never NULL. */
const char *status_name(enum status);

/* What went wrong, for people: one sentence that says what to do about it. */
struct problem {
    char text[512];
};

void problem_set(struct problem *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
