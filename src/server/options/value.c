/* value.c - parses the text of an option into its member of struct options. */
#include "base/duration.h"
#include "base/memory.h"
#include "job/target/url.h"
#include "server/options/options_private.h"

/* Each kind of option has one function, which parses the text into the value that duepost uses. A second
 * value replaces the first value. */

enum { TEXT_MAX = 4096, HOST_MAX = 253, PREFIX_MAX = 64 };

typedef enum status set_fn(struct options *, const struct option *, enum option_source, struct slice text,
                           struct problem *);

static void *member_of(struct options *options, const struct option *option)
{
    return (char *)options + option->offset;
}

static void replace_text(char **member, struct slice text)
{
    free(*member);
    *member = slice_dup(text);
}

static enum status set_text(struct options *options, const struct option *option, enum option_source source,
                            struct slice text, struct problem *problem)
{
    (void)source;
    if (text.size == 0 || text.size > TEXT_MAX) {
        problem_set(problem, "must be %s", text.size ? "shorter" : "given a value");
        return STATUS_INVALID;
    }
    replace_text(member_of(options, option), text);
    return STATUS_OK;
}

static enum status set_number(struct options *options, const struct option *option, enum option_source source,
                              struct slice text, struct problem *problem)
{
    (void)source;
    uint64_t number;
    if (!slice_to_number(text, (uint64_t)option->max, &number) || (int64_t)number < option->min) {
        problem_set(problem, "must be a number from %lld to %lld, not '%.*s'", (long long)option->min,
                    (long long)option->max, SLICE_ARG(text));
        return STATUS_INVALID;
    }
    *(int64_t *)member_of(options, option) = (int64_t)number;
    return STATUS_OK;
}

/* Removes the unit, such as KiB, from the end of text. Returns by how many bits the number before the unit
 * must be shifted. */
static unsigned cut_unit(struct slice *text)
{
    static const struct {
        struct slice suffix;
        unsigned shift;
    } units[] = {{SLICE_INIT("KiB"), 10}, {SLICE_INIT("MiB"), 20}, {SLICE_INIT("GiB"), 30}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct slice suffix = units[i].suffix;
        if (text->size > suffix.size && slice_equal(slice_skip(*text, text->size - suffix.size), suffix)) {
            text->size -= suffix.size;
            return units[i].shift;
        }
    }
    return 0;
}

static enum status set_size(struct options *options, const struct option *option, enum option_source source,
                            struct slice text, struct problem *problem)
{
    (void)source;
    struct slice digits = text;
    unsigned shift = cut_unit(&digits);
    uint64_t number;
    if (!slice_to_number(digits, (uint64_t)option->max >> shift, &number) ||
        (int64_t)(number << shift) < option->min) {
        problem_set(problem,
                    "must be a size from %lld to %lld bytes such as 65536, 512KiB or 1MiB, not '%.*s'",
                    (long long)option->min, (long long)option->max, SLICE_ARG(text));
        return STATUS_INVALID;
    }
    *(int64_t *)member_of(options, option) = (int64_t)(number << shift);
    return STATUS_OK;
}

static enum status set_duration(struct options *options, const struct option *option,
                                enum option_source source, struct slice text, struct problem *problem)
{
    (void)source;
    int64_t ms;
    if (!duration_parse(text, option->max, &ms) || ms < option->min) {
        char min[DURATION_TEXT_MAX], max[DURATION_TEXT_MAX];
        duration_format(option->min, min);
        duration_format(option->max, max);
        problem_set(problem, "must be a duration from %s to %s such as 500ms, 15s or 3m, not '%.*s'", min,
                    max, SLICE_ARG(text));
        return STATUS_INVALID;
    }
    *(int64_t *)member_of(options, option) = ms;
    return STATUS_OK;
}

/* Splits HOST:PORT or [IPv6]:PORT; returns false for anything else. */
static bool split_listen(struct slice text, struct slice *host, struct slice *port)
{
    if (text.size && text.data[0] == '[') {
        if (!slice_cut(slice_skip(text, 1), ']', host, port) || port->size == 0 || port->data[0] != ':')
            return false;
        *port = slice_skip(*port, 1);
        return memchr(host->data, ':', host->size) != NULL;
    }
    return slice_cut(text, ':', host, port) && host->size && !memchr(port->data, ':', port->size);
}

