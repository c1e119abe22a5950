#include "server/options/options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/declared.h"
#include "cli/remote.h"
#include "history/history.h"
#include "io/http/client.h"
#include "io/http/server.h"
#include "io/http/tls.h"
#include "io/loop.h"
#include "io/redis/redis.h"
#include "job/delivery/signature.h"
#include "job/request.h"
#include "job/target/url.h"
#include "server/commit.h"
#include "server/options/options_private.h"
#include "tracing/exporter.h"

/* ---- the options of the tracer ---- */

enum { FILE_MAX = 16 * 1024 };

/* The path that is added to a URL without a path, on which a collector accepts spans. */
static const char traces_path[] = "/v1/traces";

enum status otlp_options_settle_url(struct otlp_options *options, struct problem *problem)
{
    struct slice text = slice_of(options->given_url);
    struct url url;
    const char *detail;
    struct buffer whole;
    if (!options->given_url)
        return STATUS_OK;
    if (url_parse(text, &url, &detail) != STATUS_OK) {
        problem_set(problem, "is '%.200s': it %s; expected http://HOST:4318", options->given_url, detail);
        return STATUS_INVALID;
    }
    bool is_bare = url.target.size == 0 || slice_equal(url.target, SLICE("/"));
    buffer_init(&whole, JOB_URL_MAX + sizeof traces_path);
    buffer_append(&whole, slice_from(text.data, is_bare ? text.size - url.target.size : text.size));
    if (is_bare)
        buffer_append(&whole, slice_of(traces_path));
    options->url = slice_dup(buffer_slice(&whole));
    buffer_fini(&whole);
    return STATUS_OK;
}

static bool is_header(struct slice line)
{
    struct slice name, value;
    return slice_cut(line, ':', &name, &value) && header_name_is_valid(name) &&
           header_value_is_valid(slice_trim(value));
}

enum status otlp_options_read_headers(struct otlp_options *options, struct problem *problem)
{
    struct slice text, line;
    int number = 0;
    if (!options->headers_file)
        return STATUS_OK;
    if (file_read(options->headers_file, FILE_MAX, &options->headers_text, problem) != STATUS_OK)
        return STATUS_INVALID;
    for (text = buffer_slice(&options->headers_text); text.size;) {
        slice_cut(text, '\n', &line, &text);
        if (line.size && line.data[line.size - 1] == '\r')
            line.size--;
        number++;
        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (!is_header(line) || options->header_count == EXPORTER_HEADERS_MAX) {
            problem_set(problem,
                        "%.200s, line %d: expected at most %d lines like 'Authorization: Bearer ...'",
                        options->headers_file, number, EXPORTER_HEADERS_MAX);
            return STATUS_INVALID;
        }
        options->headers[options->header_count++] = line;
    }
    return STATUS_OK;
}

enum status otlp_options_make_resource(struct otlp_options *options, struct problem *problem)
{
    buffer_init(&options->resource, OTLP_RESOURCE_MAX);
    if (otlp_resource_write(&options->resource, slice_of(options->attributes), problem) != STATUS_OK)
        return STATUS_INVALID;
    if (!options->resource.failed)
        return STATUS_OK;
    problem_set(problem, "is too long");
    return STATUS_INVALID;
}

static void otlp_options_fini(struct otlp_options *options)
{
    struct buffer *headers = &options->headers_text;
    if (headers->size)
        explicit_bzero(headers->data, headers->size);
    buffer_fini(headers);
    buffer_fini(&options->resource);
    free(options->given_url);
    free(options->headers_file);
    free(options->attributes);
    free(options->url);
}

/* ---- values ---- */

void options_warn(struct options *options, const char *text)
{
    options->warnings =
        memory_resize(options->warnings, (options->warning_count + 1) * sizeof *options->warnings);
    options->warnings[options->warning_count++] = slice_dup(slice_of(text));
}

void options_log_warnings(const struct options *options)
{
    for (size_t i = 0; i < options->warning_count; i++)
        log_warning("configuration", LOG_TEXT("what", options->warnings[i]));
}

bool options_have_history(const struct options *options)
{
    return options->history_path || options->history_url;
}

void options_fini(struct options *options)
{
    char *const texts[] = {options->listen.host,
                           options->health_listen.host,
                           options->tokens_file,
                           options->data_dir,
                           options->embedded_server,
                           options->config,
                           options->redis_password_file,
                           options->sentinel_user,
                           options->sentinel_password_file,
                           options->redis_ca,
                           options->redis_cert,
                           options->redis_key,
                           options->redis_server_name,
                           options->prefix,
                           options->log,
                           options->signing_secret_file,
                           options->identity_key_file,
                           options->encryption_keys_file,
                           options->tls_cert,
                           options->tls_key,
                           options->egress_proxy,
                           options->receiver_ca,
                           options->hosts,
                           options->public_url,
                           options->heartbeat_url,
                           options->history_path,
                           options->history_url,
                           options->outbox_url};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    otlp_options_fini(&options->otlp);
    token_table_release(options->tokens);
    http_tls_release(options->tls);
    redis_tls_free(options->redis_tls);
    identity_keys_free(options->identity_keys);
    seal_keys_free(options->encryption_keys);
    redis_address_fini(&options->redis_address);
    target_policy_free(options->targets);
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        free(options->settings[id].text);
    for (size_t i = 0; i < options->warning_count; i++)
        free(options->warnings[i]);
    free(options->warnings);
    explicit_bzero(options, sizeof *options);
}

