/* member_headers.c - headers, in jobs and in the settings of topics. */
#include "base/json_writer.h"
#include "job/header.h"
#include "job/json.h"
#include "job/member.h"

const struct slice *member_find_header(const struct job_header *headers, size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++)
        if (slice_equal_nocase(headers[i].name, name))
            return &headers[i].value;
    return NULL;
}

/* What takes more than this with its quotes has too many bytes, however it is spelt: \u0061 is one. */
enum { SPELT_MAX = 6 * JOB_HEADER_BYTES_MAX + 4 };

struct reading {
    struct job_errors *errors;
    struct job_header *headers;
    size_t count, bytes;
    struct buffer *text;
    bool has_fault;
};

/* What is wrong with one header, or NULL. */
static const char *check_header(const struct reading *reading, const struct job_header *header, bool is_text)
{
    if (!header_name_is_valid(header->name))
        return "must be a token, as header names are";
    if (header_is_refused(header->name))
        return "must not be set by a job";
    if (member_find_header(reading->headers, reading->count, header->name))
        return "must not stand there twice, in whatever case";
    if (!is_text)
        return "must be a string";
    if (!header_value_is_valid(header->value))
        return "must be visible ASCII, space and tab";
    if (slice_equal(header->value, SLICE(MEMBER_HIDDEN)))
        return "must be the value itself; it is only shown as ***";
    return NULL;
}

static struct slice read_string(struct reading *reading, struct slice string)
{
    if (json_has_escapes(string) && !reading->text->data)
        buffer_reserve(reading->text, reading->text->max);
    return json_text(string, reading->text);
}

/* False: they are too many bytes by now. */
static bool read_header(struct reading *reading, struct slice key, struct slice value)
{
    bool is_text = json_is_text(value);
    if (key.size + (is_text ? value.size : 0) > SPELT_MAX)
        return false;
    struct job_header header = {read_string(reading, key), {NULL, 0}};
    if (is_text)
        header.value = read_string(reading, value);
    const char *detail = check_header(reading, &header, is_text);
    reading->has_fault |= detail != NULL;
    if (detail)
        job_errors_add_named(reading->errors, "headers.", header.name, detail);
    else
        reading->headers[reading->count++] = header;
    reading->bytes += header.name.size + header.value.size;
    return reading->bytes <= JOB_HEADER_BYTES_MAX;
}

static bool refuse(struct job_errors *errors, const char *name, const char *detail)
{
    job_errors_add(errors, name, detail);
    return false;
}

bool member_headers(struct job_errors *errors, const char *name, struct slice value,
                    struct job_header *headers, size_t *count, struct buffer *text)
{
    struct reading reading = {.errors = errors, .headers = headers, .text = text};
    struct json_cursor cursor;
    struct slice key, item;
    bool is_small = true;
    *count = 0;
    if (!json_open(value, &cursor) || cursor.close != '}')
        return refuse(errors, name, "must be an object of strings");
    if (json_count_members(value) > JOB_HEADERS_MAX)
        return refuse(errors, name, "must have at most 50 headers");
    while (is_small && json_next_member(&cursor, &key, &item))
        is_small = member_is_null(item) || read_header(&reading, key, item);
    *count = reading.count;
    if (!is_small)
        return refuse(errors, name, "must have at most 8192 bytes in all");
    return !reading.has_fault;
}

bool member_header_is_shown(struct slice name)
{
    return slice_equal_nocase(name, SLICE("Content-Type"));
}

void member_write_headers(struct buffer *out, const struct job_header *headers, size_t count, bool is_hidden)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    for (size_t i = 0; i < count; i++) {
        bool is_shown = !is_hidden || member_header_is_shown(headers[i].name);
        json_put_name_text(&json, headers[i].name);
        json_put_text(&json, is_shown ? headers[i].value : SLICE(MEMBER_HIDDEN));
    }
    json_end_object(&json);
}
