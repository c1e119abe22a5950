/* rights.h - whether the ACL of Redis lets this user do what a duepost does.
 *
 * A command that is denied in the middle of a script leaves the script half done: Redis does not roll back.
 * So each command of the scripts, and the channel, is tried out beforehand, in ways that have no effect. */
#ifndef DUEPOST_STORE_RIGHTS_H
#define DUEPOST_STORE_RIGHTS_H

#include "store/store.h"

struct rights;

enum { RIGHTS_LINE_MAX = 448, RIGHTS_TEXT_MAX = 640 };

/* Borrows all. on_known comes after each round of questions that Redis has answered. */
struct rights *rights_new(struct redis_link *, struct slice jobs_key, const struct store_options *,
                          loop_fn *on_known, void *arg);
void rights_free(struct rights *); /* NULL is fine */

/* Tries all. */
void rights_ask(struct rights *);

/* Whether there may be something new to ask: nothing is known yet, or something was denied. */
bool rights_need_recheck(const struct rights *);

/* The link came up, or Redis has denied something: what is known may be out of date. */
void rights_recheck(struct rights *);

/* The wake-up channel is, or is not, subscribed to: on another connection. */
void rights_note_subscription(struct rights *, bool is_denied);

/* What is denied and what grants it, as far as known; NULL: nothing. Borrowed until the next question. */
const char *rights_refusal(struct rights *);

/* Whether this error of Redis's tells of a lacking right. */
bool rights_deny(struct slice error);

/* The ACL line that grants what a duepost needs. */
void rights_format_line(const struct store_options *, char text[RIGHTS_LINE_MAX]);

#endif
