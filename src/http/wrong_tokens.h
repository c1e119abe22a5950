/* wrong_tokens.h - counts the wrong tokens of each address, and says when an address has sent too many.
 *
 * An address may send WRONG_TOKENS_AT_ONCE wrong tokens at once, and one each second after them; further ones
 * are answered 429 instead of 401. Requests with a valid token never ask here, so an attacker does not delay
 * the other clients behind the same address, such as that of a proxy. An IPv6 /64 counts as one address.
 *
 * The table belongs to the process, and has a fixed size. An address without a place in it takes the place of
 * the one that has sent no wrong token for the longest time: then that one begins anew. Any thread may call
 * these functions. */
#ifndef DUEPOST_HTTP_WRONG_TOKENS_H
#define DUEPOST_HTTP_WRONG_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

enum { WRONG_TOKENS_AT_ONCE = 100, WRONG_TOKENS_PLACES = 1024 };

/* Counts a wrong token. Returns false if the address has sent too many; *wait_ns is then the time until it
 * may send the next one. *is_first: the caller logs the address. This is so once from the first token too
 * many until the address may send all again, and at most once a second for all addresses. now_ns:
 * CLOCK_BOOTTIME. */
bool wrong_tokens_count(uint64_t address, int64_t now_ns, int64_t *wait_ns, bool *is_first);

#endif
