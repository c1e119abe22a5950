/* receiver_report.h - reports the results of attempts to Redis, and asks Redis for the right to probe.
 *
 * All results for one receiver in one turn of the loop are sent as one report. Results that come while a
 * report is under way are collected for the next report. A report that fails is not repeated. The loss of
 * a report can cause additional attempts or a longer wait, but no job is lost. */
#ifndef DUEPOST_WORKER_RECEIVER_REPORT_H
#define DUEPOST_WORKER_RECEIVER_REPORT_H

#include "worker/receivers.h"

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
