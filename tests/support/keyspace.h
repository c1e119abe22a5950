/* keyspace.h - all keys of Redis as text, and back.
 *
 *     bucket:t: t/a@now+60000 t/b@now+61000
 *     crashes: t/a=1,n1
 *     due: t@now+60000
 *     jobs: t/a={r} t/b={r}
 *     ready: t
 *
 * A line a key, sorted; the prefix is left out. Sorted sets are in their order, hashes in that of their
 * fields. Numbers of 13 digits are times in ms and stand relative to now. In holders, crashes, kept,
 * receivers, workflows and waits, whose values are several words, a comma stands for the blank; in attempts,
 * kept and idempotency, which have lines, and in the places of holders and both lingering, a bar for the
 * newline. hour:<topic>, which each outcome touches, is not dumped.
 *
 * behind, names and numbers follow from the rest: they are loaded so that they fit, unless the text has them,
 * and dumped only where they do not fit. */
#ifndef DUEPOST_TESTS_KEYSPACE_H
#define DUEPOST_TESTS_KEYSPACE_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "base/buffer.h"

#define KEYSPACE_PREFIX "test:{0}:"

/* Appends text with "now", "now+5", "now-5" at the beginning of a word or a value made numbers. */
void times_to_numbers(struct buffer *, const char *text, int64_t now_ms);
void numbers_to_times(struct buffer *, const char *text, int64_t now_ms);

/* Replaces all data in Redis. */
void keyspace_load(redisContext *, const char *text, int64_t now_ms);
void keyspace_dump(redisContext *, struct buffer *, int64_t now_ms);

#endif
