/* reload.h - SIGHUP: opens the log file again and applies the options that may change while duepost runs. The
 * log names changed options that need a restart.
 *
 * No SIGHUP is lost: one that comes before the reactors run, or during an earlier reload, is remembered. A
 * revoked token never stays valid because of a mistake in other options: the file of tokens is read all the
 * same. */
#ifndef DUEPOST_SERVER_RELOAD_H
#define DUEPOST_SERVER_RELOAD_H

#include "server/options_load.h"
#include "server/reactor.h"

struct reload;

/* Completes fresh options. INVALID: they cannot replace the live ones without a restart. */
typedef enum status reload_prepare_fn(void *arg, struct options *fresh, struct problem *);

/* Borrows input and live. reload_run reads input again. It replaces *live (on the heap) at once and frees the
 * previous options when the last reactor has dropped them. */
struct reload *reload_new(struct loop *, const struct options_input *input, struct options **live,
                          reload_prepare_fn *prepare, void *arg);

/* Notifies these reactors from now on, and runs a reload requested earlier. Borrows the array. count 0: the
 * reactors are about to end, and no reload runs any more. */
void reload_use(struct reload *, struct reactor *const *reactors, size_t count);

/* Reloads now, or as soon as possible. When the options are wrong, only the tokens are taken. The log reports
 * new options and tokens when all reactors use them. */
void reload_run(struct reload *);

/* NULL is ignored. Call after the reactors are gone. */
void reload_free(struct reload *);

#endif
