/* options.h - the options of the server: their values, and where these come from. */
#ifndef DUEPOST_SERVER_OPTIONS_OPTIONS_H
#define DUEPOST_SERVER_OPTIONS_OPTIONS_H

#include <stdio.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/slice.h"
#include "base/status.h"
#include "history/history.h"
#include "io/http/tls.h"
#include "io/redis/redis.h"
#include "base/seal.h"
#include "job/delivery/identity.h"
#include "job/delivery/signature.h"
#include "job/retry.h"
#include "job/target/target.h"
#include "job/token.h"
#include "store/store.h"
#include "tracing/exporter.h"

/* The options of the tracer: the collector's url, and the headers and attributes of requests to it. */
struct otlp_options {
    char *given_url, *headers_file, *attributes; /* values that the operator gave; NULL: none */
    int64_t one_in;
    char *url;                  /* complete url with its path; NULL: no spans are recorded */
    struct buffer headers_text; /* content of headers_file, which headers borrow */
    struct slice headers[EXPORTER_HEADERS_MAX];
    size_t header_count;
    struct buffer resource; /* see otlp_resource_write */
};

/* Check the given values, and complete them. Both return INVALID after an error; problem then says why. */
enum status otlp_options_settle_url(struct otlp_options *, struct problem *) MUST_USE;
enum status otlp_options_read_headers(struct otlp_options *, struct problem *) MUST_USE;
enum status otlp_options_make_resource(struct otlp_options *, struct problem *) MUST_USE;

#define OPTIONS_CONFIG_FILE "/etc/duepost/duepost.conf"

enum option_id {
    OPTION_LISTEN,
    OPTION_HEALTH_LISTEN,
    OPTION_SHARE_PORT,
    OPTION_TOKENS,
    OPTION_HOSTS,
    OPTION_PUBLIC_URL,
    OPTION_TLS_CERT,
    OPTION_TLS_KEY,
    OPTION_REDIS,
    OPTION_REDIS_PASSWORD_FILE,
    OPTION_SENTINEL_USER,
    OPTION_SENTINEL_PASSWORD_FILE,
    OPTION_REDIS_CA,
    OPTION_REDIS_CERT,
    OPTION_REDIS_KEY,
    OPTION_REDIS_SERVER_NAME,
    OPTION_SHARDS,
    OPTION_DATA,
    OPTION_EMBEDDED_SERVER,
    OPTION_CONFIG,
    OPTION_CLOCK,
    OPTION_DURABILITY,
    OPTION_TRUST_DURABILITY,
    OPTION_HISTORY,
    OPTION_HISTORY_BODIES,
    OPTION_HISTORY_MAX_AGE,
    OPTION_HISTORY_MAX_BYTES,
    OPTION_HISTORY_BACKLOG,
    OPTION_OUTBOX,
    OPTION_REACTORS,
    OPTION_MAX_IN_FLIGHT,
    OPTION_MAX_IN_FLIGHT_TOPIC,
    OPTION_MAX_BODY,
    OPTION_MAX_JOBS,
    OPTION_DEAD_MAX,
    OPTION_DEAD_MAX_AGE,
    OPTION_MAX_CONNECTIONS,
    OPTION_MAX_CONNECTIONS_PER_ADDRESS,
    OPTION_MAX_WAITING,
    OPTION_MAX_WAITING_LEASES,
    OPTION_MAX_BODIES,
    OPTION_HEADER_TIMEOUT,
    OPTION_BODY_TIMEOUT,
    OPTION_ANSWER_TIMEOUT,
    OPTION_IDEMPOTENCY_WINDOW,
    OPTION_RETRY_SCHEDULE,
    OPTION_DASHBOARD,
    OPTION_QSTASH,
    OPTION_QSTASH_DEV,
    OPTION_BREAKER,
    OPTION_BREAKER_WAIT,
    OPTION_ALLOW_TARGET,
    OPTION_EGRESS_PROXY,
    OPTION_PLAIN_HTTP,
    OPTION_RECEIVER_CA,
    OPTION_SIGNING_SECRET_FILE,
    OPTION_IDENTITY_KEY_FILE,
    OPTION_ENCRYPTION_KEYS,
    OPTION_ENCRYPT_LABELS,
    OPTION_PREFIX,
    OPTION_LOG,
    OPTION_LOG_FORMAT,
    OPTION_LOG_LEVEL,
    OPTION_OTLP_URL,
    OPTION_OTLP_HEADERS_FILE,
    OPTION_OTLP_ATTRIBUTES,
    OPTION_OTLP_ONE_IN,
    OPTION_HEARTBEAT_URL,
    OPTION_HEARTBEAT_EVERY,
    OPTION_DRAIN_TIMEOUT,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_PRINT_CONFIG,
    OPTION_PRINT_REFERENCE,
    OPTION_PRINT_MAN,
    OPTION_COUNT,
};

