#include "job/target/target.h"

#include <stdio.h>

#include "base/memory.h"
#include "job/target/url.h"

/* A port to which jobs are never sent, at this address. If has_address is false, the port is refused at all
 * addresses of this host. */
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

/* Returns whether a word in the option, such as "private", was probably meant as a class of addresses. No
 * real host has such a name. */
static bool is_wish(struct slice word)
{
    static const char *const wishes[] = {"all", "any", "*", "everything", "none", "private", "public"};
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++)
        if (slice_equal_nocase(word, slice_of(wishes[i])))
            return true;
    return false;
}

enum status target_policy_allow(struct target_policy *policy, struct slice text, struct problem *problem)
{
    for (size_t i = 0; i < text.size; i++) {
        size_t start = i;
        while (i < text.size && text.data[i] != ',' && text.data[i] != ' ')
            i++;
        struct slice word = slice_from(text.data + start, i - start);
        struct address_block block;
        if (word.size == 0)
            continue;
        if (is_wish(word)) {
            problem_set(problem,
                        "'%.*s' would be the name of a host; to allow all addresses, private ones too, write "
                        "0.0.0.0/0,::/0",
                        SLICE_ARG(word));
            return STATUS_INVALID;
        }
        if (address_block_parse(word, &block)) {
            policy->blocks =
                memory_resize(policy->blocks, (policy->block_count + 1) * sizeof *policy->blocks);
            policy->blocks[policy->block_count++] = block;
        } else if (url_host_is_name(slice_starts_with(word, SLICE("*.")) ? slice_skip(word, 2) : word)) {
            policy->names = memory_resize(policy->names, (policy->name_count + 1) * sizeof *policy->names);
            policy->names[policy->name_count++] = slice_dup(word);
        } else {
            problem_set(problem, "'%.*s' is not a CIDR block, address, host name or *.name", SLICE_ARG(word));
            return STATUS_INVALID;
        }
    }
    return STATUS_OK;
}

size_t target_policy_block_count(const struct target_policy *policy)
{
    return policy->block_count;
}

const struct address_block *target_policy_block(const struct target_policy *policy, size_t index)
{
    return &policy->blocks[index];
}

size_t target_policy_name_count(const struct target_policy *policy)
{
    return policy->name_count;
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

/* Returns whether an address is 0.0.0.0 or ::. A connection to such an address reaches this host. */
static bool is_unspecified(const struct address *address)
{
    static const struct address v4 = {false, {0}}, v6 = {true, {0}};
    return address_equal(address, &v4) || address_equal(address, &v6);
}

bool target_policy_refuses(const struct target_policy *policy, const struct address *address, uint16_t port,
                           bool is_local)
{
    for (size_t i = 0; i < policy->refusal_count; i++) {
        const struct refusal *refusal = &policy->refusals[i];
        bool is_same = refusal->has_address ? address_equal(&refusal->address, address) : is_local;
        if (refusal->port == port && (is_same || is_unspecified(address)))
            return true;
    }
    return false;
}

static struct slice without_dot(struct slice host)
{
    bool has_dot = host.size && host.data[host.size - 1] == '.';
    return slice_from(host.data, host.size - has_dot);
}

/* Returns whether name covers the host. "*.example" matches each name below example, but not example
 * itself. */
static bool is_named(struct slice host, struct slice name)
{
    if (!slice_starts_with(name, SLICE("*.")))
        return url_host_equal(host, name);
    host = without_dot(host);
    name = without_dot(slice_skip(name, 1));
    return host.size > name.size && slice_equal_nocase(slice_skip(host, host.size - name.size), name);
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
        if (is_named(host, slice_of(policy->names[i])))
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

void target_explain(const struct address *address, char why[TARGET_WHY_SIZE])
{
    char text[ADDRESS_TEXT_SIZE];
    const char *rule = address_rule(address);
    address_write(address, text);
    snprintf(why, TARGET_WHY_SIZE, "leads to %s: %s is not allowed, see --allow-target", text,
             rule ? rule : "it");
}

void target_explain_ours(const struct address *address, uint16_t port, char why[TARGET_WHY_SIZE])
{
    char text[ADDRESS_TEXT_SIZE];
    address_write(address, text);
    snprintf(why, TARGET_WHY_SIZE,
             "leads to %s, port %u: duepost itself or its Redis, which no option allows", text, port);
}
