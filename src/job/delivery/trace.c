#include "job/delivery/trace.h"

#include <assert.h>

#include "base/encoding.h"

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
