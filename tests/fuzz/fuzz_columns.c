#include "fuzz.h"
#include "history/columns.h"
#include "job/job.h"

/* Converts a text from the outbox to columns, and the columns to a record and lines. If these are converted
 * to columns again, the columns must be the same. */

static const struct slice id = SLICE_INIT("mail/1");

static void check_columns(const struct history_columns *columns)
{
    assert(slice_equal(columns->topic, SLICE("mail")) && slice_equal(columns->job_id, SLICE("1")));
    assert(columns->ended_at >= 0 && columns->created_at >= 0 && columns->bytes > 0);
    assert(columns->attempts >= 0 && columns->rounds >= 0 && columns->lost_consumers >= 0);
    assert(columns->status == 0 || (columns->status >= 100 && columns->status <= 999));
    assert(!columns->rest.size || columns->rest.data[0] == '{' || columns->rest.data[0] == '"');
    assert(columns->outcome != JOB_STATE_DEAD || columns->reason.size);
}

static bool same(struct slice a, struct slice b)
{
    return slice_equal(a, b);
}

static void check_again(const struct history_columns *columns, const struct history_row *row)
{
    struct history_parse again;
    struct buffer text;
    buffer_init(&text, 1 << 24);
    buffer_printf(&text, "%s %lld %d %zu ", job_state_word(row->state), (long long)row->ended_ms, row->losses,
                  row->record.size);
    buffer_append(&text, row->record);
    buffer_append(&text, row->lines);
    history_parse_init(&again);
    const struct history_entry entry = {id, buffer_slice(&text), false};
    bool is_parsed = history_parse_entry(&again, &entry, HISTORY_BODIES_ON, FUZZ_NOW_MS);
    assert(is_parsed);
    const struct history_columns *other = &again.columns;
    assert(other->created_at == columns->created_at && other->ended_at == columns->ended_at);
    assert(other->status == columns->status && other->attempts == columns->attempts);
    assert(same(other->url, columns->url) && same(other->method, columns->method));
    assert(same(other->labels, columns->labels) && same(other->headers, columns->headers));
    assert(other->has_body == columns->has_body && same(other->body, columns->body));
    assert(same(other->rest, columns->rest) && same(other->attempt_log, columns->attempt_log));
    history_parse_fini(&again);
    buffer_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct history_parse parse;
    struct history_kept_row kept;
    const struct history_entry entry = {id, input_of(data, size), false};
    history_parse_init(&parse);
    bool is_parsed = history_parse_entry(&parse, &entry, HISTORY_BODIES_ON, FUZZ_NOW_MS);
    assert(is_parsed);
    check_columns(&parse.columns);
    history_row_from(&kept, &parse.columns);
    assert(slice_equal(kept.row.id, id));
    if (!kept.row.is_unreadable && !kept.row.is_body_left_out)
        check_again(&parse.columns, &kept.row);
    buffer_fini(&kept.text);
    history_parse_fini(&parse);
    return 0;
}
