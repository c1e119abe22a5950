#include "qstash/dead_letter_view.h"

#include "job/attempt_line.h"
#include "job/text/json.h"
#include "qstash/answer_headers.h"
#include "qstash/message_id.h"

bool dead_letter_is(const struct app_verdict *verdict)
{
    return verdict->end == STATUS_OK && verdict->job.state == JOB_STATE_DEAD && !verdict->job.is_of_history;
}

void dead_letter_add_answer(struct json_writer *json, const struct stored_job *job,
                            const struct message_view *view, const char *headers_name)
{
    struct attempt_line line, next;
    struct slice lines = job->last_lines;
    struct buffer text;
    bool has_line = false;
    while (attempt_line_take(&lines, &next)) {
        line = next;
        has_line = true;
    }
    /* A delivered job has no new record, so only the line has its last attempt. */
    const struct attempt_result *last = has_line ? &line.result : &view->job.last_attempt;
    json_add_number(json, "responseStatus", last->at_ms && last->error == FAILURE_NONE ? last->status : 0);
    if (view->job.answer_headers.size)
        answer_headers_add(json, headers_name, view->job.answer_headers);
    if (!has_line || line.answer.size == 0)
        return;
    buffer_init_fallible(&text, ATTEMPT_LINE_MAX);
    message_view_add_bytes(json, "responseBody", "responseBodyBase64", attempt_line_bytes(&line, &text));
    buffer_fini(&text);
}

void dead_letter_add(struct json_writer *json, const struct stored_job *job, const struct message_view *view)
{
    char room[MESSAGE_ID_MAX + 1];
    message_view_add(json, view);
    json_add_text(json, "dlqId", dead_letter_id(view->job.job_id, room));
    if (message_view_is_of_run(view))
        message_view_add_run(json, view);
    dead_letter_add_answer(json, job, view, "responseHeader");
}
