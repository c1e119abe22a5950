/* facts.h - properties of the connected Redis: version, role, eviction, persistence, rights, layout of the
 * data.
 *
 * Queried when the connection comes up and every few seconds after that; more often while Redis cannot be
 * used. */
#ifndef DUEPOST_STORE_FACTS_H
#define DUEPOST_STORE_FACTS_H

#include "store/store.h"

struct facts;

/* Borrows link, key and options. may_lay_out: data without a layout may get ours. on_change comes after each
 * round of queries. */
struct facts *facts_new(struct loop *, struct redis_link *, struct slice jobs_key,
                        const struct store_options *, bool may_lay_out, loop_fn *on_change, void *arg);
void facts_free(struct facts *);

/* The first shard has our number of shards, so the others may get our layout, too. */
void facts_lay_out(struct facts *);

/* Call when the link came up, and when it was lost. */
void facts_start(struct facts *);
void facts_stop(struct facts *);

/* Call when Redis has denied a right, and with the result of subscribing to the wake-up channel. */
void facts_note_denial(struct facts *);
void facts_note_subscription(struct facts *, bool is_denied);

/* Queries now, because Redis has refused a command and the facts may be out of date. */
void facts_recheck(struct facts *);

const struct store_facts *facts_get(const struct facts *);

/* Returns whether Redis provides the configured durability, as far as known. */
bool facts_give_durability(const struct facts *);

/* Returns Redis's own words when it refuses writes at present, as far as known; NULL when it accepts them.
 * Borrowed. */
const char *facts_trouble(const struct facts *);

/* Returns whether the data has our layout, as far as known. */
bool facts_is_laid_out(const struct facts *);

/* Returns why this Redis cannot be used at all, as far as known; NULL when it can. Borrowed. */
const char *facts_refusal(const struct facts *);

#endif
