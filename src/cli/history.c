/* history.c - the command history: exports, counts and removes jobs that have ended. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "job/text/json.h"

/* ---- export ---- */

enum { PAGE_BYTES_MAX = 80 * 1024 * 1024, LINE_BYTES_MAX = 160 * 1024 * 1024 };

/* ---- lines ---- */

/* Writes NDJSON: the text of the object, so that numbers and the body are unchanged byte for byte. A line
 * break between the tokens of a body becomes a blank. */
static bool export_write_ndjson(struct buffer *line, struct slice job)
{
    size_t start = line->size;
    buffer_append(line, job);
    for (size_t i = start; !line->failed && i < line->size; i++)
        if (line->data[i] == '\n' || line->data[i] == '\r')
            line->data[i] = ' '; /* strings have no line breaks, so this is white space */
    buffer_append_byte(line, '\n');
    return !line->failed;
}

/* The columns of CSV. The column endedAt has deliveredAt, cancelledAt or deadAt. Each member of the job's
 * last attempt has a column of its own. */
static const struct column {
    const char *name, *members[3];
    bool is_of_attempt;
} columns[] = {
    {"topic", {"topic"}, false},
    {"jobId", {"jobId"}, false},
    {"state", {"state"}, false},
    {"createdAt", {"createdAt"}, false},
    {"endedAt", {"deliveredAt", "cancelledAt", "deadAt"}, false},
    {"reason", {"reason"}, false},
    {"attempts", {"attempts"}, false},
    {"lastAttemptAt", {"at"}, true},
    {"durationMs", {"durationMs"}, true},
    {"status", {"status"}, true},
    {"error", {"error"}, true},
    {"method", {"method"}, false},
    {"url", {"url"}, false},
    {"labels", {"labels"}, false},
    {"body", {"body"}, false},
    {"bodyBase64", {"bodyBase64"}, false},
    {"key", {"key"}, false},
    {"priority", {"priority"}, false},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Returns whether a spreadsheet would evaluate a cell that begins like this (OWASP, CSV Injection; the last
 * four are the full-width forms), or whether the text already begins with an apostrophe. */
static bool needs_apostrophe(struct slice text)
{
    static const char *const beginnings[] = {
        "=", "+", "-", "@", "\t", "\r", "\n", "'", "\uff1d", "\uff0b", "\uff0d", "\uff20",
    };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (slice_starts_with(text, slice_of(beginnings[i])))
            return true;
    return false;
}

static void add_field(struct buffer *line, const char *before, struct slice text)
{
    bool needs_quotes = false;
    for (size_t i = 0; i < text.size && !needs_quotes; i++)
        needs_quotes = memchr(",\"\r\n", text.data[i], 4) != NULL;
    buffer_append(line, slice_of(needs_quotes ? "\"" : ""));
    buffer_append(line, slice_of(before));
    for (size_t i = 0; needs_quotes && i < text.size; i++) {
        if (text.data[i] == '"')
            buffer_append_byte(line, '"');
        buffer_append_byte(line, text.data[i]);
    }
    buffer_append(line, needs_quotes ? SLICE("\"") : text);
}

/* Adds a text, or the JSON of another value. A text that begins like a formula gets an apostrophe in front. A
 * reader of the file restores the text by removing one apostrophe at its beginning. Other values cannot be
 * formulas, not even a negative number. */
static bool add_value(struct buffer *line, struct slice value)
{
    struct buffer scratch;
    if (!json_is_text(value)) {
        add_field(line, "", value);
        return true;
    }
    buffer_init_fallible(&scratch, value.size + 1);
    struct slice text = json_text(value, &scratch);
    add_field(line, needs_apostrophe(text) ? "'" : "", text);
    bool is_done = !scratch.failed;
    buffer_fini(&scratch);
    return is_done;
}

/* Writes CSV (RFC 4180). An array or an object is written as its JSON text. */
static bool export_write_csv(struct buffer *line, struct slice job)
{
    struct slice last_attempt = call_member(job, "lastAttempt");
    bool is_done = true;
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct column *column = &columns[i];
        struct slice value = {NULL, 0};
        for (size_t n = 0; n < 3 && column->members[n] && value.size == 0; n++)
            value = call_member(column->is_of_attempt ? last_attempt : job, column->members[n]);
        if (i)
            buffer_append_byte(line, ',');
        is_done = add_value(line, value) && is_done;
    }
    buffer_append(line, SLICE("\r\n"));
    return is_done && !line->failed;
}

