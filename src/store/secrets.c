/* secrets.c - reads the texts that may be encrypted, and replaces them by texts of another key. */
#include "base/memory.h"
#include "store/store_private.h"

enum { FIRST_SECRET = 2, SECRET_PARTS = 3 };

static void secrets_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct store_secrets found = {.count = 0};
    struct store_secret *items = NULL;
    if (status == STATUS_OK && (redis_reply_size(reply) < FIRST_SECRET ||
                                (redis_reply_size(reply) - FIRST_SECRET) % SECRET_PARTS != 0))
        status = reply_refuse("secrets");
    if (status == STATUS_OK) {
        found.count = (redis_reply_size(reply) - FIRST_SECRET) / SECRET_PARTS;
        found.next = redis_reply_text(redis_reply_at(reply, 1));
        items = NEW_ARRAY(struct store_secret, found.count + 1);
        for (size_t i = 0, at = FIRST_SECRET; i < found.count; i++, at += SECRET_PARTS)
            items[i] = (struct store_secret){redis_reply_text(redis_reply_at(reply, at)),
                                             redis_reply_text(redis_reply_at(reply, at + 1)),
                                             redis_reply_text(redis_reply_at(reply, at + 2))};
        found.items = items;
    }
    CALL_FN(call, store_secrets_fn)(call->arg, status == STATUS_OK ? status : STATUS_UNAVAILABLE, &found);
    free(items);
}

void store_secrets(struct store *store, size_t shard_number, struct slice what, struct slice cursor,
                   size_t max, store_secrets_fn *fn, void *arg)
{
    struct shard *shard = store_shard(store, shard_number);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_SECRETS, shard->reads, secrets_end, ANY_FN(fn), arg);
    store_call_text(call, what);
    store_call_text(call, cursor);
    store_call_number(call, (int64_t)max);
    store_call_send(call);
}

static void reseal_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    if (status_is_done(status) && redis_reply_integer(result) != 1)
        status = STATUS_STALE;
    CALL_FN(call, store_reseal_fn)(call->arg, status);
}

void store_reseal(struct store *store, size_t shard, const struct store_secret *secret, struct slice fresh,
                  store_reseal_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_new(store_shard(store, shard), SHARD_BATCH_RESEAL, reseal_end, ANY_FN(fn), arg);
    store_call_text(call, secret->key);
    store_call_text(call, secret->field);
    store_call_text(call, secret->text);
    store_call_text(call, fresh);
    store_call_send(call);
}
