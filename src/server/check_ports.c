/* check_ports.c - the lines of duepost check about the ports for clients. */
#include <stdio.h>

#include "cli/remote.h"
#include "server/check_host.h"
#include "server/front.h"
#include "server/listener.h"

enum { ANSWER_BYTES_MAX = 64 * 1024, ASK_S = 3 };

/* Returns whether a duepost answers at this URL. The server's certificate is not checked here. */
static bool is_duepost(const char *url)
{
    const struct remote_options options = {
        .server = url, .authorization = "", .trusts_any = true, .timeout_s = ASK_S};
    struct remote *remote = remote_new(&options);
    struct problem problem;
    struct buffer answer;
    buffer_init(&answer, ANSWER_BYTES_MAX);
    bool is_one = remote_ask(remote, "GET", "/healthz", NULL, &answer, &problem) == STATUS_OK &&
                  slice_equal(buffer_slice(&answer), SLICE("{\"healthy\":true}"));
    buffer_fini(&answer);
    remote_free(remote);
    return is_one;
}

static void check_reach(struct check_report *report, const struct options *options, const char *name,
                        const char *url, bool is_loopback)
{
    struct problem problem;
    if (front_check_reach(options, url, is_loopback, &problem) != STATUS_OK)
        check_add(report, CHECK_FAILURE, name, "%s", problem.text);
    else if (!options->tls && !is_loopback)
        check_add(report, CHECK_WARNING, name, "%s: " FRONT_RISK, url);
}

static void check_port(struct check_report *report, const struct options *options, const char *name,
                       const struct listen_address *address)
{
    struct listener_trial trial;
    struct problem problem;
    char url[LISTENER_URL_MAX];
    const char *scheme = options->tls ? "https" : "http";
    bool is_v6 = strchr(address->host, ':') != NULL;
    snprintf(url, sizeof url, is_v6 ? "%s://[%s]:%u" : "%s://%s:%u", scheme, address->host, address->port);
    if (listener_try(address->host, address->port, options->shares_port, &trial, &problem) != STATUS_OK) {
        check_add(report, CHECK_FAILURE, name, "%s", problem.text);
        return;
    }
    if (!trial.is_held)
        check_add(report, CHECK_OK, name, options->shares_port ? "%s can be used or shared" : "%s is free",
                  url);
    else if (is_duepost(url))
        check_add(report, CHECK_OK, name, "%s: a duepost is running there", url);
    else
        check_add(report, CHECK_FAILURE, name, "%s", problem.text);
    check_reach(report, options, name, url, trial.is_loopback);
}

void check_ports(struct check_report *report, const struct options *options)
{
    check_port(report, options, "listen", &options->listen);
    if (options->health_listen.host)
        check_port(report, options, "health", &options->health_listen);
}
