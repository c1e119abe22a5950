#include "server/options/options.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "job/target/url.h"
#include "server/options/options_private.h"

/* ---- the file of --tokens ---- */

static void check_mode(const char *path, struct problem *warning)
{
    struct stat stat_of;
    warning->text[0] = '\0';
    if (stat(path, &stat_of) == 0 && stat_of.st_mode & (S_IWGRP | S_IWOTH))
        problem_set(warning, "other users may write %s and grant themselves any right; chmod go-w it", path);
}

enum status token_file_read(const char *path, struct token_table **tokens, struct problem *warning,
                            struct problem *problem)
{
    struct buffer text;
    enum status status = file_read(path, TOKENS_FILE_BYTES_MAX, &text, problem);
    if (status == STATUS_OK)
        status = token_table_parse(path, buffer_slice(&text), tokens, problem);
    if (status == STATUS_OK)
        check_mode(path, warning);
    buffer_fini(&text);
    return status;
}

void token_file_log(const char *path, const struct token_table *tokens)
{
    size_t count = token_table_count(tokens);
    log_info("tokens_read", LOG_TEXT("file", path), LOG_NUMBER("count", count));
    if (count == 0)
        log_warning("no_tokens", LOG_TEXT("what", "the file has no tokens: every request is refused"));
}

/* ---- the steps of loading ---- */

enum { CLUSTER_SHARDS = 16, PASSWORD_MAX = 4096, FILE_MAX = 1 << 20 };

/* The steps of loading, in this order. A layer has the texts of one source: defaults, file, environment or
 * flags. The texts are parsed after all layers are read. */
struct loading {
    struct options *options;
    const struct options_input *input;
    struct option_layer flags, environment, file, defaults;
    struct problem *problem;
};

/* Sets the problem to the place of the option, followed by the error. */
static enum status place_problem(const struct loading *loading, enum option_id id,
                                 const struct option_setting *setting, const char *what)
{
    const struct option *option = &option_table[id];
    char variable[OPTION_VARIABLE_MAX];
    switch (setting->source) {
    case OPTION_SOURCE_ENVIRONMENT:
        option_variable(option, variable);
        problem_set(loading->problem, "%s: %s", variable, what);
        break;
    case OPTION_SOURCE_FILE:
        problem_set(loading->problem, "%s:%u: %s: %s", loading->options->config, setting->line, option->name,
                    what);
        break;
    case OPTION_SOURCE_NONE:
    case OPTION_SOURCE_DEFAULT:
    case OPTION_SOURCE_FLAG:
        problem_set(loading->problem, "--%s: %s", option->name, what);
        break;
    }
    return STATUS_INVALID;
}

static enum status use_setting(const struct loading *loading, enum option_id id,
                               const struct option_setting *setting)
{
    struct problem problem;
    struct option_setting *effective = &loading->options->settings[id];
    if (!setting->text)
        return STATUS_OK;
    if (option_set(loading->options, id, setting->source, slice_of(setting->text), &problem) != STATUS_OK)
        return place_problem(loading, id, setting, problem.text);
    free(effective->text);
    *effective = *setting;
    effective->text = slice_dup(slice_of(setting->text));
    return STATUS_OK;
}

static enum status use_layer(const struct loading *loading, const struct option_layer *layer)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        if (use_setting(loading, id, &layer->settings[id]) != STATUS_OK)
            return STATUS_INVALID;
    return STATUS_OK;
}

/* Reads the configuration file. A file named by a flag or the environment must exist; the default file may be
 * missing. */
