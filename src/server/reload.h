/* reload.h - SIGHUP: the log file is opened again, and options that may change while
 * duepost runs take effect; the log names those that cannot.
 *
 * No SIGHUP is lost: one that comes before the reactors run, or while they still take over what an earlier
 * one brought, is remembered. And none leaves a revoked token in: where the options are wrong, the file of
 * tokens is read all the same. */
#ifndef DUEPOST_SERVER_RELOAD_H
#define DUEPOST_SERVER_RELOAD_H

#include "server/options.h"
#include "server/reactor.h"

struct reload;

/* Completes what was read. INVALID: it cannot take the place of the live options without a restart. */
typedef enum status reload_prepare_fn(void *arg, struct options *fresh, struct problem *);

/* Reads the options anew from input, as at the start. Borrows input and live. *live (on the heap) is replaced
 * at once; what it was before is freed when the last reactor has let go of it. */
struct reload *reload_new(struct loop *, const struct options_input *input, struct options **live,
                          reload_prepare_fn *prepare, void *arg);

/* From now on these reactors are told, and what was asked for before them is done. Borrows the array. count
 * 0: they are about to end, so nothing is done any more. */
void reload_use(struct reload *, struct reactor *const *reactors, size_t count);

/* Now, or as soon as possible. Where the options are wrong, all but the tokens stay as they are. What the log
 * says of new options and tokens is in force: it is written when all reactors use them. */
void reload_run(struct reload *);

/* NULL is fine; after the reactors are gone. */
void reload_free(struct reload *);

#endif
