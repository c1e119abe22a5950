/* leased.c - pages of the ids of leased jobs. */
#include "base/memory.h"
#include "job/job.h"
#include "store/store_private.h"

enum {
    LOOK_MAX = 2000,  /* maximum number of leases that one call examines */
    STEPS_MAX = 5000, /* maximum number of calls of a walk, enough for all leases of a shard */
    NEXT_STEP = 1,    /* in a reply, index of the position where the next step starts */
    FIRST_ID = 2,
};

struct leased_walk {
    struct shard *shard;
    struct slice topic, owner, behind;
    size_t max, steps;
    struct buffer step; /* position where the next step starts */
    char **ids;         /* owned; ids found so far, in order, each once; at most max */
    size_t count, capacity;
    leased_fn *fn;
    void *arg;
};

static void leased_step(struct leased_walk *);

static void leased_end(struct leased_walk *walk, enum status status)
{
    struct slice *ids = NEW_ARRAY(struct slice, walk->count + 1);
    struct leased_page page = {.ids = ids, .count = walk->count, .has_more = walk->count == walk->max};
    for (size_t i = 0; i < walk->count; i++)
        ids[i] = slice_of(walk->ids[i]);
    walk->fn(walk->arg, status, status == STATUS_OK ? &page : NULL);
    free(ids);
    for (size_t i = 0; i < walk->count; i++)
        free(walk->ids[i]);
    free(walk->ids);
    buffer_fini(&walk->step);
    free(walk);
}

/* Compares ids in the order that Redis uses: by bytes. */
static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the ids that were found. Drops ids that were found twice, and ids beyond max. */
static void keep_first(struct leased_walk *walk)
{
    size_t kept = 0;
    qsort(walk->ids, walk->count, sizeof *walk->ids, compare_ids);
    for (size_t i = 0; i < walk->count; i++) {
        if (kept == walk->max || (kept > 0 && strcmp(walk->ids[kept - 1], walk->ids[i]) == 0))
            free(walk->ids[i]);
        else
            walk->ids[kept++] = walk->ids[i];
    }
    walk->count = kept;
}

static void on_step(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct leased_walk *walk = call->arg;
    size_t size = status == STATUS_OK ? redis_reply_size(reply) : 0;
    if (status == STATUS_OK && size < FIRST_ID)
        status = STATUS_UNKNOWN;
    if (status != STATUS_OK) {
        leased_end(walk, status);
        return;
    }
    if (walk->count + size > walk->capacity) {
        walk->capacity = walk->count + size;
        walk->ids = memory_resize(walk->ids, walk->capacity * sizeof *walk->ids);
    }
    for (size_t i = FIRST_ID; i < size; i++)
        walk->ids[walk->count++] = slice_dup(redis_reply_text(redis_reply_at(reply, i)));
    keep_first(walk);
    struct slice next = redis_reply_text(redis_reply_at(reply, NEXT_STEP));
    buffer_clear(&walk->step);
    buffer_append(&walk->step, next);
    bool is_endless = ++walk->steps == STEPS_MAX;
    if (walk->step.failed || is_endless || slice_equal(next, SLICE("0")))
        leased_end(walk, walk->step.failed || is_endless ? STATUS_UNKNOWN : STATUS_OK);
    else
        leased_step(walk);
}

static void leased_step(struct leased_walk *walk)
{
    struct store_call *call =
        store_call_alone(walk->shard, SCRIPT_LEASED, walk->shard->reads, on_step, NULL, walk);
    store_call_text(call, walk->topic);
    store_call_text(call, walk->behind);
    store_call_text(call, buffer_slice(&walk->step));
    store_call_number(call, LOOK_MAX);
    store_call_text(call, walk->owner);
    store_call_send(call);
}

void leased_find(struct shard *shard, struct slice topic, struct slice owner, struct slice behind, size_t max,
                 leased_fn *fn, void *arg)
{
    enum { CURSOR_MAX = 32 };
    struct leased_walk *walk = NEW(struct leased_walk);
    walk->shard = shard;
    walk->topic = topic;
    walk->owner = owner;
    walk->behind = behind;
    walk->max = max;
    walk->fn = fn;
    walk->arg = arg;
    buffer_init(&walk->step, CURSOR_MAX);
    buffer_append_byte(&walk->step, '0');
    leased_step(walk);
}
