#include "web/web.h"

#include <string.h>

#include "http/exchange.h"
#include "http/access.h"
#include "web/web_files.h"

enum { HEADERS_MAX = 8 };

#define CONTENT_POLICY                                                                                       \
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "     \
    "frame-ancestors 'none'"

static const struct http_header common[] = {
    {SLICE("Content-Security-Policy"), SLICE(CONTENT_POLICY)},
    {SLICE("X-Content-Type-Options"), SLICE("nosniff")},
    {SLICE("Referrer-Policy"), SLICE("no-referrer")},
    {SLICE("Vary"), SLICE("Accept-Encoding")},
};

enum { COMMON_COUNT = sizeof common / sizeof *common };

/* Returns whether a list such as "gzip, br;q=0.5" accepts the coding. A coding with q=0 is refused. "*"
 * stands for codings that the list does not name (RFC 9110, section 12.5.3). */
static bool accepts(struct slice list, struct slice coding)
{
    bool accepts_others = false;
    for (struct slice item; list.size;) {
        struct slice name, weight;
        slice_cut(list, ',', &item, &list);
        slice_cut(item, ';', &name, &weight);
        name = slice_trim(name);
        weight = slice_trim(weight);
        bool is_refused = slice_equal(weight, SLICE("q=0")) || slice_equal(weight, SLICE("q=0.0")) ||
                          slice_equal(weight, SLICE("q=0.00")) || slice_equal(weight, SLICE("q=0.000"));
        if (slice_equal_nocase(name, coding))
            return !is_refused;
        if (slice_equal(name, SLICE("*")))
            accepts_others = !is_refused;
    }
    return accepts_others;
}

static void answer_text(struct exchange *exchange, struct slice type, struct slice text, bool is_compressed,
                        const struct http_header *more, size_t count)
{
    struct http_header headers[HEADERS_MAX];
    size_t all = 0;
    for (size_t i = 0; i < COMMON_COUNT; i++)
        headers[all++] = common[i];
    for (size_t i = 0; i < count; i++)
        headers[all++] = more[i];
    if (is_compressed)
        headers[all++] = (struct http_header){SLICE("Content-Encoding"), SLICE("gzip")};
    exchange_answer_as(exchange, 200, type, headers, all, text);
}

/* If the server has no tokens, pages of other sites must not find out that duepost runs here. So requests for
 * the dashboard are checked in the same way as requests to the API. */
static bool is_admitted(struct exchange *exchange)
{
    return exchange->site->options.tokens || origin_admit(exchange);
}

/* ---- /, /docs, /openapi.yaml ---- */

/* The headers make browsers check at each load whether the page has changed. */
static void answer_page(struct exchange *exchange, const struct web_page *page)
{
    char tag[64];
    struct buffer quoted = buffer_of(tag, sizeof tag);
    struct slice codings = http_request_header(exchange->request, "Accept-Encoding");
    struct slice seen = http_request_header(exchange->request, "If-None-Match");
    bool is_compressed = accepts(codings, SLICE("gzip"));
    if (!is_admitted(exchange))
        return;
    buffer_printf(&quoted, "\"%.*s%s\"", SLICE_ARG(web_hash), is_compressed ? "" : "-plain");
    struct http_header headers[] = {{SLICE("ETag"), buffer_slice(&quoted)},
                                    {SLICE("Cache-Control"), SLICE("no-cache")}};
    if (memmem(seen.data, seen.size, quoted.data, quoted.size))
        exchange_answer_as(exchange, 304, SLICE(""), headers, 2, SLICE(""));
    else
        answer_text(exchange, page->type, is_compressed ? page->gzip : page->plain, is_compressed, headers,
                    2);
}

static void index_handle(struct exchange *exchange)
{
    answer_page(exchange, &web_index);
}

static void docs_handle(struct exchange *exchange)
{
    answer_page(exchange, &web_docs);
}

static void contract_handle(struct exchange *exchange)
{
    answer_page(exchange, &web_contract);
}

/* ---- /web/<hash>/... ---- */

static const struct web_file *find_file(struct slice path)
{
    for (size_t i = 0; i < web_file_count; i++)
        if (slice_equal(web_files[i].path, path))
            return &web_files[i];
    return NULL;
}

static void file_handle(struct exchange *exchange)
{
    static const struct http_header forever = {SLICE("Cache-Control"),
                                               SLICE("public, max-age=31536000, immutable")};
    struct slice hash, path;
    struct slice codings = http_request_header(exchange->request, "Accept-Encoding");
    slice_cut(exchange->key, '/', &hash, &path);
    const struct web_file *file = find_file(path);
    if (!is_admitted(exchange))
        return;
    if (!file || !slice_equal(hash, web_hash))
        exchange_refuse(exchange, 404, "There is no such file; load the page again.");
    else if (http_request_has_header(exchange->request, "Accept-Encoding") &&
             !accepts(codings, SLICE("gzip")))
        exchange_refuse(
            exchange, 406,
            "The server has this file only compressed with gzip: send the header Accept-Encoding: gzip.");
    else
        answer_text(exchange, file->type, file->gzip, true, &forever, 1);
}

/* ---- the dialect ---- */

static bool names_of_file(struct buffer *text, struct route_names *names)
{
    names->key = buffer_slice(text);
    return true;
}

static void write_error(struct buffer *body, const struct exchange_error *error)
{
    buffer_printf(body, "%.*s\n", SLICE_ARG(error->detail));
}

static const struct route routes[] = {
    {.path = "/", .methods = {{"GET", "GET /", index_handle, REACH_FREE, .body = BODY_NONE}}},
    {.path = "/docs", .methods = {{"GET", "GET /docs", docs_handle, REACH_FREE, .body = BODY_NONE}}},
    {.path = "/openapi.yaml",
     .methods = {{"GET", "GET /openapi.yaml", contract_handle, REACH_FREE, .body = BODY_NONE}}},
    {.path = "/web/:/:",
     .names = names_of_file,
     .methods = {{"GET", "GET /web", file_handle, REACH_FREE, .body = BODY_NONE}}},
    {.path = "/web/:/:/:",
     .names = names_of_file,
     .methods = {{"GET", "GET /web", file_handle, REACH_FREE, .body = BODY_NONE}}},
};

const struct dialect web_dialect = {
    .routes = routes,
    .route_count = sizeof routes / sizeof *routes,
    .error_type = SLICE("text/plain; charset=utf-8"),
    .write_error = write_error,
};
