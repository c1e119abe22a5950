/* outbox.h - the outbox: rows of a table in PostgreSQL that become jobs of a server.
 *
 * An application inserts a row in its own transaction, so that the job exists exactly if the transaction is
 * committed. The relay reads the rows in the order of their ids, sends them to a server over its HTTP API,
 * and deletes them after the answer; the id of a row is part of the idempotency key of its job, so that a
 * relay that dies in between sends nothing twice. Rows that the server refuses are moved to a second table
 * with the reason. The relay keeps nothing that it needs, so it may die at any time. An advisory lock in the
 * database makes further relays wait.
 *
 * The command duepost outbox runs a relay that may be far from the server. A server with --outbox runs one in
 * a thread (server/outbox.c). Both are this code. */
#ifndef DUEPOST_CLI_OUTBOX_OUTBOX_H
#define DUEPOST_CLI_OUTBOX_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/system.h"
#include "cli/remote.h"

enum outbox_event {
    OUTBOX_AWAY,    /* the database or the server is away, or refuses; the relay tries again */
    OUTBOX_BACK,    /* rows are sent again */
    OUTBOX_STANDBY, /* another relay has the lock */
    OUTBOX_FAILED,  /* a row was refused, and is in duepost_outbox_failed */
    OUTBOX_REFUSED, /* the token has no right to a topic, whose rows wait */
    OUTBOX_STUCK,   /* the database refuses to move or to delete a row, which is left out for a minute */
};

/* Numbers of a relay. sent, failed and stuck are since its start. */
struct outbox_figures {
    int64_t sent, failed;
    int64_t stuck;     /* times that the database refused to move or to delete a row */
    int64_t oldest_ms; /* how long the first row has waited, at most 5 s ago; -1: unknown */
    bool is_active;    /* the relay has the lock */
    bool is_up;        /* the last rows could be read and sent, or another relay is at work */
};

struct outbox_relay_options {
    const char *source;      /* borrowed: postgresql://..., perhaps with a password; never printed */
    struct remote *remote;   /* borrowed: the server */
    const char *server_name; /* borrowed: the server's name in messages */
    int stop_fd;             /* readable when the relay must end; -1: it is only killed */
    bool until_empty;        /* end when no row is left */
    bool keeps_trying;       /* an error at the start does not end the relay */
    /* Called in the thread of the relay. text is a sentence without its full stop, valid until the callback
     * returns. */
    void (*tell)(void *arg, enum outbox_event, const char *text);
    /* Called after each read, and at least every 10 s while the relay waits. */
    void (*note)(void *arg, const struct outbox_figures *);
    void *arg;
};

/* Runs a relay until stop_fd is readable, or until the table is empty. Blocks. At the end it sends nothing
 * more, waits up to 5 s for answers, and within 7 s for the deletion of the rows that were answered; while it
 * connects, up to 10 s for each host of the source. Returns false after an error that a person must mend;
 * problem then says what to do. */
bool outbox_relay_run(const struct outbox_relay_options *, struct problem *);

/* ---- examine.c ---- */

enum outbox_finding { OUTBOX_GOOD, OUTBOX_DOUBTFUL, OUTBOX_BAD };

/* Finds out what a relay would meet, and reports each thing that was found; changes nothing. Blocks for half
 * a minute at most. The text of a finding is valid until the callback returns. */
void outbox_examine(const char *source, void (*found)(void *arg, enum outbox_finding, const char *text),
                    void *arg);

#endif
