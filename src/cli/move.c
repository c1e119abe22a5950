/* move.c - the commands that walk through all data of a server: export and import, as a file or through a
 * pipe, and rekey. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "job/text/json.h"

enum {
    PAGE_BYTES_MAX = 256 * 1024 * 1024,
    SENT_BYTES = 4 * 1024 * 1024, /* lines of one request of an import; one more line may follow */
    SENT_LINES = 2000,
    CURSOR_MAX = 4096,
    EXIT_PARTLY = 3, /* all was done, but the copy is not whole */
    TRIES_MAX = 8,
    WAIT_MAX_S = 10,
};

/* ---- requests, which may be repeated: neither an export nor an import does harm twice ---- */

/* Repeats a request that the server cannot answer now. has_begun: it has answered before, so it may also be
 * away for a moment. */
static bool ask_again(struct call *call, bool has_begun, const char *method, const char *target,
                      const char *body, struct buffer *answer)
{
    for (unsigned tries = 1, wait_s = 1;; tries++) {
        buffer_clear(answer);
        if (remote_ask(call->remote, method, target, body, answer, &call->problem) == STATUS_OK)
            return true;
        long status = remote_status(call->remote);
        bool may_pass = status == 503 || status == 429 || (status == 0 && has_begun);
        if (!may_pass || tries == TRIES_MAX)
            return false;
        long asked_s = remote_retry_after_s(call->remote);
        wait_s = asked_s > 0 ? (unsigned)(asked_s < WAIT_MAX_S ? asked_s : WAIT_MAX_S) : wait_s;
        sleep(wait_s);
    }
}

static bool is_kind(struct slice line, const char *kind)
{
    struct slice value = call_member(line, "kind");
    return value.size == strlen(kind) + 2 && memcmp(value.data + 1, kind, value.size - 2) == 0;
}

static long long number_of(struct slice object, const char *name)
{
    struct slice value = call_member(object, name);
    char digits[32];
    snprintf(digits, sizeof digits, "%.*s", SLICE_ARG(value));
    return strtoll(digits, NULL, 10);
}

/* Returns the number of lines that the last line of an export names. */
static long long lines_in(struct slice end)
{
    struct json_cursor cursor;
    struct slice key, value;
    long long sum = 0;
    if (json_open(call_member(end, "lines"), &cursor))
        while (json_next_member(&cursor, &key, &value))
            sum += strtoll(value.data, NULL, 10);
    return sum;
}

static bool fail_file(struct call *call, const char *what, const char *path)
{
    problem_set(&call->problem, "%s: %s: %s", path, what, strerror(errno));
    return false;
}

/* A file is read line by line. A line without a line break was cut off. */
struct lines {
    FILE *file;
    char *text;
    size_t room;
    struct slice line; /* with its line break */
};

static bool next_line(struct lines *lines)
{
    ssize_t size = getline(&lines->text, &lines->room, lines->file);
    lines->line = slice_from(lines->text, size > 0 ? (size_t)size : 0);
    return size > 0 && lines->text[size - 1] == '\n';
}

/* ---- export ---- */

struct export
{
    struct call *call;
    const char *path; /* "standard output" without --to */
    FILE *file;
    struct buffer target, page;
    struct progress progress;
    long long done, outbox;
    char cursor[CURSOR_MAX]; /* cursor of the next page; empty: the first one */
    bool is_over, is_consistent;
};

static void take_cursor(struct export *export, struct slice line)
{
    struct slice cursor = call_member(line, "cursor"); /* with its quotes; it needs no escapes */
    snprintf(export->cursor, sizeof export->cursor, "%.*s", cursor.size > 2 ? (int)cursor.size - 2 : 0,
             cursor.size > 2 ? cursor.data + 1 : "");
}

/* Takes what a line says about the export. Returns whether it ends a page. */
static bool take_mark(struct export *export, struct slice line)
{
    if (is_kind(line, "header"))
        export->outbox = number_of(line, "outbox");
    if (is_kind(line, "header"))
        export->progress.total = number_of(line, "jobs") + number_of(line, "ended");
    else if (is_kind(line, "next"))
        take_cursor(export, line);
    else if (is_kind(line, "end"))
        export->is_over = true;
    else
        export->done++;
    if (export->is_over)
        export->is_consistent = slice_equal(call_member(line, "isConsistent"), SLICE("true"));
    return export->is_over || is_kind(line, "next");
}