static enum status read_file(struct loading *loading)
{
    const struct option_setting *named = &loading->flags.settings[OPTION_CONFIG];
    if (!named->text)
        named = &loading->environment.settings[OPTION_CONFIG];
    const char *path = named->text ? named->text : loading->input->config_file;
    if (!path || (!named->text && access(path, F_OK) != 0 && errno == ENOENT))
        return STATUS_OK;
    if (!named->text) {
        named = &loading->defaults.settings[OPTION_CONFIG];
        option_layer_set(&loading->defaults, OPTION_CONFIG, slice_of(path), OPTION_SOURCE_DEFAULT, 0);
    }
    if (use_setting(loading, OPTION_CONFIG, named) != STATUS_OK)
        return STATUS_INVALID;
    struct buffer content;
    struct problem problem;
    enum status status = file_read(path, FILE_MAX, &content, &problem);
    if (status == STATUS_OK)
        status = options_read_file(&loading->file, path, buffer_slice(&content), loading->problem);
    else
        status = place_problem(loading, OPTION_CONFIG, named, problem.text);
    buffer_fini(&content);
    return status;
}

/* Warns when all users may read a file that holds a secret. */
static void warn_of_readers(struct options *options, enum option_id id)
{
    struct stat file;
    char text[128];
    if (stat(options->settings[id].text, &file) != 0 || !(file.st_mode & S_IROTH))
        return;
    snprintf(text, sizeof text, "every user of this host may read the file of %s; chmod o-r it",
             option_table[id].name);
    options_warn(options, text);
}

/* Reads the password from the file that the option names. */
static enum status read_password(const struct loading *loading, enum option_id id, struct secret **password)
{
    const struct option_setting *setting = &loading->options->settings[id];
    struct buffer content;
    struct problem problem;
    struct slice line, rest;
    enum status status = file_read(setting->text, PASSWORD_MAX, &content, &problem);
    slice_cut(buffer_slice(&content), '\n', &line, &rest);
    if (line.size && line.data[line.size - 1] == '\r')
        line.size--;
    if (status != STATUS_OK)
        status = place_problem(loading, id, setting, problem.text);
    else if (line.size == 0 || rest.size || memchr(line.data, '\0', line.size))
        status = place_problem(loading, id, setting, "the file must have exactly one line: the password");
    else
        *password = secret_new(line);
    if (status == STATUS_OK)
        warn_of_readers(loading->options, id);
    if (content.size)
        explicit_bzero(content.data, content.size);
    buffer_fini(&content);
    return status;
}

static enum status read_redis_password(const struct loading *loading)
{
    struct options *options = loading->options;
    const struct option_setting *setting = &options->settings[OPTION_REDIS_PASSWORD_FILE];
    if (!setting->text)
        return STATUS_OK;
    if (options->is_embedded)
        return place_problem(loading, OPTION_REDIS_PASSWORD_FILE, setting, "needs --redis");
    if (options->redis_address.password)
        return place_problem(loading, OPTION_REDIS_PASSWORD_FILE, setting,
                             "the address of Redis already has a password; set only one of them");
    return read_password(loading, OPTION_REDIS_PASSWORD_FILE, &options->redis_address.password);
}

/* Reads the user and the password for the Sentinels. */
static enum status read_sentinel_access(const struct loading *loading)
{
    static const enum option_id ids[] = {OPTION_SENTINEL_USER, OPTION_SENTINEL_PASSWORD_FILE};
    struct options *options = loading->options;
    for (size_t i = 0; i < sizeof ids / sizeof *ids && !options->redis_address.service; i++)
        if (options->settings[ids[i]].text)
            return place_problem(loading, ids[i], &options->settings[ids[i]],
                                 "needs Sentinels: --redis sentinel:// or sentinels://");
    if (options->sentinel_user && !options->sentinel_password_file)
        return place_problem(loading, OPTION_SENTINEL_USER, &options->settings[OPTION_SENTINEL_USER],
                             "needs sentinel-password-file, too");
    if (!options->sentinel_password_file)
        return STATUS_OK;
    if (options->sentinel_user)
        options->redis_address.sentinel_user = slice_dup(slice_of(options->sentinel_user));
    return read_password(loading, OPTION_SENTINEL_PASSWORD_FILE, &options->redis_address.sentinel_password);
}

/* Reads the certificates of TLS to Redis. Sets the problem if an option of TLS to Redis is given without TLS,
 * or a certificate without its key, or a key without its certificate. */
