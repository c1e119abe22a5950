#include "http/etag.h"

#include <stdio.h>

#include "job/job.h"

enum { LIST_MAX = 4096 }; /* maximum size of a list of tags in bytes */

struct http_header etag_header(const char tag[JOB_TAG_SIZE], struct etag *etag)
{
    snprintf(etag->text, sizeof etag->text, "\"%s\"", tag);
    return (struct http_header){SLICE("ETag"), slice_of(etag->text)};
}

/* Returns whether a text begins with a tag of a job, which may be followed by the coding of a compressing
 * proxy: "-gzip", or ";gzip" of older versions of Apache. */
static bool is_own(struct slice tag)
{
    size_t size = JOB_TAG_SIZE - 1;
    return tag.size == size || (tag.size > size && (tag.data[size] == '-' || tag.data[size] == ';'));
}

/* Takes one tag and the comma after it from rest. Appends the tag to seen, unless no job can have it. */
static bool take_tag(struct slice *rest, struct buffer *seen)
{
    struct slice tag, behind;
    bool is_weak = slice_starts_with(*rest, SLICE("W/"));
    struct slice quoted = slice_skip(*rest, is_weak ? 2 : 0);
    if (quoted.size == 0 || quoted.data[0] != '"' || !slice_cut(slice_skip(quoted, 1), '"', &tag, &behind))
        return false;
    behind = slice_trim(behind);
    if (behind.size && behind.data[0] != ',')
        return false;
    if (is_own(tag)) {
        buffer_append_byte(seen, ' ');
        buffer_append(seen, slice_from(tag.data, JOB_TAG_SIZE - 1));
    }
    *rest = behind.size ? slice_trim(slice_skip(behind, 1)) : behind;
    return true;
}

static bool read_tags(struct slice value, struct buffer *seen)
{
    bool is_sound = value.size > 0;
    if (slice_equal(value, SLICE("*"))) {
        buffer_append(seen, value);
        return true;
    }
    /* An empty seen would mean that the request has no condition. So seen gets this byte even if no tag can
     * match. */
    buffer_append_byte(seen, '-');
    while (is_sound && value.size)
        is_sound = take_tag(&value, seen);
    return is_sound && !seen->failed;
}

static bool refuse_header(struct exchange *exchange, const char *header, const char *detail)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    job_errors_add(&errors, header, detail);
    exchange_refuse_errors(exchange, "request", &errors);
    return false;
}

/* Reads a list of tags, which may be split over several lines. */
static bool read_header(struct exchange *exchange, const char *header)
{
    struct buffer list;
    buffer_init(&list, LIST_MAX);
    http_request_join_header(exchange->request, header, &list);
    bool is_read = !list.failed && read_tags(buffer_slice(&list), &exchange->seen);
    buffer_fini(&list);
    if (is_read)
        return true;
    return refuse_header(
        exchange, header,
        "must be * or a list of entity tags in quotes; the list may have at most 4096 bytes");
}

bool etag_read_match(struct exchange *exchange)
{
    return !http_request_has_header(exchange->request, "If-Match") || read_header(exchange, "If-Match");
}

bool etag_read_matches(struct exchange *exchange)
{
    if (!http_request_has_header(exchange->request, "If-None-Match"))
        return etag_read_match(exchange);
    if (http_request_has_header(exchange->request, "If-Match"))
        return refuse_header(exchange, "If-None-Match", "cannot be combined with If-Match");
    buffer_append_byte(&exchange->seen, JOB_TAGS_EXCLUDED);
    return read_header(exchange, "If-None-Match");
}

void etag_refuse(struct exchange *exchange)
{
    struct slice seen = buffer_slice(&exchange->seen);
    bool is_none_match = seen.size && seen.data[0] == JOB_TAGS_EXCLUDED;
    exchange_refuse(
        exchange, 412,
        is_none_match
            ? "The job does not meet If-None-Match: it exists, or has one of the tags; nothing changed."
            : "The job does not meet If-Match: it has changed, or does not exist; nothing changed.");
}
