/* view.h - writes jobs and settings as JSON, without secrets. */
#ifndef DUEPOST_API_VIEW_H
#define DUEPOST_API_VIEW_H

#include "app/app.h"
#include "base/json_writer.h"

struct topic_settings;

/* Adds the "state" of a job and, while the job waits, its "dueAt". */
void view_add_place(struct json_writer *, enum job_state, int64_t at_ms);

/* Adds "jobId", "topic", "state" and "dueAt" of a new job. */
void view_add_placed(struct json_writer *, const struct stored_job *);

/* Adds the numbers of jobs "delivered", "cancelled" and "dead". */
void view_add_outcomes(struct json_writer *, const struct outcome_counts *);

/* Adds the result of an attempt: "at", "durationMs", and "status" or "error". */
void view_add_result(struct json_writer *, const struct attempt_result *);

/* Adds "headers": the headers of the job and those in the settings of its topic. The settings may be NULL. If
 * is_hidden is true, the values are masked. */
void view_add_headers(struct json_writer *, const struct topic_settings *, const struct job *,
                      bool is_hidden);

/* Writes a job as an object. Members that the job does not have come from the settings of its topic.
 * fallback: the retry schedule if neither the job nor the topic has one. */
void view_put_job(struct json_writer *, const struct stored_job *, const struct retry_schedule *fallback);

/* Adds "group" and "endpoints" of a group. text: the group as Redis stores it. */
void view_add_group(struct json_writer *, struct slice name, struct slice text);

/* Adds "settings" of a topic. text: the settings as Redis stores them. */
void view_add_settings(struct json_writer *, struct slice text);

#endif