static enum status read_redis_tls(const struct loading *loading)
{
    static const enum option_id ids[] = {OPTION_REDIS_CA, OPTION_REDIS_CERT, OPTION_REDIS_KEY,
                                         OPTION_REDIS_SERVER_NAME};
    struct options *options = loading->options;
    const struct redis_tls_options tls = {
        .ca = options->redis_ca,
        .certificate = options->redis_cert,
        .key = options->redis_key,
        .name = options->redis_server_name,
    };
    enum option_id place = options->redis_cert ? OPTION_REDIS_CERT
                           : options->redis_ca ? OPTION_REDIS_CA
                                               : OPTION_REDIS;
    struct problem problem;
    for (size_t i = 0; i < sizeof ids / sizeof *ids && !options->redis_address.has_tls; i++)
        if (options->settings[ids[i]].text)
            return place_problem(loading, ids[i], &options->settings[ids[i]],
                                 "needs TLS: --redis rediss://, sentinels:// or clusters://");
    if (options->redis_cert && !options->redis_key)
        return place_problem(loading, OPTION_REDIS_CERT, &options->settings[OPTION_REDIS_CERT],
                             "needs redis-key, too");
    if (options->redis_key && !options->redis_cert)
        return place_problem(loading, OPTION_REDIS_KEY, &options->settings[OPTION_REDIS_KEY],
                             "needs redis-cert, too");
    if (!options->redis_address.has_tls)
        return STATUS_OK;
    if (redis_tls_load(&tls, &options->redis_tls, &problem) != STATUS_OK)
        return place_problem(loading, place, &options->settings[place], problem.text);
    options->redis_address.tls = options->redis_tls;
    if (options->redis_key)
        warn_of_readers(options, OPTION_REDIS_KEY);
    return STATUS_OK;
}

static enum status read_signing_keys(const struct loading *loading)
{
    struct options *options = loading->options;
    const struct option_setting *setting = &options->settings[OPTION_SIGNING_SECRET_FILE];
    struct buffer content;
    struct problem problem, what;
    if (!setting->text)
        return STATUS_OK;
    enum status status = file_read(setting->text, PASSWORD_MAX, &content, &problem);
    if (status == STATUS_OK &&
        (status = signing_keys_parse(buffer_slice(&content), &options->signing_keys, &what)) != STATUS_OK)
        problem_set(&problem, "%.200s, %.250s", setting->text, what.text);
    if (status == STATUS_OK)
        warn_of_readers(options, OPTION_SIGNING_SECRET_FILE);
    if (content.size)
        explicit_bzero(content.data, content.size);
    buffer_fini(&content);
    return status == STATUS_OK ? STATUS_OK
                               : place_problem(loading, OPTION_SIGNING_SECRET_FILE, setting, problem.text);
}

static enum status read_identity_keys(const struct loading *loading)
{
    struct options *options = loading->options;
    const struct option_setting *setting = &options->settings[OPTION_IDENTITY_KEY_FILE];
    struct buffer content;
    struct problem problem, what;
    if (!setting->text)
        return STATUS_OK;
    enum status status = file_read(setting->text, IDENTITY_FILE_MAX, &content, &problem);
    if (status == STATUS_OK &&
        (status = identity_keys_parse(buffer_slice(&content), &options->identity_keys, &what)) != STATUS_OK)
        problem_set(&problem, "%.200s: %.250s", setting->text, what.text);
    if (status == STATUS_OK)
        warn_of_readers(options, OPTION_IDENTITY_KEY_FILE);
    if (content.size)
        explicit_bzero(content.data, content.size);
    buffer_fini(&content);
    return status == STATUS_OK ? STATUS_OK
                               : place_problem(loading, OPTION_IDENTITY_KEY_FILE, setting, problem.text);
}

