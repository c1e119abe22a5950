/* rights.h - checks that the ACL of Redis grants this user all rights that duepost needs.
 *
 * If a command is denied in the middle of a script, the earlier writes of the script remain, because Redis
 * does not roll back. So before any script runs, this file tries each command of the scripts, and the
 * channel for wake-ups, in a way that changes nothing. */
#ifndef DUEPOST_STORE_RIGHTS_H
#define DUEPOST_STORE_RIGHTS_H

#include "store/store.h"

struct rights;

enum { RIGHTS_LINE_MAX = 448, RIGHTS_TEXT_MAX = 640 };

/* Borrows all arguments. Calls on_known after each round (a set of queries) that Redis has
 * answered. */
struct rights *rights_new(struct redis_link *, struct slice jobs_key, const struct store_options *,
                          loop_fn *on_known, void *arg);
void rights_free(struct rights *); /* NULL is ignored */

/* Tries all rights that duepost needs, unless a round is under way. */
void rights_ask(struct rights *);

/* Returns whether a new round is useful, because nothing is known yet or a right was denied. */
bool rights_need_recheck(const struct rights *);

/* Called when the link came up or Redis has denied a right, because the result may be out of date. */
void rights_recheck(struct rights *);

/* Stores whether the subscription to the wake-up channel, which uses another connection, was permitted. */
void rights_note_subscription(struct rights *, bool is_denied);

/* Returns the denied rights and the command that grants them, as far as known, or NULL if no right is denied.
 * The text is valid until the next round. */
const char *rights_refusal(struct rights *);

/* Returns whether this error of Redis reports a missing right. */
bool rights_deny(struct slice error);

/* Writes the ACL line that grants the rights that duepost needs. */
void rights_format_line(const struct store_options *, char text[RIGHTS_LINE_MAX]);

#endif
