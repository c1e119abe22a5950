/* attempts.c - GET /jobs/<topic>/<jobId>/attempts */
#include "api/handlers.h"
#include "api/problem.h"
#include "api/view.h"
#include "job/attempt_line.h"

static void write_line(struct buffer *body, const struct attempt_line *line)
{
    buffer_printf(body, "{\"attempt\":%d,", line->number);
    view_write_result(body, &line->result);
    if (line->answer.size) {
        buffer_append(body, SLICE(",\"answer\":"));
        buffer_append(body, line->answer);
    }
    if (line->is_answer_cut)
        buffer_append(body, SLICE(",\"answerTruncated\":true"));
    buffer_append_byte(body, '}');
}

static void on_attempts(void *arg, enum status status, struct slice lines)
{
    struct exchange *exchange = arg;
    struct attempt_line line;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, "Nothing was to be changed; ask again.");
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    buffer_append(body, SLICE("{\"jobId\":"));
    buffer_append_json(body, exchange->job_id);
    buffer_append(body, SLICE(",\"topic\":"));
    buffer_append_json(body, exchange->topic);
    buffer_append(body, SLICE(",\"attempts\":["));
    for (bool is_first = true; attempt_line_take(&lines, &line); is_first = false) {
        if (!is_first)
            buffer_append_byte(body, ',');
        write_line(body, &line);
    }
    buffer_append(body, SLICE("]}"));
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

void attempts_handle(struct exchange *exchange)
{
    store_attempts(api_of(exchange)->options.store, exchange->key, on_attempts, exchange);
}
