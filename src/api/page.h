/* page.h - the answer of a list: {"jobs":[...],"partial":true,"cursor":"..."}. */
#ifndef DUEPOST_API_PAGE_H
#define DUEPOST_API_PAGE_H

#include "api/handler.h"
#include "base/json_writer.h"

struct page {
    struct exchange *exchange;
    struct buffer body;
    struct json_writer json; /* each item is put here */
};

/* Begins a page whose items are the member with this name. page_end frees it. */
struct page *page_new(struct exchange *, const char *name);

/* Answers with the page, or with how the use case failed: an app_verdict_fn whose arg is the page. */
void page_end(void *page, const struct app_verdict *);

/* Adds "partial" where the list is, and "cursor" unless it is at its end. */
void page_add_end(struct json_writer *, const struct app_page *);

#endif
