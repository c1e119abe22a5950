/* check_ports.c - the lines of duepost check about the ports for clients, and about a proxy before them. */
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

/* ---- the proxy before a server ---- */

/* The path that check sends. SENT_ID is like the encoded id a/../b%2Fc: a proxy that decodes or resolves it
 * makes another path of it. The clients of QStash's API send two slashes. */
#define SENT_ID   "a%2F..%2Fb%252Fc"
#define SENT_PATH SENT_ID "//d"

/* Appends the path that arrives at the server if /path-check/ and this path are sent. */
static enum status send_path(struct remote *remote, const char *path, struct buffer *arrived,
                             struct problem *problem)
{
    static const struct slice begin = SLICE_INIT("{\"path\":\""), end = SLICE_INIT("\"}");
    char target[64];
    struct buffer answer;
    buffer_init(&answer, ANSWER_BYTES_MAX);
    snprintf(target, sizeof target, "/path-check/%s", path);
    enum status status = remote_ask(remote, "GET", target, NULL, &answer, problem);
    struct slice text = buffer_slice(&answer);
    if (status == STATUS_OK && slice_starts_with(text, begin) && slice_ends_with(text, end)) {
        buffer_append(arrived, slice_from(text.data + begin.size, text.size - begin.size - end.size));
    } else if (status == STATUS_OK) {
        problem_set(problem, "the answer is not that of a duepost server");
        status = STATUS_FAILED;
    }
    buffer_fini(&answer);
    return status;
}

static void compare_path(struct check_report *report, const char *url, struct slice arrived)
{
    int shown = (int)(arrived.size < 100 ? arrived.size : 100);
    bool is_id_kept = slice_starts_with(arrived, SLICE(SENT_ID));
    if (slice_equal(arrived, SLICE(SENT_PATH)))
        check_add(report, CHECK_OK, "proxy", "%.300s: paths arrive as they are sent", url);
    else
        check_add(
            report, is_id_kept ? CHECK_WARNING : CHECK_FAILURE, "proxy",
            "%.200s: a proxy changes the path %s to %.*s, %s; docs/dashboard.md has configurations that "
            "pass paths unchanged",
            url, SENT_PATH, shown, arrived.data,
            is_id_kept ? "but QStash's clients need it as they send it"
                       : "so a request about one job can reach another job or a topic");
}

void check_proxy(struct check_report *report, const char *url)
{
    const struct remote_options options = {
        .server = url, .authorization = "", .trusts_any = true, .timeout_s = ASK_S};
    struct remote *remote = NULL;
    struct problem problem, other_problem;
    struct buffer arrived;
    buffer_init(&arrived, ANSWER_BYTES_MAX);
    if (remote_options_check(&options, &problem) != STATUS_OK) {
        check_add(report, CHECK_FAILURE, "proxy", "%s", problem.text);
        goto out;
    }
    remote = remote_new(&options);
    if (send_path(remote, SENT_PATH, &arrived, &problem) == STATUS_OK)
        compare_path(report, url, buffer_slice(&arrived));
    else if (send_path(remote, "a", &arrived, &other_problem) == STATUS_OK)
        check_add(
            report, CHECK_FAILURE, "proxy",
            "%.200s: the path %s does not arrive (%.200s), so requests about jobs whose ids have a slash "
            "fail; docs/dashboard.md has configurations of proxies that pass it",
            url, SENT_PATH, problem.text);
    else
        check_add(report, CHECK_FAILURE, "proxy", "%.200s: %.300s", url, other_problem.text);
out:
    remote_free(remote);
    buffer_fini(&arrived);
}
