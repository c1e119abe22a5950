/* receiver_report.h - reports the results of attempts to Redis, and asks there for the right to probe.
 *
 * The results of a turn leave as one report for each receiver; the next ones gather while that is under way.
 * A report that Redis did not take is lost: it costs some attempts or some waiting, never a job. */
#ifndef DUEPOST_WORKER_RECEIVER_REPORT_H
#define DUEPOST_WORKER_RECEIVER_REPORT_H

#include "worker/receivers.h"

/* Notes the result of an attempt, which was the probe of that number, or none (0). An inconclusive probe
 * restarts the current wait without doubling it: otherwise each held job in turn would spend an attempt on a
 * receiver that was not found failing. */
void receiver_note(struct receiver *, const struct attempt_result *, int64_t probe);

/* Whether an attempt may ask for the right to probe; if it does, fn follows, unless the wish is withdrawn. */
bool receiver_may_be_asked(const struct receiver *);
void receiver_ask_probe(struct receiver *, receiver_probe_fn *, void *arg);
void receiver_withdraw(struct receiver *);

/* The probe of that number was not sent. */
void receiver_return_probe(struct receiver *, int64_t probe);

/* At the end of a turn: sends a report of each receiver with news. */
void receivers_send_reports(struct receivers *);

#endif
