#include "history/schema.h"

const char *const schema_names[SCHEMA_COLUMN_COUNT] = {
    "topic",          "job_id",        "outcome", "created_at",  "due_at",   "ended_at",
    "reason",         "status",        "error",   "duration_ms", "attempts", "rounds",
    "lost_consumers", "method",        "url",     "labels",      "headers",  "body",
    "body_base64",    "body_left_out", "rest",    "attempt_log", "bytes"};

enum status schema_check(int64_t version, struct problem *problem)
{
    if (version >= 0 && version <= SCHEMA_VERSION)
        return STATUS_OK;
    problem_set(problem,
                "the tables have version %lld; this duepost knows versions up to %d. Use a later duepost",
                (long long)version, SCHEMA_VERSION);
    return STATUS_UNAVAILABLE;
}

static struct column_value text_or_null(struct slice text)
{
    return text.size ? COLUMN_TEXT_OF(text) : (struct column_value){.kind = COLUMN_NULL};
}

static struct column_value number_or_null(int64_t number, int64_t null)
{
    if (number == null)
        return (struct column_value){.kind = COLUMN_NULL};
    return COLUMN_NUMBER_OF(number);
}

void schema_values(const struct history_columns *of, struct column_value values[SCHEMA_COLUMN_COUNT])
{
    struct column_value *at = values;
    *at++ = COLUMN_TEXT_OF(of->topic);
    *at++ = COLUMN_TEXT_OF(of->job_id);
    *at++ = COLUMN_TEXT_OF(slice_of(job_state_word(of->outcome)));
    *at++ = COLUMN_NUMBER_OF(of->created_at);
    *at++ = COLUMN_NUMBER_OF(of->due_at);
    *at++ = COLUMN_NUMBER_OF(of->ended_at);
    *at++ = text_or_null(of->reason);
    *at++ = number_or_null(of->status, 0);
    *at++ = text_or_null(of->error);
    *at++ = number_or_null(of->duration_ms, -1);
    *at++ = COLUMN_NUMBER_OF(of->attempts);
    *at++ = COLUMN_NUMBER_OF(of->rounds);
    *at++ = COLUMN_NUMBER_OF(of->lost_consumers);
    *at++ = COLUMN_TEXT_OF(of->method);
    *at++ = text_or_null(of->url);
    *at++ = text_or_null(of->labels);
    *at++ = text_or_null(of->headers);
    *at++ = of->has_body ? COLUMN_TEXT_OF(of->body) : (struct column_value){.kind = COLUMN_NULL};
    *at++ = COLUMN_NUMBER_OF(of->is_base64);
    *at++ = COLUMN_NUMBER_OF(of->is_body_left_out);
    *at++ = text_or_null(of->rest);
    *at++ = text_or_null(of->attempt_log);
    *at++ = COLUMN_NUMBER_OF(of->bytes);
}

enum job_state schema_outcome(struct slice word)
{
    for (enum job_state state = JOB_STATE_DELIVERED; state <= JOB_STATE_CANCELLED; state++)
        if (slice_equal(word, slice_of(job_state_word(state))))
            return state;
    return JOB_STATE_DEAD;
}

void schema_read(const struct column_value *at, struct history_columns *columns)
{
    *columns = (struct history_columns){
        .topic = at[0].text,
        .job_id = at[1].text,
        .outcome = schema_outcome(at[2].text),
        .created_at = at[3].number,
        .due_at = at[4].number,
        .ended_at = at[5].number,
        .reason = at[6].text,
        .status = at[7].number,
        .error = at[8].text,
        .duration_ms = at[9].kind == COLUMN_NULL ? -1 : at[9].number,
        .attempts = at[10].number,
        .rounds = at[11].number,
        .lost_consumers = at[12].number,
        .method = at[13].text,
        .url = at[14].text,
        .labels = at[15].text,
        .headers = at[16].text,
        .has_body = at[17].kind != COLUMN_NULL,
        .body = at[17].text,
        .is_base64 = at[18].number,
        .is_body_left_out = at[19].number,
        .rest = at[20].text,
        .attempt_log = at[21].text,
        .bytes = at[22].number,
    };
}
