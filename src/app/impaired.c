#include "app/impaired.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/store.h"

enum { PAGES_MAX = 8 };

struct impaired_walk {
    struct store *store;
    size_t pages;
    struct impaired found;
    impaired_fn *fn;
    void *arg;
};

static void ask_page(struct impaired_walk *, struct receiver_cursor);

/* Receivers with a closed breaker come last. */
static bool is_before(const struct impaired_receiver *left, const struct impaired_receiver *right)
{
    if (left->is_open != right->is_open)
        return left->is_open;
    if (left->probe_ms != right->probe_ms)
        return left->probe_ms < right->probe_ms;
    return strcmp(left->name, right->name) < 0;
}

static void add_first(struct impaired *found, const struct impaired_receiver *receiver)
{
    size_t known = found->count < IMPAIRED_FIRST ? found->count : IMPAIRED_FIRST, at = known;
    while (at > 0 && is_before(receiver, &found->first[at - 1]))
        at--;
    if (at == IMPAIRED_FIRST)
        return;
    size_t behind = known < IMPAIRED_FIRST ? known - at : IMPAIRED_FIRST - 1 - at;
    memmove(&found->first[at + 1], &found->first[at], behind * sizeof *found->first);
    found->first[at] = *receiver;
}

static void add_receiver(struct impaired *found, const struct receiver_record *receiver)
{
    struct impaired_receiver impaired = {
        .is_open = receiver->opened_ms > 0,
        .is_probing = receiver->opened_ms > 0 && receiver->probe > 0,
        .probe_ms = receiver->opened_ms > 0 ? receiver->probe_ms : 0,
    };
    if (!impaired.is_open && receiver->limit == 0)
        return;
    snprintf(impaired.name, sizeof impaired.name, "%.*s", SLICE_ARG(receiver->name));
    snprintf(impaired.cause, sizeof impaired.cause, "%.*s", SLICE_ARG(receiver->cause));
    add_first(found, &impaired);
    found->count++;
}

static void on_page(void *arg, enum status status, const struct receiver_record *receivers, size_t count,
                    struct receiver_cursor next)
{
    struct impaired_walk *walk = arg;
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        add_receiver(&walk->found, &receivers[i]);
    if (status == STATUS_OK && (next.version || next.shard) && ++walk->pages < PAGES_MAX) {
        ask_page(walk, next);
        return;
    }
    walk->fn(walk->arg, status, &walk->found);
    free(walk);
}

static void ask_page(struct impaired_walk *walk, struct receiver_cursor from)
{
    struct store_receivers receivers = {.max = STORE_LIST_MAX, .from = from};
    store_receivers(walk->store, &receivers, on_page, walk);
}

void impaired_read(struct store *store, impaired_fn *fn, void *arg)
{
    struct impaired_walk *walk = NEW(struct impaired_walk);
    *walk = (struct impaired_walk){.store = store, .fn = fn, .arg = arg};
    ask_page(walk, (struct receiver_cursor){.shard = 0});
}
