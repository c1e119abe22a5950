/* script_runner.h - calls the scripts that are in the product, by their digests. */
#ifndef DUEPOST_TESTS_SCRIPT_RUNNER_H
#define DUEPOST_TESTS_SCRIPT_RUNNER_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "base/buffer.h"
#include "store/script.h"

/* Jobs of one topic in flight, for all scripts. */
enum { RUNNER_LIMIT = 2 };
extern int scripts_limit; /* RUNNER_LIMIT at first */

/* SCRIPT LOAD of all; Redis must name each as the product does. */
void scripts_load(redisContext *);

/* words: the script's name, then its arguments behind the limit. Gives; an error reply is a reply. */
redisReply *script_run(redisContext *, size_t count, const char *const *words);

/* The same from one text with blanks between the words; '' is an empty one, times are as in keyspace.h. */
redisReply *script_run_text(redisContext *, const char *text, int64_t now_ms);

/* Appends an answer without the time in front, which must be now_us, as "1 0 (ready now {r}) ()". An error
 * is its first word. */
void script_answer_text(struct buffer *, const redisReply *, int64_t now_us);

#endif
