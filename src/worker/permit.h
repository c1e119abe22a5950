/* permit.h - the right to send an attempt to its receiver.
 *
 * A permit has two parts: one for the path of the job's url and one for its receiver. A part is refused, and
 * the job is held, while the circuit breaker of the path or receiver is open, or while the path or receiver
 * has as many attempts in flight as its limit allows. When the wait of an open breaker is over, an attempt
 * asks Redis for the right to probe. Redis gives this right to one attempt of all processes at a time
 * (report.lua has the exact rule). The right has a number, and the result of the probe is reported with this
 * number. If Redis does not answer, each reactor lets one attempt probe. */
#ifndef DUEPOST_WORKER_PERMIT_H
#define DUEPOST_WORKER_PERMIT_H

#include "worker/receivers.h"

/* Receives the answer to permit_ask. wait_ms is -1 if the permit is given. Otherwise the job must be held for
 * wait_ms, and the permit's held_by may name the receiver because of which the job is held. */
typedef void permit_fn(void *arg, int64_t wait_ms);

struct permit;

struct permit_part {
    struct permit *permit;
    struct receiver *receiver; /* NULL: this part was not requested, was refused, or has ended */
    bool is_given;
    int64_t probe; /* number of the probe; 0: the attempt is not a probe */
};

/* The state of one attempt's permit. All members are 0 until permit_ask is called. */
struct permit {
    struct permit_part path, host; /* requested in this order */
    struct receivers *receivers;
    int64_t wait_ms;
    /* Name of the receiver whose breaker is open; NULL: the job is held for another reason. Owned until
     * permit_drop, unless the caller takes it earlier. */
    char *held_by;
    permit_fn *fn;
    void *arg;
};

enum permit_answer { PERMIT_GIVEN, PERMIT_HELD, PERMIT_ASKED };

/* Requests a permit. name comes from receiver_path_name; if it has no path, only the part for the receiver is
 * requested. Returns PERMIT_HELD if the job must be held for the permit's wait_ms. Returns PERMIT_ASKED if
 * the answer must come from Redis: fn is then called, unless the permit is dropped. Do not move the permit in
 * memory until it has ended. */
enum permit_answer permit_ask(struct permit *, struct receivers *, const char *name, permit_fn *, void *arg);

bool permit_is_probe(const struct permit *);

/* Ends the permit and reports the attempt's result. */
void permit_end(struct permit *, const struct attempt_result *);

/* Ends the permit without a result, because nothing was sent or the result is unknown. Allowed in any state
 * and more than once. */
void permit_drop(struct permit *);

/* ---- reports ----
 *
 * Reports the results of attempts to Redis, and asks Redis for the right to probe.
 *
 * All results for one receiver in one turn of the loop are sent as one report. Results that come while a
 * report is under way are collected for the next report. A report that fails is not repeated. The loss of
 * a report can cause additional attempts or a longer wait, but no job is lost. */

/* Notes the result of an attempt for the next report. probe: number of the probe; 0: the attempt was not a
 * probe. An inconclusive probe restarts the current wait without doubling it. Without this wait, each held
 * job in turn would become a probe and use up an attempt. */
void receiver_note(struct receiver *, const struct attempt_result *, int64_t probe);

/* receiver_may_be_asked returns whether an attempt may ask for the right to probe now. receiver_ask_probe
 * asks Redis for this right, and calls fn with the answer unless receiver_withdraw is called first. */
bool receiver_may_be_asked(const struct receiver *);
void receiver_ask_probe(struct receiver *, receiver_probe_fn *, void *arg);
void receiver_withdraw(struct receiver *);

/* Returns the right to probe, because the probe with this number was not sent. */
void receiver_return_probe(struct receiver *, int64_t probe);

/* Sends a report for each receiver with new results. Called at the end of a turn. */
void receivers_send_reports(struct receivers *);

#endif
