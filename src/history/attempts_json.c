#include "history/attempts_json.h"

#include "base/json_writer.h"
#include "job/text/json.h"

static void put_attempt(struct json_writer *json, const struct attempt_line *line)
{
    json_put_object(json);
    json_add_number(json, "attempt", line->number);
    if (line->round > 1)
        json_add_number(json, "round", line->round);
    json_add_number(json, "at", line->result.at_ms);
    json_add_number(json, "durationMs", line->result.duration_ms);
    attempt_result_add(json, &line->result);
    attempt_line_add_answer(json, line);
    if (line->base64.size)
        json_add_text(json, "answerBase64", line->base64);
    if (line->is_answer_cut)
        json_add_bool(json, "isAnswerCut", true);
    json_end_object(json);
}

size_t attempts_json_write(struct slice lines, struct buffer *out, struct attempt_line *last)
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

/* Returns the text of a JSON string that has no escapes. */
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

void attempts_json_read(struct slice json, struct buffer *lines)
{
    struct json_cursor cursor;
    struct slice object;
    if (!json_open(json, &cursor) || cursor.close != ']')
        return;
    while (json_next_item(&cursor, &object) && read_attempt(object, lines))
        ;
}
