#include "job/topic_defaults.h"

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

size_t topic_defaults_headers(const struct topic_settings *settings, const struct job *job,
                              struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < job->header_count; i++)
        headers[count++] = job->headers[i];
    for (size_t i = 0; settings && i < settings->header_count; i++)
        if (!job_header(job, settings->headers[i].name))
            headers[count++] = settings->headers[i];
    return count;
}
