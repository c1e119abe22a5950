/* script.h - calls of the scripts in scripts/.
 *
 * A script runs as a Redis Function. Redis compiles the function's Lua code once, when it loads the library.
 * If Redis does not have the function, the library is loaded and the call is repeated. Redis stores functions
 * with its data. If Redis does not support or permit functions, a script runs by its digest or its text, and
 * Redis runs the code of its Lua helpers in each call.
 *
 * A call borrows the texts of its arguments until its callback. */
#ifndef DUEPOST_STORE_SCRIPT_H
#define DUEPOST_STORE_SCRIPT_H

#include "io/redis.h"
#include "store/script_list.h"
#include "store/store.h"

struct script_text {
    const char *name;
    const char *digest; /* SHA-1 of text, in hex */
    const char *text;
    const char *function; /* name of the library and of its function; it contains a checksum of the library */
    const char *code;     /* code of the library */
};

extern const struct script_text script_texts[SCRIPT_COUNT];

/* The commands that the scripts run, separated by blanks. The text has some words that are not commands. */
extern const char *const script_commands;

/* First word of the error of a script that refuses to change data of a newer format (scripts/lib/format.lua).
 */
#define SCRIPT_NEWER_FORMAT "NEWER"

struct script_call;

/* If status is OK, reply is the result of the script. Otherwise reply is Redis's error, or NULL if there was
 * no reply. */
typedef void script_fn(void *arg, enum status, const struct redis_reply *reply);

/* Creates a call of a script with KEYS[1] = key. Borrows key until the callback. */
struct script_call *script_call_new(enum script_id, struct slice key);

/* Each adds the next argument of ARGV. The text is borrowed until the callback. */
void script_call_text(struct script_call *, struct slice text);
void script_call_number(struct script_call *, int64_t number);
void script_call_when(struct script_call *, struct store_when); /* "@ms" for a time, "ms" for a delay */

/* Sends the call, which belongs to this function from now on. The status is UNAVAILABLE if Redis did not run
 * the script, UNKNOWN if Redis may have run the script, and FULL if Redis is out of memory. */
void script_call_send(struct script_call *, struct redis_link *, script_fn *, void *arg);

/* Makes the next calls try functions again. Called when a connection comes up, because Redis may have other
 * functions and rights than before. The functions of a few other versions are kept, because these versions
 * may be running. If Redis has functions of more versions, loading a function deletes them. A process of
 * another version that is still running loads its functions again. */
void script_try_functions(void);

/* Reconnects if reply is an error that only a new connection can end: the node is not the primary any more,
 * or the user has lost a right. Must be called in the callback that receives reply, which may be NULL. */
void script_leave_link(struct redis_link *, const struct redis_reply *reply);

#endif
