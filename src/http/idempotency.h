/* idempotency.h - the header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header).
 *
 * A key belongs to a topic. The first request with a key schedules a job, and the same script writes the key
 * and the job to Redis. Within a configured time, a repeated request finds the key there and gets the same
 * answer. */
#ifndef DUEPOST_HTTP_IDEMPOTENCY_H
#define DUEPOST_HTTP_IDEMPOTENCY_H

#include "http/exchange.h"

enum { IDEMPOTENCY_KEY_MAX = 255 };

/* Reads the header into exchange->once, which is valid until the exchange ends. Without a header, once is
 * empty. content identifies the request: its body, or the name of the job or schedule that it runs. Returns
 * false after answering 400, or 409 while another request with this key is being answered. */
bool idempotency_begin(struct exchange *, struct slice topic, struct slice content);

#endif
