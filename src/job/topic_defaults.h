/* topic_defaults.h - what a job that does not bring it gets from its topic, or from us.
 *
 * settings is NULL where the topic has none; results borrow from job and settings. */
#ifndef DUEPOST_JOB_TOPIC_DEFAULTS_H
#define DUEPOST_JOB_TOPIC_DEFAULTS_H

#include "job/topic_settings.h"

enum { TOPIC_DEFAULTS_HEADERS_MAX = 2 * JOB_HEADERS_MAX };

/* Empty: nobody has said where to. */
struct slice topic_defaults_url(const struct topic_settings *settings, const struct job *);

int64_t topic_defaults_timeout_ms(const struct topic_settings *settings, const struct job *);

/* Of jobs that bring none. */
const struct retry_schedule *topic_defaults_schedule(const struct topic_settings *settings,
                                                     const struct retry_schedule *ours);

/* The job's headers, then those of the topic that it has not; how many. A topic that has a url gives its
 * headers to jobs without one and to those whose url has the same scheme, host and port; one without a url,
 * to all. */
size_t topic_defaults_headers(const struct topic_settings *settings, const struct job *,
                              struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX]);

#endif
