#include "history/columns.h"

#include <ctype.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "job/attempt_line.h"
#include "job/job_id.h"
#include "job/text/json.h"

enum {
    REST_MAX = JOB_RECORD_MAX,
    LOG_MAX = 16 * 1024 * 1024,
    UNREADABLE_MAX = 65536, /* maximum number of bytes that are kept of an unreadable text */
    ROW_BYTES = 250,        /* estimated bytes of a row's numbers, short texts and index entries */
};

void history_parse_init(struct history_parse *parse)
{
    *parse = (struct history_parse){.labels = {.count = 0}};
    buffer_init(&parse->rest, REST_MAX);
    buffer_init(&parse->resealed, REST_MAX);
    buffer_init(&parse->attempt_log, LOG_MAX);
}

void history_parse_fini(struct history_parse *parse)
{
    job_fini(&parse->job);
    buffer_fini(&parse->rest);
    buffer_fini(&parse->resealed);
    buffer_fini(&parse->attempt_log);
}

/* ---- attempts ----
 *
 * The lines of a job's attempts (attempt_line.h) are a JSON array in the database:
 *
 *     [{"attempt":3,"at":1700000000123,"durationMs":246,"status":503,"answer":"locked","isAnswerCut":true},
 *      {"attempt":1,"round":2,"at":1700000030456,"durationMs":12,"error":"connect","errorDetail":"refused"}]
 */

static void put_attempt(struct json_writer *json, const struct attempt_line *line)
{
    json_put_object(json);
    json_add_number(json, "attempt", line->number);
    if (line->round > 1)
        json_add_number(json, "round", line->round);
    json_add_number(json, "at", line->result.at_ms);
    json_add_number(json, "durationMs", line->result.duration_ms);
    attempt_result_add(json, &line->result);
    if (attempt_line_is_sealed(line))
        json_add_raw(json, "answer", line->answer);
    else
        attempt_line_add_answer(json, line);
    if (line->base64.size)
        json_add_text(json, "answerBase64", line->base64);
    if (line->is_answer_cut)
        json_add_bool(json, "isAnswerCut", true);
    json_end_object(json);
}

/* Writes the array. Stops at the first line that duepost did not write. Writes nothing if there is no
 * line. *last becomes the last attempt, if there is one. Returns the number of attempts. */
static size_t attempts_json_write(struct slice lines, struct buffer *out, struct attempt_line *last)
{
    struct json_writer json = json_writer_to(out);
    struct attempt_line line;
    size_t count = 0;
    while (attempt_line_take(&lines, &line)) {
        if (count++ == 0)
            json_put_array(&json);
        put_attempt(&json, &line);
        *last = line;
    }
    if (count)
        json_end_array(&json);
    return count;
}

/* The values of an attempt, as they are in the JSON. */
struct attempt_values {
    struct slice attempt, round, at, duration, status, error, text, base64, is_cut;
};