enum option_source {
    OPTION_SOURCE_NONE,
    OPTION_SOURCE_DEFAULT,
    OPTION_SOURCE_FILE,
    OPTION_SOURCE_ENVIRONMENT,
    OPTION_SOURCE_FLAG
};

/* The text of one option, and its source. */
struct option_setting {
    char *text; /* the option's value, as text; NULL: not given */
    enum option_source source;
    unsigned line; /* line in the file, counted from 1 */
};

struct listen_address {
    char *host;
    uint16_t port;
};

/* All options. The strings are valid until the options are freed. If an option has no value, its string is
 * NULL. */
struct options {
    struct listen_address listen, health_listen; /* health_listen.host is NULL without --health-listen */
    bool shares_port; /* other processes of this user may listen on the same port */
    char *tokens_file;
    struct token_table *tokens;         /* the tokens in tokens_file; NULL: no tokens are needed */
    char *public_url;                   /* for receivers, without a slash at its end; empty: unknown */
    char *hosts;                        /* names of this host, separated by commas */
    char *tls_cert, *tls_key;           /* paths of the files */
    struct http_tls *tls;               /* the certificate in tls_cert and tls_key; NULL: plain HTTP */
    bool is_embedded;                   /* there is no --redis, so a private Redis is used */
    struct redis_address redis_address; /* includes the password */
    char *redis_password_file, *sentinel_password_file, *sentinel_user;
    char *redis_ca, *redis_cert, *redis_key; /* paths of the files */
    char *redis_server_name;
    struct redis_tls *redis_tls; /* the certificates in redis_ca and redis_cert; NULL: no TLS to Redis */
    int64_t shards;              /* 1 without a Cluster */
    char *data_dir;              /* not NULL when is_embedded */
    char *embedded_server;       /* NULL: redis-server or valkey-server */
    char *config;
    bool is_clock_manual; /* jobs become due by a clock that stands still until POST /clock moves it */
    struct durability durability;
    bool is_durability_set; /* false: auto, which means fsync with the embedded Redis, else what Redis
                               provides */
    bool trusts_durability; /* see --trust-durability: if Redis hides whether it provides the durability
                               class, duepost assumes that it does */
    char *history_path;     /* path of the SQLite file; NULL: none */
    char *history_url;      /* url of PostgreSQL or MongoDB, with its password; NULL: none */
    enum history_bodies history_bodies;
    int64_t history_max_age_ms, history_max_bytes;
    int64_t history_backlog_bytes;
    char *outbox_url; /* url of the outbox's PostgreSQL, with its password; NULL: none */
    int64_t reactors;
    int64_t max_in_flight;
    int64_t max_in_flight_topic;
    int64_t max_body_bytes;
    int64_t max_jobs; /* 0: no limit */
    int64_t dead_max; /* 0: no limit */
    int64_t dead_max_age_ms;
    int64_t max_connections;
    int64_t max_connections_per_address; /* 0: no limit */
    bool spares_loopback; /* max_connections_per_address is the default, which does not apply to loopback
                             addresses */
    int64_t max_waiting;
    int64_t max_waiting_leases;
    int64_t max_bodies_bytes;
    int64_t header_timeout_ms, body_timeout_ms, answer_timeout_ms;
    int64_t idempotency_window_ms;
    struct retry_schedule retry_schedule;
    bool has_dashboard;
    bool has_qstash;    /* serves the API of QStash */
    bool is_qstash_dev; /* uses the public signing keys of the development mode */
    bool is_breaker_on;
    int64_t breaker_wait_ms;
    struct target_policy *targets;
    char *egress_proxy;     /* url of the proxy, with its credentials */
    bool uses_libcurl_only; /* libcurl sends all requests */
    char *receiver_ca;
    char *signing_secret_file;
    struct signing_keys signing_keys; /* the keys in signing_secret_file */
    char *identity_key_file;
    char *encryption_keys_file;
    struct seal_keys *encryption_keys; /* the keys in encryption_keys_file; owned; NULL: none */
    bool encrypts_labels;
    struct identity_keys *identity_keys; /* the keys in identity_key_file; owned; NULL: none */
    char *prefix;
    char *log;
    enum log_format log_format;
    enum log_level log_level;
    struct otlp_options otlp;
    char *heartbeat_url; /* url of a monitor, see worker/heartbeat.h; NULL: none */
    int64_t heartbeat_every_ms;
    int64_t drain_timeout_ms;

