/* script.h - calls of the scripts in scripts/.
 *
 * A call holds its arguments until its callback, so that it can be repeated with
 * the script's text when Redis has forgotten the script (restart, failover,
 * SCRIPT FLUSH). */
#ifndef DUEPOST_STORE_SCRIPT_H
#define DUEPOST_STORE_SCRIPT_H

#include "io/redis.h"
#include "store/script_list.h"

struct script_text {
    const char *name;
    const char *digest; /* SHA-1 of text, in hex */
    const char *text;
};

extern const struct script_text script_texts[SCRIPT_COUNT];

/* The commands that the scripts run, with a blank between two of them; and some other words that are none. */
extern const char *const script_commands;

struct script_call;

/* reply is what the script returned when status is OK; else Redis's error, or NULL when there was none. */
typedef void script_fn(void *arg, enum status, const struct redis_reply *reply);

/* key: KEYS[1], borrowed until the callback. */
struct script_call *script_call_new(enum script_id, struct slice key);

/* The next of ARGV. A text is borrowed until the callback. */
void script_call_text(struct script_call *, struct slice text);
void script_call_number(struct script_call *, int64_t number);

/* Takes the call. UNAVAILABLE: Redis did not run it. UNKNOWN: it may have. FULL: Redis is out of memory. */
void script_call_send(struct script_call *, struct redis_link *, script_fn *, void *arg);

/* Makes Redis know all scripts, so that digests do. */
void script_load_all(struct redis_link *);

/* An error about this connection (an old primary, a lost permission) is cured, if at all, by a new one:
 * which is begun if reply is such an error. To be called in the callback of reply. NULL is fine. */
void script_leave_link(struct redis_link *, const struct redis_reply *reply);

/* What an error reply of Redis means: see the table in README.md. */
enum status script_error_status(struct slice error);

#endif
