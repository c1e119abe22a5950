#include "job/request.h"

#include "fuzz.h"

/* Input: two lines: traceparent and tracestate. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t span[TRACE_SPAN_BYTES] = {1, 2, 3};
    char parent[TRACE_PARENT_BYTES], next[TRACE_PARENT_BYTES], again[TRACE_PARENT_BYTES];
    struct slice first, rest;
    struct buffer state;
    slice_cut(input_of(data, size), '\n', &first, &rest);
    if (trace_parent_read(first, parent)) {
        trace_parent_next(slice_from(parent, sizeof parent), span, next);
        bool is_read = trace_parent_read(slice_from(next, sizeof next), again);
        assert(is_read && memcmp(again, next, sizeof next) == 0);
    }
    buffer_init(&state, TRACE_STATE_MAX);
    trace_state_read(rest, &state);
    assert(!state.failed && state.size <= TRACE_STATE_MAX);
    buffer_fini(&state);
    return 0;
}
