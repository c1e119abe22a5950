/* idempotency.h - the header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header).
 *
 * A key belongs to a topic. Its first request schedules, and for the window that is
 * set the same request is answered the same again: by the store, whose script
 * wrote the key together with the job. */
#ifndef DUEPOST_API_IDEMPOTENCY_H
#define DUEPOST_API_IDEMPOTENCY_H

#include "api/exchange.h"

enum { IDEMPOTENCY_KEY_MAX = 255 };

/* Reads the header, and fills in exchange->once for as long as the exchange lasts (empty without a header).
 * False: it has answered, 400 or 409. */
bool idempotency_begin(struct exchange *, struct slice topic);

#endif