static enum status set_listen(struct options *options, const struct option *option, enum option_source source,
                              struct slice text, struct problem *problem)
{
    (void)source;
    struct listen_address *address = member_of(options, option);
    struct slice host, port;
    uint64_t number;
    if (!split_listen(text, &host, &port) || host.size > HOST_MAX ||
        !slice_to_number(port, UINT16_MAX, &number)) {
        problem_set(problem, "must be HOST:PORT such as 127.0.0.1:7700 or [::1]:7700, not '%.*s'",
                    SLICE_ARG(text));
        return STATUS_INVALID;
    }
    replace_text(&address->host, host);
    address->port = (uint16_t)number;
    return STATUS_OK;
}

static enum status set_redis(struct options *options, const struct option *option, enum option_source source,
                             struct slice text, struct problem *problem)
{
    (void)option;
    struct redis_address address;
    if (redis_address_parse(text, &address, problem) != STATUS_OK)
        return STATUS_INVALID;
    if (address.password && source == OPTION_SOURCE_FLAG) {
        redis_address_fini(&address);
        problem_set(problem, "a password in a flag can be read by every user of this host; put it into "
                             "DUEPOST_REDIS, the configuration file or --redis-password-file");
        return STATUS_INVALID;
    }
    redis_address_fini(&options->redis_address);
    options->redis_address = address;
    options->is_embedded = false;
    return STATUS_OK;
}

