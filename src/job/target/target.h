/* target.h - a policy: the addresses to which jobs may be sent. These are the public addresses and those that
 * the operator allows, but never duepost itself or its Redis. A policy does not change after it is built, and
 * all reactors share it. */
#ifndef DUEPOST_JOB_TARGET_TARGET_H
#define DUEPOST_JOB_TARGET_TARGET_H

#include "base/slice.h"
#include "base/status.h"
#include "job/target/url.h"

struct target_policy;

struct target_policy *target_policy_new(void);
void target_policy_free(struct target_policy *);

/* Allows CIDR blocks, addresses and host names, separated by commas or spaces. A host name allows urls with
 * this name to lead to any address; "*.example" does the same for all names below example. */
enum status target_policy_allow(struct target_policy *, struct slice text, struct problem *) MUST_USE;

/* Return the address blocks and the names that target_policy_allow has allowed. The results are valid until
 * the policy changes. */
size_t target_policy_block_count(const struct target_policy *);
const struct address_block *target_policy_block(const struct target_policy *, size_t index);
size_t target_policy_name_count(const struct target_policy *);

/* Refuses an address and port of duepost itself or of its Redis, even if the address is allowed. An address
 * of NULL means every address of this host, for a listener on the wildcard address; see is_local below. */
void target_policy_refuse(struct target_policy *, const struct address *address, uint16_t port);

/* Returns whether target_policy_refuse was called for this address. */
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

/* Returns whether the decision for this port depends on is_local. */
bool target_policy_asks_local(const struct target_policy *, uint16_t port);

#endif
