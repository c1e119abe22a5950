#include "job/topic_defaults.h"

#include "job/url.h"

struct slice topic_defaults_url(const struct topic_settings *settings, const struct job *job)
{
    return job->url.size || !settings ? job->url : settings->url;
}

int64_t topic_defaults_timeout_ms(const struct topic_settings *settings, const struct job *job)
{
    return !job->has_timeout && settings && settings->has_timeout ? settings->timeout_ms : job->timeout_ms;
}

const struct retry_schedule *topic_defaults_schedule(const struct topic_settings *settings,
                                                     const struct retry_schedule *ours)
{
    return settings && settings->has_schedule ? &settings->schedule : ours;
}

/* Returns whether the job gets the topic's headers. These headers may hold secrets, so they are sent only to
 * the topic's own origin. Otherwise a client that can schedule a job could read them by pointing url at its
 * own server. */
static bool has_headers_for(const struct topic_settings *settings, const struct job *job)
{
    struct url own, topics;
    const char *ignored;
    if (settings->header_count == 0 || settings->url.size == 0 || job->url.size == 0)
        return settings->header_count > 0;
    return url_parse(job->url, &own, &ignored) == STATUS_OK &&
           url_parse(settings->url, &topics, &ignored) == STATUS_OK && url_is_same_origin(&own, &topics);
}

size_t topic_defaults_headers(const struct topic_settings *settings, const struct job *job,
                              struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < job->header_count; i++)
        headers[count++] = job->headers[i];
    if (!settings || !has_headers_for(settings, job))
        return count;
    for (size_t i = 0; i < settings->header_count; i++)
        if (!job_header(job, settings->headers[i].name))
            headers[count++] = settings->headers[i];
    return count;
}