static void sort_value(struct attempt_values *values, struct slice key, struct slice value)
{
    const struct {
        struct slice key;
        struct slice *value;
    } members[] = {
        {SLICE("\"attempt\""), &values->attempt},
        {SLICE("\"round\""), &values->round},
        {SLICE("\"at\""), &values->at},
        {SLICE("\"durationMs\""), &values->duration},
        {SLICE("\"status\""), &values->status},
        {SLICE("\"error\""), &values->error},
        {SLICE("\"answer\""), &values->text},
        {SLICE("\"errorDetail\""), &values->text},
        {SLICE("\"answerBase64\""), &values->base64},
        {SLICE("\"isAnswerCut\""), &values->is_cut},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (slice_equal(key, members[i].key))
            *members[i].value = value;
}

static bool is_number(struct slice text)
{
    uint64_t ignored;
    return slice_to_number(text, INT64_MAX, &ignored);
}

static struct slice unquoted(struct slice value)
{
    return json_is_text(value) && value.size >= 2 ? slice_from(value.data + 1, value.size - 2) : SLICE("");
}

static bool read_attempt(struct slice object, struct buffer *lines)
{
    struct attempt_values values = {.round = {NULL, 0}};
    struct json_cursor cursor;
    struct slice key, value;
    if (!json_open(object, &cursor) || cursor.close != '}')
        return false;
    while (json_next_member(&cursor, &key, &value))
        sort_value(&values, key, value);
    struct slice outcome = values.error.size ? unquoted(values.error) : values.status;
    if (!is_number(values.attempt) || !is_number(values.at) || !is_number(values.duration) || !outcome.size)
        return false;
    buffer_append(lines, values.attempt);
    if (is_number(values.round))
        buffer_printf(lines, "@%.*s", SLICE_ARG(values.round));
    buffer_printf(lines, " %.*s %.*s %.*s", SLICE_ARG(values.at), SLICE_ARG(values.duration),
                  SLICE_ARG(outcome));
    if (values.base64.size) {
        buffer_printf(lines, " \"\\u001f%.*s\"", SLICE_ARG(unquoted(values.base64)));
    } else if (values.text.size) {
        buffer_append_byte(lines, ' ');
        buffer_append(lines, values.text);
    }
    if (values.is_cut.size)
        buffer_append_byte(lines, '+');
    buffer_append_byte(lines, '\n');
    return true;
}

/* Writes a line for each object of the array, up to the first object that is not an attempt. */
static void attempts_json_read(struct slice json, struct buffer *lines)
{
    struct json_cursor cursor;
    struct slice object;
    if (!json_open(json, &cursor) || cursor.close != ']')
        return;
    while (json_next_item(&cursor, &object) && read_attempt(object, lines))
        ;
}

/* ---- from the outbox ---- */

/* The parts of a text from the outbox. */
struct text_parts {
    enum job_state state;
    int64_t at_ms;
    int64_t losses;
    struct slice record, lines;
};

static bool take_state(struct slice word, enum job_state *state)
{
    for (*state = JOB_STATE_DEAD; *state <= JOB_STATE_CANCELLED; (*state)++)
        if (slice_equal(word, slice_of(job_state_word(*state))))
            return true;
    return false;
}

static bool take_number(struct slice *rest, uint64_t max, int64_t *number)
{
    struct slice word, digits, ignored;
    uint64_t value;
    if (!slice_cut(*rest, ' ', &word, rest))
        return false;
    slice_cut(word, '/', &digits, &ignored); /* a nonce may follow the number of lost consumers */
    *number = slice_to_number(digits, max, &value) ? (int64_t)value : -1;
    return *number >= 0;
}

static bool split_text(struct slice text, struct text_parts *parts)
{
    struct slice word;
    int64_t size;
    if (!slice_cut(text, ' ', &word, &text) || !take_state(word, &parts->state) ||
        !take_number(&text, TIMESTAMP_MAX_MS, &parts->at_ms) ||
        !take_number(&text, INT32_MAX, &parts->losses) || !take_number(&text, text.size, &size) ||
        (size_t)size > text.size)
        return false;
    parts->record = slice_from(text.data, (size_t)size);
    parts->lines = slice_skip(text, (size_t)size);
    return true;
}

/* Returns whether eight bytes are ASCII other than NUL. */
static bool is_plain_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return ((word | (word - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080)) == 0;
}

/* Returns whether the text is UTF-8 without NUL. Databases refuse other text. */
static bool is_utf8_without_nul(struct slice text)
{
    const uint8_t *at = (const uint8_t *)text.data;
    for (size_t i = 0, step; i < text.size; i += step) {
        step = 8;
        if (text.size - i >= 8 && is_plain_word(at + i))
            continue;
        step = at[i] < 0x80 ? at[i] != 0 : utf8_size(at[i]);
        if (!step || step > text.size - i || (step > 1 && !utf8_is_sound(at + i, step)))
            return false;
    }
    return true;
}

static bool is_valid_json(struct slice text)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, SIZE_MAX};
    struct json_fault ignored;
    return json_check(text, &limits, &ignored) != STATUS_INVALID;
}

static struct slice without_quotes(struct slice value)
{
    return value.size >= 2 ? slice_from(value.data + 1, value.size - 2) : SLICE("");
}

/* Returns whether the text has only characters of base64, so that it can be put between quotes. */
static bool is_base64_text(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!isalnum((unsigned char)text.data[i]) && !strchr("+/=", text.data[i]))
            return false;
    return true;
}

/* Assigns one member of the record to its column. Returns false if the member belongs to the column rest. */
static bool sort_member(struct history_columns *columns, struct slice key, struct slice value)
{
    uint64_t number;
    if (slice_equal(key, SLICE("\"createdAt\""))) {
        if (slice_to_number(value, TIMESTAMP_MAX_MS, &number))
            columns->created_at = (int64_t)number;
    } else if (slice_equal(key, SLICE("\"headers\""))) {
        columns->headers = value;
    } else if (slice_equal(key, SLICE("\"labels\""))) {
        columns->labels = value;
    } else if (slice_equal(key, SLICE("\"body\""))) {
        columns->body = value;
        columns->has_body = true;
    } else if (slice_equal(key, SLICE("\"bodyBase64\""))) {
        columns->body = without_quotes(value);
        columns->has_body = columns->is_base64 = true;
    } else if (slice_equal(key, SLICE("\"bodyLeftOut\""))) {
        columns->is_body_left_out = true;
    } else {
        return slice_equal(key, SLICE("\"url\"")) || slice_equal(key, SLICE("\"method\"")) ||
               slice_equal(key, SLICE("\"head\"")); /* only scripts read the head, see job.h */
    }
    return true;
}

