#include "http/query.h"

#include <assert.h>
#include <stdio.h>

#include "base/encoding.h"
#include "base/hash.h"
#include "job/text/job_errors.h"

enum { NAME_BYTES_MAX = 64 };

#define TOO_LONG "is too long: all values together may have 2048 bytes"
static_assert(QUERY_BYTES_MAX == 2048, "TOO_LONG names another limit");

static void add_error(struct job_errors *errors, struct slice field, const char *detail)
{
    if (field.size > NAME_BYTES_MAX)
        field.size = NAME_BYTES_MAX;
    job_errors_add_named(errors, "", field, detail);
}

/* Returns the parameter's name as an error may show it: unchanged if it is plain ASCII, else empty. */
static struct slice shown(struct slice name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] <= 0x20 || name.data[i] >= 0x7f)
            return SLICE("");
    return name;
}

static bool take_pair(struct slice *query, struct slice *name, struct slice *value)
{
    struct slice pair;
    while (query->size) {
        slice_cut(*query, '&', &pair, query);
        if (pair.size) {
            slice_cut(pair, '=', name, value);
            return true;
        }
    }
    return false;
}

bool query_is_empty(struct exchange *exchange)
{
    struct slice query = exchange->query, name, value;
    struct job_errors errors;
    job_errors_clear(&errors);
    while (take_pair(&query, &name, &value))
        add_error(&errors, shown(name), "unknown query parameter: this path takes none");
    if (errors.count)
        exchange_refuse_errors(exchange, "query", &errors);
    return errors.count == 0;
}

static size_t find_parameter(const struct query_reading *reading, struct slice name)
{
    size_t i = 0;
    while (i < reading->count &&
           !(reading->known & 1U << i && slice_equal(name, slice_of(reading->parameters[i].name))))
        i++;
    return i;
}

static void report_unknown(struct query_reading *reading, struct slice name)
{
    struct suggestion meant = {.name = name};
    char detail[SUGGESTION_DETAIL_SIZE];
    for (size_t i = 0; i < reading->count; i++)
        if (reading->known & 1U << i)
            suggestion_weigh(&meant, reading->parameters[i].name);
    suggestion_write(&meant, "unknown query parameter", detail);
    add_error(&reading->errors, shown(name), detail);
}

static void read_pair(struct query_reading *reading, struct slice name, struct slice value, void *into,
                      struct buffer *text)
{
    size_t found = find_parameter(reading, name), start = text->size;
    const struct query_parameter *parameter = &reading->parameters[found];
    const char *detail = NULL;
    if (found == reading->count) {
        report_unknown(reading, name);
        return;
    }
    if (reading->given & 1U << found && !(reading->repeatable & 1U << found))
        detail = "appears twice";
    else if (!percent_decode(value, '\0', text))
        detail = text->failed ? TOO_LONG : "is not valid percent-encoding, or has a control character";
    else
        detail = parameter->read((char *)into + parameter->offset,
                                 slice_from(text->data + start, text->size - start));
    reading->given |= 1U << found;
    if (detail)
        add_error(&reading->errors, name, detail);
}

void query_read(struct query_reading *reading, void *into, struct buffer *text)
{
    struct slice query = reading->exchange->query, name, value;
    while (take_pair(&query, &name, &value))
        read_pair(reading, name, value, into, text);
}

bool query_names(const struct exchange *exchange, struct slice wanted)
{
    struct slice query = exchange->query, name, value;
    while (take_pair(&query, &name, &value))
        if (slice_equal(name, wanted))
            return true;
    return false;
}

void query_add_error(struct query_reading *reading, struct slice name, const char *detail)
{
    add_error(&reading->errors, name, detail);
}

bool query_end(const struct query_reading *reading)
{
    if (reading->errors.count)
        exchange_refuse_errors(reading->exchange, "query", &reading->errors);
    return reading->errors.count == 0;
}

enum { CURSOR_SEAL_SIZE = 5 }; /* '~' and the checksum; base64url, topics and numbers have no '~' in front */

static void write_seal(char seal[CURSOR_SEAL_SIZE + 1], struct slice cursor)
{
    snprintf(seal, CURSOR_SEAL_SIZE + 1, "~%04x", crc16(cursor));
}

void query_add_cursor(struct json_writer *json, struct slice cursor)
{
    char seal[CURSOR_SEAL_SIZE + 1];
    struct buffer text;
    write_seal(seal, cursor);
    buffer_init(&text, cursor.size + CURSOR_SEAL_SIZE);
    buffer_append(&text, slice_of(seal));
    buffer_append(&text, cursor);
    json_add_text(json, "cursor", buffer_slice(&text));
    buffer_fini(&text);
}

bool query_open_cursor(struct slice *cursor)
{
    char seal[CURSOR_SEAL_SIZE + 1];
    if (!slice_starts_with(*cursor, SLICE("~")))
        return true;
    if (cursor->size <= CURSOR_SEAL_SIZE)
        return false;
    struct slice inner = slice_skip(*cursor, CURSOR_SEAL_SIZE);
    write_seal(seal, inner);
    if (memcmp(seal, cursor->data, CURSOR_SEAL_SIZE) != 0)
        return false;
    *cursor = inner;
    return true;
}