static enum status set_durability(struct options *options, const struct option *option,
                                  enum option_source source, struct slice text, struct problem *problem)
{
    (void)option, (void)source;
    if (slice_equal(text, SLICE("auto"))) {
        options->is_durability_set = false;
    } else if (durability_parse(text, &options->durability)) {
        options->is_durability_set = true;
    } else {
        problem_set(problem, "must be memory, fsync, replicated:N, fsync+replicated:N or auto, not '%.*s'",
                    SLICE_ARG(text));
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

static void clear_history(struct options *options)
{
    free(options->history_path);
    free(options->history_url);
    options->history_path = options->history_url = NULL;
}

/* Returns a copy of the url of a database, or NULL if it is wrong. variable is the one of the environment.
 * The message does not show a wrong value, because it may contain a password. */
static char *copy_url(struct slice text, enum option_source source, const char *variable,
                      struct problem *problem)
{
    char *url = slice_dup(text);
    bool has_password;
    enum status status = history_url_check(url, &has_password, problem);
    if (status == STATUS_OK && !history_url_is_mongo(url) &&
        memmem(text.data, text.size, "password=", strlen("password="))) {
        problem_set(problem, "put the password between the user and the host, or into a passfile");
        status = STATUS_INVALID;
    }
    if (status == STATUS_OK && has_password && source == OPTION_SOURCE_FLAG) {
        problem_set(problem,
                    "a password in a flag can be read by every user of this host; put it into "
                    "%s%s",
                    variable,
                    history_url_is_mongo(url) ? " or the configuration file"
                                              : ", the configuration file or a file that ?passfile= names");
        status = STATUS_INVALID;
    }
    if (status != STATUS_OK) {
        explicit_bzero(url, text.size);
        free(url);
        return NULL;
    }
    return url;
}

static bool is_postgres_url(struct slice text)
{
    return slice_starts_with(text, SLICE("postgresql://")) || slice_starts_with(text, SLICE("postgres://"));
}

static bool is_mongo_url(struct slice text)
{
    return slice_starts_with(text, SLICE("mongodb://")) || slice_starts_with(text, SLICE("mongodb+srv://"));
}

/* Sets the kind of history. For "sqlite", the path of the file is set later, when all options have been read.
 */
static enum status set_history(struct options *options, const struct option *option,
                               enum option_source source, struct slice text, struct problem *problem)
{
    static const struct slice file = SLICE_INIT("sqlite:");
    (void)option;
    if (slice_equal(text, SLICE("off")) || slice_equal(text, SLICE("sqlite"))) {
        clear_history(options);
    } else if (slice_starts_with(text, file) && text.size > file.size && text.size < TEXT_MAX) {
        clear_history(options);
        options->history_path = slice_dup(slice_skip(text, file.size));
    } else if (is_postgres_url(text) || is_mongo_url(text)) {
        char *url = copy_url(text, source, "DUEPOST_HISTORY", problem);
        if (!url)
            return STATUS_INVALID;
        clear_history(options);
        options->history_url = url;
    } else {
        problem_set(problem,
                    "must be off, sqlite, sqlite:PATH, postgresql://[user[:password]@]host/database or "
                    "mongodb://[user[:password]@]host/database");
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

static enum status set_outbox(struct options *options, const struct option *option, enum option_source source,
                              struct slice text, struct problem *problem)
{
    (void)option;
    char *url = NULL;
    if (is_postgres_url(text)) {
        url = copy_url(text, source, "DUEPOST_OUTBOX", problem);
        if (!url)
            return STATUS_INVALID;
    } else if (!slice_equal(text, SLICE("off"))) {
        problem_set(problem, "must be off or postgresql://[user[:password]@]host[:port]/database");
        return STATUS_INVALID;
    }
    free(options->outbox_url);
    options->outbox_url = url;
    return STATUS_OK;
}

static enum status set_clock(struct options *options, const struct option *option, enum option_source source,
                             struct slice text, struct problem *problem)
{
    (void)option, (void)source;
    options->is_clock_manual = slice_equal(text, SLICE("manual"));
    if (options->is_clock_manual || slice_equal(text, SLICE("redis")))
        return STATUS_OK;
    problem_set(problem, "must be redis or manual, not '%.*s'", SLICE_ARG(text));
    return STATUS_INVALID;
}

static enum status set_history_bodies(struct options *options, const struct option *option,
                                      enum option_source source, struct slice text, struct problem *problem)
{
    static const struct slice words[] = {[HISTORY_BODIES_ON] = SLICE_INIT("on"),
                                         [HISTORY_BODIES_ERRORS] = SLICE_INIT("errors"),
                                         [HISTORY_BODIES_OFF] = SLICE_INIT("off")};
    (void)option, (void)source;
    for (enum history_bodies bodies = HISTORY_BODIES_ON; bodies <= HISTORY_BODIES_OFF; bodies++) {
        if (!slice_equal(text, words[bodies]))
            continue;
        options->history_bodies = bodies;
        return STATUS_OK;
    }
    problem_set(problem, "must be on, errors or off, not '%.*s'", SLICE_ARG(text));
    return STATUS_INVALID;
}

static enum status set_on_off(struct options *options, const struct option *option, enum option_source source,
                              struct slice text, struct problem *problem)
{
    (void)source;
    bool is_on = slice_equal(text, SLICE("on"));
    if (!is_on && !slice_equal(text, SLICE("off"))) {
        problem_set(problem, "must be on or off, not '%.*s'", SLICE_ARG(text));
        return STATUS_INVALID;
    }
    *(bool *)member_of(options, option) = is_on;
    return STATUS_OK;
}

static enum status set_schedule(struct options *options, const struct option *option,
                                enum option_source source, struct slice text, struct problem *problem)
{
    (void)option, (void)source;
    return retry_schedule_parse(text, &options->retry_schedule, problem);
}

/* Returns whether host is a valid entry of a list: a name, an IPv4 address, or an IPv6 address in brackets,
 * as in the Host header. */
static bool host_is_valid(struct slice host)
{
    struct address address;
    if (host.size > 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
        return address_parse(slice_from(host.data + 1, host.size - 2), &address) && address.is_v6;
    return url_host_is_name(host) || (address_parse(host, &address) && !address.is_v6);
}

static enum status set_hosts(struct options *options, const struct option *option, enum option_source source,
                             struct slice text, struct problem *problem)
{
    struct slice host, rest = text;
    bool more = true;
    while (more) {
        more = slice_cut(rest, ',', &host, &rest);
        host = slice_trim(host);
        if (host_is_valid(host))
            continue;
        problem_set(problem, "must be names without ports, separated by commas, not '%.*s'", SLICE_ARG(host));
        return STATUS_INVALID;
    }
    return set_text(options, option, source, text, problem);
}

static enum status set_site(struct options *options, const struct option *option, enum option_source source,
                            struct slice text, struct problem *problem)
{
    struct url url;
    const char *detail;
    while (text.size && text.data[text.size - 1] == '/')
        text.size--;
    if (text.size == 0 || (url_parse(text, &url, &detail) == STATUS_OK && url.query.size == 0))
        return set_text(options, option, source, text, problem);
    problem_set(problem, "must be a url such as https://jobs.example.com, without a query, not '%.*s'",
                SLICE_ARG(text));
    return STATUS_INVALID;
}

static enum status set_targets(struct options *options, const struct option *option,
                               enum option_source source, struct slice text, struct problem *problem)
{
    (void)option, (void)source;
    struct target_policy *targets = target_policy_new();
    enum status status = target_policy_allow(targets, text, problem);
    if (status != STATUS_OK) {
        target_policy_free(targets);
        return status;
    }
    target_policy_free(options->targets);
    options->targets = targets;
    return STATUS_OK;
}

/* Sets the proxy. The message does not show a wrong value, because it may contain a password. */
static enum status set_proxy(struct options *options, const struct option *option, enum option_source source,
                             struct slice text, struct problem *problem)
{
    bool has_password;
    if (text.size > TEXT_MAX || !proxy_url_is_valid(text, &has_password)) {
        problem_set(problem, "must be http://[user:password@]host:port");
        return STATUS_INVALID;
    }
    if (has_password && source == OPTION_SOURCE_FLAG) {
        problem_set(problem, "a password in a flag can be read by every user of this host; put it into "
                             "DUEPOST_EGRESS_PROXY or the configuration file");
        return STATUS_INVALID;
    }
    replace_text(member_of(options, option), text);
    return STATUS_OK;
}

static enum status set_prefix(struct options *options, const struct option *option, enum option_source source,
                              struct slice text, struct problem *problem)
{
    (void)source;
    bool is_bad = text.size == 0 || text.size > PREFIX_MAX;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        is_bad = is_bad || byte <= ' ' || byte == '{' || byte == '}' || byte == 0x7f;
    }
    if (is_bad) { /* no braces: they would change the hash tag, which decides the slot of a shard's keys in a
                     Cluster */
        problem_set(problem, "must be 1 to %d bytes without braces, spaces and control bytes", PREFIX_MAX);
        return STATUS_INVALID;
    }
    replace_text(member_of(options, option), text);
    return STATUS_OK;
}

static enum status set_plain_http(struct options *options, const struct option *option,
                                  enum option_source source, struct slice text, struct problem *problem)
{
    (void)option, (void)source;
    options->uses_libcurl_only = slice_equal(text, SLICE("libcurl"));
    if (options->uses_libcurl_only || slice_equal(text, SLICE("own")))
        return STATUS_OK;
    problem_set(problem, "must be own or libcurl, not '%.*s'", SLICE_ARG(text));
    return STATUS_INVALID;
}

static enum status set_log_format(struct options *options, const struct option *option,
                                  enum option_source source, struct slice text, struct problem *problem)
{
    (void)option, (void)source;
    if (log_format_parse(text, &options->log_format))
        return STATUS_OK;
    problem_set(problem, "must be logfmt or json, not '%.*s'", SLICE_ARG(text));
    return STATUS_INVALID;
}

static enum status set_log_level(struct options *options, const struct option *option,
                                 enum option_source source, struct slice text, struct problem *problem)
{
    (void)option, (void)source;
    if (log_level_parse(text, &options->log_level))
        return STATUS_OK;
    problem_set(problem, "must be debug, info, warning or error, not '%.*s'", SLICE_ARG(text));
    return STATUS_INVALID;
}

static enum status set_switch(struct options *options, const struct option *option, enum option_source source,
                              struct slice text, struct problem *problem)
{
    (void)options, (void)option, (void)source, (void)text, (void)problem;
    return STATUS_OK; /* not called for switches, which have no value */
}

enum status option_set(struct options *options, enum option_id id, enum option_source source,
                       struct slice text, struct problem *problem)
{
    static set_fn *const setters[] = {
        [OPTION_KIND_TEXT] = set_text,
        [OPTION_KIND_NUMBER] = set_number,
        [OPTION_KIND_SIZE] = set_size,
        [OPTION_KIND_DURATION] = set_duration,
        [OPTION_KIND_ON_OFF] = set_on_off,
        [OPTION_KIND_LISTEN] = set_listen,
        [OPTION_KIND_REDIS] = set_redis,
        [OPTION_KIND_CLOCK] = set_clock,
        [OPTION_KIND_DURABILITY] = set_durability,
        [OPTION_KIND_SCHEDULE] = set_schedule,
        [OPTION_KIND_HOSTS] = set_hosts,
        [OPTION_KIND_SITE] = set_site,
        [OPTION_KIND_TARGETS] = set_targets,
        [OPTION_KIND_PROXY] = set_proxy,
        [OPTION_KIND_PREFIX] = set_prefix,
        [OPTION_KIND_LOG_FORMAT] = set_log_format,
        [OPTION_KIND_LOG_LEVEL] = set_log_level,
        [OPTION_KIND_SWITCH] = set_switch,
        [OPTION_KIND_HISTORY] = set_history,
        [OPTION_KIND_HISTORY_BODIES] = set_history_bodies,
        [OPTION_KIND_OUTBOX] = set_outbox,
        [OPTION_KIND_PLAIN_HTTP] = set_plain_http,
    };
    const struct option *option = &option_table[id];
    return setters[option->kind](options, option, source, text, problem);
}
