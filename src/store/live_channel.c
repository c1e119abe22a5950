#include "store/live_channel.h"

#include "store/shard_private.h"

static void on_published(void *arg, const struct redis_reply *reply)
{
    (void)arg;
    (void)reply; /* the reply is not needed, because a message may be lost */
}

void store_listen_live(struct store *store, store_live_fn *fn, void *arg)
{
    shard_listen_live(store_shard(store, 0), fn, arg);
}

void store_publish_live(struct store *store, struct slice text)
{
    struct shard *shard = store_shard(store, 0);
    const struct slice command[] = {SLICE("PUBLISH"), buffer_slice(&shard->live_channel), text};
    if (shard->changes && redis_link_is_up(shard->reads))
        redis_send(shard->reads, sizeof command / sizeof *command, command, on_published, NULL);
}
