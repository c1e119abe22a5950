#include "app/ended.h"

#include <string.h>

#include "app/use_case.h"
#include "base/memory.h"

struct ended {
    app_verdict_fn *fn;
    void *arg;
};

/* Returns the last line of lines that each end with a newline. */
static struct slice last_line(struct slice lines)
{
    if (lines.size < 2)
        return lines;
    const char *newline = memrchr(lines.data, '\n', lines.size - 1);
    return newline ? slice_skip(lines, (size_t)(newline + 1 - lines.data)) : lines;
}

struct stored_job ended_job(const struct history_row *row)
{
    return (struct stored_job){
        .id = row->id,
        .state = row->state,
        .at_ms = row->ended_ms,
        .record = row->record,
        .last_lines = last_line(row->lines),
        .lines = row->lines,
        .is_of_history = true,
        .is_body_left_out = row->is_body_left_out,
    };
}

enum status ended_status(enum status status)
{
    return status == STATUS_OK || status == STATUS_NO_MEMORY ? status : STATUS_HISTORY_UNAVAILABLE;
}

static void on_found(void *arg, enum status status, const struct history_row *row, const char *why)
{
    struct ended *ended = arg;
    struct app_verdict verdict = {.end = ended_status(status), .why = slice_of(why)};
    if (status == STATUS_OK && row) {
        verdict.job = ended_job(row);
        verdict.lines = row->lines;
    } else if (status == STATUS_OK) {
        verdict.end = STATUS_NOT_FOUND;
    }
    ended->fn(ended->arg, &verdict);
    free(ended);
}

void ended_find(struct app *app, struct slice id, app_verdict_fn *fn, void *arg)
{
    if (!app->history) {
        use_case_refuse(STATUS_NOT_FOUND, fn, arg);
        return;
    }
    struct ended *ended = NEW(struct ended);
    *ended = (struct ended){fn, arg};
    history_find(app->history, id, on_found, ended);
}
