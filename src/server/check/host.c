/* host.c - the lines of duepost check about options, this host, its ports, and a proxy before them. */
#include <stdio.h>
#include <unistd.h>

#include "base/system.h"
#include "base/timestamp.h"
#include "cli/outbox/outbox.h"
#include "cli/remote.h"
#include "io/resolver.h"
#include "io/time_zones.h"
#include "server/check/check_private.h"
#include "server/options/options.h"
#include "server/server_private.h"

/* ---- the ports ---- */

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
    if (listeners_check_reach(options, url, trial.is_loopback, &problem) != STATUS_OK)
        check_add(report, CHECK_FAILURE, name, "%s", problem.text);
    else if (!options->tls && !trial.is_loopback)
        check_add(report, CHECK_WARNING, name, "%s: " LISTENERS_RISK, url);
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
        check_add(report, is_id_kept ? CHECK_WARNING : CHECK_FAILURE, "proxy",
                  "%.200s: a proxy changes the path %s to %.*s, %s; docs/proxy.md has configurations that "
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
            "fail; docs/proxy.md has configurations of proxies that pass it",
            url, SENT_PATH, problem.text);
    else
        check_add(report, CHECK_FAILURE, "proxy", "%.200s: %.300s", url, other_problem.text);
out:
    remote_free(remote);
    buffer_fini(&arrived);
}

/* ---- options and this host ---- */

#define DAY_MS      INT64_C(86400000)
#define NAMES_US    INT64_C(5000000)
#define SOON_DAYS   21
#define SAMPLE_NAME "example.com"

void check_tokens(struct check_report *report, struct options *options)
{
    struct problem problem;
    if (options_check_start(options, &problem) != STATUS_OK)
        check_add(report, CHECK_FAILURE, "tokens", "%s", problem.text);
    else if (options->tokens)
        check_add(report, CHECK_OK, "tokens", "%zu in %s", token_table_count(options->tokens),
                  options->tokens_file);
    else
        check_add(report, CHECK_OK, "tokens", "none: every process of this host may use the API");
}

void check_targets(struct check_report *report, const struct options *options)
{
    size_t blocks = target_policy_block_count(options->targets), risky = 0;
    for (size_t i = 0; i < blocks; i++) {
        char text[ADDRESS_TEXT_SIZE + 4];
        const struct address_block *block = target_policy_block(options->targets, i);
        const char *risk = address_block_risk(block);
        if (!risk)
            continue;
        risky++;
        char address[ADDRESS_TEXT_SIZE];
        address_write(&block->base, address);
        snprintf(text, ADDRESS_TEXT_SIZE + 4, "%s/%u", address, block->bits);
        check_add(report, CHECK_WARNING, "targets",
                  "--allow-target %s %s. Every client that may schedule jobs reaches these addresses; allow "
                  "only those of receivers",
                  text, risk);
    }
    if (risky == 0)
        check_add(report, CHECK_OK, "targets", "public addresses, %zu blocks and %zu names of --allow-target",
                  blocks, target_policy_name_count(options->targets));
}

void check_certificate(struct check_report *report, const struct options *options)
{
    char from[TIMESTAMP_SIZE], until[TIMESTAMP_SIZE];
    int64_t from_ms, until_ms, now_ms = clock_wall_ms();
    if (!options->tls)
        return;
    if (!http_tls_dates(options->tls, &from_ms, &until_ms)) {
        check_add(report, CHECK_FAILURE, "tls", "%s has no dates that can be read; use another certificate",
                  options->tls_cert);
        return;
    }
    timestamp_format(from_ms, from);
    timestamp_format(until_ms, until);
    bool is_valid = from_ms <= now_ms && now_ms < until_ms;
    bool ends_soon = until_ms - now_ms < SOON_DAYS * DAY_MS;
    if (from_ms > now_ms)
        check_add(report, CHECK_FAILURE, "tls", "%s is not valid before %s; check this host's clock",
                  options->tls_cert, from);
    else
        check_add(report,
                  !is_valid   ? CHECK_FAILURE
                  : ends_soon ? CHECK_WARNING
                              : CHECK_OK,
                  "tls", "%s %s %s%s", options->tls_cert, is_valid ? "is valid until" : "has expired on",
                  until, ends_soon ? "; renew it and send SIGHUP to duepost" : "");
}

