/* http_trial.h - tests when duepost starts that http_gate.h refuses ambiguous heads with the libmicrohttpd of
 * this host.
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

#endif
