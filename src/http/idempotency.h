/* idempotency.h - the header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header).
 *
 * A key belongs to a topic. The first request with it schedules a job; the script writes the key together
 * with the job. Within the configured window the same request gets the same answer again, from the store. */
#ifndef DUEPOST_HTTP_IDEMPOTENCY_H
#define DUEPOST_HTTP_IDEMPOTENCY_H

#include "http/exchange.h"

enum { IDEMPOTENCY_KEY_MAX = 255 };

/* Reads the header into exchange->once, which lives as long as the exchange and is empty without a header.
 * False: it has answered 400, or 409 while another request with this key is being answered. */
bool idempotency_begin(struct exchange *, struct slice topic);

#endif
