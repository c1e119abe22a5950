#include "worker/forgetter.h"

#include "base/memory.h"
#include "worker/pace.h"

struct forgetter {
    struct shard *shard;
    struct pace *pace;
};

static void on_forgotten(void *arg, enum status status, bool is_full)
{
    struct forgetter *forgetter = arg;
    if (status == STATUS_OK && is_full)
        pace_again(forgetter->pace, 0);
    else
        pace_end(forgetter->pace);
}

static void forgetter_step(void *arg)
{
    struct forgetter *forgetter = arg;
    shard_forget(forgetter->shard, on_forgotten, forgetter);
}

struct forgetter *forgetter_new(struct loop *loop, struct shard *shard)
{
    struct forgetter *forgetter = NEW(struct forgetter);
    forgetter->shard = shard;
    forgetter->pace = pace_new(loop, forgetter_step, forgetter);
    return forgetter;
}

void forgetter_run(struct forgetter *forgetter)
{
    pace_run(forgetter->pace);
}

void forgetter_free(struct forgetter *forgetter)
{
    if (!forgetter)
        return;
    pace_free(forgetter->pace);
    free(forgetter);
}
