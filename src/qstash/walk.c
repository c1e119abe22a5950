#include "qstash/walk.h"

/* Sets the position of the list. Returns false if the text is not a cursor of the list. */
static bool set_position(struct walk *walk)
{
    struct slice text = slice_of(walk->cursor);
    struct app_cursor *from = &walk->messages.from;
    *from = (struct app_cursor){.is_set = false};
    walk->runs.from = (struct workflow_cursor){.shard = 0};
    if (text.size == 0)
        return true;
    if (walk->is_of_runs)
        return app_workflow_cursor_parse(walk->app, text, &walk->runs.from);
    return app_cursor_parse(walk->app, text, from) && from->is_of_history == walk->messages.is_of_history;
}

static void set_cursor(struct walk *walk, struct slice text)
{
    size_t size = text.size <= WALK_CURSOR_MAX ? text.size : 0;
    if (size)
        memmove(walk->cursor, text.data, size);
    walk->cursor[size] = '\0';
}

bool walk_move(struct walk *walk, struct slice cursor)
{
    set_cursor(walk, cursor);
    return cursor.size <= WALK_CURSOR_MAX && set_position(walk);
}

static void walk_on_page(void *arg, const struct app_verdict *verdict)
{
    struct walk *walk = arg;
    set_cursor(walk, verdict->page.cursor);
    walk->on_page(walk->arg, verdict);
}

static void walk_on_message(void *arg, const struct stored_job *job)
{
    struct walk *walk = arg;
    walk->on_message(walk->arg, job);
}

static void walk_on_run(void *arg, const struct workflow *workflow)
{
    struct walk *walk = arg;
    walk->on_run(walk->arg, workflow);
}

void walk_read(struct walk *walk, size_t max)
{
    set_position(walk); /* succeeds, because the cursor came with a page, or walk_move has checked it */
    walk->messages.max = walk->runs.max = max;
    if (walk->is_of_runs)
        app_workflow_list(walk->app, &walk->runs, walk_on_run, walk_on_page, walk);
    else
        app_list(walk->app, &walk->messages, walk_on_message, walk_on_page, walk);
}
