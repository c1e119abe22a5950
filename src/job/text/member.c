#include "job/text/member.h"

#include <ctype.h>
#include <stdio.h>

#include "base/duration.h"
#include "job/request.h"
#include "job/target/url.h"
#include "job/text/json.h"

enum { DETAIL_MAX = 96 };

static bool is_number(struct slice value)
{
    return value.data[0] == '-' || (value.data[0] >= '0' && value.data[0] <= '9');
}

static bool refuse_range(struct job_errors *errors, const char *name, int64_t min_ms, int64_t max_ms)
{
    char detail[DETAIL_MAX];
    struct buffer text = buffer_of(detail, sizeof detail);
    buffer_append(&text, SLICE("must be "));
    seconds_append(&text, min_ms);
    buffer_append(&text, SLICE(" to "));
    seconds_append(&text, max_ms);
    buffer_append(&text, SLICE(" seconds"));
    job_errors_add(errors, name, buffer_text(&text));
    return false;
}

bool member_url(struct job_errors *errors, const char *name, struct slice text)
{
    struct url ignored;
    const char *detail;
    if (url_parse(text, &ignored, &detail) == STATUS_OK && slice_ends_with(text, SLICE(URL_HIDDEN_QUERY)))
        detail = "must be the real url: *** stands for its query in answers only";
    if (detail)
        job_errors_add(errors, name, detail);
    return !detail;
}

bool member_is_null(struct slice value)
{
    return slice_equal(value, SLICE("null"));
}

/* Returns whether a value is a string with a unit. A duration that is sent as a string must have a unit. */
static bool is_duration(struct slice value)
{
    return json_is_text(value) && !json_has_escapes(value) && value.size > 2 &&
           isalpha((unsigned char)value.data[value.size - 2]);
}

bool member_seconds(struct job_errors *errors, const char *name, struct slice value, int64_t min_ms,
                    int64_t max_ms, int64_t *ms)
{
    struct slice text = {NULL, 0}; /* a duration without its quotes */
    int64_t ignored;
    if (!is_number(value) && !is_duration(value)) {
        job_errors_add(errors, name, "must be a number of seconds, or a duration such as \"15m\"");
        return false;
    }
    if (is_duration(value))
        text = slice_from(value.data + 1, value.size - 2);
    /* A text with a unit that is not a duration, such as "15 minutes": the error must explain the form of a
     * duration, and not the limits. */
    if (is_duration(value) && !duration_parse(text, INT64_MAX, &ignored)) {
        job_errors_add(errors, name,
                       "must be a duration such as \"15m\" or \"1h30m\"; units: ms, s, m, h, d");
        return false;
    }
    bool is_read = is_duration(value) ? duration_parse(text, max_ms, ms) : seconds_parse(value, max_ms, ms);
    return (is_read && *ms >= min_ms) || refuse_range(errors, name, min_ms, max_ms);
}

bool member_integer(struct job_errors *errors, const char *name, struct slice value, int64_t min, int64_t max,
                    int64_t *number)
{
    char detail[DETAIL_MAX];
    bool is_integer;
    if (is_number(value) && decimal_parse(value, 1, max, number, &is_integer) && is_integer && *number >= min)
        return true;
    snprintf(detail, sizeof detail, "must be an integer from %lld to %lld", (long long)min, (long long)max);
    job_errors_add(errors, name, detail);
    return false;
}

bool member_schedule(struct job_errors *errors, const char *name, struct slice value,
                     struct retry_schedule *schedule)
{
    struct slice item;
    struct json_cursor cursor;
    bool is_sound = true;
    schedule->count = 0;
    if (!json_open(value, &cursor) || cursor.close != ']') {
        job_errors_add(errors, name, "must be an array of durations, such as [15, \"3m\"]");
        return false;
    }
    while (schedule->count < RETRY_SCHEDULE_MAX && json_next_item(&cursor, &item)) {
        char field[64];
        int64_t *wait_ms = &schedule->wait_ms[schedule->count];
        snprintf(field, sizeof field, "%s[%zu]", name, schedule->count++);
        *wait_ms = 0;
        is_sound &= member_seconds(errors, field, item, 0, JOB_WAIT_MAX_MS, wait_ms);
    }
    if (schedule->count == RETRY_SCHEDULE_MAX && json_next_item(&cursor, &item)) {
        job_errors_add(errors, name, "must have at most 100 waits");
        return false;
    }
    return is_sound;
}

/* ---- headers ---- */

/* If the JSON string of a header is longer than this, with its quotes, the header has too many bytes. One
 * byte needs at most six bytes in JSON: \u0061. */
enum { SPELT_MAX = 6 * JOB_HEADER_BYTES_MAX + 4 };

struct reading {
    struct job_errors *errors;
    struct job_header *headers;
    size_t count, bytes;
    struct buffer *text;
    bool has_fault;
};

/* Returns the fault of one header, or NULL. */
static const char *check_header(const struct reading *reading, const struct job_header *header, bool is_text)
{
    if (!header_name_is_valid(header->name))
        return "must be a token, as header names are";
    if (header_is_refused(header->name))
        return "must not be set by a job";
    if (headers_find(reading->headers, reading->count, header->name))
        return "must not appear twice, regardless of case";
    if (!is_text)
        return "must be a string";
    if (!header_value_is_valid(header->value))
        return "must be visible ASCII, space and tab";
    if (slice_equal(header->value, SLICE(HEADER_HIDDEN)))
        return "must be the real value: *** stands for it in answers only";
    return NULL;
}

static struct slice read_string(struct reading *reading, struct slice string)
{
    if (json_has_escapes(string) && !reading->text->data)
        buffer_reserve(reading->text, reading->text->max);
    return json_text(string, reading->text);
}

/* Reads one header. Returns false if the headers have too many bytes. */
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

static bool member_refuse(struct job_errors *errors, const char *name, const char *detail)
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
        return member_refuse(errors, name, "must be an object of strings");
    if (json_count_members(value) > JOB_HEADERS_MAX)
        return member_refuse(errors, name, "must have at most 50 headers");
    while (is_small && json_next_member(&cursor, &key, &item))
        is_small = member_is_null(item) || read_header(&reading, key, item);
    *count = reading.count;
    if (!is_small)
        return member_refuse(errors, name, "must have at most 8192 bytes in all");
    return !reading.has_fault;
}
