/* job_cutter.h - cuts the text of many jobs into the texts of each.
 *
 * The text is a JSON array, or NDJSON with one job per line. It is valid when it is JSON and has 1 to
 * JOB_CUTTER_MAX jobs, which is known only at its end. job_parse checks each job, and also what JSON allows
 * and duepost does not, such as duplicate members. The cost of a call is proportional to the piece that it
 * cuts, so the caller can pause between calls. */
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

/* Borrows text, which begins with '[' unless it has lines. */
void job_cutter_init(struct job_cutter *, struct slice text, bool has_lines);

/* OK: *job is the text of the next job, without white space around it; empty: a blank line, which is not a
 * job. NOT_FOUND: there are no more jobs. INVALID: the text is not valid; errors has the reason. NO_MEMORY:
 * no memory to check. */
enum status job_cutter_next(struct job_cutter *, struct slice *job, struct job_errors *) MUST_USE;

#endif
