#include "api/api.h"

#include "api/handler.h"
#include "api/job_batch.h"
#include "base/memory.h"

struct api *api_new(const struct api_options *options)
{
    struct api *api = NEW(struct api);
    api->app = options->app;
    api->awaited = options->awaited;
    api->batches = job_batches_new(options->loop);
    return api;
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
    free(api);
}
