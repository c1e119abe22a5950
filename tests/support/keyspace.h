/* keyspace.h - all keys of Redis as text, and back.
 *
 *     bucket:t: t/a@now+60000 t/b@now+61000
 *     crashes: t/a=1,n1
 *     due: t@now+60000
 *     jobs: t/a={r} t/b={r}
 *     ready: t
 *
 * There is one line for each key, sorted, without the prefix. Sorted sets are in the order of Redis, hashes
 * in the order of their field names. Numbers of 13 digits are times in ms and are written relative to now. A
 * comma replaces each blank in holders, crashes, kept, receivers, limited, workflows and waits, whose values
 * have several words. A bar replaces each newline in attempts, kept and idempotency, whose values have lines.
 * A bar also replaces the newline in a field that names an attempt of a cancelled job (lib/lingering.lua), in
 * the name of a webhook's event (lib/events.lua), and in the key of a throttle or debounce
 * (lib/idempotency.lua). A semicolon replaces each blank in the heads of records. Keys that begin with
 * "hour:" are not dumped, because each outcome changes them.
 *
 * The values of the three keys "behind", "names" and "numbers" can be derived from the other keys.
 * keyspace_load writes the derived values, unless the text has these keys. keyspace_dump leaves out each
 * of these keys whose value is the derived one. */
#ifndef DUEPOST_TESTS_KEYSPACE_H
#define DUEPOST_TESTS_KEYSPACE_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "base/buffer.h"

#define KEYSPACE_PREFIX "test:{0}:"

/* times_to_numbers appends text, with numbers in place of "now", "now+5" and "now-5" where they begin a
 * word or a value. numbers_to_times does the reverse. */
void times_to_numbers(struct buffer *, const char *text, int64_t now_ms);
void numbers_to_times(struct buffer *, const char *text, int64_t now_ms);

/* keyspace_load replaces all data in Redis. keyspace_dump appends all data as text. */
void keyspace_load(redisContext *, const char *text, int64_t now_ms);
void keyspace_dump(redisContext *, struct buffer *, int64_t now_ms);

#endif
