/* page.h - the answer of a list: {"jobs":[...],"partial":true,"cursor":"..."}. */
#ifndef DUEPOST_API_PAGE_H
#define DUEPOST_API_PAGE_H

#include "api/handler.h"
#include "base/json_writer.h"

struct page {
    struct exchange *exchange;
    struct buffer body;
    struct json_writer json; /* receives each item */
};

/* Begins a page, whose items are in the member with this name. page_end frees it. */
struct page *page_new(struct exchange *, const char *name);

/* Answers with the page, or with the error of the use case. page_end is an app_verdict_fn whose arg is the
 * page. */
void page_end(void *arg, const struct app_verdict *);

/* Answers with the text in the scratch buffer, or with the error of a use case that reads. For answers that
 * are one object. page_end_scratch is an app_verdict_fn whose arg is the exchange. */
void page_end_scratch(void *arg, const struct app_verdict *);

/* Adds "partial" if the page is partial, and "cursor" if the list has more pages. */
void page_add_end(struct json_writer *, const struct app_page *);

#endif
