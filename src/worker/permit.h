/* permit.h - an attempt's right to go to its receiver.
 *
 * It has two parts, for the path of its url and for its receiver. Each is given, or the job is held: while
 * the circuit breaker is open, and where as many attempts are in flight as the receiver's limit allows. Where
 * a breaker has waited long enough, one attempt asks Redis whether it may probe: of all that ask, in all
 * processes, one gets the right, with a number that its outcome is reported with. Where Redis does not
 * answer, each reactor gives it to one attempt. */
#ifndef DUEPOST_WORKER_PERMIT_H
#define DUEPOST_WORKER_PERMIT_H

#include "worker/receivers.h"

/* wait_ms: -1 when it is given, else for how long the job is held. */
typedef void permit_fn(void *arg, int64_t wait_ms);

struct permit;

struct permit_part {
    struct permit *permit;
    struct receiver *receiver; /* NULL: not asked for, held, or over */
    bool is_given;
    int64_t probe; /* its number; 0: it is none */
};

/* Zeroed: none was asked for. */
struct permit {
    struct permit_part path, host; /* asked for in this order */
    struct receivers *receivers;
    int64_t wait_ms;
    permit_fn *fn;
    void *arg;
};

enum permit_answer { PERMIT_GIVEN, PERMIT_HELD, PERMIT_ASKED };

/* name: as receiver_path_name says; without a path that part is left out. HELD: for wait_ms. ASKED: fn
 * follows, unless the permit is dropped. The permit stays where it is until it is over. */
enum permit_answer permit_ask(struct permit *, struct receivers *, const char *name, permit_fn *, void *arg);

bool permit_is_probe(const struct permit *);

/* The attempt is over. */
void permit_end(struct permit *, const struct attempt_result *);

/* fn is to come. */
bool permit_is_awaited(const struct permit *);

/* There was none after all: nothing was sent, or nobody knows. Of any permit, and any number of times. */
void permit_drop(struct permit *);

#endif
