/* topic_defaults.h - values that a job does not set: they come from its topic, or from duepost's defaults.
 *
 * settings is NULL for a topic without settings. Results are valid as long as job and settings. */
#ifndef DUEPOST_JOB_TOPIC_DEFAULTS_H
#define DUEPOST_JOB_TOPIC_DEFAULTS_H

#include "job/topic_settings.h"

enum { TOPIC_DEFAULTS_HEADERS_MAX = 2 * JOB_HEADERS_MAX };

/* Returns the url, which is empty if neither job nor topic has a url. */
struct slice topic_defaults_url(const struct topic_settings *settings, const struct job *);

int64_t topic_defaults_timeout_ms(const struct topic_settings *settings, const struct job *);

/* Returns the retry schedule for jobs without their own: that of the topic, or else "ours", which is
 * duepost's default. */
const struct retry_schedule *topic_defaults_schedule(const struct topic_settings *settings,
                                                     const struct retry_schedule *ours);

/* Fills headers and returns their number. The headers of the job come first, then the topic's headers whose
 * names the job does not have. A topic with a url adds its headers to jobs without a url and to jobs whose
 * url has the same scheme, host and port. A topic without a url adds its headers to all jobs. */
size_t topic_defaults_headers(const struct topic_settings *settings, const struct job *,
                              struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX]);

#endif
