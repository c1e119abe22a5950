/* receive.h - the command receive: a receiver for trying out duepost, which prints each request and answers
 * it. */
#ifndef DUEPOST_CLI_RECEIVE_H
#define DUEPOST_CLI_RECEIVE_H

#include "cli/call.h"
#include "cli/local_receiver.h"

bool receive_run(struct call *);

/* Starts such a receiver at value, or at 127.0.0.1:9000 if value is NULL. It answers with --status. Prints
 * where it listens. flag names value in errors. Returns NULL after an error; the call's problem then says
 * why. The caller must block signals first. The call must exist until the receiver is stopped with
 * local_receiver_stop. */
struct local_receiver *receive_start(struct call *, const char *flag, const char *value);

#endif
