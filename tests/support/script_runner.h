/* script_runner.h - calls duepost's scripts. */
#ifndef DUEPOST_TESTS_SCRIPT_RUNNER_H
#define DUEPOST_TESTS_SCRIPT_RUNNER_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "base/buffer.h"
#include "store/script.h"

/* The first argument of all scripts: the maximum number of jobs in flight of a topic. */
enum { RUNNER_LIMIT = 2 };
extern int scripts_limit; /* the value of this argument; RUNNER_LIMIT unless a test changes it */

/* Loads all scripts. Redis must return the names that the product uses. */
void scripts_load(redisContext *);

/* Runs a script. words: the name of the script, then its arguments, except the first one, which is
 * scripts_limit. The caller frees the reply, which may be an error. */
redisReply *script_run(redisContext *, size_t count, const char *const *words);

/* Runs a script whose words are in one text, separated by spaces. '' is an empty word, and 'a,b' a word with
 * a space; times are as in keyspace.h. */
redisReply *script_run_text(redisContext *, const char *text, int64_t now_ms);

/* Appends an answer as "1 0 (ready now {r}) ()". Leaves out the first part of the answer, the time, which
 * must be now_us. If the reply is an error, only its first word is appended. */
void script_answer_text(struct buffer *, const redisReply *, int64_t now_us);

#endif