/* Finds where the last whole page of a file ends, and cuts off the rest. */
static bool go_to_end(struct export *export)
{
    struct lines lines = {.file = export->file};
    off_t end = 0;
    long long done = 0;
    while (!export->is_over && next_line(&lines))
        if (take_mark(export, lines.line)) {
            end = ftello(export->file);
            done = export->done;
        }
    free(lines.text);
    export->done = done;
    if (fseeko(export->file, end, SEEK_SET) != 0 || ftruncate(fileno(export->file), end) != 0)
        return fail_file(export->call, "cannot be continued", export->path);
    return true;
}

/* Opens the file of --to. It has secrets, so only its owner can read it. */
static bool open_file(struct export *export)
{
    struct call *call = export->call;
    bool is_resumed = call->arguments.is_resuming;
    if (!call->arguments.values[ARGUMENT_TO_FILE]) {
        export->path = "standard output";
        export->file = stdout;
        if (is_resumed)
            problem_set(&call->problem, "--resume continues a file: expected --to FILE");
        else if (isatty(STDOUT_FILENO))
            problem_set(&call->problem, "an export has all secrets: expected --to FILE, or a pipe");
        return !is_resumed && !isatty(STDOUT_FILENO);
    }
    export->path = call->arguments.values[ARGUMENT_TO_FILE];
    int file = open(export->path, O_RDWR | O_CLOEXEC | O_CREAT | (is_resumed ? 0 : O_EXCL), 0600);
    if (file < 0 && errno == EEXIST) {
        problem_set(&call->problem, "%s exists: --resume continues it, or remove it first", export->path);
        return false;
    }
    export->file = file < 0 ? NULL : fdopen(file, "r+");
    if (!export->file)
        return fail_file(call, "cannot be written", export->path);
    return !is_resumed || go_to_end(export);
}

static bool write_page(struct export *export)
{
    struct slice page = buffer_slice(&export->page), rest = page, line;
    bool is_whole = false;
    while (rest.size) {
        slice_cut(rest, '\n', &line, &rest);
        is_whole = line.size && take_mark(export, line);
    }
    if (!is_whole) {
        problem_set(&export->call->problem,
                    "the answer is not a page of an export; is the server a duepost?");
        return false;
    }
    if (fwrite(page.data, 1, page.size, export->file) != page.size || fflush(export->file) != 0)
        return fail_file(export->call, "cannot be written", export->path);
    progress_show(&export->progress, export->done);
    return true;
}

static bool read_pages(struct export *export)
{
    while (!export->is_over) {
        char before[CURSOR_MAX];
        memcpy(before, export->cursor, sizeof before);
        buffer_clear(&export->target);
        buffer_printf(&export->target, "/export");
        if (export->cursor[0]) {
            buffer_printf(&export->target, "?cursor=");
            call_add_encoded(&export->target, export->cursor);
        }
        if (!ask_again(export->call, export->cursor[0] != '\0', "GET", buffer_text(&export->target), NULL,
                       &export->page) ||
            !write_page(export))
            return false;
        if (!export->is_over && strcmp(before, export->cursor) == 0) {
            problem_set(&export->call->problem, "the server answers with the same page again");
            return false;
        }
    }
    if (export->file != stdout && fsync(fileno(export->file)) != 0)
        return fail_file(export->call, "cannot be written", export->path);
    return true;
}

bool export_run(struct call *call)
{
    struct export export = {.call = call};
    progress_begin(&export.progress);
    buffer_init(&export.target, CALL_TARGET_MAX);
    buffer_init_fallible(&export.page, PAGE_BYTES_MAX);
    bool is_done = open_file(&export);
    export.progress.is_shown = isatty(STDERR_FILENO);
    is_done = is_done && read_pages(&export);
    progress_end(&export.progress);
    if (is_done) {
        table_print_line(stderr, "%lld lines exported%s\n", export.done,
                         export.is_consistent
                             ? ""
                             : ", but attempts were under way or could begin: see duepost export -h");
        if (export.outbox)
            table_print_line(stderr,
                             "%lld ended jobs waited for the history of the server, which is not exported\n",
                             export.outbox);
        call->exit_status = export.is_consistent ? 0 : EXIT_PARTLY;
    }
    if (export.file && export.file != stdout && fclose(export.file) != 0 && is_done)
        is_done = fail_file(call, "cannot be written", export.path);
    buffer_fini(&export.target);
    buffer_fini(&export.page);
    return is_done;
}

/* ---- import ---- */