/* ---- pages ---- */

struct export
{
    struct call *call;
    bool (*write)(struct buffer * line, struct slice job); /* returns false without memory */
    struct buffer target, page, line;
    struct progress progress;
    bool is_terminal; /* stdout is a terminal, which text of jobs must not control */
    long long done;
    char cursor[1100]; /* cursor of the next page; empty at the end */
};

static bool fail_output(struct export *export)
{
    problem_set(&export->call->problem, "standard output cannot be written: %s", strerror(errno));
    return false;
}

/* Writes a job. A terminal shows the line; a file or pipe gets each byte as it is in the job. */
static bool write_job(struct export *export, struct slice job)
{
    struct buffer *line = &export->line, shown;
    buffer_clear(line);
    if (!export->write(line, job)) {
        problem_set(&export->call->problem, "there is no memory for a job of %zu bytes", job.size);
        return false;
    }
    if (!export->is_terminal)
        return fwrite(line->data, 1, line->size, stdout) == line->size || fail_output(export);
    while (strchr("\r\n", line->data[line->size - 1]))
        line->size--;
    if (export->write == export_write_ndjson) {
        table_print_json(buffer_text(line));
        return true;
    }
    buffer_init(&shown, LINE_BYTES_MAX);
    table_append_shown(&shown, buffer_slice(line));
    puts(buffer_text(&shown));
    buffer_fini(&shown);
    return true;
}

/* Writes the jobs of the page, at most as many as --limit still allows. */
static bool write_jobs(struct export *export, struct slice jobs)
{
    struct json_cursor cursor;
    struct slice job;
    if (!json_open(jobs, &cursor)) {
        problem_set(&export->call->problem, "the answer has no jobs; is the server a duepost?");
        return false;
    }
    while (export->call->left > 0 && json_next_item(&cursor, &job)) {
        if (!write_job(export, job))
            return false;
        export->done++;
        call_took(export->call, 1);
        progress_show(&export->progress, export->done);
    }
    return true;
}

static bool export_page(struct export *export)
{
    struct call *call = export->call;
    buffer_clear(&export->page);
    call_make_target(call, &export->target, "/jobs", export->cursor[0] ? export->cursor : NULL);
    if (call->left >= CALL_PAGE_MAX && call->arguments.values[ARGUMENT_LIMIT] == NULL)
        buffer_printf(&export->target, "&limit=%d", CALL_PAGE_MAX);
    if (remote_ask(call->remote, "GET", buffer_text(&export->target), NULL, &export->page, &call->problem) !=
        STATUS_OK)
        return false;
    struct slice page = buffer_slice(&export->page);
    struct slice cursor =
        call_member(page, "cursor"); /* maximum size of a cursor with its quotes; a cursor needs no escapes */
    snprintf(export->cursor, sizeof export->cursor, "%.*s", cursor.size > 2 ? (int)cursor.size - 2 : 0,
             cursor.size > 2 ? cursor.data + 1 : "");
    return write_jobs(export, call_member(page, "jobs"));
}

/* Counts the jobs for the progress bar. Ignores an error, because the request for the first page reports it.
 */
static void count_jobs(struct export *export)
{
    struct call *call = export->call;
    struct problem ignored;
    if (!export->progress.is_shown)
        return;
    call_make_target(call, &export->target, "/jobs/count", NULL);
    json_t *count = remote_ask_json(call->remote, "GET", buffer_text(&export->target), NULL, &ignored);
    long long total = call_number(count, "count");
    export->progress.total = json_is_true(json_object_get(count, "partial")) ? 0
                             : total < call->left                            ? total
                                                                             : call->left;
    json_decref(count);
}

