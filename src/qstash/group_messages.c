#include "qstash/group_messages.h"

#include <stdio.h>

#include "base/memory.h"
#include "job/topic/topic_settings.h"
#include "qstash/message_settings.h"
#include "qstash/url_group.h"

/* The message of a schedule, while a copy of it is written for each endpoint. */
struct group_messages {
    struct group_jobs *jobs;
    struct message_view view;
    struct settings settings;
    /* text: decoded settings of callbacks. data: formData of the message to one endpoint. */
    struct buffer text, data;
    struct job job; /* message to an endpoint */
};

static void group_messages_init(struct group_messages *messages, const struct job *message,
                                struct group_jobs *jobs)
{
    messages->jobs = jobs;
    messages->job = *message;
    message_view_of(message, &messages->view);
    settings_init(&messages->settings);
    buffer_init(&messages->text, MESSAGE_SETTINGS_TEXT);
    buffer_init(&messages->data, JOB_FORM_DATA_MAX);
    message_settings_take(&messages->view, &messages->settings, &messages->text);
}

static void group_messages_free(struct group_messages *messages)
{
    message_view_release(&messages->view);
    settings_fini(&messages->settings);
    buffer_fini(&messages->text);
    buffer_fini(&messages->data);
    free(messages);
}

/* Adds the message to an endpoint. Its id ends with the endpoint's number, because the endpoint's name may be
 * any text. */
static enum status add_message(struct group_messages *messages, const struct url_group_endpoint *endpoint,
                               size_t number)
{
    struct group_jobs *jobs = messages->jobs;
    char name[24];
    messages->view.data.endpoint = endpoint->name;
    buffer_clear(&messages->data);
    form_data_write(&messages->data, &messages->view.data, &messages->settings);
    if (messages->data.failed) {
        jobs->field = "callback";
        snprintf(jobs->detail, sizeof jobs->detail,
                 "has settings that exceed 16 KiB together with the name of endpoint %zu", number);
        return STATUS_INVALID;
    }
    messages->job.url = endpoint->url;
    messages->job.form_data = buffer_slice(&messages->data);
    snprintf(name, sizeof name, "%zu", number);
    return group_jobs_add(jobs, slice_of(name), &messages->job);
}

static enum status add_messages(const struct job *message, struct slice note, struct group_jobs *jobs)
{
    struct group_messages *messages = NEW(struct group_messages);
    struct url_group *group = NEW(struct url_group);
    group_messages_init(messages, message, jobs);
    url_group_read(group, note);
    enum status status = group->count ? STATUS_OK : STATUS_UNREADABLE;
    for (size_t i = 0; i < group->count && status == STATUS_OK; i++)
        status = add_message(messages, &group->endpoints[i], i + 1);
    url_group_fini(group);
    free(group);
    group_messages_free(messages);
    return status;
}

enum status group_messages_write(const struct job *message, struct slice text, struct group_jobs *jobs)
{
    struct topic_settings settings;
    if (topic_settings_read(text, &settings) != STATUS_OK)
        return STATUS_UNREADABLE;
    jobs->lacks = settings.lacks;
    enum status status = settings.lacks.size ? STATUS_LACKING : add_messages(message, settings.note, jobs);
    topic_settings_fini(&settings);
    return status;
}
