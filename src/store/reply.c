#include "store/reply.h"

#include "base/log.h"
#include "job/job_id.h"

bool reply_read_state(struct slice word, enum job_state *state)
{
    for (int i = JOB_STATE_DELAYED; i <= JOB_STATE_CANCELLED; i++) {
        if (slice_equal(word, slice_of(job_state_word((enum job_state)i)))) {
            *state = (enum job_state)i;
            return true;
        }
    }
    return false;
}

bool reply_count(const struct redis_reply *reply, size_t at, size_t first, size_t parts, size_t max,
                 size_t *count)
{
    int64_t number = redis_reply_integer(redis_reply_at(reply, at));
    size_t size = redis_reply_size(reply);
    if (number < 0 || (uint64_t)number > max || size < first || (size - first) / parts < (uint64_t)number)
        return false;
    *count = (size_t)number;
    return true;
}

static bool note_name(bool is_ours, const char *what, struct slice name)
{
    if (!is_ours)
        log_warning("name_unreadable", LOG_SLICE(what, name));
    return is_ours;
}

bool reply_has_id(struct slice id)
{
    struct slice topic, job_id;
    return note_name(job_key_parse(id, &topic, &job_id), "job", id);
}

bool reply_has_topic(struct slice topic)
{
    return note_name(topic_is_valid(topic), "topic", topic);
}

enum status reply_refuse(const char *script)
{
    log_error("reply_unreadable", LOG_TEXT("script", script));
    return STATUS_UNKNOWN;
}

bool reply_read_job(const struct redis_reply *reply, struct stored_job *job)
{
    if (redis_reply_size(reply) < 3 ||
        !reply_read_state(redis_reply_text(redis_reply_at(reply, 0)), &job->state))
        return false;
    job->at_ms = redis_reply_integer(redis_reply_at(reply, 1));
    job->record = redis_reply_text(redis_reply_at(reply, 2));
    job->losses = redis_reply_integer(redis_reply_at(reply, 3));
    job->settings = redis_reply_text(redis_reply_at(reply, 4));
    job->until_ms = redis_reply_integer(redis_reply_at(reply, 5));
    job->last_lines = redis_reply_text(redis_reply_at(reply, 6));
    return true;
}
