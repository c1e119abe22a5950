/* import.c - POST /import: writes the lines of an export (export.c).
 *
 * The lines are parsed and sent in their order, some at a time: a turn of the event loop takes a limited
 * number of bytes, and a limited number of lines is under way. Lines that fail do not affect the others. */
#include <assert.h>

#include "api/api_private.h"
#include "app/move.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "http/query.h"
#include "job/text/json.h"

enum {
    SENT_LINES_MAX = 256,        /* lines under way */
    SENT_BYTES_MAX = 512 * 1024, /* bytes of these lines, beyond which no further line is sent */
    TURN_BYTES = 256 * 1024,     /* bytes of the lines that one turn parses */
    TOLD_MAX = 100,              /* lines that the answer explains */
    LINE_DEPTH_MAX = 4,
    LINE_MEMBERS_MAX = 40000, /* the steps of a workflow, with room to spare */
    NAME_BYTES_MAX = 512,     /* texts in the answer are cut at these sizes */
    DETAIL_BYTES_MAX = 256,
};

struct import_page {
    struct exchange *exchange;
    struct timer *timer; /* runs when more lines can be parsed */
    struct slice rest;   /* lines that are not sent yet */
    size_t line;         /* number of the last line that was taken, from 1 */
    size_t pending, pending_bytes;
    bool takes_moving, is_sending,
        is_alone;       /* is_alone: the line under way must end before the next begins */
    enum status failed; /* an end with which the page must be sent again; OK: none */
    struct buffer why;  /* reason of this end */
    struct app_imports imports;
    struct buffer told; /* results of lines that were not imported, as items of an array */
    struct json_writer json;
    size_t told_count;
    char text[QUERY_BYTES_MAX + 1];
};

struct import_line {
    struct import_page *page;
    size_t number, bytes;
    struct data_row row;
    struct slice *members;
    struct buffer texts; /* decoded values */
};

static void send_lines(struct import_page *page);

static void import_free(void *arg)
{
    struct import_page *page = arg;
    assert(page->pending == 0);
    timer_free(page->timer);
    buffer_fini(&page->told);
    buffer_fini(&page->why);
    free(page);
}

static void line_free(struct import_line *line)
{
    buffer_fini(&line->texts);
    free(line->members);
    free(line);
}

static struct slice cut_text(struct slice text, size_t max)
{
    return slice_from(text.data, text.size < max ? text.size : max);
}

/* Reports that a line was not imported, with its number, kind and name as far as they are known. */
static void report_line(struct import_page *page, size_t number, const struct data_row *row,
                        const char *result, struct slice detail)
{
    struct json_writer *json = &page->json;
    if (page->told_count++ >= TOLD_MAX)
        return;
    json_put_object(json);
    json_add_number(json, "line", (int64_t)number);
    json_add_nonempty(json, "kind", cut_text(row->kind, NAME_BYTES_MAX));
    json_add_nonempty(json, "name", cut_text(row->name, NAME_BYTES_MAX));
    json_add_text(json, "result", slice_of(result));
    json_add_text(json, "detail", cut_text(detail, DETAIL_BYTES_MAX));
    json_end_object(json);
}

static void refuse_line(struct import_page *page, const struct data_row *row, const char *why)
{
    page->imports.refused++;
    report_line(page, page->line, row, "refused", slice_of(why));
}

