/* page.h - writes the answer with one page of a list: {"jobs":[...],"partial":true,"cursor":"..."}. */
#ifndef DUEPOST_API_PAGE_H
#define DUEPOST_API_PAGE_H

#include "api/handler.h"
#include "base/json_writer.h"

struct page {
    struct exchange *exchange;
    struct buffer body;
    struct json_writer json; /* receives each item */
};

/* Begins a page. name is the member that has the items, such as "jobs". page_end frees the page. */
struct page *page_new(struct exchange *, const char *name);

/* Answers with the page, or with the error of the use case. page_end is an app_verdict_fn whose arg is the
 * page. */
void page_end(void *arg, const struct app_verdict *);

/* Answers with the object in the scratch buffer, or with the error of the use case, which only reads.
 * page_end_scratch is an app_verdict_fn whose arg is the exchange. */
void page_end_scratch(void *arg, const struct app_verdict *);

/* Adds "partial" if jobs may be missing, and "cursor" if the list has more pages. */
void page_add_end(struct json_writer *, const struct app_page *);

#endif
