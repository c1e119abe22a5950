#include "api/handlers.h"

#include "api/job_batch.h"
#include "api/tally.h"
#include "base/memory.h"

struct api *api_new(const struct api_options *options)
{
    struct api *api = NEW(struct api);
    api->options = *options;
    api->batches = job_batches_new(options->loop);
    api->tally = tally_new(options->loop, options->tally);
    return api;
}

void api_reload(struct api *api, const struct api_options *options)
{
    api->options.is_breaker_on = options->is_breaker_on;
    api->options.targets = options->targets;
    api->options.schedule = options->schedule;
    api->options.max_jobs = options->max_jobs;
}

void api_drain(struct api *api)
{
    api->is_draining = true;
}

void api_free(struct api *api)
{
    if (!api)
        return;
    job_batches_free(api->batches);
    tally_free(api->tally);
    free(api);
}
