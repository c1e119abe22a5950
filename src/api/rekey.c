/* rekey.c - POST /rekey: a step of the walk that encrypts all stored texts with the first key. */
#include "api/api_private.h"
#include "app/rekey.h"
#include "base/memory.h"
#include "http/query.h"

struct rekey_page {
    struct exchange *exchange;
    struct app_rekey rekey;
    char text[QUERY_BYTES_MAX + 1];
};

static void rekey_free(void *arg)
{
    free(arg);
}

static void on_step(void *arg, const struct app_verdict *verdict)
{
    struct rekey_page *page = arg;
    const struct app_rekey *rekey = &page->rekey;
    char room[APP_REKEY_CURSOR_MAX];
    struct buffer cursor = buffer_of(room, sizeof room);
    if (verdict->end == STATUS_INVALID) {
        exchange_refuse(page->exchange, 409, "This server has no keys: start it with --encryption-keys.");
        return;
    }
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(page->exchange, verdict, &problem_of_read);
        return;
    }
    struct buffer *body = exchange_scratch(page->exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_number(&json, "examined", rekey->examined);
    json_add_number(&json, "encrypted", rekey->changed);
    json_add_number(&json, "left", rekey->left);
    if (!rekey->is_over) {
        app_rekey_write(rekey, &cursor);
        query_add_cursor(&json, buffer_slice(&cursor));
    }
    json_end_object(&json);
    exchange_answer(page->exchange, 200, NULL, 0, buffer_slice(body));
}

static const char *read_cursor(void *into, struct slice value)
{
    struct rekey_page *page = into;
    bool is_sound = query_open_cursor(&value) && app_rekey_parse(app_of(page->exchange), value, &page->rekey);
    return is_sound ? NULL : "must be a cursor from a step of this walk";
}

HANDLER(rekey_handle)
{
    static const struct query_parameter parameters[] = {{"cursor", read_cursor, 0}};
    struct rekey_page *page = NEW(struct rekey_page);
    struct query_reading reading = {
        .exchange = exchange, .parameters = parameters, .count = 1, .known = 1, .repeatable = 0};
    struct buffer text = buffer_of(page->text, sizeof page->text);
    exchange_keep(exchange, page, rekey_free);
    page->exchange = exchange;
    query_read(&reading, page, &text);
    if (query_end(&reading))
        app_rekey_step(app_of(exchange), &exchange->caller, &page->rekey, on_step, page);
}
