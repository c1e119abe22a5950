/* http_result.h - what jobs and metrics call that which the HTTP client says of a POST. */
#ifndef DUEPOST_WORKER_HTTP_RESULT_H
#define DUEPOST_WORKER_HTTP_RESULT_H

#include "base/metrics.h"
#include "io/http_client.h"
#include "job/job.h"

/* Neither is for UNSENT and CROWDED, which are no attempts. The result borrows the outcome's detail. at_ms:
 * the claim's time, by Redis's clock. */
struct attempt_result http_result(const struct http_outcome *, int64_t at_ms);
enum metrics_result http_result_metric(const struct http_outcome *);

#endif