static enum status read_encryption_keys(const struct loading *loading)
{
    struct options *options = loading->options;
    const struct option_setting *setting = &options->settings[OPTION_ENCRYPTION_KEYS];
    struct buffer content;
    struct problem problem, what;
    if (!setting->text)
        return STATUS_OK;
    enum status status = file_read(setting->text, SEAL_FILE_MAX, &content, &problem);
    if (status == STATUS_OK &&
        (status = seal_keys_parse(buffer_slice(&content), &options->encryption_keys, &what)) != STATUS_OK)
        problem_set(&problem, "%.200s: %.250s", setting->text, what.text);
    if (status == STATUS_OK)
        warn_of_readers(options, OPTION_ENCRYPTION_KEYS);
    if (content.size)
        explicit_bzero(content.data, content.size);
    buffer_fini(&content);
    return status == STATUS_OK ? STATUS_OK
                               : place_problem(loading, OPTION_ENCRYPTION_KEYS, setting, problem.text);
}

/* Stores a computed default as text, so that --print-config can show it. */
static void option_settle(struct option_setting *setting, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    *setting = (struct option_setting){slice_dup(slice_of(text)), OPTION_SOURCE_DEFAULT, 0};
}

static enum status settle_shards(const struct loading *loading)
{
    struct options *options = loading->options;
    struct option_setting *setting = &options->settings[OPTION_SHARDS];
    bool is_cluster = options->redis_address.is_cluster;
    if (setting->text && options->shards != 1 && !is_cluster)
        return place_problem(loading, OPTION_SHARDS, setting,
                             "must be 1 without a Redis Cluster (--redis cluster://...)");
    if (setting->text)
        return STATUS_OK;
    options->shards = is_cluster ? CLUSTER_SHARDS : 1;
    option_settle(setting, options->shards);
    return STATUS_OK;
}

static enum status read_tokens(const struct loading *loading)
{
    struct options *options = loading->options;
    struct problem warning, problem;
    if (!options->tokens_file)
        return STATUS_OK;
    if (token_file_read(options->tokens_file, &options->tokens, &warning, &problem) != STATUS_OK)
        return place_problem(loading, OPTION_TOKENS, &options->settings[OPTION_TOKENS], problem.text);
    if (warning.text[0])
        options_warn(options, warning.text);
    return STATUS_OK;
}

static enum status read_certificate(const struct loading *loading)
{
    struct options *options = loading->options;
    struct problem problem;
    if (!options->tls_cert && !options->tls_key)
        return STATUS_OK;
    if (!options->tls_key)
        return place_problem(loading, OPTION_TLS_CERT, &options->settings[OPTION_TLS_CERT],
                             "needs tls-key, too");
    if (!options->tls_cert)
        return place_problem(loading, OPTION_TLS_KEY, &options->settings[OPTION_TLS_KEY],
                             "needs tls-cert, too");
    if (http_tls_load(options->tls_cert, options->tls_key, &options->tls, &problem) != STATUS_OK)
        return place_problem(loading, OPTION_TLS_CERT, &options->settings[OPTION_TLS_CERT], problem.text);
    warn_of_readers(options, OPTION_TLS_KEY);
    return STATUS_OK;
}

/* Returns whether host is localhost or a loopback address. Returns false for all other names, even if a name
 * resolves to this host. */
static bool host_is_local(const char *host)
{
    struct address address;
    const char *rule = address_parse(slice_of(host), &address) ? address_rule(&address) : NULL;
    return strcasecmp(host, "localhost") == 0 || (rule && strncmp(rule, "loopback", strlen("loopback")) == 0);
}

/* Returns whether all nodes of Redis are on this host. */
static bool redis_is_local(const struct redis_address *redis)
{
    bool is_local = redis->path || redis->seed_count || (redis->host && host_is_local(redis->host));
    for (size_t i = 0; i < redis->seed_count; i++)
        is_local = is_local && host_is_local(redis->seeds[i].host);
    return is_local;
}