/* Splits a record that job_read has read. Its last member is a body that job_read has found already, so the
 * text is split only up to this body. */
static void split_record(struct history_parse *parse, struct slice record)
{
    struct history_columns *columns = &parse->columns;
    struct slice body = parse->job.body;
    struct buffer *rest = &parse->rest;
    struct json_cursor cursor;
    struct slice key, value;
    if (body.size && slice_end(body) + 1 == slice_end(record)) {
        columns->body = body;
        columns->has_body = true;
        record.size = (size_t)(body.data - record.data);
    }
    if (!json_open(record, &cursor))
        return;
    while (json_next_member(&cursor, &key, &value)) { /* fails at a body that was cut off */
        if (sort_member(columns, key, value))
            continue;
        buffer_append_byte(rest, rest->size ? ',' : '{');
        buffer_append(rest, key);
        buffer_append_byte(rest, ':');
        buffer_append(rest, value);
    }
    if (rest->size)
        buffer_append_byte(rest, '}');
    columns->rest = buffer_slice(rest);
}

/* Writes the record of a sealed job without its body. */
static struct slice seal_without_body(struct history_parse *parse)
{
    struct job *job = NEW(struct job);
    *job = parse->job;
    job->body = job->body_base64 = SLICE("");
    job->has_body_base64 = false;
    job_write(job, &parse->resealed);
    free(job);
    parse->columns.is_body_left_out = true;
    return buffer_slice(&parse->resealed);
}

/* A sealed record stays sealed: its seal is in the column rest. */
static bool read_record(struct history_parse *parse, struct slice id, struct slice record, bool keeps_body)
{
    struct history_columns *columns = &parse->columns;
    if (!is_utf8_without_nul(record) || job_read(id, record, &parse->job) != STATUS_OK)
        return false;
    struct job *job = &parse->job;
    bool is_sealed = job->opened.data;
    if (is_sealed && !keeps_body && !job->lacks.size && (job->body.size || job->has_body_base64))
        record = seal_without_body(parse);
    split_record(parse, record);
    columns->url = job->url;
    if (is_sealed)
        slice_cut(job->url, '?', &columns->url, &(struct slice){NULL, 0});
    columns->method = slice_of(job_method_word(job->method));
    columns->due_at = job_due_ms(job, columns->created_at);
    columns->reason = job->reason;
    columns->attempts = job->attempts;
    columns->rounds = job->rounds;
    if (job->last_attempt.at_ms) {
        columns->status = job->last_attempt.status;
        columns->error = slice_of(failure_word(job->last_attempt.error));
        columns->duration_ms = job->last_attempt.duration_ms;
    }
    if (columns->labels.size) /* labels that are not sealed */
        parse->labels = job->labels;
    if (job->key.size) {
        struct buffer lane = buffer_of(parse->lane_room, sizeof parse->lane_room);
        buffer_append(&lane, SLICE(HISTORY_LANE));
        buffer_append(&lane, job->key);
        parse->lane = buffer_slice(&lane);
    }
    return columns->created_at > 0 && !parse->rest.failed &&
           (!columns->is_base64 || is_base64_text(columns->body)) &&
           (!columns->rest.size || is_valid_json(columns->rest)) &&
           (!columns->headers.size || is_valid_json(columns->headers)) &&
           (!columns->labels.size || is_valid_json(columns->labels));
}

static bool keeps_body(const struct history_columns *columns, enum history_bodies bodies)
{
    return bodies == HISTORY_BODIES_ON ||
           (bodies == HISTORY_BODIES_ERRORS && columns->outcome != JOB_STATE_DELIVERED);
}

static void leave_out_body(struct history_columns *columns)
{
    if (!columns->has_body)
        return;
    columns->body = SLICE("");
    columns->has_body = columns->is_base64 = false;
    columns->is_body_left_out = true;
}

static void read_lines(struct history_parse *parse, struct slice lines)
{
    struct history_columns *columns = &parse->columns;
    struct attempt_line last;
    if (!is_utf8_without_nul(lines) || attempts_json_write(lines, &parse->attempt_log, &last) == 0)
        return;
    columns->attempt_log = buffer_slice(&parse->attempt_log);
    columns->status = last.result.status;
    columns->error = slice_of(failure_word(last.result.error));
    columns->duration_ms = last.result.duration_ms;
    if (last.number > columns->attempts)
        columns->attempts = last.number;
    if (last.round - 1 > columns->rounds)
        columns->rounds = last.round - 1;
}

