/* reload.h - SIGHUP: the log file is opened again, and options that may change while
 * duepost runs take effect; the log names those that cannot. */
#ifndef DUEPOST_SERVER_RELOAD_H
#define DUEPOST_SERVER_RELOAD_H

#include "server/options.h"
#include "server/reactor.h"

struct reload;

/* Completes what was read. INVALID: it cannot take the place of the live options without a restart. */
typedef enum status reload_prepare_fn(void *arg, struct options *fresh, struct problem *);

/* Reads the options anew from input, as at the start. Borrows input. */
struct reload *reload_new(struct loop *, const struct options_input *input, reload_prepare_fn *prepare,
                          void *arg);

/* Where the options are wrong, everything stays as it is. *live (on the heap) is replaced at once; what it
 * was before is freed when the last reactor has let go of it. */
void reload_run(struct reload *, struct options **live, struct reactor *const *reactors, size_t count);

/* NULL is fine; after the reactors are gone. */
void reload_free(struct reload *);

#endif
