/* facts.h - properties of the connected Redis: version, role, eviction, persistence, rights, and the layout
 * of the data, which is its format and its number of shards.
 *
 * These properties are queried when the connection comes up and every few seconds after that, and more often
 * while Redis cannot be used. */
#ifndef DUEPOST_STORE_FACTS_H
#define DUEPOST_STORE_FACTS_H

#include "store/store.h"

struct facts;

/* Borrows link, key and options. may_lay_out: if the data has no layout, duepost writes the layout that
 * this process uses. Calls on_change after each round of queries. */
struct facts *facts_new(struct loop *, struct redis_link *, struct slice jobs_key,
                        const struct store_options *, bool may_lay_out, loop_fn *on_change, void *arg);
void facts_free(struct facts *);

/* Sets may_lay_out. Called for the other shards when the first shard's data is known to have the
 * configured number of shards. */
void facts_lay_out(struct facts *);

/* Call facts_start when the link has come up, and facts_stop when it was lost. */
void facts_start(struct facts *);
void facts_stop(struct facts *);

/* Call facts_note_denial when Redis has denied a right, and facts_note_subscription with the result of
 * subscribing to the wake-up channel. */
void facts_note_denial(struct facts *);
void facts_note_subscription(struct facts *, bool is_denied);

/* Queries the facts now. Called when Redis has refused a command, because the facts may be out of date. */
void facts_recheck(struct facts *);

/* Queries the facts now, at most once a second. Called for the metrics. */
void facts_refresh(struct facts *);

const struct store_facts *facts_get(const struct facts *);

/* Returns whether Redis provides the configured durability, as far as known. */
bool facts_give_durability(const struct facts *);

/* Returns Redis's error while Redis refuses writes, as far as known, or NULL while Redis accepts writes. The
 * text is valid until the next round of queries. */
const char *facts_trouble(const struct facts *);

/* Returns whether the data has the layout of this duepost, as far as known. */
bool facts_is_laid_out(const struct facts *);

/* Returns the denied rights, as far as known, or NULL if no right is denied. The text is valid until the next
 * round of queries. */
const char *facts_denial(const struct facts *);

/* Returns why this Redis cannot be used at all, as far as known, or NULL when it can be used. The text is
 * valid until the next round of queries. */
const char *facts_refusal(const struct facts *);

/* Returns one shard's part of a limit that is divided among all shards, rounded up. */
static inline int64_t store_options_part(const struct store_options *options, int64_t bound)
{
    int64_t shards = (int64_t)options->shards;
    return (bound + shards - 1) / shards;
}

#endif