static enum status settle_history(const struct loading *loading)
{
    struct options *options = loading->options;
    struct option_setting *setting = &options->settings[OPTION_HISTORY];
    if (!setting->text)
        *setting = (struct option_setting){slice_dup(options->is_embedded ? SLICE("sqlite") : SLICE("off")),
                                           OPTION_SOURCE_DEFAULT, 0};
    if (options->history_path && !options->is_embedded && !redis_is_local(&options->redis_address))
        return place_problem(
            loading, OPTION_HISTORY, setting,
            "sqlite needs a Redis on this host (unix:PATH, localhost or a loopback address), because "
            "processes on other hosts would not share the file; use postgresql:// or mongodb://");
    if (strcmp(setting->text, "sqlite") != 0)
        return STATUS_OK;
    if (!options->is_embedded)
        return place_problem(loading, OPTION_HISTORY, setting,
                             "needs a path if --redis is set: sqlite:PATH, such as "
                             "sqlite:/var/lib/duepost/history.sqlite");
    if (options->data_dir && asprintf(&options->history_path, "%s/history.sqlite", options->data_dir) < 0)
        abort();
    return STATUS_OK;
}

/* The private Redis has no other processes, which would use another clock. */
static enum status check_clock(const struct loading *loading)
{
    const struct options *options = loading->options;
    if (!options->is_clock_manual || options->is_embedded)
        return STATUS_OK;
    return place_problem(
        loading, OPTION_CLOCK, &options->settings[OPTION_CLOCK],
        "manual cannot be combined with redis: only a private Redis can have a manual clock; "
        "leave redis out");
}

static enum status check_trust(const struct loading *loading)
{
    const struct options *options = loading->options;
    const struct option_setting *setting = &options->settings[OPTION_TRUST_DURABILITY];
    if (!options->trusts_durability)
        return STATUS_OK;
    if (options->is_embedded)
        return place_problem(loading, OPTION_TRUST_DURABILITY, setting,
                             "needs --redis: duepost checks the private Redis itself");
    if (!options->is_durability_set || !options->durability.is_synced)
        return place_problem(loading, OPTION_TRUST_DURABILITY, setting,
                             "needs --durability fsync or fsync+replicated:N, the class to trust");
    return STATUS_OK;
}

/* The token and the keys of the development mode are public. So the server must be reachable only from this
 * host. */
static enum status check_qstash_dev(const struct loading *loading)
{
    struct options *options = loading->options;
    const struct option_setting *setting = &options->settings[OPTION_QSTASH_DEV];
    if (!options->is_qstash_dev)
        return STATUS_OK;
    if (!options->has_qstash)
        return place_problem(loading, OPTION_QSTASH_DEV, setting, "needs qstash, too");
    if (options->tokens_file)
        return place_problem(loading, OPTION_QSTASH_DEV, setting,
                             "cannot be combined with tokens: the token of the development mode is public");
    options_warn(
        options,
        "qstash-dev is on: deliveries are signed with keys that anyone can use; use it for development only");
    return STATUS_OK;
}

static enum status settle_otlp(const struct loading *loading)
{
    struct options *options = loading->options;
    static const struct {
        enum option_id id;
        enum status (*settle)(struct otlp_options *, struct problem *);
    } steps[] = {{OPTION_OTLP_URL, otlp_options_settle_url},
                 {OPTION_OTLP_HEADERS_FILE, otlp_options_read_headers},
                 {OPTION_OTLP_ATTRIBUTES, otlp_options_make_resource}};
    struct problem problem;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i].settle(&options->otlp, &problem) != STATUS_OK)
            return place_problem(loading, steps[i].id, &options->settings[steps[i].id], problem.text);
    if (options->otlp.headers_file)
        warn_of_readers(options, OPTION_OTLP_HEADERS_FILE);
    return STATUS_OK;
}

static enum status check_heartbeat(const struct loading *loading)
{
    const struct options *options = loading->options;
    struct problem problem;
    struct url url;
    const char *detail;
    if (!options->heartbeat_url || url_parse(slice_of(options->heartbeat_url), &url, &detail) == STATUS_OK)
        return STATUS_OK;
    problem_set(&problem, "the url %s; expected a url such as https://hc-ping.com/UUID", detail);
    return place_problem(loading, OPTION_HEARTBEAT_URL, &options->settings[OPTION_HEARTBEAT_URL],
                         problem.text);
}

