/* facts.h - what Redis says about itself: version, role, eviction, persistence, rights, layout of the data.
 *
 * Asked when the connection comes up and every few seconds after; more often while it does not do. */
#ifndef DUEPOST_STORE_FACTS_H
#define DUEPOST_STORE_FACTS_H

#include "store/store.h"

struct facts;

/* Borrows link, key and options. may_lay_out: data that is not there yet may get our layout. on_change comes
 * after each round of questions. */
struct facts *facts_new(struct loop *, struct redis_link *, struct slice jobs_key,
                        const struct store_options *, bool may_lay_out, loop_fn *on_change, void *arg);
void facts_free(struct facts *);

/* The first shard has our number of shards: the others may be laid out, too. */
void facts_lay_out(struct facts *);

/* The link came up, or was lost. */
void facts_start(struct facts *);
void facts_stop(struct facts *);

/* Redis has denied something for a lack of rights; or the wake-up channel is subscribed to. */
void facts_note_denial(struct facts *);
void facts_note_subscription(struct facts *, bool is_denied);

/* Redis has refused something: what is known may be out of date, and is asked for now. */
void facts_recheck(struct facts *);

const struct store_facts *facts_get(const struct facts *);

/* What Redis gives is as much as the operator wants, as far as asked. */
bool facts_give_durability(const struct facts *);

/* Redis's own words when it takes no writes at the moment, as far as asked; NULL when it does. Borrowed. */
const char *facts_trouble(const struct facts *);

/* The data has our layout, as far as asked. */
bool facts_is_laid_out(const struct facts *);

/* Why this Redis, as far as asked, cannot be used at all; NULL when it can. Borrowed. */
const char *facts_refusal(const struct facts *);

#endif
