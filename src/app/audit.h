/* audit.h - the audit log: which client changed what.
 *
 * Each change by a client is a line of the log. With a history, the line also goes to the database, where
 * clients can ask for it:
 *
 *   change ──▶ note ──▶ answer          the line is in Redis (store_note) before the client has its answer
 *                └──▶ archiver ──▶ database                                          (worker/archiver.h)
 *
 * So each change that was answered has its line, whatever dies when. Only the answer to an action on one job,
 * such as a cancellation, does not wait, because there may be thousands a second: its line is lost if the
 * process dies within that moment. Between a change and its note there is a gap: if the process dies there,
 * or loses its connection to Redis, the change may be made without a line, but it is not answered, or it is
 * answered with 503. */
#ifndef DUEPOST_APP_AUDIT_H
#define DUEPOST_APP_AUDIT_H

#include "app/app.h"
#include "base/list.h"
#include "job/trail.h"

/* A line on its way to Redis. */
struct app_note {
    struct list link;        /* in the notes of its request; or in no list: the request has ended */
    struct app_notes *notes; /* NULL: the request has ended */
};

/* The lines of one request that are on their way to Redis. */
struct app_notes {
    struct app *app; /* borrowed */
    struct list pending;
    bool is_lost;              /* Redis may not have a line */
    void (*on_end)(void *arg); /* called when no line is pending any more; NULL: not called */
    void *arg;
};

static inline void app_notes_init(struct app_notes *notes, struct app *app)
{
    *notes = (struct app_notes){.app = app};
    list_init(&notes->pending);
}

/* Forgets the lines that are pending; they are written all the same. */
static inline void app_notes_fini(struct app_notes *notes)
{
    for (struct list *link; (link = list_take(&notes->pending));)
        LIST_ENTRY(link, struct app_note, link)->notes = NULL;
}

static inline bool app_notes_are_pending(const struct app_notes *notes)
{
    return !list_is_empty(&notes->pending);
}

/* ---- changes by the operator ---- */

struct token_table;

/* Records which tokens were removed, added and changed when the file of tokens was read again. NULL: the
 * server had or has no tokens. Nothing waits for the line. */
void app_audit_tokens(struct app *, const struct token_table *before, const struct token_table *after);

/* ---- the list ---- */

typedef void app_line_fn(void *arg, const struct trail_entry *);

/* Reads a cursor from a page. Returns false if the text is not a cursor. */
bool app_audit_cursor_parse(struct slice text, struct trail_query *);

/* Calls each() for the lines of a page, the latest first, and then fn. Ends with NO_HISTORY without a
 * history. */
void app_audit(struct app *, const struct trail_query *, app_line_fn *each, app_verdict_fn *fn, void *arg);

#endif
