/* member_headers.c - headers, in jobs and in the settings of topics. */
#include <jansson.h>

#include "job/header.h"
#include "job/member.h"

const struct slice *member_find_header(const struct job_header *headers, size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++)
        if (slice_equal_nocase(headers[i].name, name))
            return &headers[i].value;
    return NULL;
}

/* What is wrong with one header, or NULL. */
static const char *check_header(const struct job_header *headers, size_t count, struct slice name,
                                json_t *value)
{
    if (!header_name_is_valid(name))
        return "must be a token, as header names are";
    if (header_is_refused(name))
        return "must not be set by a job";
    if (member_find_header(headers, count, name))
        return "must not stand there twice, in whatever case";
    if (!json_is_string(value))
        return "must be a string";
    struct slice text = slice_from(json_string_value(value), json_string_length(value));
    if (!header_value_is_valid(text))
        return "must be visible ASCII, space and tab";
    if (slice_equal(text, SLICE(MEMBER_HIDDEN)))
        return "must be the value itself; it is only shown as ***";
    return NULL;
}

/* Once json_check took a text, only a number that no float can hold stops jansson; NUL is for the rules of
 * each string. */
static json_t *load_object(struct slice value)
{
    json_error_t ignored;
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL;
    return value.data[0] == '{' ? json_loadb(value.data, value.size, flags, &ignored) : NULL;
}

static void read_header(struct job_errors *errors, struct job_header *headers, size_t *count,
                        struct slice name, json_t *value)
{
    const char *detail = check_header(headers, *count, name, value);
    if (detail)
        job_errors_add_named(errors, "headers.", name, detail);
    else
        headers[(*count)++] =
            (struct job_header){name, slice_from(json_string_value(value), json_string_length(value))};
}

size_t member_headers(struct job_errors *errors, const char *name, struct slice value,
                      struct job_header *headers, struct json_t **tree)
{
    size_t count = 0, bytes = 0;
    *tree = load_object(value);
    if (!*tree) {
        job_errors_add(errors, name, "must be an object of strings");
        return 0;
    }
    if (json_object_size(*tree) > JOB_HEADERS_MAX) {
        job_errors_add(errors, name, "must have at most 50 headers");
        return 0;
    }
    for (void *at = json_object_iter(*tree); at; at = json_object_iter_next(*tree, at))
        read_header(errors, headers, &count, slice_of(json_object_iter_key(at)), json_object_iter_value(at));
    for (size_t i = 0; i < count; i++)
        bytes += headers[i].name.size + headers[i].value.size;
    if (bytes > JOB_HEADER_BYTES_MAX)
        job_errors_add(errors, name, "must have at most 8192 bytes in all");
    return count;
}

bool member_header_is_shown(struct slice name)
{
    return slice_equal_nocase(name, SLICE("Content-Type"));
}

void member_write_headers(struct buffer *out, const struct job_header *headers, size_t count, bool is_hidden)
{
    buffer_append_byte(out, '{');
    for (size_t i = 0; i < count; i++) {
        bool is_shown = !is_hidden || member_header_is_shown(headers[i].name);
        if (i)
            buffer_append_byte(out, ',');
        buffer_append_json(out, headers[i].name);
        buffer_append_byte(out, ':');
        buffer_append_json(out, is_shown ? headers[i].value : SLICE(MEMBER_HIDDEN));
    }
    buffer_append_byte(out, '}');
}
