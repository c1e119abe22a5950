/* run_resumption.h - finds the step at which a failed run is continued. The functions are pure: no clock, no
 * I/O. */
#ifndef DUEPOST_QSTASH_RUN_RESUMPTION_H
#define DUEPOST_QSTASH_RUN_RESUMPTION_H

#include "app/workflow_reads.h"

/* The elements of a failed run with their texts and jobs, and the message that made it fail. */
struct run_failure {
    const struct workflow_element *elements;
    size_t count;
    struct slice job; /* topic/messageId of the message that made the run fail; it has an element, unless it
                         is the answer to a call */
    bool is_parallel_answer; /* the message is the answer to a call of a parallel step */
};

/* Returns the index of the element whose message is delivered again. The elements before it are kept. Usually
 * this is the element of the failed message. If the failed message belongs to parallel steps, and some of
 * them have not ended, this is the element of the step before the parallel steps. If the failed message is
 * the answer to a call that is not a parallel step, all elements are kept, and the function returns count. */
size_t run_resumption_find(const struct run_failure *);

/* Appends the body of an element. Returns false if the element cannot be read, or there is no memory. */
bool run_resumption_read_body(struct slice element, struct buffer *body);

#endif
