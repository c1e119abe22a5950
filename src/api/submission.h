/* submission.h - writes the answer for one job of POST /jobs; a request has one job or many. */
#ifndef DUEPOST_API_SUBMISSION_H
#define DUEPOST_API_SUBMISSION_H

#include "api/handler.h"
#include "app/submission.h"

/* Writes the members of the answer, without braces. Returns the HTTP status. */
unsigned submission_write(struct buffer *members, const struct exchange *, const struct app_submission *,
                          const struct app_verdict *);

#endif
