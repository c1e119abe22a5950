#include "qstash/schedule_states.h"

#include "app/jobs.h"
#include "app/send.h"
#include "job/group.h"
#include "job/text/json.h"

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
    (void)verdict; /* if the history cannot be read, only the last message is shown */
    json_end_object(&states->json);
    states->fn(states->arg);
}

/* Returns whether a message belongs to the last occurrence: its only message, or one of the messages to
 * endpoints of a group. */
static bool is_last(const struct schedule_states *states, struct slice message_id)
{
    struct slice rest = slice_skip(message_id, states->message_id.size);
    return slice_starts_with(message_id, states->message_id) &&
           (rest.size == 0 || (states->group.size && rest.data[0] == '~'));
}

static void on_older(void *arg, const struct stored_job *job)
{
    struct schedule_states *states = arg;
    struct slice topic, message_id;
    bool is_new = job_key_parse(job->id, &topic, &message_id) &&
                  (states->is_last_unknown || !is_last(states, message_id));
    if (is_new && states->count < SCHEDULE_STATES_MAX)
        add_state(states, message_id, word_of(job->state));
}

/* Returns the beginning that all ids of the schedule's messages have in common: this id without its time. */
static struct slice prefix_of(struct slice message_id)
{
    while (message_id.size && message_id.data[message_id.size - 1] != '~')
        message_id.size--;
    return message_id;
}

static void add_older(struct schedule_states *states)
{
    states->list = (struct app_list){
        .filter = {.states = 1U << JOB_STATE_DEAD | 1U << JOB_STATE_DELIVERED | 1U << JOB_STATE_CANCELLED,
                   .topic = states->topic,
                   .id_prefix = prefix_of(states->message_id)},
        .is_of_history = true,
        .is_newest_first = true,
        .max = SCHEDULE_STATES_MAX,
    };
    if (states->list.filter.id_prefix.size)
        app_list(states->app, &states->list, on_older, on_older_end, states);
    else
        on_older_end(states, NULL);
}

static void on_last(void *arg, const struct app_verdict *verdict)
{
    struct schedule_states *states = arg;
    if (verdict->end == STATUS_OK)
        add_state(states, states->message_id, word_of(verdict->job.state));
    else if (verdict->end == STATUS_NOT_FOUND)
        add_state(states, states->message_id, SLICE("SUCCESS"));
    add_older(states);
}

/* Adds the messages that the last occurrence has sent to the endpoints of a group. */
static void on_last_sent(void *arg, const struct app_verdict *verdict)
{
    struct schedule_states *states = arg;
    char room[MESSAGE_ID_MAX + 1];
    states->is_last_unknown = verdict->end != STATUS_OK;
    for (size_t i = 0; verdict->end == STATUS_OK && i < verdict->sent_count; i++) {
        const struct sent_job *job = &verdict->sent[i];
        struct buffer id = buffer_of(room, sizeof room);
        buffer_append(&id, states->message_id);
        buffer_append_byte(&id, '~');
        buffer_append(&id, job->endpoint);
        add_state(states, buffer_slice(&id), job->has_ended ? SLICE("SUCCESS") : word_of(job->state));
    }
    add_older(states);
}

void schedule_states_add(struct schedule_states *states, const struct schedule_states_of *of,
                         struct buffer *out, void (*fn)(void *arg), void *arg)
{
    *states = (struct schedule_states){
        .app = of->app, .json = json_writer_behind(out), .group = of->group, .fn = fn, .arg = arg};
    if (of->key.size == 0 || of->key.size >= sizeof states->room) {
        fn(arg);
        return;
    }
    memcpy(states->room, of->key.data, of->key.size);
    states->key = slice_from(states->room, of->key.size);
    if (!job_key_parse(states->key, &states->topic, &states->message_id)) {
        fn(arg);
        return;
    }
    json_add_object(&states->json, "lastScheduleStates");
    if (states->group.size)
        app_sent(states->app, of->caller, states->key, states->group, on_last_sent, states);
    else
        app_read(states->app, states->key, on_last, states);
}
