/* job_cutter.h - cuts the text of many jobs into one text for each job.
 *
 * The text is a JSON array, or NDJSON with one job per line. The text is valid when it is JSON and has 1 to
 * JOB_CUTTER_MAX jobs. Whether the text is valid is known only after the last call. The caller passes each
 * job to job_parse, which also refuses JSON that duepost does not allow, such as duplicate members. A call
 * takes time in proportion to the piece that it cuts, so the caller can do other work between the calls. */
#ifndef DUEPOST_JOB_JOB_CUTTER_H
#define DUEPOST_JOB_JOB_CUTTER_H

#include "job/job.h"
#include "job/json.h"

enum { JOB_CUTTER_MAX = 10000 };

struct job_cutter {
    struct slice text, rest; /* rest: remaining lines */
    struct json_cursor items;
    bool has_lines;
    size_t lines, jobs; /* so far */
};

/* Begins to cut text, which begins with '[' unless has_lines is true (NDJSON). Borrows text. */
void job_cutter_init(struct job_cutter *, struct slice text, bool has_lines);

/* Cuts the next job. If OK, *job is its text without white space around it, or empty for a blank line, which
 * is not a job. NOT_FOUND means that there are no more jobs. INVALID means that the text is not valid, and
 * errors has the reason. NO_MEMORY means that there is no memory to check the job. */
enum status job_cutter_next(struct job_cutter *, struct slice *job, struct job_errors *) MUST_USE;

#endif
