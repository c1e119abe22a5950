#include "qstash/run_invoker.h"

#include "job/job.h"
#include "job/target/url.h"
#include "job/text/json.h"

bool run_invoker_read(struct slice body, struct run_invoker *invoker, struct buffer *text)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    struct json_cursor cursor;
    struct slice key, value;
    struct url url;
    const char *ignored;
    *invoker = (struct run_invoker){.headers = SLICE("{}")};
    bool is_object =
        json_check(body, &limits, &fault) == STATUS_OK && json_open(body, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"headers\"")))
            invoker->headers = value;
        else if (slice_equal(key, SLICE("\"step\"")))
            invoker->step = value;
        else if (!json_is_text(value))
            continue;
        else if (slice_equal(key, SLICE("\"body\"")))
            invoker->payload = json_text(value, text);
        else if (slice_equal(key, SLICE("\"workflowRunId\"")))
            invoker->run_id = json_text(value, text);
        else if (slice_equal(key, SLICE("\"workflowUrl\"")))
            invoker->url = json_text(value, text);
    }
    return is_object && invoker->run_id.size && url_parse(invoker->url, &url, &ignored) == STATUS_OK &&
           invoker->step.size && invoker->step.data[0] == '{' && invoker->headers.data[0] == '{';
}

void run_invoker_write(const struct run_invoker *invoker, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_add_text(&json, "workflowRunId", invoker->run_id);
    json_add_text(&json, "workflowUrl", invoker->url);
    json_add_raw(&json, "headers", invoker->headers);
    json_add_raw(&json, "step", invoker->step);
    json_end_object(&json);
}

/* Writes the member "out" as a JSON text. */
static void write_outcome(const struct run_outcome *outcome, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_add_text(&json, "workflowRunId", outcome->run_id);
    if (outcome->has_body)
        json_add_text(&json, "body", outcome->body);
    json_add_bool(&json, "isCanceled", outcome->is_cancelled);
    json_add_bool(&json, "isFailed", outcome->is_failed);
    json_end_object(&json);
}

void run_invoker_write_step(const struct run_invoker *invoker, const struct run_outcome *outcome,
                            struct buffer *step)
{
    struct buffer text;
    bool is_empty = json_count_members(invoker->step) == 0;
    buffer_init_fallible(&text, JOB_RECORD_MAX);
    write_outcome(outcome, &text);
    buffer_append(step, slice_from(invoker->step.data, invoker->step.size - 1));
    buffer_append(step, is_empty ? SLICE("\"out\":") : SLICE(",\"out\":"));
    buffer_append_json(step, buffer_slice(&text));
    struct json_writer json = json_writer_behind(step);
    if (outcome->url.size)
        json_add_text(&json, "invokedWorkflowUrl", outcome->url);
    if (outcome->made_ms)
        json_add_number(&json, "invokedWorkflowCreatedAt", outcome->made_ms);
    buffer_append_byte(step, '}');
    step->failed |= text.failed;
    buffer_fini(&text);
}