void check_files(struct check_report *report, const struct options *options)
{
    int64_t wanted = file_limit_wanted(options), limit = file_limit_max();
    if (limit >= wanted)
        check_add(report, CHECK_OK, "files", "%lld files may be open, %lld may be needed", (long long)limit,
                  (long long)wanted);
    else
        check_add(
            report, CHECK_WARNING, "files",
            "%lld files may be open, but max-connections and max-in-flight may need %lld: raise the limit "
            "(LimitNOFILE= of systemd, ulimit -Hn), or lower these options",
            (long long)limit, (long long)wanted);
}

/* ---- DNS ---- */

struct lookup {
    struct loop *loop;
    struct check_report *report;
    struct resolver *resolver;
    int64_t began_us;
};

static void on_resolved(void *arg, const struct resolved *resolved)
{
    struct lookup *lookup = arg;
    int64_t ms = (clock_steady_us() - lookup->began_us) / 1000;
    lookup->resolver = NULL;
    if (resolved->count)
        check_add(lookup->report, CHECK_OK, "dns", SAMPLE_NAME " resolves in %lld ms", (long long)ms);
    else
        check_add(lookup->report, CHECK_WARNING, "dns",
                  SAMPLE_NAME " does not resolve (%s). Jobs whose url has a name need a name server: see "
                              "/etc/resolv.conf",
                  resolved->why);
    loop_stop(lookup->loop);
}

static void on_names_timeout(void *arg)
{
    struct lookup *lookup = arg;
    check_add(lookup->report, CHECK_WARNING, "dns",
              "no name server answers within %d s. Jobs whose url has a name need one: see /etc/resolv.conf",
              (int)(NAMES_US / 1000000));
    resolver_cancel(lookup->resolver);
    lookup->resolver = NULL;
    loop_stop(lookup->loop);
}

void check_names(struct check_report *report)
{
    struct lookup lookup = {.loop = loop_new(), .report = report, .began_us = clock_steady_us()};
    struct timer *timer = timer_new(lookup.loop, on_names_timeout, &lookup);
    timer_start(timer, NAMES_US);
    lookup.resolver = resolver_start(lookup.loop, SAMPLE_NAME, on_resolved, &lookup);
    loop_run(lookup.loop);
    timer_free(timer);
    loop_free(lookup.loop);
}

/* ---- databases ---- */

void check_time_zones(struct check_report *report)
{
    const struct time_zone *zone;
    struct problem problem;
    struct time_zones *zones = time_zones_new(TIME_ZONES_FOLDER);
    if (time_zones_find(zones, SLICE("Europe/Berlin"), &zone, &problem) == STATUS_OK)
        check_add(report, CHECK_OK, "timezones", "in " TIME_ZONES_FOLDER);
    else
        check_add(report, CHECK_WARNING, "timezones", "Europe/Berlin %s; schedules can use UTC only",
                  problem.text);
    time_zones_free(zones);
}

void check_history(struct check_report *report, const struct options *options)
{
    const struct history_options history = {.sqlite_path = options->history_path,
                                            .url = options->history_url};
    const char *where = options->history_path                                  ? options->history_path
                        : history_url_is_mongo(history.url ? history.url : "") ? "MongoDB"
                                                                               : "PostgreSQL";
    int64_t version;
    struct problem problem;
    if (!options_have_history(options))
        check_add(report, CHECK_OK, "history", "off");
    else if (options->is_embedded && options->history_path && access(options->data_dir, F_OK) != 0)
        check_add(report, CHECK_OK, "history", "%s does not exist yet; the first start creates it", where);
    else if (history_check(&history, &version, &problem) != STATUS_OK)
        check_add(report, CHECK_FAILURE, "history", "%s; see --history", problem.text);
    else if (version == 0)
        check_add(report, CHECK_OK, "history", "%s has no tables yet; the first start creates them", where);
    else
        check_add(report, CHECK_OK, "history", "%s, tables of version %lld", where, (long long)version);
}

static void on_outbox_finding(void *arg, enum outbox_finding finding, const char *text)
{
    static const enum check_result results[] = {
        [OUTBOX_GOOD] = CHECK_OK, [OUTBOX_DOUBTFUL] = CHECK_WARNING, [OUTBOX_BAD] = CHECK_FAILURE};
    check_add(arg, results[finding], "outbox", "%s", text);
}

void check_outbox(struct check_report *report, const char *source)
{
    if (source && strncmp(source, "postgres", strlen("postgres")) != 0)
        check_add(report, CHECK_FAILURE, "outbox", "--source must be postgresql://USER@HOST/DATABASE");
    else if (source)
        outbox_examine(source, on_outbox_finding, report);
}
