/* new_job.h - the members of a new job, from the options of a command. */
#ifndef DUEPOST_CLI_NEW_JOB_H
#define DUEPOST_CLI_NEW_JOB_H

#include "base/json_writer.h"
#include "cli/call.h"

struct new_job {
    struct buffer text; /* body of the request */
    struct buffer body; /* content of --body-file */
};

void new_job_init(struct new_job *);
void new_job_fini(struct new_job *);

/* Adds url, method, headers, body and all other members except names (topic, jobId, group) and times. Returns
 * false after an error; problem then says what is wrong. */
bool new_job_add_members(struct new_job *, struct json_writer *, struct call *);

/* Adds a text, or nothing for NULL. */
void new_job_add_text(struct json_writer *, const char *name, const char *value);

/* Adds a duration such as "15m" as the API's seconds, if the option is given. */
void new_job_add_seconds(struct json_writer *, const struct call *, const char *name, enum argument);

#endif
