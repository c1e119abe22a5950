#include "io/redis/redis.h"

#include "base/memory.h"

enum { REDIS_PORT = 6379, SENTINEL_PORT = 26379, DATABASE_MAX = 1000000 };

static enum status bad_address(struct problem *problem, const char *what)
{
    problem_set(problem,
                "%s; it is redis://[user@]host[:port][/db], unix:PATH, sentinel://host[:port],.../service "
                "or cluster://host[:port],..., and with TLS rediss://, sentinels:// or clusters://",
                what);
    return STATUS_INVALID;
}

static void parse_credentials(struct slice text, struct redis_address *address)
{
    struct slice user, password;
    bool has_password = slice_cut(text, ':', &user, &password);
    if (user.size)
        address->user = slice_dup(user);
    if (has_password)
        address->password = secret_new(password);
}

static enum status parse_node(struct slice text, uint16_t default_port, struct redis_node *node,
                              struct problem *problem)
{
    struct slice host, rest;
    uint64_t port = default_port;
    if (text.size && text.data[0] == '[') {
        if (!slice_cut(slice_skip(text, 1), ']', &host, &rest))
            return bad_address(problem, "the address lacks its ']'");
        if (rest.size && rest.data[0] != ':')
            return bad_address(problem, "only a port may follow ']'");
        rest = rest.size ? slice_skip(rest, 1) : rest;
    } else {
        slice_cut(text, ':', &host, &rest);
    }
    if (host.size == 0)
        return bad_address(problem, "the host is missing");
    if (host.size >= sizeof node->host)
        return bad_address(problem, "the host is too long");
    if (rest.size && (!slice_to_number(rest, UINT16_MAX, &port) || port == 0))
        return bad_address(problem, "the port must be 1 to 65535");
    memcpy(node->host, host.data, host.size);
    node->host[host.size] = '\0';
    node->port = (uint16_t)port;
    return STATUS_OK;
}

/* Takes "user:password@" from the front of text. Returns the rest. */
static struct slice take_credentials(struct slice text, struct redis_address *address)
{
    const char *at = text.size ? memrchr(text.data, '@', text.size) : NULL;
    if (!at)
        return text;
    parse_credentials(slice_from(text.data, (size_t)(at - text.data)), address);
    return slice_skip(text, (size_t)(at - text.data) + 1);
}

static enum status parse_tcp(struct slice text, struct redis_address *address, struct problem *problem)
{
    struct slice endpoint, database;
    struct redis_node node;
    slice_cut(take_credentials(text, address), '/', &endpoint, &database);
    uint64_t number = 0;
    if (database.size && !slice_to_number(database, DATABASE_MAX, &number))
        return bad_address(problem, "the database after the host must be a number");
    enum status status = parse_node(endpoint, REDIS_PORT, &node, problem);
    if (status != STATUS_OK)
        return status;
    address->database = (uint32_t)number;
    address->host = slice_dup(slice_of(node.host));
    address->port = node.port;
    return STATUS_OK;
}

static enum status parse_seeds(struct slice text, uint16_t default_port, struct redis_address *address,
                               struct problem *problem)
{
    struct slice node;
    address->seeds = NEW_ARRAY(struct redis_node, REDIS_SEEDS_MAX);
    do {
        slice_cut(text, ',', &node, &text);
        if (address->seed_count == REDIS_SEEDS_MAX)
            return bad_address(problem, "there are more than 16 hosts");
        enum status status = parse_node(node, default_port, &address->seeds[address->seed_count++], problem);
        if (status != STATUS_OK)
            return status;
    } while (text.size);
    return STATUS_OK;
}

static enum status parse_sentinels(struct slice text, struct redis_address *address, struct problem *problem)
{
    struct slice nodes, service;
    slice_cut(take_credentials(text, address), '/', &nodes, &service);
    if (service.size == 0)
        return bad_address(problem, "the service's name after the Sentinels is missing");
    address->service = slice_dup(service);
    return parse_seeds(nodes, SENTINEL_PORT, address, problem);
}

static enum status parse_cluster(struct slice text, struct redis_address *address, struct problem *problem)
{
    struct slice nodes, database;
    if (slice_cut(take_credentials(text, address), '/', &nodes, &database))
        return bad_address(problem, "a Cluster has one database, so nothing follows the hosts");
    address->is_cluster = true;
    return parse_seeds(nodes, REDIS_PORT, address, problem);
}

/* Takes a scheme from the front of text. The form of the scheme with TLS ends with an s. */
static bool take_scheme(struct slice *text, struct slice name, bool *has_tls)
{
    if (!slice_starts_with(*text, name))
        return false;
    struct slice rest = slice_skip(*text, name.size);
    *has_tls = slice_starts_with(rest, SLICE("s"));
    rest = slice_skip(rest, *has_tls);
    if (!slice_starts_with(rest, SLICE("://")))
        return false;
    *text = slice_skip(rest, strlen("://"));
    return true;
}

enum status redis_address_parse(struct slice text, struct redis_address *address, struct problem *problem)
{
    *address = (struct redis_address){0};
    enum status status;
    if (slice_starts_with(text, SLICE("unix:")) && text.size > strlen("unix:")) {
        address->path = slice_dup(slice_skip(text, strlen("unix:")));
        return STATUS_OK;
    }
    if (take_scheme(&text, SLICE("redis"), &address->has_tls))
        status = parse_tcp(text, address, problem);
    else if (take_scheme(&text, SLICE("sentinel"), &address->has_tls))
        status = parse_sentinels(text, address, problem);
    else if (take_scheme(&text, SLICE("cluster"), &address->has_tls))
        status = parse_cluster(text, address, problem);
    else
        status = bad_address(problem, "this is not an address of Redis");
    if (status != STATUS_OK)
        redis_address_fini(address);
    return status;
}

void redis_address_fini(struct redis_address *address)
{
    free(address->host);
    free(address->path);
    free(address->seeds);
    free(address->service);
    free(address->user);
    secret_free(address->password);
    free(address->sentinel_user);
    secret_free(address->sentinel_password);
    *address = (struct redis_address){0};
}
