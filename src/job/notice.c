#include "job/notice.h"

#include "base/json_writer.h"
#include "job/job.h"
#include "job/job_id.h"
#include "job/json.h"

void notice_init(struct notice *notice)
{
    buffer_init(&notice->id, JOB_KEY_MAX);
    buffer_init_fallible(&notice->record, JOB_RECORD_MAX);
}

void notice_fini(struct notice *notice)
{
    buffer_fini(&notice->id);
    buffer_fini(&notice->record);
}

void notice_clear(struct notice *notice)
{
    buffer_clear(&notice->id);
    buffer_clear(&notice->record);
}

/* Returns whether a record is JSON, because a record that another program wrote must not break the body. A
 * record that only exceeds our limits is still JSON. */
static bool is_json(struct slice record)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    return json_check(record, &limits, &fault) != STATUS_INVALID || fault.is_json;
}

static void write_body(struct buffer *body, struct slice topic, struct slice job_id,
                       const struct notice_death *death)
{
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "topic", topic);
    json_add_text(&json, "jobId", job_id);
    json_add_number(&json, "deadAt", death->at_ms);
    json_add_raw(&json, "job", is_json(death->record) ? death->record : SLICE("null"));
    json_end_object(&json);
}

bool notice_write(struct notice *notice, const struct topic_settings *settings,
                  const struct notice_death *death)
{
    struct slice topic, job_id;
    struct buffer body;
    notice_clear(notice);
    if (!settings || settings->on_dead.size == 0 || !job_key_parse(death->id, &topic, &job_id) ||
        topic_is_sibling(topic))
        return true;
    buffer_init_fallible(&body, JOB_RECORD_MAX);
    write_body(&body, topic, job_id, death);
    struct job job = {.url = settings->on_dead, .body = buffer_slice(&body), .timeout_ms = JOB_TIMEOUT_MS};
    job_write(&job, &notice->record);
    buffer_append(&notice->id, topic);
    buffer_append(&notice->id, SLICE(NOTICE_SIBLING "/"));
    buffer_append(&notice->id, job_id);
    buffer_append(&notice->id, SLICE("~dead~"));
    buffer_append(&notice->id, death->nonce);
    bool is_whole = !body.failed && !notice->record.failed;
    buffer_fini(&body);
    return is_whole;
}
