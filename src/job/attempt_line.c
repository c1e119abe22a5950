#include "job/attempt_line.h"

#include "base/encoding.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "job/text/json.h"
#include "job/text/sealed.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define BYTES       "\"\\u001f"    /* begins a JSON string that has bytes as base64 */

/* ---- writing ---- */

/* Returns the size of the first character, or 0 if U+FFFD must replace the character. */
static size_t shown_size(const uint8_t *at, size_t left)
{
    size_t size = utf8_size(*at);
    if (*at < 0x80)
        return (*at >= 0x20 && *at != 0x7f) || *at == '\t' || *at == '\n' || *at == '\r';
    bool is_control = at[0] == 0xc2 && left > 1 && at[1] < 0xa0; /* U+0080 to U+009F */
    return size && size <= left && utf8_is_sound(at, size) && !is_control ? size : 0;
}

/* Returns whether the bytes are the beginning of a UTF-8 character whose other bytes are missing. */
static bool is_torn(const uint8_t *at, size_t left)
{
    for (size_t i = 1; i < left; i++)
        if ((at[i] & 0xc0) != 0x80)
            return false;
    return utf8_size(*at) > left;
}

/* Writes a text of at most 3 * ATTEMPT_ANSWER_MAX bytes. Returns whether the answer is UTF-8, if it is not
 * cut inside a character. */
static bool show_answer(struct slice answer, bool is_cut, struct buffer *text)
{
    struct slice whole = answer;
    while (answer.size) {
        const uint8_t *at = (const uint8_t *)answer.data;
        size_t size = shown_size(at, answer.size);
        if (size == 0 && is_cut && is_torn(at, answer.size))
            break;
        buffer_append(text, size ? slice_from(answer.data, size) : SLICE(REPLACEMENT));
        answer = slice_skip(answer, size ? size : 1);
    }
    return utf8_is_sound_text(whole.data, whole.size - answer.size);
}

static void put_answer(struct buffer *out, struct slice answer, bool is_cut)
{
    char room[3 * ATTEMPT_ANSWER_MAX + 1];
    struct buffer text = buffer_of(room, sizeof room);
    if (show_answer(answer, is_cut, &text)) {
        buffer_append_json(out, buffer_slice(&text));
    } else {
        buffer_append(out, SLICE(BYTES));
        base64_append(out, answer);
        buffer_append_byte(out, '"');
    }
}

/* Writes the answer, sealed if the process has keys. The owner is the beginning of the line. */
static void put_sealed_answer(struct buffer *out, size_t line, struct slice answer, bool is_cut)
{
    char room[ATTEMPT_OWNER_MAX];
    struct buffer value, owner = buffer_of(room, sizeof room);
    buffer_append(&owner, slice_skip(buffer_slice(out), line));
    buffer_append_byte(out, ' ');
    buffer_init(&value, ATTEMPT_LINE_MAX);
    put_answer(&value, answer, is_cut);
    sealed_value_append(out, buffer_slice(&owner), buffer_slice(&value));
    buffer_fini(&value);
    if (is_cut)
        buffer_append_byte(out, '+');
}

void attempt_line_write(struct buffer *out, int round, int number, const struct attempt_result *result,
                        struct slice answer, bool is_answer_cut)
{
    size_t line = out->size;
    buffer_append_number(out, number);
    if (round > 1) {
        buffer_append_byte(out, '@');
        buffer_append_number(out, round);
    }
    buffer_append_byte(out, ' ');
    buffer_append_number(out, result->at_ms);
    buffer_append_byte(out, ' ');
    buffer_append_number(out, result->duration_ms);
    buffer_append_byte(out, ' ');
    if (result->error != FAILURE_NONE) {
        buffer_append(out, slice_of(failure_word(result->error)));
        if (result->detail.size) {
            buffer_append_byte(out, ' ');
            put_answer(out, result->detail, false);
        }
        return;
    }
    buffer_append_number(out, result->status);
    if (answer.size > ATTEMPT_ANSWER_MAX) {
        answer.size = ATTEMPT_ANSWER_MAX;
        is_answer_cut = true;
    }
    if (answer.size || is_answer_cut)
        put_sealed_answer(out, line, answer, is_answer_cut);
}

/* ---- reading ---- */

static bool take_number(struct slice *rest, int64_t max, int64_t *number)
{
    struct slice word;
    uint64_t got;
    if (!slice_cut(*rest, ' ', &word, rest) || !slice_to_number(word, (uint64_t)max, &got))
        return false;
    *number = (int64_t)got;
    return true;
}

/* Reads the number of the attempt: "3", or "3@2" for attempt 3 of the second round. */
static bool read_number(struct slice word, struct attempt_line *line)
{
    struct slice digits, rest;
    uint64_t number, round = 1;
    bool has_round = slice_cut(word, '@', &digits, &rest);
    if (!slice_to_number(digits, INT32_MAX, &number) ||
        (has_round && !slice_to_number(rest, INT32_MAX, &round)))
        return false;
    line->number = (int)number;
    line->round = (int)round;
    return true;
}

