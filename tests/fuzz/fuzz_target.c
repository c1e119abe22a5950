#include "job/target/target.h"

#include "fuzz.h"
#include "job/target/url.h"

/* Input: three lines: the allowed targets, a host, an address. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice allowed, host, text, rest;
    struct problem problem;
    struct address address;
    slice_cut(input_of(data, size), '\n', &allowed, &rest);
    slice_cut(rest, '\n', &host, &text);
    struct target_policy *policy = target_policy_new();
    if (target_policy_allow(policy, allowed, &problem) != STATUS_OK)
        assert(strlen(problem.text) > 0);
    else if (address_parse_loose(text, &address)) {
        bool is_permitted = target_policy_permits(policy, host, &address, 80, false);
        assert(is_permitted || !address_is_public(&address));
        assert(is_permitted == address_is_public(&address) || allowed.size > 0);
        target_policy_refuse(policy, &address, 80);
        assert(!target_policy_permits(policy, host, &address, 80, false));
        assert(target_policy_permits(policy, host, &address, 81, true) == is_permitted);
        assert(!target_policy_asks_local(policy, 81));
        target_policy_refuse(policy, NULL, 81);
        assert(target_policy_asks_local(policy, 81));
        assert(!target_policy_permits(policy, host, &address, 81, true));
    }
    target_policy_free(policy);
    return 0;
}