    struct option_setting settings[OPTION_COUNT];
    char **warnings; /* warnings of loading, which are logged when the log is open */
    size_t warning_count;
};

/* Adds a warning, which is logged when the log is open. Copies text. */
void options_warn(struct options *, const char *text);

/* Returns whether ended jobs are kept outside Redis. */
bool options_have_history(const struct options *);

/* Logs the warnings of loading. */
void options_log_warnings(const struct options *);

void options_fini(struct options *);

/* ---- load.c ---- */

/* Reads the options from their sources.
 *
 * Each option can be given as a flag (--max-body 2MiB, --max-body=2MiB), in the environment
 * (DUEPOST_MAX_BODY) and in a file (max-body = 2MiB). A flag takes precedence over the environment, the
 * environment over the file, and the file over the default. Every value is checked, even if another source
 * takes precedence. */

struct options_input {
    int argc;
    char *const *argv;
    char *const *environment; /* "NAME=value", ended by NULL */
    const char *config_file;  /* default file, read if it exists and no other file was named */
};

/* Loads the options. Returns STATUS_INVALID after an error; problem then names the place ("--max-body: ..."),
 * and options need not be freed. */
enum status options_load(struct options *, const struct options_input *, struct problem *) MUST_USE;

/* Makes the checks that apply only at the start. Returns STATUS_INVALID if the token file has no tokens. At a
 * reload an empty file revokes all tokens; at the start an empty file is more likely a mistake. */
enum status options_check_start(struct options *, struct problem *) MUST_USE;

/* ---- options.c ---- */

struct cli_option;

/* Lists the options that --help shows, at most OPTION_COUNT, for cli_run. Returns their number. */
size_t options_list(struct cli_option *list);

/* Writes the answer to --help, --version, --print-config, --print-reference or --print-man and returns true.
 * Returns false if none of these options is set. */
bool options_answer(const struct options *, FILE *out);

/* ---- the file of --tokens ---- */

/* Reads the file. Returns STATUS_INVALID after an error; problem then says what to do. If users other than
 * the owner may write the file, sets warning, because these users could grant themselves any right; otherwise
 * warning is empty. Read access of other users is harmless, because the file contains only digests of tokens.
 */
enum status token_file_read(const char *path, struct token_table **, struct problem *warning,
                            struct problem *) MUST_USE;

/* Logs the number of tokens; warns when the file is empty. */
void token_file_log(const char *path, const struct token_table *);

/* ---- options that processes share ---- */

/* Appends the options as "name=value", separated by spaces, for app/live.h. Values have no spaces,
 * users, passwords and parameters of URLs. Durations are in ms and sizes in bytes, so that 60s equals 1m. */
void shared_options_write(const struct options *, struct buffer *);

/* ---- limits and settings that follow from the options ---- */

/* Returns the options of the store. They borrow redis and prefix, but nothing of the server's options, which
 * may be freed. With the private Redis, the durability is fsync, unless the operator chose another class.
 * The caller sets the member metrics. */
struct store_options store_setup(const struct options *, const struct redis_address *redis,
                                 const char *prefix);

/* Returns the number of open files that the options may need: for clients, attempts and all other
 * descriptors. */
int64_t file_limit_wanted(const struct options *);

/* Returns the highest limit that this process may have, or INT64_MAX if there is no limit. */
int64_t file_limit_max(void);

/* Raises the limit to the highest value that this process may have, because a thousand attempts and their
 * clients need more than the usual 1,024 files. Logs a warning if this is not enough. */
void file_limit_raise(const struct options *);

#endif