static void set_base64(struct attempt_line *line)
{
    if (slice_starts_with(line->answer, SLICE(BYTES)))
        line->base64 = slice_from(line->answer.data + sizeof BYTES - 1, line->answer.size - sizeof BYTES);
}

bool attempt_line_take(struct slice *lines, struct attempt_line *line)
{
    struct slice rest, word;
    const char *start = lines->data;
    *line = (struct attempt_line){.number = 0};
    if (!slice_cut(*lines, '\n', &rest, lines) || !slice_cut(rest, ' ', &word, &rest) ||
        !read_number(word, line) || !take_number(&rest, TIMESTAMP_MAX_MS, &line->result.at_ms) ||
        !take_number(&rest, TIMESTAMP_MAX_MS, &line->result.duration_ms))
        return false;
    bool has_answer = slice_cut(rest, ' ', &word, &rest);
    line->owner = slice_from(start, (size_t)(slice_end(word) - start));
    uint64_t status;
    if (slice_to_number(word, 999, &status))
        line->result.status = (int)status;
    else if (!failure_parse(word, &line->result.error))
        return false;
    if (line->result.error == FAILURE_NONE && line->result.status < 100)
        return false;
    if (has_answer) {
        static const struct json_limits limits = {1, 1};
        struct json_fault ignored;
        line->is_answer_cut = rest.size && rest.data[rest.size - 1] == '+';
        line->answer = slice_from(rest.data, rest.size - line->is_answer_cut);
        if (!json_is_text(line->answer) || json_check(line->answer, &limits, &ignored) != STATUS_OK)
            return false;
        set_base64(line);
    }
    if (line->result.error != FAILURE_NONE) {
        line->result.detail = attempt_detail(line->answer);
        line->answer.size = 0;
    }
    return true;
}

bool attempt_line_is_sealed(const struct attempt_line *line)
{
    return sealed_value_is(line->answer);
}

/* Opens the answer into value, which must be empty, if it is sealed. */
static struct attempt_line opened(const struct attempt_line *line, struct buffer *value)
{
    struct attempt_line open = *line;
    buffer_init(value, ATTEMPT_LINE_MAX);
    if (attempt_line_is_sealed(line)) {
        buffer_reserve(value, ATTEMPT_LINE_MAX);
        open.answer = sealed_value_open(line->owner, line->answer, value);
        if (!json_is_text(open.answer))
            open.answer = SLICE("");
        set_base64(&open);
    }
    return open;
}

static struct slice open_bytes(const struct attempt_line *line, struct buffer *scratch)
{
    size_t first = scratch->size;
    if (line->answer.size == 0)
        return SLICE("");
    if (line->base64.size == 0)
        return json_text(line->answer, scratch);
    if (!base64_decode(line->base64, scratch) || scratch->failed || scratch->size == first)
        return SLICE("");
    return slice_from(scratch->data + first, scratch->size - first);
}

static struct slice open_text(const struct attempt_line *line, struct buffer *scratch)
{
    struct buffer bytes;
    size_t first = scratch->size;
    if (line->base64.size == 0)
        return open_bytes(line, scratch);
    buffer_init_fallible(&bytes, ATTEMPT_LINE_MAX);
    (void)show_answer(open_bytes(line, &bytes), line->is_answer_cut, scratch);
    buffer_fini(&bytes);
    bool is_empty = scratch->failed || scratch->size == first;
    return is_empty ? SLICE("") : slice_from(scratch->data + first, scratch->size - first);
}

/* Returns the text or the bytes of a line. Those of a sealed answer are copied to scratch. */
static struct slice answer_of(const struct attempt_line *line, struct buffer *scratch,
                              struct slice (*fn)(const struct attempt_line *, struct buffer *))
{
    struct buffer value, decoded;
    if (!attempt_line_is_sealed(line))
        return fn(line, scratch);
    const struct attempt_line open = opened(line, &value);
    size_t first = scratch->size;
    buffer_init_fallible(&decoded, ATTEMPT_LINE_MAX);
    buffer_append(scratch, fn(&open, &decoded));
    buffer_fini(&decoded);
    buffer_fini(&value);
    bool is_empty = scratch->failed || scratch->size == first;
    return is_empty ? SLICE("") : slice_from(scratch->data + first, scratch->size - first);
}

struct slice attempt_line_bytes(const struct attempt_line *line, struct buffer *scratch)
{
    return answer_of(line, scratch, open_bytes);
}

struct slice attempt_line_text(const struct attempt_line *line, struct buffer *scratch)
{
    return answer_of(line, scratch, open_text);
}

void attempt_line_add_answer(struct json_writer *json, const struct attempt_line *line)
{
    struct buffer text, value;
    const struct attempt_line open = opened(line, &value);
    if (open.base64.size) {
        buffer_init_fallible(&text, ATTEMPT_LINE_MAX);
        json_add_text(json, "answer", open_text(&open, &text));
        buffer_fini(&text);
    } else if (open.answer.size) {
        json_add_raw(json, "answer", open.answer);
    }
    buffer_fini(&value);
}
