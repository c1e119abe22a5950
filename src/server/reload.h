/* reload.h - SIGHUP: opens the log file again and applies the options that may change while duepost runs. The
 * log has the names of changed options that need a restart.
 *
 * No SIGHUP is lost: if a SIGHUP comes before the reactors run, or during a reload, the reload follows later.
 * If other options are wrong, the token file is still read, so a revoked token does not stay valid. */
#ifndef DUEPOST_SERVER_RELOAD_H
#define DUEPOST_SERVER_RELOAD_H

#include "server/options/options.h"
#include "server/reactor.h"

struct reload;

/* Completes the fresh options, which a reload has read. Returns STATUS_INVALID if the fresh options cannot
 * replace the live options (those in use) without a restart. */
typedef enum status reload_prepare_fn(void *arg, struct options *fresh, struct problem *);

/* Borrows input and live. reload_run reads input again and replaces *live (on the heap) at once. The reload
 * frees the previous options when no reactor uses them any more. */
struct reload *reload_new(struct loop *, const struct options_input *input, struct options **live,
                          reload_prepare_fn *prepare, void *arg);

/* Sets the reactors that later reloads notify, and runs a reload that was requested earlier. Borrows the
 * array. When the reactors are about to end, the caller passes the count 0; no reload runs after that. */
void reload_use(struct reload *, struct reactor *const *reactors, size_t count);

/* Reloads now, or as soon as possible. If the options are wrong, only the tokens are replaced. The log
 * reports new options and tokens when all reactors use them. */
void reload_run(struct reload *);

/* NULL is ignored. Call it after all reactors have ended. */
void reload_free(struct reload *);

#endif
