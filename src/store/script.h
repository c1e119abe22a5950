/* script.h - calls of the scripts in scripts/.
 *
 * A script runs as a Redis Function. All functions are in one library, which Redis compiles once, when it
 * loads the library, and stores with its data. If Redis does not have a function, the library is loaded and
 * the call is repeated.
 *
 * A call borrows the texts of its arguments until its callback. */
#ifndef DUEPOST_STORE_SCRIPT_H
#define DUEPOST_STORE_SCRIPT_H

#include "io/redis/redis.h"
#include "store/script_list.h"
#include "store/store.h"

struct script_text {
    const char *name;
    const char *function;        /* name in the library */
    const char *manual_function; /* name in the library of a manual clock */
    bool runs_when_full;         /* Redis runs it even if it is out of memory */
};

struct script_library {
    const char *name; /* contains a checksum of the code */
    const char *text; /* the code */
};

/* script_manual_library is the library of a server with a manual clock (clock.h). */
extern const struct script_library script_library, script_manual_library;

extern const struct script_text script_texts[SCRIPT_COUNT];

/* The commands that the scripts run, separated by blanks. The text has some words that are not commands. */
extern const char script_commands[];

/* First word of the error of a script that refuses to change data of a newer format (scripts/lib/check.lua).
 */
#define SCRIPT_NEWER_FORMAT "NEWER"

/* The arguments of a script. They borrow the texts; the texts of numbers are part of them, so they must not
 * be moved. All zero: no arguments. */
enum { SCRIPT_ARGS_FEW = 10, SCRIPT_NUMBERS_FEW = 4, SCRIPT_NUMBER_BYTES = 24 };

struct script_numbers;

struct script_args {
    size_t count, capacity;
    struct slice *others; /* owned; all arguments, if they are more than few; otherwise NULL */
    struct slice few[SCRIPT_ARGS_FEW];
    struct script_numbers *other_numbers; /* owned */
    size_t number_count;                  /* in numbers */
    char numbers[SCRIPT_NUMBERS_FEW][SCRIPT_NUMBER_BYTES];
};

void script_args_text(struct script_args *, struct slice text);
void script_args_number(struct script_args *, int64_t number);
void script_args_when(struct script_args *, struct job_when); /* "@ms" for a time, "ms" for a delay */
void script_args_fini(struct script_args *);
const struct slice *script_args_all(const struct script_args *);

struct script_call;

/* If status is OK, reply is the result of the script. Otherwise reply is Redis's error, or NULL if there was
 * no reply. */
typedef void script_fn(void *arg, enum status, const struct redis_reply *reply);

/* Creates a call of a script with KEYS[1] = key. Borrows key until the callback. */
struct script_call *script_call_new(enum script_id, struct slice key);

/* Returns the arguments of the call, to which the caller adds those of ARGV. */
struct script_args *script_call_args(struct script_call *);

/* Sends the call, which belongs to this function from now on. The status is UNAVAILABLE if Redis did not run
 * the script, UNKNOWN if Redis may have run the script, and FULL if Redis is out of memory. */
void script_call_send(struct script_call *, struct redis_link *, script_fn *, void *arg);

/* Called when a connection comes up, because Redis may have another library and other rights than before. The
 * libraries of a few other versions are kept, because these versions may be running. If Redis has more of
 * them, loading the library deletes them. A process of another version that is still running loads its
 * library again. */
void script_note_link_up(void);

/* From now on, this thread deletes no libraries of other versions. */
void script_keep_others(void);

/* Reconnects if reply is an error that only a new connection can end: the node is not the primary any more,
 * or the user has lost a right. Must be called in the callback that receives reply, which may be NULL. */
void script_leave_link(struct redis_link *, const struct redis_reply *reply);

#endif