/* ---- options that processes share ---- */

/* Appends a text. Writes "," instead of each space, and "-" instead of each other byte that a message between
 * processes cannot have. */
static void write_text(struct slice text, struct buffer *out)
{
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.data[i];
        buffer_append_byte(out, byte == ' ' ? ',' : byte > ' ' && byte < 0x7f ? byte : '-');
    }
}

/* Returns the host and the database of a URL, or the whole text if it is not a URL. */
static struct slice without_access(struct slice text)
{
    struct slice before, rest, place;
    const char *authority = memmem(text.data, text.size, "://", 3);
    if (!authority)
        return text;
    rest = slice_skip(text, (size_t)(authority - text.data) + 3);
    slice_cut(rest, '?', &place, &rest);
    for (rest = place; slice_cut(rest, '@', &before, &rest);)
        place = rest;
    return place;
}

void shared_options_write(const struct options *options, struct buffer *out)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        if (!option_table[id].is_shared)
            continue;
        buffer_printf(out, "%s%s=", out->size ? " " : "", option_table[id].name);
        const char *text = options->settings[id].text;
        const void *member = (const char *)options + option_table[id].offset;
        int64_t number;
        switch (option_table[id].kind) {
        case OPTION_KIND_NUMBER:
        case OPTION_KIND_SIZE:
        case OPTION_KIND_DURATION:
            memcpy(&number, member, sizeof number);
            buffer_printf(out, "%lld%s", (long long)number,
                          option_table[id].kind == OPTION_KIND_DURATION ? "ms" : "");
            break;
        default:
            write_text(without_access(slice_of(text ? text : id == OPTION_HISTORY ? "off" : "none")), out);
            break;
        }
    }
}

/* ---- limits and settings that follow from the options ---- */

static const char *const history_bodies[] = {
    [HISTORY_BODIES_ON] = "on", [HISTORY_BODIES_ERRORS] = "errors", [HISTORY_BODIES_OFF] = "off"};

struct store_options store_setup(const struct options *options, const struct redis_address *redis,
                                 const char *prefix)
{
    struct store_options store = {
        .redis = redis,
        .prefix = prefix,
        .shards = (size_t)options->shards,
        .max_in_flight_topic = options->max_in_flight_topic,
        .max_jobs = options->max_jobs,
        .dead_max = options->dead_max,
        .dead_max_age_ms = options->dead_max_age_ms,
        .idempotency_window_ms = options->idempotency_window_ms,
        .breaker_wait_ms = options->breaker_wait_ms,
        .history_backlog_bytes = options_have_history(options) ? options->history_backlog_bytes : 0,
        .history_bodies = history_bodies[options->history_bodies],
        .durability = options->durability,
        .is_durability_set = options->is_durability_set,
        .trusts_durability = options->trusts_durability,
    };
    if (options->is_embedded) {
        if (!store.is_durability_set)
            store.durability.is_synced = !options->is_clock_manual;
        store.is_durability_set = true;
    }
    return store;
}

enum {
    FILES_MIN = 1024
}; /* descriptors needed in addition to one for each client connection and two for each attempt: its
      connection and an idle one */

int64_t file_limit_wanted(const struct options *options)
{
    return options->max_connections + 2 * options->max_in_flight + FILES_MIN;
}

int64_t file_limit_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max > INT64_MAX)
        return INT64_MAX;
    return (int64_t)limit.rlim_max;
}

void file_limit_raise(const struct options *options)
{
    int64_t wanted = file_limit_wanted(options);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < (rlim_t)wanted)
        log_warning("file_limit_is_low", LOG_NUMBER("limit", limit.rlim_cur), LOG_NUMBER("wanted", wanted));
}

/* ---- answers ---- */

enum { HELP_COLUMN = 30 };

static void options_print_help(FILE *out)
{
    fprintf(out, "Usage: duepost [OPTION]...\n"
                 "Takes a job over HTTP now and POSTs it to a URL when it is due.\n\n");
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        const struct option *option = &option_table[id];
        if (!option->help)
            continue;
        int width = fprintf(out, "  --%s %s", option->name, option->placeholder ? option->placeholder : "");
        fprintf(out, "%*s%s", width < HELP_COLUMN ? HELP_COLUMN - width : 1, "", option->help);
        if (option->fallback && option->fallback[0])
            fprintf(out, " (%s)", option->fallback);
        fputc('\n', out);
    }
    fprintf(out,
            "\nEach option can also be set in the environment (DUEPOST_MAX_BODY for --max-body) and in the\n"
            "configuration file (max-body = 2MiB). A flag overrides the environment, and the environment\n"
            "overrides the file. Durations: 500ms 15s 3m 1h 2d, or seconds. Sizes: bytes, KiB, MiB or GiB.\n"
            "\nduepost help lists the commands that call a running server.\n");
}

