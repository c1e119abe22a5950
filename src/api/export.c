/* export.c - GET /export: all data as NDJSON, page by page, for a move to another Redis (import.c).
 *
 * A line is an object. Its members are texts as Redis has them; a text that is not UTF-8 is an object with
 * the member base64. The first line of the first page is a header. The last line of each page has the cursor
 * of the next one ("next"), or the counts of all pages ("end"). */
#include "api/api_private.h"
#include "app/move.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "http/query.h"

#define LINES SLICE("application/x-ndjson")

enum { PAGE_BYTES_MAX = 256 * 1024 * 1024, PAGE_LINES = APP_PAGE_MAX };

struct export_page {
    struct exchange *exchange;
    struct buffer body;
    struct app_export export;
    bool is_first;
    size_t max;
    struct slice cursor; /* from the query; empty: the beginning */
    char text[QUERY_BYTES_MAX + 1];
};

static void export_free(void *arg)
{
    struct export_page *page = arg;
    buffer_fini(&page->body);
    free(page);
}

static void put_value(struct json_writer *json, struct slice value)
{
    if (utf8_is_sound_text(value.data, value.size)) {
        json_put_text(json, value);
        return;
    }
    json_put_object(json);
    json_put_name(json, "base64");
    struct buffer *out = json_put(json);
    buffer_append_byte(out, '"');
    base64_append(out, value);
    buffer_append_byte(out, '"');
    json_end_object(json);
}

static void on_row(void *arg, const struct data_row *row)
{
    struct export_page *page = arg;
    struct json_writer json = json_writer_to(&page->body);
    json_put_object(&json);
    json_add_text(&json, "kind", row->kind);
    json_put_name(&json, "name");
    put_value(&json, row->name);
    if (app_row_is_moving(row))
        json_add_bool(&json, "moving", true);
    for (size_t i = 0; i < row->count; i++) {
        json_put_name_text(&json, row->members[2 * i]);
        put_value(&json, row->members[2 * i + 1]);
    }
    json_end_object(&json);
    buffer_append_byte(&page->body, '\n');
}

static void put_end(struct export_page *page, const struct app_verdict *verdict)
{
    const struct app_export *export = &page->export;
    struct json_writer json = json_writer_to(&page->body);
    json_put_object(&json);
    json_add_text(&json, "kind", export->is_over ? SLICE("end") : SLICE("next"));
    if (export->is_over) {
        json_add_object(&json, "lines");
        for (int kind = 0; kind < APP_ROWS_COUNT; kind++)
            json_add_nonzero(&json, app_row_word((enum app_row_kind)kind), export->rows[kind]);
        json_end_object(&json);
        json_add_number(&json, "moving", export->moving);
        json_add_number(&json, "unpausedTopics", export->unpaused);
        json_add_bool(&json, "isConsistent", app_export_is_consistent(app_of(page->exchange), export));
    } else {
        query_add_cursor(&json, verdict->page.cursor);
    }
    json_end_object(&json);
    buffer_append_byte(&page->body, '\n');
}

/* The exchange frees the page before it copies the answer, so the body leaves the page first. */
static void answer_page(struct export_page *page)
{
    struct buffer body = page->body;
    buffer_init(&page->body, 0);
    exchange_answer_text(page->exchange, LINES, buffer_slice(&body));
    buffer_fini(&body);
}

static void on_page(void *arg, const struct app_verdict *verdict)
{
    struct export_page *page = arg;
    struct exchange *exchange = page->exchange;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &problem_of_read);
        return;
    }
    put_end(page, verdict);
    if (page->body.failed)
        exchange_refuse(exchange, 503, "There is no memory for the page. A smaller limit needs less.");
    else
        answer_page(page);
}

static void read_page(struct export_page *page)
{
    app_export_page(app_of(page->exchange), &page->exchange->caller, &page->export, page->max, on_row,
                    on_page, page);
}

static void on_counts(void *arg, const struct app_verdict *verdict, const struct app_export_counts *counts)
{
    struct export_page *page = arg;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(page->exchange, verdict, &problem_of_read);
        return;
    }
    struct json_writer json = json_writer_to(&page->body);
    json_put_object(&json);
    json_add_text(&json, "kind", SLICE("header"));
    json_add_number(&json, "format", APP_EXPORT_FORMAT);
    json_add_text(&json, "version", SLICE(DUEPOST_VERSION));
    json_add_number(&json, "shards", (int64_t)counts->shards);
    json_add_time(&json, "at", counts->now_ms);
    json_add_number(&json, "jobs", counts->jobs);
    json_add_number(&json, "ended", counts->ended);
    json_add_number(&json, "inFlight", counts->leased);
    json_add_number(&json, "outbox", counts->outbox);
    json_end_object(&json);
    buffer_append_byte(&page->body, '\n');
    read_page(page);
}

static const char *read_cursor(void *into, struct slice value)
{
    struct export_page *page = into;
    page->cursor = value;
    page->is_first = false;
    bool is_sound = query_open_cursor(&page->cursor) &&
                    app_export_parse(app_of(page->exchange), page->cursor, &page->export);
    return is_sound ? NULL : "must be a cursor from a page of this export";
}

HANDLER(export_handle)
{
    static const struct query_parameter parameters[] = {{"cursor", read_cursor, 0},
                                                        {"limit", QUERY_LIMIT(struct export_page, max)}};
    struct export_page *page = NEW(struct export_page);
    struct query_reading reading = {
        .exchange = exchange, .parameters = parameters, .count = 2, .known = 3, .repeatable = 0};
    struct buffer text = buffer_of(page->text, sizeof page->text);
    exchange_keep(exchange, page, export_free);
    page->exchange = exchange;
    page->is_first = true;
    page->max = PAGE_LINES;
    buffer_init_fallible(&page->body, PAGE_BYTES_MAX);
    query_read(&reading, page, &text);
    if (!query_end(&reading))
        return;
    if (page->is_first)
        app_export_counts(app_of(exchange), on_counts, page);
    else
        read_page(page);
}