/* Writes all jobs that match the filter of the call, with a progress bar on standard error. */
static bool export_jobs(struct call *call)
{
    struct export export = {.call = call, .is_terminal = isatty(STDOUT_FILENO)};
    const char **state = &call->arguments.values[ARGUMENT_STATE],
               *format = call->arguments.values[ARGUMENT_FORMAT];
    bool is_csv = format && strcmp(format, "csv") == 0;
    if (format && !is_csv && strcmp(format, "ndjson") != 0) {
        problem_set(&call->problem, "--format is %s: expected ndjson or csv", format);
        return false;
    }
    export.write = is_csv ? export_write_csv : export_write_ndjson;
    if (!*state)
        *state = "any";
    call->arguments.values[ARGUMENT_SOURCE] = "history";
    call_use_since(call, ARGUMENT_ENDED_AFTER);
    progress_begin(&export.progress);
    buffer_init(&export.target, CALL_TARGET_MAX);
    buffer_init_fallible(&export.page, PAGE_BYTES_MAX);
    buffer_init_fallible(&export.line, LINE_BYTES_MAX);
    bool is_done = true;
    count_jobs(&export);
    if (is_csv)
        for (size_t i = 0; i < COLUMNS; i++)
            printf("%s%s", columns[i].name, i + 1 < COLUMNS ? "," : "\r\n");
    do
        is_done = export_page(&export);
    while (is_done && export.cursor[0] && export.call->left > 0);
    progress_end(&export.progress);
    if (is_done && fflush(stdout) != 0)
        is_done = fail_output(&export);
    buffer_fini(&export.target);
    buffer_fini(&export.page);
    buffer_fini(&export.line);
    return is_done;
}

/* ---- delete ---- */

/* Repeats the request until no more jobs match. If a request fails, the jobs that were counted until then are
 * removed, and the user can repeat the command. */
static bool delete_jobs(struct call *call)
{
    struct buffer target;
    long long deleted = 0;
    bool has_more = true, is_done = true;
    if (!call->arguments.values[ARGUMENT_TOPIC] && !call->arguments.values[ARGUMENT_BEFORE]) {
        problem_set(&call->problem, "expected --topic TOPIC or --before TIME, or both");
        return false;
    }
    buffer_init(&target, CALL_TARGET_MAX);
    call_make_target(call, &target, "/history", NULL);
    while (has_more) {
        json_t *answer = remote_ask_json(call->remote, "DELETE", buffer_text(&target), NULL, &call->problem);
        deleted += call_number(answer, "deleted");
        has_more = json_is_true(json_object_get(answer, "hasMore"));
        is_done = answer;
        json_decref(answer);
    }
    buffer_fini(&target);
    if (is_done || deleted > 0)
        printf(call->arguments.is_json ? "{\"deleted\": %lld}\n" : "%lld jobs removed from the history\n",
               deleted);
    return is_done;
}

/* ---- stats ---- */

static bool show_stats(struct call *call)
{
    struct buffer target;
    call_use_since(call, ARGUMENT_FROM);
    buffer_init(&target, CALL_TARGET_MAX);
    call_make_target(call, &target, "/stats", NULL);
    json_t *answer = remote_ask_json(call->remote, "GET", buffer_text(&target), NULL, &call->problem);
    if (answer && call->arguments.is_json) {
        call_print_answer(call);
    } else if (answer) {
        static const char *const titles[] = {"AT", "DELIVERED", "CANCELLED", "DEAD"};
        struct table table;
        size_t i;
        json_t *step;
        table_init(&table, 4, titles);
        json_array_foreach(json_object_get(answer, "steps"), i, step)
        {
            table_add(&table, call_text(step, "at"));
            table_add_number(&table, call_number(step, "delivered"));
            table_add_number(&table, call_number(step, "cancelled"));
            table_add_number(&table, call_number(step, "dead"));
        }
        table_print(&table);
        table_fini(&table);
    }
    json_decref(answer);
    buffer_fini(&target);
    return answer;
}

/* ---- the verbs ---- */

bool history_run(struct call *call)
{
    static const struct {
        const char *verb;
        bool (*run)(struct call *);
    } verbs[] = {{"export", export_jobs}, {"stats", show_stats}, {"delete", delete_jobs}};
    const char *word = call->arguments.word;
    for (size_t i = 0; word && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(word, verbs[i].verb) == 0)
            return verbs[i].run(call);
    problem_set(&call->problem, "%s%sexpected export, stats or delete", word ? word : "", word ? ": " : "");
    return false;
}
