/* attempt.h - one POST of one job, from its claim to the record of its ending.
 *
 * The states and the events that move an attempt stand at the top of attempt.c. The lease is held throughout;
 * nothing is sent without it. An ending that Redis did not take is kept, and given to Redis again, until
 * Redis has taken it or says that the lease is another's. The request itself is never repeated. */
#ifndef DUEPOST_WORKER_ATTEMPT_H
#define DUEPOST_WORKER_ATTEMPT_H

#include "worker/attempt_data.h"

/* Copies claimed. claim_us: CLOCK_BOOTTIME before the claim was sent. */
struct attempt *attempt_start(const struct attempt_context *, const struct shard_claimed *,
                              const struct nonce *, int64_t claim_us, int64_t now_ms);

/* Right after its start: nothing is sent, the job is given back. */
bool attempt_was_held(const struct attempt *);

/* Sends a renewal, unless one is under way or the lease is lost. */
void attempt_renew(struct attempt *);

/* CLOCK_BOOTTIME of the renewal under way, else of the last one. */
int64_t attempt_last_renewal_us(const struct attempt *);

/* Gives an ending that Redis did not take to Redis again. */
void attempt_record(struct attempt *);

/* Ends an attempt that waits for its permit or its answer. Where the status is known already, it counts;
 * otherwise the lease is given back. */
void attempt_cut(struct attempt *);

/* In any state, at the end of the process, without a callback. */
void attempt_free(struct attempt *);

#endif
