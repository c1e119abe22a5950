/* walk.h - reads a list of messages, or of durable runs, page by page. Between two pages, a walk is at a
 * cursor, which a client gets to continue later. */
#ifndef DUEPOST_QSTASH_WALK_H
#define DUEPOST_QSTASH_WALK_H

#include "app/lists.h"
#include "app/workflows.h"

enum { WALK_CURSOR_MAX = 2048 /* bytes */ };

/* The caller fills the members up to arg. */
struct walk {
    struct app *app;
    bool is_of_runs;
    struct app_list messages; /* what is listed, unless is_of_runs; without max and from */
    struct workflow_list runs;
    /* Called for each message or run of a page, and then once. A page without an error moves the cursor. */
    app_job_fn *on_message;
    app_workflow_each_fn *on_run;
    app_verdict_fn *on_page;
    void *arg;
    /* Where the next page begins. Empty: at the beginning; after a page: the list has ended. */
    char cursor[WALK_CURSOR_MAX + 1];
};

/* Moves the walk to a cursor; an empty one is the beginning. Returns false if the text is not a cursor of
 * this list. */
bool walk_move(struct walk *, struct slice cursor);

/* Reads the next page, of at most max messages or runs. */
void walk_read(struct walk *, size_t max);

#endif
