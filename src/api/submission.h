/* submission.h - the answer for one job of POST /jobs, with one or many jobs. */
#ifndef DUEPOST_API_SUBMISSION_H
#define DUEPOST_API_SUBMISSION_H

#include "api/handler.h"
#include "app/submission.h"

/* Writes the members of the answer, without its braces, and returns its status. */
unsigned submission_write(struct buffer *members, const struct exchange *, const struct app_submission *,
                          const struct app_verdict *);

#endif
