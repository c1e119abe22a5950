/* submission.h - writes the answer for one job of POST /jobs; a request has one job or many. */
#ifndef DUEPOST_API_SUBMISSION_H
#define DUEPOST_API_SUBMISSION_H

#include "api/handler.h"
#include "app/submission.h"

enum {
    SUBMISSION_LOCATION_MAX =
        sizeof "../../jobs//?group=" + JOB_TOPIC_NAME_MAX + JOB_TOPIC_MAX + (size_t)3 * JOB_ID_MAX
};

/* Writes the path of a job, relative to the path of the request (RFC 9110, section 10.2.2). So the path is
 * also right behind a proxy that serves duepost below a prefix. group: the group to which the jobs were sent;
 * empty: none. */
void submission_write_location(struct buffer *location, const struct exchange *, struct slice id,
                               struct slice group);

/* Writes the members of the answer, without braces. Returns the HTTP status. */
unsigned submission_write(struct buffer *members, const struct exchange *, const struct app_submission *,
                          const struct app_verdict *);

#endif
