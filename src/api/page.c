#include "api/page.h"

#include "api/problem.h"
#include "base/memory.h"
#include "http/query.h"

enum { PAGE_MAX = 64 * 1024 * 1024 };

struct page *page_new(struct exchange *exchange, const char *name)
{
    struct page *page = NEW(struct page);
    page->exchange = exchange;
    buffer_init_fallible(&page->body, PAGE_MAX);
    page->json = json_writer_to(&page->body);
    json_put_object(&page->json);
    json_add_array(&page->json, name);
    return page;
}

void page_add_end(struct json_writer *json, const struct app_page *page)
{
    if (page->is_of_history)
        json_add_text(json, "source", SLICE("history"));
    if (page->is_partial)
        json_add_bool(json, "partial", true);
    if (page->cursor.size)
        query_add_cursor(json, page->cursor);
}

void page_end(void *arg, const struct app_verdict *verdict)
{
    struct page *page = arg;
    struct exchange *exchange = page->exchange;
    json_end_array(&page->json);
    page_add_end(&page->json, &verdict->page);
    json_end_object(&page->json);
    if (verdict->end != STATUS_OK)
        problem_answer_verdict(exchange, verdict, &problem_of_read);
    else if (page->body.failed)
        exchange_refuse(exchange, 503, "There is no memory for a page of this size; ask for fewer items.");
    else
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&page->body));
    buffer_fini(&page->body);
    free(page);
}

void page_end_scratch(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_OK)
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&exchange->site->scratch));
    else
        problem_answer_verdict(exchange, verdict, &problem_of_read);
}
