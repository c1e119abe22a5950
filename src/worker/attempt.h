/* attempt.h - delivers one claimed job with one POST and records how the attempt ended.
 *
 * The head of attempt.c lists the states of an attempt, and the events that change them. The process holds
 * the job's lease during the whole attempt; without the lease nothing is sent. If Redis does not confirm an
 * ending, the attempt keeps the ending and sends it again, until Redis has stored it or reports that another
 * process has the lease. The request itself is never repeated. */
#ifndef DUEPOST_WORKER_ATTEMPT_H
#define DUEPOST_WORKER_ATTEMPT_H

#include "worker/attempt_data.h"

/* Starts an attempt for a claimed job. Copies claimed. claim_us is a time by CLOCK_BOOTTIME, taken before the
 * claim was sent. */
struct attempt *attempt_start(const struct attempt_context *, const struct shard_claimed *,
                              const struct nonce *, int64_t claim_us, int64_t now_ms);

/* Returns the size of the job's record. The attempt holds about as many bytes until it has ended. */
size_t attempt_bytes(const struct attempt *);

/* Returns true if the attempt releases its job instead of sending a request. Call it right after
 * attempt_start. */
bool attempt_was_held(const struct attempt *);

/* Sends a renewal of the lease, unless a renewal is under way or the lease is lost. */
void attempt_renew(struct attempt *);

/* Returns the time (CLOCK_BOOTTIME) at which the latest renewal was sent. Redis may not have answered it
 * yet. */
int64_t attempt_last_renewal_us(const struct attempt *);

/* Sends the ending to Redis again. Call it after on_unrecorded. */
void attempt_record(struct attempt *);

/* Ends an attempt that waits for its permit or for the receiver's answer. If the status of the answer is
 * already known, this status is the attempt's result. Otherwise the lease is released. */
void attempt_cut(struct attempt *);

/* Frees an attempt in any state, without a callback. Used at the end of the process. */
void attempt_free(struct attempt *);

#endif
