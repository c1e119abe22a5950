/* topic_defaults.h - values that a job without its own gets from its topic, or from duepost's defaults.
 *
 * settings is NULL for a topic without settings. Results borrow from job and settings. */
#ifndef DUEPOST_JOB_TOPIC_DEFAULTS_H
#define DUEPOST_JOB_TOPIC_DEFAULTS_H

#include "job/topic_settings.h"

enum { TOPIC_DEFAULTS_HEADERS_MAX = 2 * JOB_HEADERS_MAX };

/* Returns the url; empty: neither job nor topic has one. */
struct slice topic_defaults_url(const struct topic_settings *settings, const struct job *);

int64_t topic_defaults_timeout_ms(const struct topic_settings *settings, const struct job *);

/* Return the schedule and timeout for jobs without their own. */
const struct retry_schedule *topic_defaults_schedule(const struct topic_settings *settings,
                                                     const struct retry_schedule *ours);

/* Returns the number of headers: the job's, then those of the topic that the job does not have. A topic with
 * a url adds its headers to jobs without a url and to those whose url has the same scheme, host and port; a
 * topic without a url adds them to all jobs. */
size_t topic_defaults_headers(const struct topic_settings *settings, const struct job *,
                              struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX]);

#endif
