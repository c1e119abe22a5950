/* attempt_line.h - what is kept of one attempt: a line of text that only we write and read.
 *
 *     3 1700000000123 246 503 "The order is locked."+
 *
 * Its number, when it began (ms), how long it took (ms), the status of the answer or the word of the error;
 * then the error's detail as a JSON string, if there is one, or, where the answer had a body, its beginning
 * as a JSON string, and a '+' where that is not all of it. A job's lines stand one behind the other, the
 * oldest first, each with a newline behind it. */
#ifndef DUEPOST_JOB_ATTEMPT_LINE_H
#define DUEPOST_JOB_ATTEMPT_LINE_H

#include "job/job.h"

enum {
    ATTEMPT_ANSWER_MAX = 1024, /* bytes of an answer's body */
    ATTEMPT_LINE_MAX = 3 * ATTEMPT_ANSWER_MAX + 128,
};

struct attempt_line {
    int number; /* from 1; again from 1 when a dead job starts over */
    struct attempt_result result;
    struct slice answer; /* a JSON string, with its quotes; empty: there was none */
    bool is_answer_cut;
};

/* The line, without its newline. Of answer, which may be any bytes, the first ATTEMPT_ANSWER_MAX count; what
 * is no UTF-8 in it, and control characters but tabs and ends of lines, become U+FFFD. */
void attempt_line_write(struct buffer *, int number, const struct attempt_result *, struct slice answer,
                        bool is_answer_cut);

/* Takes the first of *lines; its slices point there. False: there is none, or somebody else wrote it. */
bool attempt_line_take(struct slice *lines, struct attempt_line *);

#endif
