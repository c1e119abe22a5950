#include "job/request.h"

#include <assert.h>

#include "base/encoding.h"
#include "base/json_writer.h"

/* ---- the method ---- */

static const char *const words[JOB_METHODS] = {
    [JOB_METHOD_POST] = "POST",   [JOB_METHOD_GET] = "GET",       [JOB_METHOD_PUT] = "PUT",
    [JOB_METHOD_PATCH] = "PATCH", [JOB_METHOD_DELETE] = "DELETE", [JOB_METHOD_HEAD] = "HEAD",
};

const char *job_method_word(enum job_method method)
{
    assert(method < JOB_METHODS);
    return words[method];
}

bool job_method_parse(struct slice text, enum job_method *method)
{
    for (unsigned i = 0; i < JOB_METHODS; i++) {
        if (slice_equal(text, slice_of(words[i]))) {
            *method = (enum job_method)i;
            return true;
        }
    }
    return false;
}

bool job_method_allows_body(enum job_method method)
{
    return method != JOB_METHOD_GET && method != JOB_METHOD_HEAD;
}

/* ---- headers ---- */

static const struct slice refused_names[] = {
    SLICE_INIT("Host"),       SLICE_INIT("Content-Length"), SLICE_INIT("Transfer-Encoding"),
    SLICE_INIT("Connection"), SLICE_INIT("Keep-Alive"),     SLICE_INIT("TE"),
    SLICE_INIT("Trailer"),    SLICE_INIT("Upgrade"),        SLICE_INIT("Expect"),
};
static const struct slice refused_prefixes[] = {SLICE_INIT("Proxy-"), SLICE_INIT("Duepost-"),
                                                SLICE_INIT("Webhook-")};

static bool is_token_byte(unsigned char byte)
{
    if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9'))
        return true;
    return byte && strchr("!#$%&'*+-.^_`|~", byte) != NULL;
}

bool header_name_is_valid(struct slice name)
{
    for (size_t i = 0; i < name.size; i++)
        if (!is_token_byte((unsigned char)name.data[i]))
            return false;
    return name.size > 0;
}

bool header_value_is_valid(struct slice value)
{
    /* A table makes this function fast: it also checks the url of a record at each delivery. */
    static const bool is_allowed[256] = {['\t'] = true, [' ' ... '~'] = true};
    size_t i = 0;
    while (i < value.size && is_allowed[(unsigned char)value.data[i]])
        i++;
    return i == value.size;
}

bool header_is_refused(struct slice name)
{
    for (size_t i = 0; i < sizeof refused_names / sizeof *refused_names; i++)
        if (slice_equal_nocase(name, refused_names[i]))
            return true;
    for (size_t i = 0; i < sizeof refused_prefixes / sizeof *refused_prefixes; i++) {
        struct slice prefix = refused_prefixes[i];
        if (name.size >= prefix.size && slice_equal_nocase(slice_from(name.data, prefix.size), prefix))
            return true;
    }
    return false;
}

const struct slice *headers_find(const struct job_header *headers, size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++)
        if (slice_equal_nocase(headers[i].name, name))
            return &headers[i].value;
    return NULL;
}

bool header_is_shown(struct slice name)
{
    return slice_equal_nocase(name, SLICE("Content-Type"));
}

void headers_write(struct buffer *out, const struct job_header *headers, size_t count, bool is_hidden)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    for (size_t i = 0; i < count; i++) {
        bool is_shown = !is_hidden || header_is_shown(headers[i].name);
        json_put_name_text(&json, headers[i].name);
        json_put_text(&json, is_shown ? headers[i].value : SLICE(HEADER_HIDDEN));
    }
    json_end_object(&json);
}

/* ---- trace context ---- */

static bool is_hex(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!((text.data[i] >= '0' && text.data[i] <= '9') || (text.data[i] >= 'a' && text.data[i] <= 'f')))
            return false;
    return true;
}

static bool is_id(struct slice text)
{
    size_t zeros = 0;
    while (zeros < text.size && text.data[zeros] == '0')
        zeros++;
    return is_hex(text) && zeros < text.size;
}

bool trace_parent_read(struct slice header, char parent[TRACE_PARENT_BYTES])
{
    const char *data = header.data;
    if (header.size < TRACE_PARENT_BYTES || data[TRACE_ID_AT - 1] != '-' || data[TRACE_SPAN_AT - 1] != '-' ||
        data[TRACE_FLAGS_AT - 1] != '-')
        return false;
    struct slice version = slice_from(data, 2);
    bool is_ended = header.size == TRACE_PARENT_BYTES ||
                    (!slice_equal(version, SLICE("00")) && data[TRACE_PARENT_BYTES] == '-');
    if (!is_ended || !is_hex(version) || slice_equal(version, SLICE("ff")) ||
        !is_id(slice_from(data + TRACE_ID_AT, TRACE_ID_DIGITS)) ||
        !is_id(slice_from(data + TRACE_SPAN_AT, TRACE_SPAN_DIGITS)) ||
        !is_hex(slice_from(data + TRACE_FLAGS_AT, TRACE_FLAGS_DIGITS)))
        return false;
    memcpy(parent, data, TRACE_PARENT_BYTES);
    memcpy(parent, "00", 2);
    return true;
}

void trace_parent_next(struct slice parent, const uint8_t span[TRACE_SPAN_BYTES],
                       char next[TRACE_PARENT_BYTES])
{
    assert(parent.size == TRACE_PARENT_BYTES);
    memcpy(next, parent.data, TRACE_PARENT_BYTES);
    hex_write(next + TRACE_SPAN_AT, span, TRACE_SPAN_BYTES);
}

bool trace_parent_is_sampled(struct slice parent)
{
    char low = parent.data[TRACE_FLAGS_AT + 1];
    assert(parent.size == TRACE_PARENT_BYTES);
    return (low >= 'a' ? low - 'a' + 10 : low - '0') & 1;
}

/* Returns the total size of the members of a tracestate, each with a comma. Members that are longer than
 * "most" bytes do not count. Sets *members to the number of members that count. */
static size_t bytes_of(struct slice header, size_t most, size_t *members)
{
    size_t bytes = 0;
    struct slice member;
    *members = 0;
    while (header.size) {
        slice_cut(header, ',', &member, &header);
        member = slice_trim(member);
        if (member.size && member.size <= most) {
            bytes += member.size + 1;
            ++*members;
        }
    }
    return bytes;
}

void trace_state_read(struct slice header, struct buffer *state)
{
    size_t members, most = header.size, start = state->size;
    struct slice member;
    if (bytes_of(header, most, &members) > TRACE_STATE_MAX + 1 || members > TRACE_STATE_MEMBERS)
        most = TRACE_STATE_MEMBER;
    for (members = 0; header.size && members < TRACE_STATE_MEMBERS; members++) {
        slice_cut(header, ',', &member, &header);
        member = slice_trim(member);
        if (member.size == 0 || member.size > most)
            continue;
        size_t comma = state->size > start;
        if (state->size - start + comma + member.size > TRACE_STATE_MAX)
            return;
        if (state->size > start)
            buffer_append_byte(state, ',');
        buffer_append(state, member);
    }
}