struct import {
    struct call *call;
    const char *path; /* "standard input" without a file */
    struct lines lines;
    struct buffer sent, answer, state_path;
    struct progress progress;
    /* The work that is done, as the state file says after a cut: lines and bytes of the file, and lines that
       are about things. */
    long long line, bytes, done, imported, same, exists, refused;
    long long sent_line;  /* number of the line before the first one of the request */
    long long sent_count; /* lines of the request that are about things */
    long long expected;   /* lines that the end of the export names; -1: the end has not come */
};

/* ---- the state file: what has been imported, so that --resume continues there ---- */

#define STATE_FORMAT "%lld %lld %lld %lld %lld %lld %lld %lld\n"

static bool keep_state(struct import *import)
{
    char part[PATH_MAX];
    if (!import->state_path.size)
        return true;
    snprintf(part, sizeof part, "%s.part", buffer_text(&import->state_path));
    FILE *file = fopen(part, "we");
    bool is_kept =
        file && fprintf(file, STATE_FORMAT, import->line, import->bytes, import->done, import->imported,
                        import->same, import->exists, import->refused, import->expected) > 0;
    is_kept = file && fclose(file) == 0 && is_kept && rename(part, buffer_text(&import->state_path)) == 0;
    return is_kept || fail_file(import->call, "cannot be written", part);
}

static bool take_state(struct import *import)
{
    FILE *file = fopen(buffer_text(&import->state_path), "re");
    if (!file)
        return errno == ENOENT || fail_file(import->call, "cannot be read", buffer_text(&import->state_path));
    bool is_read = fscanf(file, STATE_FORMAT, &import->line, &import->bytes, &import->done, &import->imported,
                          &import->same, &import->exists, &import->refused, &import->expected) == 8 &&
                   import->bytes >= 0;
    fclose(file);
    if (!is_read)
        problem_set(&import->call->problem, "%s is not a state of duepost import: remove it to begin again",
                    buffer_text(&import->state_path));
    if (is_read && fseeko(import->lines.file, (off_t)import->bytes, SEEK_SET) != 0)
        return fail_file(import->call, "cannot be read", import->path);
    return is_read;
}

static bool open_source(struct import *import)
{
    struct call *call = import->call;
    const char *path = call->arguments.word;
    if (!path || strcmp(path, "-") == 0) {
        import->path = "standard input";
        import->lines.file = stdin;
        if (call->arguments.is_resuming)
            problem_set(&call->problem, "--resume continues a file: expected FILE");
        return !call->arguments.is_resuming;
    }
    import->path = path;
    import->lines.file = fopen(path, "re");
    if (!import->lines.file)
        return fail_file(call, "cannot be read", path);
    buffer_printf(&import->state_path, "%s.imported", path);
    return !call->arguments.is_resuming || take_state(import);
}

/* ---- requests ---- */

static struct slice text_of(struct slice object, const char *name, struct buffer *room)
{
    struct slice value = call_member(object, name);
    return json_is_text(value) ? json_text(value, room) : SLICE("");
}

/* Prints the lines that were not imported, with their numbers in the file. */
static void tell_lines(const struct import *import, struct slice answer)
{
    struct json_cursor cursor;
    struct buffer room;
    struct slice item;
    if (!json_open(call_member(answer, "notImported"), &cursor))
        return;
    buffer_init(&room, answer.size + 1);
    buffer_reserve(&room, answer.size);
    while (json_next_item(&cursor, &item)) {
        struct slice detail = text_of(item, "detail", &room), kind = text_of(item, "kind", &room),
                     name = text_of(item, "name", &room);
        table_print_line(stderr, "line %lld: %.*s %.*s: %.*s\n", import->sent_line + number_of(item, "line"),
                         SLICE_ARG(kind), SLICE_ARG(name), SLICE_ARG(detail));
    }
    buffer_fini(&room);
}

static bool send_page(struct import *import)
{
    struct call *call = import->call;
    const char *target = call->arguments.is_moving ? "/import?moving=true" : "/import";
    if (import->sent.failed) {
        problem_set(&call->problem, "there is no memory for line %lld", import->line);
        return false;
    }
    if (!ask_again(call, import->bytes > 0, "POST", target, buffer_text(&import->sent), &import->answer))
        return false;
    struct slice answer = buffer_slice(&import->answer);
    import->imported += number_of(answer, "imported");
    import->same += number_of(answer, "same");
    import->exists += number_of(answer, "exists");
    import->refused += number_of(answer, "refused");
    import->done += import->sent_count;
    import->bytes += (long long)import->sent.size;
    tell_lines(import, answer);
    progress_show(&import->progress, import->done);
    import->sent_line = import->line;
    import->sent_count = 0;
    buffer_clear(&import->sent);
    return keep_state(import);
}

