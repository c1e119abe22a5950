/* attempt_line.h - the record of one attempt: a line of text that only duepost writes and reads.
 *
 *     3 1700000000123 246 503 "The order is locked."+
 *     1@2 1700000030456 12 200
 *
 * The fields are: the number of the attempt (from the second round on, with '@' and the round); its start and
 * its duration, both in ms; and the status of the answer or the word for the error. A JSON string may follow:
 * the detail of the error, or the beginning of the answer's body. A '+' after the string means that the body
 * was longer. The lines of a job are in the order of its attempts, each with a newline at its end. */
#ifndef DUEPOST_JOB_ATTEMPT_LINE_H
#define DUEPOST_JOB_ATTEMPT_LINE_H

#include "job/job.h"

enum {
    ATTEMPT_ANSWER_MAX = 1024, /* maximum size of the answer's body in a line */
    ATTEMPT_LINE_MAX = 3 * ATTEMPT_ANSWER_MAX + 128,
};

struct attempt_line {
    int round;  /* from 1 */
    int number; /* number of the attempt in its round, from 1; starts at 1 again when a dead job is run again
                 */
    struct attempt_result result;
    struct slice answer; /* a JSON string, with its quotes; empty: no body */
    bool is_answer_cut;
};

/* Writes the line, without its newline. answer may be any bytes; only its first ATTEMPT_ANSWER_MAX bytes are
 * used. U+FFFD replaces invalid UTF-8. U+FFFD also replaces control characters except tabs and line ends. */
void attempt_line_write(struct buffer *, int round, int number, const struct attempt_result *,
                        struct slice answer, bool is_answer_cut);

/* Takes the first line from *lines. The result's slices point into the text of *lines. Returns false if there
 * are no more lines, or if duepost did not write the line. */
bool attempt_line_take(struct slice *lines, struct attempt_line *);

#endif