static void print_source(const struct options *options, enum option_id id, FILE *out)
{
    const struct option_setting *setting = &options->settings[id];
    char variable[OPTION_VARIABLE_MAX];
    switch (setting->source) {
    case OPTION_SOURCE_NONE:
        fprintf(out, "# not set\n");
        break;
    case OPTION_SOURCE_DEFAULT:
        fprintf(out, "# default\n");
        break;
    case OPTION_SOURCE_FILE:
        fprintf(out, "# from %s:%u\n", options->config, setting->line);
        break;
    case OPTION_SOURCE_ENVIRONMENT:
        option_variable(&option_table[id], variable);
        fprintf(out, "# from %s\n", variable);
        break;
    case OPTION_SOURCE_FLAG:
        fprintf(out, "# from --%s\n", option_table[id].name);
        break;
    }
}

/* Finds the password in the text of an option whose address may contain a password. Returns NULL if the text
 * has none. */
static const char *find_password(enum option_id id, const char *text, const char **at)
{
    const char *authority = strstr(text, "://");
    *at = strrchr(text, '@');
    if ((id != OPTION_REDIS && id != OPTION_EGRESS_PROXY && id != OPTION_HISTORY && id != OPTION_OUTBOX) ||
        !authority || !*at || *at < authority)
        return NULL;
    authority += strlen("://");
    const char *colon = memchr(authority, ':', (size_t)(*at - authority));
    return colon ? colon + 1 : NULL;
}

static void options_print_reference(FILE *out)
{
    fprintf(out,
            "# duepost.conf - every option with its default. Generated from duepost's table of options.\n"
            "#\n"
            "# duepost reads " OPTIONS_CONFIG_FILE " if it exists, or the file of --config. A line is\n"
            "# \"name = value\", at most 190 bytes long. Lines that begin with # or ; are comments;\n"
            "# elsewhere these characters have no special meaning. A flag (--max-body 2MiB) overrides the\n"
            "# environment (DUEPOST_MAX_BODY=2MiB), and the environment overrides this file.\n");
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        const struct option *option = &option_table[id];
        if (option->kind == OPTION_KIND_SWITCH || id == OPTION_CONFIG)
            continue;
        fprintf(out, "\n# %s: %s\n", option->placeholder, option->help);
        if (option->text) {
            const char *text = option->text;
            fprintf(out, "# ");
            for (; *text; text++) {
                fputc(*text, out);
                if (*text == '\n')
                    fprintf(out, "# ");
            }
            fputc('\n', out);
        }
        const char *fallback = option->fallback ? option->fallback : "";
        fprintf(out, "#%s =%s%s\n", option->name, fallback[0] ? " " : "", fallback);
    }
}

size_t options_list(struct cli_option *list)
{
    size_t count = 0;
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        const struct option *option = &option_table[id];
        if (option->help)
            list[count++] = (struct cli_option){option->name, option->placeholder, option->fallback,
                                                option->help, option->text};
    }
    return count;
}

bool options_answer(const struct options *options, FILE *out)
{
    const struct option_setting *settings = options->settings;
    if (settings[OPTION_HELP].text) {
        options_print_help(out);
    } else if (settings[OPTION_VERSION].text) {
        static void (*const libraries[])(struct library *) = {
            http_server_library, http_tls_library, http_client_library, loop_library,    redis_library,
            signature_library,   remote_library,   sqlite_library,      postgres_library};
        fprintf(out, "duepost " DUEPOST_VERSION "\ncommit " DUEPOST_COMMIT "\n");
        for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
            struct library library;
            libraries[i](&library);
            fprintf(out, "%s %s\n", library.name, library.version);
        }
        struct library optional;
        if (declared_library(&optional))
            fprintf(out, "%s %s\n", optional.name, optional.version);
        if (mongo_library(&optional))
            fprintf(out, "%s %s\n", optional.name, optional.version);
    } else if (settings[OPTION_PRINT_REFERENCE].text) {
        options_print_reference(out);
    } else if (settings[OPTION_PRINT_MAN].text) {
        struct cli_option list[OPTION_COUNT];
        cli_print_manual(out, list, options_list(list));
    } else if (settings[OPTION_PRINT_CONFIG].text) {
        for (enum option_id id = 0; id < OPTION_COUNT; id++) {
            if (option_table[id].kind == OPTION_KIND_SWITCH)
                continue;
            bool is_line = options->settings[id].text &&
                           id != OPTION_CONFIG; /* a configuration file must not contain the option config */
            print_source(options, id, out);
            fprintf(out, "%s%s =%s", is_line ? "" : "#", option_table[id].name,
                    options->settings[id].text ? " " : "\n");
            if (options->settings[id].text) {
                const char *text = options->settings[id].text, *at;
                const char *password = find_password(id, text, &at);
                if (password)
                    fprintf(out, "%.*s***%s\n", (int)(password - text), text, at);
                else
                    fprintf(out, "%s\n", text);
            }
        }
    } else {
        return false;
    }
    return true;
}
