#include "qstash/schedule_states.h"

#include "app/jobs.h"
#include "job/json.h"

static struct slice word_of(enum job_state state)
{
    switch (state) {
    case JOB_STATE_DELIVERED:
        return SLICE("SUCCESS");
    case JOB_STATE_DEAD:
    case JOB_STATE_CANCELLED:
        return SLICE("FAIL");
    default:
        return SLICE("IN_PROGRESS");
    }
}

static void add_state(struct schedule_states *states, struct slice message_id, struct slice word)
{
    json_put_name_text(&states->json, message_id);
    json_put_text(&states->json, word);
    states->count++;
}

static void on_older_end(void *arg, const struct app_verdict *verdict)
{
    struct schedule_states *states = arg;
    (void)verdict; /* without the history, the last message is all that is known */
    json_end_object(&states->json);
    states->fn(states->arg);
}

static void on_older(void *arg, const struct app_job *job)
{
    struct schedule_states *states = arg;
    struct slice topic, message_id;
    bool is_older =
        job_key_parse(job->id, &topic, &message_id) && !slice_equal(message_id, states->message_id);
    if (is_older && states->count < SCHEDULE_STATES_MAX)
        add_state(states, message_id, word_of(job->state));
}

/* Returns what the ids of all messages of the schedule begin with: all but the time. */
static struct slice prefix_of(struct slice message_id)
{
    while (message_id.size && message_id.data[message_id.size - 1] != '~')
        message_id.size--;
    return message_id;
}

static void on_last(void *arg, const struct app_verdict *verdict)
{
    struct schedule_states *states = arg;
    if (verdict->end == APP_DONE)
        add_state(states, states->message_id, word_of(verdict->job.state));
    else if (verdict->end == APP_NOT_FOUND)
        add_state(states, states->message_id, SLICE("SUCCESS"));
    states->list = (struct app_list){
        .states = 1U << JOB_STATE_DEAD | 1U << JOB_STATE_DELIVERED | 1U << JOB_STATE_CANCELLED,
        .is_of_history = true,
        .is_newest_first = true,
        .topic = states->topic,
        .id_prefix = prefix_of(states->message_id),
        .max = SCHEDULE_STATES_MAX,
    };
    if (states->list.id_prefix.size)
        app_list(states->app, &states->list, on_older, on_older_end, states);
    else
        on_older_end(states, verdict);
}

void schedule_states_add(struct schedule_states *states, struct app *app, struct buffer *out,
                         struct slice key, void (*fn)(void *arg), void *arg)
{
    *states = (struct schedule_states){.app = app, .json = json_writer_behind(out), .fn = fn, .arg = arg};
    if (key.size == 0 || key.size >= sizeof states->room) {
        fn(arg);
        return;
    }
    memcpy(states->room, key.data, key.size);
    states->key = slice_from(states->room, key.size);
    if (!job_key_parse(states->key, &states->topic, &states->message_id)) {
        fn(arg);
        return;
    }
    json_add_object(&states->json, "lastScheduleStates");
    app_read(app, states->key, on_last, states);
}
