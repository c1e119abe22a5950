/* target.h - where jobs may lead: public addresses, what the operator adds, and
 * never ourselves. Immutable once it is built; shared by all reactors. */
#ifndef DUEPOST_JOB_TARGET_H
#define DUEPOST_JOB_TARGET_H

#include "base/slice.h"
#include "base/status.h"
#include "job/address.h"

struct target_policy;

struct target_policy *target_policy_new(void);
void target_policy_free(struct target_policy *);

/* CIDR blocks, addresses and host names, separated by commas or spaces. A name allows whatever
 * it resolves to, for urls that spell that name; "*.example" all names below it. */
enum status target_policy_allow(struct target_policy *, struct slice text, struct problem *) MUST_USE;

/* Our own listener or our Redis: refused even if allowed. address NULL: every address of this
 * host (the listener is bound to the wildcard); see is_local below. */
void target_policy_refuse(struct target_policy *, const struct address *address, uint16_t port);

/* Whether target_policy_refuse named it. */
bool target_policy_refuses(const struct target_policy *, const struct address *, uint16_t port,
                           bool is_local);

/* May a packet go there? host is the url's, as spelt; is_local: the address is one of this host's
 * own (asked lazily by the caller through target_policy_asks_local). */
bool target_policy_permits(const struct target_policy *, struct slice host, const struct address *,
                           uint16_t port, bool is_local);

enum { TARGET_WHY_SIZE = 160 }; /* with a NUL at the end */

/* Why an address is not permitted: "leads to 10.0.0.1: private (10.0.0.0/8) is not allowed, see
 * --allow-target"; and why one of ours is not. */
void target_explain(const struct address *, char why[TARGET_WHY_SIZE]);
void target_explain_ours(const struct address *, uint16_t port, char why[TARGET_WHY_SIZE]);

/* Whether is_local matters for this port. */
bool target_policy_asks_local(const struct target_policy *, uint16_t port);

#endif
