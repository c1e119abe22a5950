/* permit.h - an attempt's right to go to its receiver.
 *
 * A permit has two parts, for the path of its url and for its receiver. A part is not given, and the job is
 * held, while the circuit breaker is open, or while as many attempts are in flight as the receiver's limit
 * allows. When a breaker has waited long enough, an attempt asks Redis for the right to probe. One attempt of
 * all processes gets it, with a number that its result is reported with. Where Redis does not answer, each
 * reactor gives the right to one attempt. */
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
    int64_t probe; /* its number; 0: not a probe */
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

/* The attempt is over, with this result. */
void permit_end(struct permit *, const struct attempt_result *);

/* Nothing was sent, or it is unknown. In any state, any number of times. */
void permit_drop(struct permit *);

#endif