static bool send_all(struct import *import)
{
    size_t lines = 0;
    import->sent_line = import->line;
    while (import->expected < 0 && next_line(&import->lines)) {
        struct slice line = import->lines.line;
        bool is_header = is_kind(line, "header"), is_next = is_kind(line, "next"),
             is_end = is_kind(line, "end");
        if (is_header)
            import->progress.total = number_of(line, "jobs") + number_of(line, "ended");
        if (is_end)
            import->expected = lines_in(line);
        import->sent_count += !is_header && !is_next && !is_end;
        import->line++;
        buffer_append(&import->sent, line);
        lines++;
        bool is_full = lines >= SENT_LINES || import->sent.size >= SENT_BYTES;
        if (is_full || is_next || is_end) {
            lines = 0;
            if (!send_page(import))
                return false;
        }
    }
    if (import->expected >= 0)
        return true;
    if (import->sent.size && !send_page(import))
        return false;
    if (ferror(import->lines.file))
        return fail_file(import->call, "cannot be read", import->path);
    problem_set(&import->call->problem,
                "%s has no end, so the export is not complete: %lld lines are imported; continue both with "
                "--resume",
                import->path, import->done);
    return false;
}

static bool end_import(struct import *import)
{
    long long missing = import->exists + import->refused;
    if (import->done != import->expected || import->done != import->imported + import->same + missing) {
        problem_set(&import->call->problem,
                    "%s has %lld lines, and the export had %lld: the file was changed or its parts are mixed",
                    import->path, import->done, import->expected);
        return false;
    }
    table_print_line(stderr, "%lld lines imported, %lld were there already, %lld not imported\n",
                     import->imported, import->same, missing);
    if (import->state_path.size)
        unlink(buffer_text(&import->state_path));
    import->call->exit_status = missing ? EXIT_PARTLY : 0;
    return true;
}

bool import_run(struct call *call)
{
    struct import import = {.call = call, .expected = -1};
    buffer_init(&import.state_path, PATH_MAX - sizeof ".part");
    buffer_init_fallible(&import.sent, PAGE_BYTES_MAX);
    buffer_init_fallible(&import.answer, PAGE_BYTES_MAX);
    progress_begin(&import.progress);
    import.progress.is_shown = isatty(STDERR_FILENO);
    bool is_done = open_source(&import) && send_all(&import);
    progress_end(&import.progress);
    is_done = is_done && end_import(&import);
    if (import.lines.file && import.lines.file != stdin)
        fclose(import.lines.file);
    free(import.lines.text);
    buffer_fini(&import.state_path);
    buffer_fini(&import.sent);
    buffer_fini(&import.answer);
    return is_done;
}

/* ---- rekey ---- */

bool rekey_run(struct call *call)
{
    struct progress progress = {.what = "texts"};
    struct buffer target, answer;
    char cursor[CURSOR_MAX] = "";
    long long examined = 0, encrypted = 0, left = 0;
    bool is_done;
    progress_begin(&progress);
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_init_fallible(&answer, PAGE_BYTES_MAX);
    do {
        buffer_clear(&target);
        buffer_printf(&target, "/rekey");
        if (cursor[0]) {
            buffer_printf(&target, "?cursor=");
            call_add_encoded(&target, cursor);
        }
        is_done = ask_again(call, cursor[0] != '\0', "POST", buffer_text(&target), NULL, &answer);
        if (!is_done)
            break;
        struct slice page = buffer_slice(&answer), next = call_member(page, "cursor");
        examined += number_of(page, "examined");
        encrypted += number_of(page, "encrypted");
        left += number_of(page, "left");
        snprintf(cursor, sizeof cursor, "%.*s", next.size > 2 ? (int)next.size - 2 : 0,
                 next.size > 2 ? next.data + 1 : "");
        progress_show(&progress, examined);
    } while (cursor[0]);
    progress_end(&progress);
    if (is_done) {
        table_print_line(stdout, "%lld texts read, %lld encrypted with the first key of the server\n",
                         examined, encrypted);
        if (left)
            table_print_line(stderr,
                             "%lld texts were left: the server lacks their key, or cannot read them\n", left);
        call->exit_status = left ? EXIT_PARTLY : 0;
    }
    buffer_fini(&target);
    buffer_fini(&answer);
    return is_done;
}