/* Checks options against each other and against the system. */
static enum status check_together(const struct loading *loading)
{
    struct options *options = loading->options;
    if (read_redis_password(loading) != STATUS_OK || read_sentinel_access(loading) != STATUS_OK ||
        read_redis_tls(loading) != STATUS_OK || read_signing_keys(loading) != STATUS_OK ||
        read_identity_keys(loading) != STATUS_OK || read_encryption_keys(loading) != STATUS_OK ||
        settle_shards(loading) != STATUS_OK || read_tokens(loading) != STATUS_OK ||
        read_certificate(loading) != STATUS_OK || settle_history(loading) != STATUS_OK ||
        check_clock(loading) != STATUS_OK || check_trust(loading) != STATUS_OK ||
        check_qstash_dev(loading) != STATUS_OK || settle_otlp(loading) != STATUS_OK ||
        check_heartbeat(loading) != STATUS_OK)
        return STATUS_INVALID;
    struct option_setting *setting = &options->settings[OPTION_MAX_CONNECTIONS_PER_ADDRESS];
    if (!setting->text) {
        options->max_connections_per_address = (options->max_connections + 3) / 4;
        options->spares_loopback = true;
        option_settle(setting, options->max_connections_per_address);
    }
    if (options->is_embedded && !options->data_dir) {
        problem_set(loading->problem,
                    "--data: set a directory; none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set");
        return STATUS_INVALID;
    }
    if (options->receiver_ca && access(options->receiver_ca, R_OK) != 0) {
        char what[256];
        snprintf(what, sizeof what, "cannot read %.180s: %s", options->receiver_ca, strerror(errno));
        return place_problem(loading, OPTION_RECEIVER_CA, &options->settings[OPTION_RECEIVER_CA], what);
    }
    return STATUS_OK;
}

static enum status load(struct loading *loading)
{
    const struct options_input *input = loading->input;
    if (options_read_flags(&loading->flags, input->argc, input->argv, loading->problem) != STATUS_OK)
        return STATUS_INVALID;
    options_fill_defaults(&loading->defaults, input->environment);
    if (use_layer(loading, &loading->defaults) != STATUS_OK)
        return STATUS_INVALID;
    /* --help works even with an invalid configuration. */
    if (loading->flags.settings[OPTION_HELP].text || loading->flags.settings[OPTION_VERSION].text ||
        loading->flags.settings[OPTION_PRINT_REFERENCE].text ||
        loading->flags.settings[OPTION_PRINT_MAN].text)
        return use_layer(loading, &loading->flags);
    options_read_environment(&loading->environment, input->environment, loading->options);
    if (read_file(loading) != STATUS_OK || use_layer(loading, &loading->file) != STATUS_OK ||
        use_layer(loading, &loading->environment) != STATUS_OK ||
        use_layer(loading, &loading->flags) != STATUS_OK)
        return STATUS_INVALID;
    return check_together(loading);
}

enum status options_load(struct options *options, const struct options_input *input, struct problem *problem)
{
    struct loading loading = {.options = options, .input = input, .problem = problem};
    *options = (struct options){.is_embedded = true};
    enum status status = load(&loading);
    option_layer_fini(&loading.flags);
    option_layer_fini(&loading.environment);
    option_layer_fini(&loading.file);
    option_layer_fini(&loading.defaults);
    if (status != STATUS_OK)
        options_fini(options);
    return status;
}

enum status options_check_start(struct options *options, struct problem *problem)
{
    struct loading loading = {.options = options, .problem = problem};
    char what[400];
    if (!options->tokens || token_table_count(options->tokens) > 0)
        return STATUS_OK;
    snprintf(what, sizeof what,
             "%.250s holds no token; duepost token new NAME scopes=... creates one, and prints its line",
             options->tokens_file);
    return place_problem(&loading, OPTION_TOKENS, &options->settings[OPTION_TOKENS], what);
}
