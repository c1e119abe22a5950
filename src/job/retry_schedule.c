#include "job/retry_schedule.h"

#include <assert.h>

#include "base/duration.h"
#include "base/json_writer.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

const struct retry_schedule retry_schedule_default = {
    .count = 9,
    .wait_ms = {15 * SECOND, 3 * MINUTE, 10 * MINUTE, 30 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR,
                15 * HOUR},
};

static bool is_separator(char byte)
{
    return byte == ' ' || byte == ',';
}

/* Takes the next word from the front of *rest. Returns an empty word at the end of the text. */
static struct slice take_word(struct slice *rest)
{
    size_t start = 0;
    while (start < rest->size && is_separator(rest->data[start]))
        start++;
    size_t end = start;
    while (end < rest->size && !is_separator(rest->data[end]))
        end++;
    struct slice word = slice_skip(slice_from(rest->data, end), start);
    *rest = slice_skip(*rest, end);
    return word;
}

enum status retry_schedule_parse(struct slice text, struct retry_schedule *schedule, struct problem *problem)
{
    schedule->count = 0;
    for (struct slice word = take_word(&text); word.size; word = take_word(&text)) {
        int64_t wait_ms;
        if (schedule->count == RETRY_SCHEDULE_MAX) {
            problem_set(problem, "a retry schedule has at most %d waits", RETRY_SCHEDULE_MAX);
            return STATUS_INVALID;
        }
        if (!duration_parse(word, JOB_WAIT_MAX_MS, &wait_ms)) {
            problem_set(problem, "'%.*s' is not a wait of at most 365d, such as 15s, 3m or 1h",
                        SLICE_ARG(word));
            return STATUS_INVALID;
        }
        schedule->wait_ms[schedule->count++] = wait_ms;
    }
    return STATUS_OK;
}

int64_t retry_schedule_wait_ms(const struct retry_schedule *schedule, int n)
{
    assert(schedule->count > 0 && n >= 1);
    size_t step = (size_t)n <= schedule->count ? (size_t)n : schedule->count;
    return schedule->wait_ms[step - 1];
}

void retry_schedule_write(const struct retry_schedule *schedule, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    json_put_array(&json);
    for (size_t i = 0; i < schedule->count; i++)
        json_put_seconds(&json, schedule->wait_ms[i]);
    json_end_array(&json);
}
