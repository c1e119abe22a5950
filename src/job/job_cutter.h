/* job_cutter.h - cuts the text of many jobs into the texts of each.
 *
 * The text is a JSON array, or NDJSON: a job a line. It is sound when it is JSON, and holds 1 to
 * JOB_CUTTER_MAX jobs; that is not known before the end. What each job's text says is for job_parse, and so
 * is what we forbid and JSON does not, such as a member twice. A call costs as much as the piece that it
 * cuts, so that the caller can pause between two of them. */
#ifndef DUEPOST_JOB_JOB_CUTTER_H
#define DUEPOST_JOB_JOB_CUTTER_H

#include "job/job.h"
#include "job/json.h"

enum { JOB_CUTTER_MAX = 10000 };

struct job_cutter {
    struct slice text, rest; /* rest: lines to come */
    struct json_cursor items;
    bool has_lines;
    size_t lines, jobs; /* so far */
};

/* Borrows text, which begins with '[' unless it has lines. */
void job_cutter_init(struct job_cutter *, struct slice text, bool has_lines);

/* OK: *job is the text of the next one, without white space around it; empty: of a blank line, which is none.
 * NOT_FOUND: that was the last one. INVALID: the text is not sound, errors says why.
 * NO_MEMORY: that cannot be told. */
enum status job_cutter_next(struct job_cutter *, struct slice *job, struct job_errors *) MUST_USE;

#endif
