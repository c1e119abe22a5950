/* http_trial.h - tests when duepost starts that the libmicrohttpd and the libcurl of this host are safe.
 *
 * The same binary runs with several versions of libmicrohttpd, which parse a head before the gate sees it.
 * The trial starts its own HTTP server and sends it heads that HTTP parsers interpret in different ways. None
 * of these heads may reach the handler. */
#ifndef DUEPOST_IO_HTTP_TRIAL_H
#define DUEPOST_IO_HTTP_TRIAL_H

#include "base/status.h"

/* Runs the trial, which blocks for some 3 ms. If STATUS_FAILED, problem names the version and the head that
 * passed. */
enum status http_trial_run(struct problem *) MUST_USE;

/* Lets the libcurl of this host read answers that have ended processes, in a child process that it may end.
 * Blocks for some 30 ms. STATUS_FAILED: the child has died; problem names the version and the answer.
 * STATUS_UNAVAILABLE: the trial was not possible. Call it before any thread starts. */
enum status http_trial_run_client(struct problem *) MUST_USE;

#endif
