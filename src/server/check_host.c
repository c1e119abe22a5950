#include "server/check_host.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "io/resolver.h"
#include "io/time_zones.h"
#include "server/file_limit.h"
#include "server/options_load.h"

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

/* Writes a block as it is in --allow-target. */
static void write_block(const struct address_block *block, char text[ADDRESS_TEXT_SIZE + 4])
{
    char address[ADDRESS_TEXT_SIZE];
    address_write(&block->base, address);
    snprintf(text, ADDRESS_TEXT_SIZE + 4, "%s/%u", address, block->bits);
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
        write_block(block, text);
        check_add(report, CHECK_WARNING, "targets",
                  "--allow-target %s %s. Every client that may schedule jobs reaches these addresses; allow "
                  "only those "
                  "of receivers",
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
                                            .postgres_url = options->history_url};
    const char *where = options->history_path ? options->history_path : "PostgreSQL";
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
