/* target.h - the targets that jobs may have: public addresses and addresses that the operator allows, but
 * never duepost itself. A policy does not change after it is built, and all reactors share it. */
#ifndef DUEPOST_JOB_TARGET_H
#define DUEPOST_JOB_TARGET_H

#include "base/slice.h"
#include "base/status.h"
#include "job/address.h"

struct target_policy;

struct target_policy *target_policy_new(void);
void target_policy_free(struct target_policy *);

/* Allows CIDR blocks, addresses and host names, separated by commas or spaces. A name allows all addresses
 * that it resolves to, for urls that use this name; "*.example" allows all names below it. */
enum status target_policy_allow(struct target_policy *, struct slice text, struct problem *) MUST_USE;

/* Return what target_policy_allow has allowed. The results are valid until the policy changes. */
size_t target_policy_block_count(const struct target_policy *);
const struct address_block *target_policy_block(const struct target_policy *, size_t index);
size_t target_policy_name_count(const struct target_policy *);

/* Refuses our own listener or our Redis, even if allowed. An address of NULL means every address of this
 * host, for a listener on the wildcard address; see is_local below. */
void target_policy_refuse(struct target_policy *, const struct address *address, uint16_t port);

/* Returns whether target_policy_refuse named the address. */
bool target_policy_refuses(const struct target_policy *, const struct address *, uint16_t port,
                           bool is_local);

/* Returns whether a packet may go to an address. host is the host of the url, as spelt. is_local says whether
 * the address belongs to this host; it is used only when target_policy_asks_local returns true. */
bool target_policy_permits(const struct target_policy *, struct slice host, const struct address *,
                           uint16_t port, bool is_local);

enum { TARGET_WHY_SIZE = 160 }; /* including the NUL */

/* Writes why an address is not permitted: "leads to 10.0.0.1: private (10.0.0.0/8) is not allowed, see
 * --allow-target". */
void target_explain(const struct address *, char why[TARGET_WHY_SIZE]);
void target_explain_ours(const struct address *, uint16_t port, char why[TARGET_WHY_SIZE]);

/* Returns whether is_local matters for this port. */
bool target_policy_asks_local(const struct target_policy *, uint16_t port);

#endif