static void answer_import(struct import_page *page)
{
    struct exchange *exchange = page->exchange;
    const struct app_imports *imports = &page->imports;
    bool is_whole = page->failed == STATUS_OK;
    app_import_audit(&exchange->caller, imports, is_whole);
    if (!is_whole) {
        struct app_verdict verdict = {.end = page->failed, .why = buffer_slice(&page->why)};
        problem_answer_verdict(
            exchange, &verdict,
            &(struct problem_words){"page",
                                    "Send the page again: lines that were imported stay as they are."});
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_number(&json, "imported", imports->imported);
    json_add_number(&json, "same", imports->same);
    json_add_number(&json, "exists", imports->exists);
    json_add_number(&json, "refused", imports->refused);
    json_add_array(&json, "notImported");
    if (page->told.size)
        json_put_raw(&json, buffer_slice(&page->told));
    json_end_array(&json);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static struct slice first_error(const struct job_errors *errors)
{
    struct job_error error = {"", ""};
    size_t at = 0;
    job_errors_take(errors, &at, &error);
    return slice_of(error.detail);
}

static void note_result(struct import_line *line, const struct app_verdict *verdict)
{
    struct import_page *page = line->page;
    switch (verdict->end) {
    case STATUS_OK:
        page->imports.imported++;
        break;
    case STATUS_SAME:
        page->imports.same++;
        break;
    case STATUS_EXISTS:
        page->imports.exists++;
        report_line(page, line->number, &line->row, "exists", SLICE("something else has this name here"));
        break;
    case STATUS_INVALID:
        page->imports.refused++;
        report_line(page, line->number, &line->row, "refused", first_error(verdict->errors));
        break;
    default:
        if (page->failed == STATUS_OK)
            buffer_append(&page->why, verdict->why);
        page->failed = page->failed == STATUS_OK ? verdict->end : page->failed;
    }
}

/* Limits, and patterns, which are written in several steps, must be there before the lines that need them. */
static bool must_be_alone(const struct data_row *row)
{
    return app_row_kind(row->kind) <= APP_ROW_PATTERN;
}

static void on_imported(void *arg, const struct app_verdict *verdict)
{
    struct import_line *line = arg;
    struct import_page *page = line->page;
    note_result(line, verdict);
    page->pending--;
    page->pending_bytes -= line->bytes;
    page->is_alone = page->is_alone && !must_be_alone(&line->row);
    line_free(line);
    send_lines(page);
}

/* ---- a line ---- */

/* Decodes a value into the line's texts. Returns false if it is not a text, true, or an object with base64.
 */
static bool read_value(struct import_line *line, struct slice value, struct slice *text)
{
    struct json_cursor cursor;
    struct slice key, inner;
    if (json_is_text(value)) {
        *text = json_text(value, &line->texts);
        return !line->texts.failed;
    }
    *text = SLICE("1");
    if (slice_equal(value, SLICE("true")))
        return true;
    if (!json_open(value, &cursor) || cursor.close != '}' || !json_next_member(&cursor, &key, &inner) ||
        !slice_equal(key, SLICE("\"base64\"")) || !json_is_text(inner) || json_has_escapes(inner))
        return false;
    size_t start = line->texts.size;
    if (!base64_decode(slice_from(inner.data + 1, inner.size - 2), &line->texts) || line->texts.failed)
        return false;
    *text = slice_from(line->texts.data + start, line->texts.size - start);
    return true;
}

static struct slice kind_of(struct import_line *line, struct slice text)
{
    struct json_cursor cursor;
    struct slice key, value, kind;
    json_open(text, &cursor);
    while (json_next_member(&cursor, &key, &value))
        if (slice_equal(key, SLICE("\"kind\"")) && read_value(line, value, &kind))
            return kind;
    return SLICE("");
}

/* Returns whether the line is about the page: a header, next or end. */
static bool is_about_page(const struct data_row *row)
{
    return slice_equal(row->kind, SLICE("header")) || slice_equal(row->kind, SLICE("next")) ||
           slice_equal(row->kind, SLICE("end"));
}

/* Reads the members of a line. Returns what is wrong with it, or NULL. */
static const char *read_line(struct import_line *line, struct slice text)
{
    static const struct json_limits limits = {.depth = LINE_DEPTH_MAX, .members = LINE_MEMBERS_MAX};
    struct json_fault fault;
    struct json_cursor cursor;
    struct slice key, value;
    if (json_check(text, &limits, &fault) != STATUS_OK)
        return fault.detail;
    if (!json_open(text, &cursor) || cursor.close != '}')
        return "is not an object";
    line->members = NEW_ARRAY(struct slice, 2 * json_count_members(text) + 1);
    /* Decoded texts are never longer, and the kind is decoded twice at most, so none of them moves. */
    buffer_init_fallible(&line->texts, 2 * text.size + 1);
    buffer_reserve(&line->texts, 2 * text.size);
    if (line->texts.failed)
        return "has no room in memory";
    line->row.members = line->members;
    line->row.kind = kind_of(line, text);
    while (!is_about_page(&line->row) && json_next_member(&cursor, &key, &value)) {
        struct slice name = json_text(key, &line->texts), its_text;
        if (!read_value(line, value, &its_text))
            return "has a member that is not a text";
        if (slice_equal(name, SLICE("name"))) {
            line->row.name = its_text;
        } else if (!slice_equal(name, SLICE("kind")) && !slice_equal(name, SLICE("moving"))) {
            line->members[2 * line->row.count] = name;
            line->members[2 * line->row.count + 1] = its_text;
            line->row.count++;
        }
    }
    return line->row.kind.size ? NULL : "has no kind";
}

/* Returns the next line without its line break. It may be empty. */
static struct slice take_line(struct import_page *page)
{
    struct slice line;
    slice_cut(page->rest, '\n', &line, &page->rest);
    page->line++;
    line = slice_trim(line);
    if (line.size && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

static void send_line(struct import_page *page, struct slice text)
{
    struct import_line *line = NEW(struct import_line);
    line->page = page;
    line->number = page->line;
    line->bytes = text.size;
    const char *fault = read_line(line, text);
    if (fault || is_about_page(&line->row)) {
        if (fault)
            refuse_line(page, &line->row, fault);
        line_free(line);
        return;
    }
    page->pending++;
    page->pending_bytes += line->bytes;
    page->is_alone = must_be_alone(&line->row);
    app_import(app_of(page->exchange), &line->row, page->takes_moving, on_imported, line);
}

static bool may_send(const struct import_page *page)
{
    return page->rest.size && page->failed == STATUS_OK && !page->is_alone &&
           page->pending < SENT_LINES_MAX && page->pending_bytes < SENT_BYTES_MAX;
}

/* Sends lines while there is room for more under way. Answers after the last one. */
static void send_lines(struct import_page *page)
{
    if (page->is_sending)
        return; /* a use case has called back at once */
    size_t before = page->rest.size;
    page->is_sending = true;
    while (may_send(page) && before - page->rest.size < TURN_BYTES) {
        struct slice line = take_line(page);
        if (line.size)
            send_line(page, line);
    }
    page->is_sending = false;
    if (may_send(page))
        timer_start(page->timer, 0);
    else if (page->pending == 0)
        answer_import(page);
}

static void on_turn(void *arg)
{
    send_lines(arg);
}

/* ---- the request ---- */

/* Returns false after answering 400 because of a header that this version does not know. */
static bool is_header_known(struct exchange *exchange, struct slice body)
{
    struct slice line, rest, key, value, kind = SLICE(""), format = SLICE("");
    struct json_cursor cursor;
    struct job_errors errors;
    slice_cut(body, '\n', &line, &rest);
    if (!json_open(line, &cursor))
        return true; /* the line is refused when it is read */
    while (json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"kind\"")))
            kind = value;
        if (slice_equal(key, SLICE("\"format\"")))
            format = value;
    }
    if (!slice_equal(kind, SLICE("\"header\"")) || slice_equal(format, SLICE("1")))
        return true;
    job_errors_clear(&errors);
    job_errors_add(&errors, "format",
                   "must be 1: a later version has written this export; import it with that version");
    exchange_refuse_errors(exchange, "request", &errors);
    return false;
}

bool import_is_large(const struct exchange *exchange)
{
    (void)exchange;
    return true;
}

HANDLER(import_handle)
{
    static const struct query_parameter parameters[] = {
        {"moving", QUERY_FLAG(struct import_page, takes_moving)}};
    struct import_page *page = NEW(struct import_page);
    struct query_reading reading = {
        .exchange = exchange, .parameters = parameters, .count = 1, .known = 1, .repeatable = 0};
    struct buffer text = buffer_of(page->text, sizeof page->text);
    exchange_keep(exchange, page, import_free);
    page->exchange = exchange;
    page->timer = timer_new(api_of(exchange)->loop, on_turn, page);
    buffer_init(&page->why, sizeof(struct problem));
    buffer_init(&page->told, (size_t)TOLD_MAX * 8 * 1024);
    page->json = json_writer_to(&page->told);
    query_read(&reading, page, &text);
    if (!query_end(&reading) || !is_header_known(exchange, http_request_body(exchange->request)))
        return;
    page->rest = http_request_body(exchange->request);
    send_lines(page);
}
