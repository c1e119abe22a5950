/* receivers.h - what this reactor knows of receivers, and tells the others of them.
 *
 * A receiver whose attempts fail gets a breaker that opens, one that asks for fewer attempts a limit; both
 * are kept in Redis, and decided there, by report.lua. Here is a copy of what is known of those that are not
 * well, by which attempts go or are held (permit.h). It is kept fresh by the answers to what this reactor
 * reports, and by what others did: they tell, each claim brings a version, and what is newer is read. So a
 * well receiver costs Redis nothing.
 *
 * What a turn brings of a receiver leaves as one report, and the next gathers while that is under way. A
 * report that Redis did not take is lost: it was a hint. */
#ifndef DUEPOST_WORKER_RECEIVERS_H
#define DUEPOST_WORKER_RECEIVERS_H

#include "job/receiver.h"
#include "store/store.h"

struct receivers;
struct receiver; /* one, or a path of one, that has attempts in flight, or is not well; see
                    receivers_private.h */
struct permit_part;

/* Borrows store and metrics. */
struct receivers *receivers_new(struct loop *, struct store *, struct metrics *);

/* When permits and the store are gone. NULL is fine. */
void receivers_free(struct receivers *);

/* What a claim, or a report's answer, said that was sent at asked_us (CLOCK_BOOTTIME) or later: the version
 * of what is known of the receivers of shard number. */
void receivers_hear(struct receivers *, size_t number, int64_t version, int64_t asked_us);

/* ---- For permits ---- */

/* The receiver of that name. It lives as long as there is something to know of it: until receiver_settle, or
 * receiver_leave, finds nothing. */
struct receiver *receivers_find(struct receivers *, const char *name);
void receiver_settle(struct receiver *);

/* As it was found by. */
const char *receiver_full_name(const struct receiver *);

/* Its breaker. */
bool receiver_is_open(const struct receiver *);

/* As many attempts are in flight as its limit allows. */
bool receiver_is_full(const struct receiver *);

/* An attempt begins, and is over. */
void receiver_enter(struct receiver *);
void receiver_leave(struct receiver *);

/* What an attempt met, which was the probe of that number, or none (0). A probe that tells nothing gives the
 * right to probe back with the wait that it had: the next one is not due at once, or each held job in turn
 * would spend an attempt, and the wait does not grow, because the receiver was not found failing. */
void receiver_note(struct receiver *, const struct attempt_result *, int64_t probe);

/* Whether somebody may ask for the right to probe; the permit that does hears by permit_give or permit_hold,
 * unless it is taken back. */
bool receiver_may_be_asked(const struct receiver *);
void receiver_ask_probe(struct receiver *, struct permit_part *);
void receiver_take_back_asker(struct receiver *);

/* The probe of that number was not sent. */
void receiver_return_probe(struct receiver *, int64_t probe);

/* For how long a job is held whose attempt may not begin now. */
int64_t receiver_hold_by_breaker(struct receiver *);
int64_t receiver_hold_by_limit(struct receiver *);

#endif
