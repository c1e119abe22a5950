#include "server/front.h"

#include "base/log.h"
#include "base/memory.h"
#include "server/listener.h"

struct front {
    struct listener *api, *health; /* health is NULL without --health-listen */
    struct http_limits *limits;
};

static enum status listen_at(const struct options *options, const struct listen_address *address,
                             struct listener **listener, struct problem *problem)
{
    return listener_open(options->tls ? "https" : "http", address->host, address->port,
                         (size_t)options->reactors, options->shares_port, listener, problem);
}

static enum status open_all(struct front *front, const struct options *options, struct problem *problem)
{
    enum status status = listen_at(options, &options->listen, &front->api, problem);
    if (status == STATUS_OK && options->health_listen.host)
        status = listen_at(options, &options->health_listen, &front->health, problem);
    if (status != STATUS_OK)
        return status;
    if (!options->tls && !listener_is_loopback(front->api))
        log_warning("listens_without_tls", LOG_TEXT("at", listener_url(front->api)),
                    LOG_TEXT("risk", FRONT_RISK));
    if (front->health)
        log_info("health_listening", LOG_TEXT("at", listener_url(front->health)));
    return STATUS_OK;
}

enum status front_open(const struct options *options, struct front **opened, struct problem *problem)
{
    struct front *front = NEW(struct front);
    const struct http_limits_options limits = {
        .connections = (size_t)options->max_connections,
        .per_address = (size_t)options->max_connections_per_address,
        .spares_loopback = options->spares_loopback,
        .body_bytes = (size_t)options->max_bodies_bytes,
        .lingering = (size_t)options->max_waiting_leases,
    };
    front->limits = http_limits_new(&limits);
    enum status status = open_all(front, options, problem);
    if (status == STATUS_OK)
        *opened = front;
    else
        front_free(front);
    return status;
}

void front_free(struct front *front)
{
    if (!front)
        return;
    listener_free(front->api);
    listener_free(front->health);
    http_limits_free(front->limits);
    free(front);
}

enum status front_check_reach(const struct options *options, const char *url, bool is_loopback,
                              struct problem *problem)
{
    if (is_loopback || options->tokens)
        return STATUS_OK;
    if (options->is_qstash_dev) {
        problem_set(problem,
                    "%s can be reached from other hosts, which --qstash-dev does not allow; listen on "
                    "127.0.0.1, or switch it off",
                    url);
        return STATUS_INVALID;
    }
    problem_set(problem,
                "%s can be reached from other hosts, which requires tokens: create one (duepost token "
                "new NAME scopes=...) and set --tokens to the file; or listen on 127.0.0.1",
                url);
    return STATUS_INVALID;
}

static enum status check_reach(const struct options *options, const struct listener *listener,
                               struct problem *problem)
{
    if (!listener)
        return STATUS_OK;
    return front_check_reach(options, listener_url(listener), listener_is_loopback(listener), problem);
}

enum status front_check(const struct front *front, const struct options *options, struct problem *problem)
{
    enum status status = check_reach(options, front->api, problem);
    return status == STATUS_OK ? check_reach(options, front->health, problem) : status;
}

void front_refuse(const struct front *front, struct target_policy *policy)
{
    listener_refuse(front->api, policy);
    if (front->health)
        listener_refuse(front->health, policy);
}

const char *front_url(const struct front *front)
{
    return listener_url(front->api);
}

bool front_has_partner(const struct front *front)
{
    return listener_has_partner(front->api);
}

int front_take(struct front *front, size_t reactor)
{
    return listener_take(front->api, reactor);
}

int front_take_health(struct front *front, size_t reactor)
{
    return front->health ? listener_take(front->health, reactor) : -1;
}

struct http_limits *front_limits(const struct front *front)
{
    return front->limits;
}
