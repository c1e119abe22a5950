#include "job/target.h"

#include "base/memory.h"
#include "job/url.h"

/* Not ours to connect to: has_address false stands for every address of this host. */
struct refusal {
    bool has_address;
    struct address address;
    uint16_t port;
};

struct target_policy {
    struct address_block *blocks;
    size_t block_count;
    char **names;
    size_t name_count;
    struct refusal *refusals;
    size_t refusal_count;
};

struct target_policy *target_policy_new(void)
{
    return NEW(struct target_policy);
}

void target_policy_free(struct target_policy *policy)
{
    if (!policy)
        return;
    for (size_t i = 0; i < policy->name_count; i++)
        free(policy->names[i]);
    free(policy->names);
    free(policy->blocks);
    free(policy->refusals);
    free(policy);
}

static void add_name(struct target_policy *policy, struct slice name)
{
    policy->names = memory_resize(policy->names, (policy->name_count + 1) * sizeof *policy->names);
    policy->names[policy->name_count++] = slice_dup(name);
}

static void add_block(struct target_policy *policy, const struct address_block *block)
{
    policy->blocks = memory_resize(policy->blocks, (policy->block_count + 1) * sizeof *policy->blocks);
    policy->blocks[policy->block_count++] = *block;
}

static bool is_separator(char byte)
{
    return byte == ',' || byte == ' ';
}

enum status target_policy_allow(struct target_policy *policy, struct slice text, struct problem *problem)
{
    for (size_t i = 0; i < text.size; i++) {
        size_t start = i;
        while (i < text.size && !is_separator(text.data[i]))
            i++;
        struct slice word = slice_from(text.data + start, i - start);
        struct address_block block;
        if (word.size == 0)
            continue;
        if (address_block_parse(word, &block)) {
            add_block(policy, &block);
        } else if (url_host_is_name(word)) {
            add_name(policy, word);
        } else {
            problem_set(problem, "'%.*s' is no CIDR block, address or host name", SLICE_ARG(word));
            return STATUS_INVALID;
        }
    }
    return STATUS_OK;
}

void target_policy_refuse(struct target_policy *policy, const struct address *address, uint16_t port)
{
    struct refusal refusal = {.has_address = address != NULL, .port = port};
    if (address)
        refusal.address = *address;
    policy->refusals =
        memory_resize(policy->refusals, (policy->refusal_count + 1) * sizeof *policy->refusals);
    policy->refusals[policy->refusal_count++] = refusal;
}

/* 0.0.0.0 and ::, which connect to this host by whatever it listens on. */
static bool is_unspecified(const struct address *address)
{
    static const struct address v4 = {false, {0}}, v6 = {true, {0}};
    return address_equal(address, &v4) || address_equal(address, &v6);
}

static bool is_ours(const struct refusal *refusal, const struct address *address, uint16_t port,
                    bool is_local)
{
    if (refusal->port != port)
        return false;
    if (is_unspecified(address))
        return true;
    return refusal->has_address ? address_equal(&refusal->address, address) : is_local;
}

bool target_policy_refuses(const struct target_policy *policy, const struct address *address, uint16_t port,
                           bool is_local)
{
    for (size_t i = 0; i < policy->refusal_count; i++)
        if (is_ours(&policy->refusals[i], address, port, is_local))
            return true;
    return false;
}

bool target_policy_permits(const struct target_policy *policy, struct slice host,
                           const struct address *address, uint16_t port, bool is_local)
{
    if (target_policy_refuses(policy, address, port, is_local))
        return false;
    if (address_is_public(address))
        return true;
    for (size_t i = 0; i < policy->block_count; i++)
        if (address_block_has(&policy->blocks[i], address))
            return true;
    for (size_t i = 0; i < policy->name_count; i++)
        if (url_host_equal(host, slice_of(policy->names[i])))
            return true;
    return false;
}

bool target_policy_asks_local(const struct target_policy *policy, uint16_t port)
{
    for (size_t i = 0; i < policy->refusal_count; i++)
        if (!policy->refusals[i].has_address && policy->refusals[i].port == port)
            return true;
    return false;
}