/* Fills the row for a text that duepost did not write. */
static void take_unreadable(struct history_parse *parse, const struct history_columns *ended,
                            struct slice text)
{
    buffer_clear(&parse->rest);
    text.size = text.size < UNREADABLE_MAX ? text.size : UNREADABLE_MAX;
    buffer_append_json(&parse->rest, text);
    parse->labels.count = 0;
    parse->lane = SLICE("");
    parse->columns = *ended;
    parse->columns.created_at = parse->columns.due_at = 0;
    parse->columns.reason = SLICE("unreadable");
    parse->columns.method = SLICE("POST");
    parse->columns.rest = buffer_slice(&parse->rest);
}

bool history_parse_entry(struct history_parse *parse, const struct history_entry *entry,
                         enum history_bodies bodies, int64_t now_ms)
{
    struct text_parts parts = {.state = JOB_STATE_DEAD};
    struct history_columns *columns = &parse->columns, ended = {.duration_ms = -1};
    job_fini(&parse->job);
    parse->job = (struct job){.rounds = 0};
    buffer_clear(&parse->rest);
    buffer_clear(&parse->attempt_log);
    parse->labels.count = 0;
    parse->lane = SLICE("");
    if (!job_key_parse(entry->id, &ended.topic, &ended.job_id))
        return false;
    bool is_split = split_text(entry->text, &parts);
    ended.outcome = is_split ? parts.state : JOB_STATE_DEAD;
    ended.ended_at = is_split ? parts.at_ms : now_ms;
    ended.lost_consumers = is_split ? parts.losses : 0;
    *columns = ended;
    bool is_body_kept = entry->keeps_body || keeps_body(&ended, bodies);
    buffer_clear(&parse->resealed);
    if (!is_split || !read_record(parse, entry->id, parts.record, is_body_kept))
        take_unreadable(parse, &ended, is_split ? parts.record : entry->text);
    read_lines(parse, parts.lines);
    if (columns->outcome == JOB_STATE_DEAD && columns->reason.size == 0)
        columns->reason = SLICE("consumer_lost"); /* lists that are read from Redis show the same reason */
    if (!is_body_kept)
        leave_out_body(columns);
    columns->bytes =
        (int64_t)(ROW_BYTES + 2 * (columns->topic.size + columns->job_id.size) + columns->url.size +
                  columns->labels.size * 3 + parse->lane.size * 3 + columns->headers.size +
                  columns->body.size + columns->rest.size + columns->attempt_log.size);
    return true;
}

/* ---- from the database ---- */

static void put_body(struct json_writer *json, const struct history_columns *columns)
{
    if (!columns->has_body)
        return;
    if (!columns->is_base64) {
        json_add_raw(json, "body", columns->body);
        return;
    }
    json_put_name(json, "bodyBase64");
    buffer_append_byte(json_put(json), '"');
    buffer_append(json->out, columns->body);
    buffer_append_byte(json->out, '"');
    json->needs_comma = true;
}

static void put_record(struct buffer *out, const struct history_columns *columns)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_add_number(&json, "createdAt", columns->created_at);
    json_add_text(&json, "url", columns->url);
    if (!slice_equal(columns->method, SLICE("POST")))
        json_add_text(&json, "method", columns->method);
    if (columns->headers.size)
        json_add_raw(&json, "headers", columns->headers);
    if (columns->labels.size)
        json_add_raw(&json, "labels", columns->labels);
    if (columns->rest.size > 2) {
        buffer_append(json_put(&json), slice_from(columns->rest.data + 1, columns->rest.size - 2));
        json.needs_comma = true;
    }
    put_body(&json, columns);
    json_end_object(&json);
}

void history_row_from(struct history_kept_row *kept, const struct history_columns *columns)
{
    struct buffer *text = &kept->text;
    buffer_init(text, 4 * (size_t)JOB_RECORD_MAX);
    buffer_printf(text, "%.*s/%.*s", SLICE_ARG(columns->topic), SLICE_ARG(columns->job_id));
    size_t id_end = text->size;
    bool is_unreadable = columns->rest.size && columns->rest.data[0] == '"';
    if (!is_unreadable)
        put_record(text, columns);
    else if (json_has_escapes(columns->rest))
        (void)json_text(columns->rest, text); /* appends */
    else
        buffer_append(text, without_quotes(columns->rest));
    size_t record_end = text->size;
    attempts_json_read(columns->attempt_log, text);
    const char *at = text->data;
    kept->row = (struct history_row){
        .topic = slice_from(at, columns->topic.size),
        .job_id = slice_from(at + columns->topic.size + 1, columns->job_id.size),
        .id = slice_from(at, id_end),
        .state = columns->outcome,
        .created_ms = columns->created_at,
        .ended_ms = columns->ended_at,
        .losses = (int)columns->lost_consumers,
        .record = slice_from(at + id_end, record_end - id_end),
        .lines = slice_from(at + record_end, text->size - record_end),
        .is_body_left_out = columns->is_body_left_out,
        .is_unreadable = is_unreadable,
    };
}
