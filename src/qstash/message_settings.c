#include "qstash/message_settings.h"

#include "job/text/json.h"

/* Takes the settings of a callback, an object of texts. */
static void take_callback(struct settings_callback *callback, struct slice member, struct slice pairs,
                          struct buffer *text)
{
    struct json_cursor cursor;
    struct slice key, value;
    callback->url = message_view_callback(member, text);
    if (pairs.size == 0 || !json_open(pairs, &cursor))
        return;
    while (callback->count < SETTINGS_PAIRS_MAX && json_next_member(&cursor, &key, &value))
        callback->pairs[callback->count++] =
            (struct settings_pair){json_text(key, text), json_text(value, text)};
}

void message_settings_take(const struct message_view *view, struct settings *settings, struct buffer *text)
{
    const struct job *job = &view->job;
    settings->method = job->method;
    settings->header_count = job->header_count;
    memcpy(settings->headers, job->headers, job->header_count * sizeof *job->headers);
    settings->has_retries = true;
    settings->retries = job->retry;
    settings->retry_delay = job->retry_wait;
    settings->has_timeout = job->has_timeout;
    settings->timeout_ms = job->timeout_ms;
    settings->flow = view->data.flow;
    settings->labels = job->labels;
    settings->redact = view->data.redact;
    buffer_reserve(text, text->max); /* the buffer must not move later, because slices point into it */
    take_callback(&settings->callback, job->on_attempt, view->data.callback, text);
    take_callback(&settings->failure_callback, job->on_dead, view->data.failure_callback, text);
}
