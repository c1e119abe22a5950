#include "server/otlp_options.h"

#include <stdlib.h>

#include "base/file.h"
#include "job/request.h"
#include "job/target/url.h"
#include "tracing/otlp_json.h"

enum { FILE_MAX = 16 * 1024 };

/* The path that is added to a URL without a path, on which a collector accepts spans. */
static const char traces_path[] = "/v1/traces";

enum status otlp_options_settle_url(struct otlp_options *options, struct problem *problem)
{
    struct slice text = slice_of(options->given_url);
    struct url url;
    const char *detail;
    struct buffer whole;
    if (!options->given_url)
        return STATUS_OK;
    if (url_parse(text, &url, &detail) != STATUS_OK) {
        problem_set(problem, "is '%.200s': it %s; expected http://HOST:4318", options->given_url, detail);
        return STATUS_INVALID;
    }
    bool is_bare = url.target.size == 0 || slice_equal(url.target, SLICE("/"));
    buffer_init(&whole, JOB_URL_MAX + sizeof traces_path);
    buffer_append(&whole, slice_from(text.data, is_bare ? text.size - url.target.size : text.size));
    if (is_bare)
        buffer_append(&whole, slice_of(traces_path));
    options->url = slice_dup(buffer_slice(&whole));
    buffer_fini(&whole);
    return STATUS_OK;
}

static bool is_header(struct slice line)
{
    struct slice name, value;
    return slice_cut(line, ':', &name, &value) && header_name_is_valid(name) &&
           header_value_is_valid(slice_trim(value));
}

enum status otlp_options_read_headers(struct otlp_options *options, struct problem *problem)
{
    struct slice text, line;
    int number = 0;
    if (!options->headers_file)
        return STATUS_OK;
    if (file_read(options->headers_file, FILE_MAX, &options->headers_text, problem) != STATUS_OK)
        return STATUS_INVALID;
    for (text = buffer_slice(&options->headers_text); text.size;) {
        slice_cut(text, '\n', &line, &text);
        if (line.size && line.data[line.size - 1] == '\r')
            line.size--;
        number++;
        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (!is_header(line) || options->header_count == EXPORTER_HEADERS_MAX) {
            problem_set(problem,
                        "%.200s, line %d: expected at most %d lines like 'Authorization: Bearer ...'",
                        options->headers_file, number, EXPORTER_HEADERS_MAX);
            return STATUS_INVALID;
        }
        options->headers[options->header_count++] = line;
    }
    return STATUS_OK;
}

enum status otlp_options_make_resource(struct otlp_options *options, struct problem *problem)
{
    buffer_init(&options->resource, OTLP_RESOURCE_MAX);
    if (otlp_resource_write(&options->resource, slice_of(options->attributes), problem) != STATUS_OK)
        return STATUS_INVALID;
    if (!options->resource.failed)
        return STATUS_OK;
    problem_set(problem, "is too long");
    return STATUS_INVALID;
}

void otlp_options_fini(struct otlp_options *options)
{
    struct buffer *headers = &options->headers_text;
    if (headers->size)
        explicit_bzero(headers->data, headers->size);
    buffer_fini(headers);
    buffer_fini(&options->resource);
    free(options->given_url);
    free(options->headers_file);
    free(options->attributes);
    free(options->url);
}
