/* table.c - the table of all options. */
#include <ctype.h>

#include "server/options/options_private.h"
#include "store/store.h"

#define MEMBER(name) offsetof(struct options, name)
#define DAY_MS       INT64_C(86400000)

const struct option option_table[OPTION_COUNT] = {
    [OPTION_LISTEN] =
        {
            .name = "listen",
            .placeholder = "HOST:PORT",
            .kind = OPTION_KIND_LISTEN,
            .offset = MEMBER(listen),
            .fallback = "127.0.0.1:7700",
            .help = "where the API listens",
            .text =
                "Put an IPv6 address in brackets: [::1]:7700. Port 0 picks a free port; the line \"duepost\n"
                "listening on ...\" on stdout shows it. An address that is not loopback needs tokens.",
        },
    [OPTION_TOKENS] =
        {
            .name = "tokens",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(tokens_file),
            .help = "file of access tokens; without it duepost listens on loopback only",
            .text =
                "One line per token: NAME sha256:DIGEST scopes=schedule,read,cancel,admin,lease. Optional\n"
                "fields: topics=orders-*,mail limits the token to these topics, groups=shops-* gives it\n"
                "access to these groups, and rate=1000/s (or /m, /h) limits its requests in each process.\n"
                "Lines that begin with # are comments. \"duepost token new NAME scopes=...\" prints a new\n"
                "token and its line. The file has digests only, no tokens. A request sends its token as\n"
                "\"Authorization: Bearer TOKEN\". SIGHUP reads the file again, even when other options are\n"
                "wrong. When the file itself is wrong, the previous tokens remain valid. When the file\n"
                "has no lines of tokens, every request is refused.",
            .may_reload = true,
        },
    [OPTION_HOSTS] =
        {
            .name = "hosts",
            .placeholder = "LIST",
            .kind = OPTION_KIND_HOSTS,
            .offset = MEMBER(hosts),
            .help = "names of this host that the Host header may have if there are no tokens",
            .text =
                "Separated by commas, without ports. localhost, loopback addresses and the host of listen\n"
                "are always allowed. Without tokens, requests with another name in their Host header are\n"
                "refused, and so are requests from web pages of other sites. Otherwise any page that a\n"
                "user of this host opens could use duepost. If a proxy in front of duepost sends another\n"
                "name, add it: nginx sends the name of its upstream. Probes of /healthz and /readyz may\n"
                "use any name.",
            .may_reload = true,
        },
    [OPTION_PUBLIC_URL] =
        {
            .name = "public-url",
            .placeholder = "URL",
            .kind = OPTION_KIND_SITE,
            .offset = MEMBER(public_url),
            .help = "url under which receivers reach this API, such as https://jobs.example.com",
            .text =
                "Receivers of topics with the setting defer get it in the header Duepost-End-Url, to end an\n"
                "attempt later. Without this option it is the address of listen, unless that is a wildcard\n"
                "such as 0.0.0.0; the header is then left out.",
            .may_reload = true,
        },
    [OPTION_TLS_CERT] =
        {
            .name = "tls-cert",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(tls_cert),
            .help = "PEM file with a certificate and its chain; enables TLS 1.2 and 1.3 for the API",
            .text =
                "Needs tls-key. SIGHUP reads both files again, for new connections. When they cannot be\n"
                "used, the old certificate stays in use. With TLS, the API refuses plain HTTP. Switching\n"
                "TLS on or off needs a restart.",
            .may_reload = true,
        },
    [OPTION_TLS_KEY] =
        {
            .name = "tls-key",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(tls_key),
            .help = "PEM file with the private key of tls-cert",
            .may_reload = true,
        },
    [OPTION_HEALTH_LISTEN] =
        {
            .name = "health-listen",
            .placeholder = "HOST:PORT",
            .kind = OPTION_KIND_LISTEN,
            .offset = MEMBER(health_listen),
            .help = "additional address for /healthz, /readyz and /metrics only",
            .text =
                "For probes that must not share a port with clients. This address answers even while\n"
                "duepost stops; /readyz is then 503. TLS and tokens are the same as for the API: an\n"
                "address that is not loopback needs tokens. With tokens, a request for /metrics requires\n"
                "one; requests for /healthz and /readyz do not.",
        },
    [OPTION_SHARE_PORT] =
        {
            .name = "share-port",
            .placeholder = "on|off",
            .kind = OPTION_KIND_ON_OFF,
            .offset = MEMBER(shares_port),
            .fallback = "off",
            .help = "lets another duepost process of the same user listen on the same port",
            .text = "For a restart without a gap, with your own Redis: start the new duepost with this\n"
                    "option, and stop the old one when the new one is ready. After SIGTERM, a duepost whose\n"
                    "port is shared accepts connections while its attempts drain; otherwise it refuses\n"
                    "connections at once. When the old process closes its socket, the kernel may reset new\n"
                    "connections; with the sysctl net.ipv4.tcp_migrate_req = 1, it resets none.",
        },
    [OPTION_REDIS] =
        {
            .name = "redis",
            .placeholder = "ADDRESS",
            .kind = OPTION_KIND_REDIS,
            .help = "address of the Redis that keeps the jobs; without it, duepost starts a private Redis",
            .text = "redis://[user[:password]@]host[:port][/db], or unix:PATH, or Sentinels that name the\n"
                    "primary: sentinel://[user[:password]@]host[:port],.../service, or nodes of a Cluster:\n"
                    "cluster://[user[:password]@]host[:port],... With TLS: rediss://, sentinels:// and\n"
                    "clusters://. Needs Redis 7.0 or newer with maxmemory-policy noeviction.\n"
                    "docs/operations.md lists the rights that a Redis user needs. A password may be set in\n"
                    "this file and in DUEPOST_REDIS, but not in the flag, which every user of the host can\n"
                    "read.",
        },
    [OPTION_REDIS_PASSWORD_FILE] =
        {
            .name = "redis-password-file",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(redis_password_file),
            .help = "file with the password for --redis, on its only line",
            .text = "SIGHUP reads it again; new connections use the new password.",
            .may_reload = true,
        },
    [OPTION_SENTINEL_USER] =
        {
            .name = "sentinel-user",
            .placeholder = "NAME",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(sentinel_user),
            .help = "user name for the Sentinels; default: their default user",
            .text = "Needs sentinel-password-file. The user and the password in the option redis are those\n"
                    "of Redis. duepost never sends them to a Sentinel.",
        },
    [OPTION_SENTINEL_PASSWORD_FILE] =
        {
            .name = "sentinel-password-file",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(sentinel_password_file),
            .help = "file with the password for the Sentinels of --redis, on its only line",
            .text = "For Sentinels with requirepass or with users of their own. All Sentinels need the same\n"
                    "password. SIGHUP reads the file again; new connections use the new password.",
            .may_reload = true,
        },
    [OPTION_REDIS_CA] =
        {
            .name = "redis-ca",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(redis_ca),
            .help = "PEM file with the CAs that may issue Redis's certificate; default: the system's",
            .text =
                "For rediss://, sentinels:// and clusters://. The certificate of each Redis and each\n"
                "Sentinel is always checked. SIGHUP reads this file, redis-cert and redis-key again; new\n"
                "connections use them.",
            .may_reload = true,
        },
    [OPTION_REDIS_CERT] =
        {
            .name = "redis-cert",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(redis_cert),
            .help = "PEM file with the client certificate, and its chain, for connections to Redis",
            .text = "For a Redis with tls-auth-clients. Needs redis-key.",
            .may_reload = true,
        },
    [OPTION_REDIS_KEY] =
        {
            .name = "redis-key",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(redis_key),
            .help = "PEM file with the private key of redis-cert",
            .may_reload = true,
        },
    [OPTION_REDIS_SERVER_NAME] =
        {
            .name = "redis-server-name",
            .placeholder = "NAME",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(redis_server_name),
            .help = "name that Redis's certificate must have; default: the host to which duepost connects",
            .text = "For Sentinels and Clusters that announce IP addresses although their certificates have\n"
                    "names. All nodes must have this name.",
            .may_reload = true,
        },
    [OPTION_SHARDS] =
        {
            .name = "shards",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(shards),
            .min = 1,
            .max = STORE_SHARDS_MAX,
            .help = "number of parts into which the jobs in a Redis Cluster are split",
            .text = "Default: 16 with a Cluster; without one it must be 1. Each topic is in one shard, and\n"
                    "each shard in one slot of the Cluster. The number is stored at the first start and\n"
                    "cannot change: a duepost with another number refuses to start. Each shard takes five\n"
                    "connections per reactor.",
        },
    [OPTION_DATA] =
        {
            .name = "data",
            .placeholder = "DIR",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(data_dir),
            .help = "directory of the private Redis",
            .text =
                "duepost creates the directory with mode 0700. Other users must not own or read it. Only\n"
                "one duepost at a time can use it. Default: $STATE_DIRECTORY, else\n"
                "$XDG_STATE_HOME/duepost, else ~/.local/state/duepost.",
        },
    [OPTION_EMBEDDED_SERVER] =
        {
            .name = "embedded-server",
            .placeholder = "PATH",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(embedded_server),
            .help = "program that runs the private Redis",
            .text =
                "A path, or a name that is found in PATH. Default: redis-server, or valkey-server where\n"
                "there is no redis-server of version 7.0 or newer. Do not change the program while there\n"
                "are jobs: Valkey cannot read the files of Redis 7.4 and newer.",
        },
    [OPTION_CONFIG] =
        {
            .name = "config",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(config),
            .help = "configuration file; default " OPTIONS_CONFIG_FILE " if it exists",
        },
    [OPTION_CLOCK] =
        {
            .name = "clock",
            .placeholder = "redis|manual",
            .kind = OPTION_KIND_CLOCK,
            .fallback = "redis",
            .help = "the clock by which jobs become due; manual: one that tests turn, never in production",
            .text =
                "redis: the clock of Redis. manual: a clock that stands still until POST /clock or duepost\n"
                "clock moves it; so a test sees retries and schedules of a month in a second. Needs the\n"
                "private Redis and loopback addresses in listen and health-listen. The data directory keeps\n"
                "the time at which the clock stands. docs/testing.md shows how to use it.",
        },
    [OPTION_DURABILITY] =
        {
            .name = "durability",
            .placeholder = "CLASS",
            .kind = OPTION_KIND_DURABILITY,
            .fallback = "auto",
            .help = "failures that a confirmed change survives: memory, fsync, replicated:N or auto",
            .text =
                "memory: a crash of duepost, but not of Redis. fsync: also a crash of Redis and a power\n"
                "failure, because Redis writes each change to disk before duepost confirms it\n"
                "(append-only file, fsync always). replicated:N: the loss of the primary, because N\n"
                "replicas have the change (WAIT). fsync+replicated:N: all of these. auto: fsync with the\n"
                "private Redis, otherwise what the given Redis provides; if that is memory, the log has a\n"
                "warning at start. When Redis does not provide the configured class, duepost answers 503\n"
                "with the reason.",
            .is_shared = true,
        },
    [OPTION_TRUST_DURABILITY] =
        {
            .name = "trust-durability",
            .placeholder = "on|off",
            .kind = OPTION_KIND_ON_OFF,
            .offset = MEMBER(trusts_durability),
            .fallback = "off",
            .help = "trust that Redis fsyncs each write if it refuses CONFIG GET appendfsync",
            .text =
                "For managed services without CONFIG: duepost cannot check that Redis syncs each write,\n"
                "and with --durability fsync answers 503. With this option, duepost trusts the service;\n"
                "the log, /readyz and duepost check say so. duepost still checks the settings that Redis\n"
                "does show. If appendfsync is not always, or Redis cannot write its append-only file,\n"
                "duepost still answers 503. Needs --redis, and fsync or fsync+replicated:N in\n"
                "--durability.",
        },
    [OPTION_HISTORY] =
        {
            .name = "history",
            .placeholder = "WHERE",
            .kind = OPTION_KIND_HISTORY,
            .help = "database of ended jobs: off, sqlite, sqlite:PATH, postgresql://... or mongodb://...",
            .text =
                "Default: sqlite with the private Redis, which is the file history.sqlite in data; off\n"
                "with your own Redis. sqlite:PATH needs a Redis on this host, because all duepost\n"
                "processes must use the same file. postgresql://[user[:password]@]host[:port]/database\n"
                "takes libpq's parameters, such as ?sslmode=verify-full&sslrootcert=FILE&passfile=FILE.\n"
                "mongodb://[user[:password]@]host[:port]/database, or mongodb+srv://, takes MongoDB's, such\n"
                "as ?tls=true&tlsCAFile=FILE&replicaSet=NAME, if duepost was built with libmongoc. A\n"
                "password may be in a passfile, in this file or in DUEPOST_HISTORY, but not in the flag,\n"
                "which every user of the host can read. docs/history.md describes the tables. Deliveries\n"
                "never wait for this database.",
            .is_shared = true,
        },
    [OPTION_HISTORY_BODIES] =
        {
            .name = "history-bodies",
            .placeholder = "WHICH",
            .kind = OPTION_KIND_HISTORY_BODIES,
            .fallback = "on",
            .help = "jobs whose bodies the history keeps: on (all), errors or off (none)",
            .text = "errors: only bodies of jobs that were not delivered. A job without its body cannot be\n"
                    "run again.",
            .is_shared = true,
        },
    [OPTION_HISTORY_MAX_AGE] =
        {
            .name = "history-max-age",
            .placeholder = "DURATION",
            .kind = OPTION_KIND_DURATION,
            .offset = MEMBER(history_max_age_ms),
            .min = 60000,
            .max = 3650 * DAY_MS,
            .fallback = "7d",
            .help = "how long the history keeps jobs after their end",
            .is_shared = true,
        },
    [OPTION_HISTORY_MAX_BYTES] =
        {
            .name = "history-max-bytes",
            .placeholder = "SIZE",
            .kind = OPTION_KIND_SIZE,
            .offset = MEMBER(history_max_bytes),
            .min = INT64_C(1) << 20,
            .max = INT64_C(1) << 50,
            .fallback = "1GiB",
            .help = "maximum size of the history; above it, the oldest jobs are removed from it",
            .text = "With SQLite, the size is that of the file's used pages. With PostgreSQL, it is an\n"
                    "estimate from the sizes of the rows. With MongoDB, it is that of the documents,\n"
                    "uncompressed and without indexes.",
            .is_shared = true,
        },
    [OPTION_HISTORY_BACKLOG] =
        {
            .name = "history-backlog",
            .placeholder = "SIZE",
            .kind = OPTION_KIND_SIZE,
            .offset = MEMBER(history_backlog_bytes),
            .min = 65536,
            .max = INT64_C(1) << 40,
            .fallback = "256MiB",
            .help = "maximum memory in Redis for ended jobs that are not in the history yet",
            .text =
                "Ended jobs wait in Redis while the database is unavailable. Above this size, the oldest\n"
                "ended jobs are dropped and counted, so the history does not get them. With a Cluster,\n"
                "each shard gets an equal part.",
            .is_shared = true,
        },
    [OPTION_OUTBOX] =
        {
            .name = "outbox",
            .placeholder = "URL",
            .kind = OPTION_KIND_OUTBOX,
            .help = "database whose outbox this process sends as jobs: off or postgresql://...",
            .text =
                "An application inserts rows into the table duepost_outbox in its own transactions, and "
                "each\n"
                "row that is committed becomes a job (docs/outbox.md). duepost outbox --install creates the\n"
                "tables. The url is like that of history; the password may be in a passfile, in this file\n"
                "or in DUEPOST_OUTBOX, but not in the flag. One of all processes with the same database\n"
                "does the work, and the others wait for its end. Deliveries and jobs that come over the API\n"
                "never wait for this database.",
            .fallback = "off",
        },
    [OPTION_REACTORS] =
        {
            .name = "reactors",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(reactors),
            .min = 1,
            .max = 64,
            .help = "number of threads that serve clients and deliver jobs",
            .text = "Default: the number of cores that duepost may use, minus one for Redis; at least 1, at\n"
                    "most 4.",
        },
    [OPTION_MAX_IN_FLIGHT] =
        {
            .name = "max-in-flight",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(max_in_flight),
            .min = 0,
            .max = 65536,
            .fallback = "1024",
            .help = "maximum number of concurrent attempts of this process",
            .text = "With 0, the process answers requests and begins no attempt, such as for an export.",
            .may_reload = true,
        },
    [OPTION_MAX_IN_FLIGHT_TOPIC] =
        {
            .name = "max-in-flight-topic",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(max_in_flight_topic),
            .min = 1,
            .max = 65536,
            .fallback = "256",
            .help = "maximum number of concurrent attempts per topic",
            .text = "With this limit, a topic whose receiver does not answer cannot use up all attempts of\n"
                    "the process.",
            .may_reload = true,
            .is_shared = true,
        },
    [OPTION_MAX_BODY] =
        {
            .name = "max-body",
            .placeholder = "SIZE",
            .kind = OPTION_KIND_SIZE,
            .offset = MEMBER(max_body_bytes),
            .min = 1,
            .max = INT64_C(16) << 20,
            .fallback = "1MiB",
            .help = "maximum size of a request, or of each job in an array; larger ones get 413",
            .text = "Bytes, or with a unit: 512KiB, 1MiB. At most 16MiB.",
            .is_shared = true,
        },
    [OPTION_MAX_JOBS] =
        {
            .name = "max-jobs",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(max_jobs),
            .min = 0,
            .max = INT64_C(1000000000000),
            .fallback = "0",
            .help = "maximum number of waiting jobs; above it, new jobs get 507; 0: unlimited",
            .text = "Dead jobs do not count, see dead-max. With a Cluster, each shard gets an equal part.",
            .may_reload = true,
            .is_shared = true,
        },
    [OPTION_DEAD_MAX] =
        {
            .name = "dead-max",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(dead_max),
            .min = 0,
            .max = INT64_C(1000000000000),
            .fallback = "1000000",
            .help = "maximum number of dead jobs; above it, the oldest are removed; 0: unlimited",
            .text = "A dead job takes as much memory in Redis as a waiting job. Removed jobs are logged and\n"
                    "counted in duepost_dead_removed_by_number_total. With a Cluster, each shard gets an\n"
                    "equal part.",
            .may_reload = true,
            .is_shared = true,
        },
    [OPTION_DEAD_MAX_AGE] =
        {
            .name = "dead-max-age",
            .placeholder = "DURATION",
            .kind = OPTION_KIND_DURATION,
            .offset = MEMBER(dead_max_age_ms),
            .min = 1000,
            .max = 3650 * DAY_MS,
            .fallback = "30d",
            .help = "how long dead jobs are kept",
            .text =
                "From 1s to 3650d. A topic's retention may be shorter. Jobs removed by age are logged and\n"
                "counted in duepost_dead_removed_by_age_total.",
            .may_reload = true,
            .is_shared = true,
        },
    [OPTION_MAX_CONNECTIONS] =
        {
            .name = "max-connections",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(max_connections),
            .min = 1,
            .max = 1000000,
            .fallback = "4096",
            .help = "maximum number of client connections; above it, requests get 503",
            .text = "At the limit, a new connection replaces an idle one. When no connection is idle, each\n"
                    "reactor accepts 16 extra connections for one request each: /healthz, /readyz and\n"
                    "/metrics are answered, other requests get 503. A further extra connection replaces the\n"
                    "oldest of these 16.",
        },
    [OPTION_MAX_CONNECTIONS_PER_ADDRESS] =
        {
            .name = "max-connections-per-address",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(max_connections_per_address),
            .min = 0,
            .max = 1000000,
            .help = "maximum number of connections from one address; 0: unlimited",
            .text = "Default: a quarter of max-connections, and no limit for loopback addresses, because a\n"
                    "proxy may run on this host. A number set here also applies to loopback addresses. The\n"
                    "addresses of an IPv6 /64 count as one. Connections above this limit are treated like\n"
                    "those above max-connections.",
        },
    [OPTION_MAX_WAITING] =
        {
            .name = "max-waiting",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(max_waiting),
            .min = 1,
            .max = 1000000,
            .fallback = "4096",
            .help = "maximum number of requests that wait for Redis; above it, requests get 503",
            .text = "Each reactor gets an equal part.",
        },
    [OPTION_MAX_WAITING_LEASES] =
        {
            .name = "max-waiting-leases",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(max_waiting_leases),
            .min = 1,
            .max = 1000000,
            .fallback = "10000",
            .help = "maximum number of requests that wait for jobs or their ends; further ones get 503",
            .text = "A connection on which a worker has waited counts for max-connections, but not for\n"
                    "max-connections-per-address, because many workers may have one address.",
        },
    [OPTION_MAX_BODIES] =
        {
            .name = "max-bodies",
            .placeholder = "SIZE",
            .kind = OPTION_KIND_SIZE,
            .offset = MEMBER(max_bodies_bytes),
            .min = 1,
            .max = INT64_C(1) << 40,
            .fallback = "256MiB",
            .help = "maximum memory for bodies of current requests and answers; above it, requests get 503",
            .text =
                "Bodies of up to 16KiB each do not count and are always accepted. An answer that confirms\n"
                "a change is always sent, whatever its size. Attempts may hold as much again: a process\n"
                "claims no further jobs while the bodies of its attempts exceed this.",
        },
    [OPTION_HEADER_TIMEOUT] =
        {
            .name = "header-timeout",
            .placeholder = "DURATION",
            .kind = OPTION_KIND_DURATION,
            .offset = MEMBER(header_timeout_ms),
            .min = 100,
            .max = DAY_MS,
            .fallback = "10s",
            .help = "time limit for a client to send the header section of a request",
            .text = "The time begins at the start of the connection, and for a later request at its request\n"
                    "line. A client that exceeds the limit is disconnected, even if it keeps sending bytes.",
        },
    [OPTION_BODY_TIMEOUT] =
        {
            .name = "body-timeout",
            .placeholder = "DURATION",
            .kind = OPTION_KIND_DURATION,
            .offset = MEMBER(body_timeout_ms),
            .min = 100,
            .max = DAY_MS,
            .fallback = "30s",
            .help = "time limit for a client to send the body of a request",
        },
    [OPTION_ANSWER_TIMEOUT] =
        {
            .name = "answer-timeout",
            .placeholder = "DURATION",
            .kind = OPTION_KIND_DURATION,
            .offset = MEMBER(answer_timeout_ms),
            .min = 100,
            .max = DAY_MS,
            .fallback = "30s",
            .help = "time limit for a client to read an answer",
        },
    [OPTION_IDEMPOTENCY_WINDOW] =
        {
            .name = "idempotency-window",
            .placeholder = "DURATION",
            .kind = OPTION_KIND_DURATION,
            .offset = MEMBER(idempotency_window_ms),
            .min = 1000,
            .max = 30 * DAY_MS,
            .fallback = "24h",
            .help = "how long the answer to an Idempotency-Key is kept",
            .text = "From 1s to 30d. During this time, a repeated request with the same key gets the first\n"
                    "answer again.",
            .is_shared = true,
        },
    [OPTION_RETRY_SCHEDULE] =
        {
            .name = "retry-schedule",
            .placeholder = "WAITS",
            .kind = OPTION_KIND_SCHEDULE,
            .fallback = "15s 3m 10m 30m 30m 1h 2h 6h 15h",
            .help = "waits between the attempts of a job without its own schedule",
            .text = "At most 100 durations (500ms 15s 3m 1h 2d, or seconds), separated by spaces or commas.\n"
                    "Each wait begins at the end of the failed attempt. Empty: one attempt, no retries.",
            .may_reload = true,
            .is_shared = true,
        },
    [OPTION_DASHBOARD] =
        {
            .name = "dashboard",
            .placeholder = "on|off",
            .kind = OPTION_KIND_ON_OFF,
            .offset = MEMBER(has_dashboard),
            .fallback = "on",
            .help = "the dashboard, a page at / for people",
            .text =
                "The page uses the API, so it shows and does only what the user's token allows. It loads\n"
                "nothing from other servers. The value off also switches off /docs and /openapi.yaml.",
        },
    [OPTION_QSTASH] =
        {
            .name = "qstash",
            .placeholder = "on|off",
            .kind = OPTION_KIND_ON_OFF,
            .offset = MEMBER(has_qstash),
            .fallback = "off",
            .help = "the API of QStash v2, at /v2, for clients of QStash",
            .text =
                "Messages are jobs of the topics qstash~messages, qstash~queue.NAME and so on; a client's\n"
                "token needs its scopes for the topic qstash. docs/qstash.md says what differs from\n"
                "QStash.",
            .is_shared = true,
        },
    [OPTION_QSTASH_DEV] =
        {
            .name = "qstash-dev",
            .placeholder = "on|off",
            .kind = OPTION_KIND_ON_OFF,
            .offset = MEMBER(is_qstash_dev),
            .fallback = "off",
            .help = "the development mode of QStash's clients; never in production",
            .text =
                "Clients with devMode or QSTASH_DEV=true look for a server at 127.0.0.1:8080, or at the\n"
                "port in QSTASH_DEV_PORT. With this option they can use a duepost that listens there:\n"
                "duepost signs with the two keys that the clients contain. These keys are public: anyone\n"
                "can sign with them. This option needs the option qstash and a loopback address in\n"
                "listen. It cannot be combined with tokens, because these clients have a public token.",
        },
    [OPTION_BREAKER] =
        {
            .name = "breaker",
            .placeholder = "on|off",
            .kind = OPTION_KIND_ON_OFF,
            .offset = MEMBER(is_breaker_on),
            .fallback = "on",
            .help = "circuit breakers: hold jobs of failing receivers, and send fewer jobs to busy ones",
            .text =
                "After 20 failures in a row, jobs are held without an attempt until a probe succeeds.\n"
                "Failures are counted for a host and port that cannot be reached (connect, tls), and for\n"
                "a path that answers 502, 503 or 504, or not at all (timeout, reset). A timeout does not\n"
                "count if the job's own timeout is less than a second. 429, 502 and 504 halve the maximum\n"
                "number of attempts in flight to a host and port; each 2xx adds one. A topic's setting\n"
                "breaker overrides this option.",
            .may_reload = true,
            .is_shared = true,
        },
    [OPTION_BREAKER_WAIT] =
        {
            .name = "breaker-wait",
            .placeholder = "DURATION",
            .kind = OPTION_KIND_DURATION,
            .offset = MEMBER(breaker_wait_ms),
            .min = 100,
            .max = INT64_C(600000),
            .fallback = "30s",
            .help = "how long jobs of a failing receiver are held before one is sent as a probe",
            .text = "From 100ms to 10m. The wait doubles with each failed probe, up to 10m.",
            .is_shared = true,
        },
    [OPTION_ALLOW_TARGET] =
        {
            .name = "allow-target",
            .placeholder = "LIST",
            .kind = OPTION_KIND_TARGETS,
            .fallback = "",
            .help = "CIDR blocks and hosts to which jobs may be sent, in addition to public addresses",
            .text =
                "Separated by commas: 10.1.0.0/16,::1,hooks.internal,*.svc.cluster.local. A host name\n"
                "allows all addresses that it resolves to; *.NAME allows every name below NAME.\n"
                "0.0.0.0/0,::/0 allows all addresses, including private ones. If the option is repeated,\n"
                "all its lists apply. duepost's own port and its Redis are always refused.",
            .may_reload = true,
            .is_shared = true,
        },
    [OPTION_EGRESS_PROXY] =
        {
            .name = "egress-proxy",
            .placeholder = "URL",
            .kind = OPTION_KIND_PROXY,
            .offset = MEMBER(egress_proxy),
            .help = "HTTP proxy for all deliveries",
            .text =
                "http://[user:password@]host:port. Deliveries to https urls use a tunnel (CONNECT).\n"
                "duepost then connects to the proxy only and resolves no names of receivers, so the proxy\n"
                "must refuse names that resolve to forbidden addresses. duepost still checks localhost\n"
                "and IP addresses in urls, as without a proxy. A password may be set in this file and in\n"
                "DUEPOST_EGRESS_PROXY, but not in the flag. http_proxy and similar variables have no\n"
                "effect.",
        },
    [OPTION_PLAIN_HTTP] =
        {
            .name = "plain-http",
            .placeholder = "CLIENT",
            .kind = OPTION_KIND_PLAIN_HTTP,
            .fallback = "own",
            .help = "HTTP client that sends deliveries: own or libcurl",
            .text =
                "own: libcurl connects, encrypts and checks certificates, and duepost's own HTTP/1.1\n"
                "client sends requests over the connection and keeps it alive. This takes less than half\n"
                "of libcurl's processor time for http urls, and two thirds of it for https urls. libcurl\n"
                "still sends the requests that go through a proxy, and requests to https urls that begin\n"
                "while 256 others are under way on the same reactor.",
        },
    [OPTION_RECEIVER_CA] =
        {
            .name = "receiver-ca",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(receiver_ca),
            .help = "PEM file with CA certificates that deliveries trust, in addition to those of the system",
        },
    [OPTION_SIGNING_SECRET_FILE] =
        {
            .name = "signing-secret-file",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(signing_secret_file),
            .help = "file with the keys that sign deliveries of topics without their own keys",
            .text =
                "As in Standard Webhooks: whsec_ and base64 of 24 to 64 random bytes (HMAC-SHA256), or\n"
                "whsk_ and base64 of an ed25519 seed and its public key. One key per line, at most 8.\n"
                "Every delivery is signed with all keys in the file, so that you can add a new key before\n"
                "you remove the old one. Only you should be able to read the file. SIGHUP reads it again.",
            .may_reload = true,
        },
    [OPTION_IDENTITY_KEY_FILE] =
        {
            .name = "identity-key-file",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(identity_key_file),
            .help = "file with the private keys that sign tokens for receivers (the setting auth, jwt)",
            .text =
                "Private keys in PEM without a password: Ed25519, EC P-256, or RSA of 2048 to 8192 bits.\n"
                "The first key of an algorithm signs, and GET /.well-known/jwks.json publishes all of\n"
                "them. To rotate: add the new key at the end, wait until receivers have read the keys\n"
                "again, move it to the front, and remove the old one ten minutes later. Only you should\n"
                "be able to read the file. SIGHUP reads it again.",
            .may_reload = true,
        },
    [OPTION_ENCRYPTION_KEYS] =
        {
            .name = "encryption-keys",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(encryption_keys_file),
            .help = "file with the keys that encrypt bodies, headers and secrets in Redis and the history",
            .text =
                "One key per line, at most 16: 64 hexadecimal digits, or base64 of 32 random bytes, as\n"
                "\"openssl rand -hex 32\" prints them. The first key encrypts, and all of them decrypt. To\n"
                "rotate: add the new key at the end for all processes, move it to the front, run\n"
                "\"duepost rekey\", and remove the old one a day later. Only you should be able to read\n"
                "the file. Without it the data cannot be read, so keep a copy. SIGHUP reads it again.",
            .may_reload = true,
        },
    [OPTION_ENCRYPT_LABELS] =
        {
            .name = "encrypt-labels",
            .placeholder = "on|off",
            .kind = OPTION_KIND_ON_OFF,
            .offset = MEMBER(encrypts_labels),
            .fallback = "off",
            .help = "encrypt the labels of jobs, too; lists then cannot be filtered by labels",
            .may_reload = true,
            .is_shared = true,
        },
    [OPTION_PREFIX] =
        {
            .name = "prefix",
            .placeholder = "TEXT",
            .kind = OPTION_KIND_PREFIX,
            .offset = MEMBER(prefix),
            .fallback = "duepost:",
            .help = "prefix of every key in Redis",
            .text = "At most 64 bytes without braces, spaces and control characters.",
        },
    [OPTION_LOG] =
        {
            .name = "log",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(log),
            .help = "file for the log, instead of stderr",
        },
    [OPTION_LOG_FORMAT] =
        {
            .name = "log-format",
            .placeholder = "FORMAT",
            .kind = OPTION_KIND_LOG_FORMAT,
            .fallback = "logfmt",
            .help = "logfmt or json",
        },
    [OPTION_LOG_LEVEL] =
        {
            .name = "log-level",
            .placeholder = "LEVEL",
            .kind = OPTION_KIND_LOG_LEVEL,
            .fallback = "info",
            .help = "debug, info, warning or error",
            .text = "At level info, each failed attempt and each ended job has a line; at level warning, "
                    "only\n"
                    "dead jobs have one. Audit lines are written at every level.",
            .may_reload = true,
        },
    [OPTION_OTLP_URL] =
        {
            .name = "otlp-url",
            .placeholder = "URL",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(otlp.given_url),
            .help = "sends spans to this OpenTelemetry collector; default: records no spans",
            .text = "OTLP over HTTP with JSON, such as http://127.0.0.1:4318; without a path, /v1/traces is\n"
                    "added. There is a span for each request that schedules jobs, and one for each attempt. "
                    "A\n"
                    "separate thread sends the spans in batches. While the collector is unreachable, at "
                    "most\n"
                    "4096 spans are kept; others are dropped and counted (duepost_spans_dropped_total).\n"
                    "Requests and deliveries never wait for the collector. For https, duepost trusts the "
                    "CAs\n"
                    "of this host and of receiver-ca.",
        },
    [OPTION_OTLP_HEADERS_FILE] =
        {
            .name = "otlp-headers-file",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(otlp.headers_file),
            .help = "file with headers for the collector, one 'Name: value' per line",
            .text = "Such as 'Authorization: Bearer ...'. Lines that begin with # are ignored.",
        },
    [OPTION_OTLP_ATTRIBUTES] =
        {
            .name = "otlp-attributes",
            .placeholder = "NAME=VALUE,...",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(otlp.attributes),
            .help = "attributes of this process in its spans, such as service.name=shop",
            .text = "Default: service.name=duepost, service.version, service.instance.id, host.name and\n"
                    "process.pid.",
        },
    [OPTION_OTLP_ONE_IN] =
        {
            .name = "otlp-one-in",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(otlp.one_in),
            .min = 1,
            .max = 1000000,
            .fallback = "1",
            .help = "records one of every N traces that begin at duepost",
            .text = "A request with a traceparent belongs to a trace that began elsewhere: its spans are\n"
                    "recorded if that trace is sampled.",
        },
    [OPTION_HEARTBEAT_URL] =
        {
            .name = "heartbeat-url",
            .placeholder = "URL",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(heartbeat_url),
            .help = "sends a GET to this url of a monitor as long as duepost works",
            .text = "A monitor such as healthchecks.io or Uptime Kuma expects these requests, and raises an\n"
                    "alarm when they stop. Give all processes the same url: one of them sends, and another "
                    "one\n"
                    "goes on when it dies. No process sends while it cannot reach Redis, or while Redis "
                    "cannot\n"
                    "confirm changes. The addresses need not be in allow-target.",
        },
    [OPTION_HEARTBEAT_EVERY] =
        {
            .name = "heartbeat-every",
            .placeholder = "DURATION",
            .kind = OPTION_KIND_DURATION,
            .offset = MEMBER(heartbeat_every_ms),
            .min = 1000,
            .max = DAY_MS,
            .fallback = "1m",
            .help = "time between two requests to heartbeat-url",
            .text = "From 1s to 1d. Let the monitor wait for longer, because a takeover takes some seconds.",
        },
    [OPTION_DRAIN_TIMEOUT] =
        {
            .name = "drain-timeout",
            .placeholder = "DURATION",
            .kind = OPTION_KIND_DURATION,
            .offset = MEMBER(drain_timeout_ms),
            .min = 0,
            .max = DAY_MS,
            .fallback = "30s",
            .help = "how long running attempts may continue after SIGTERM",
            .text = "After this time, the remaining attempts are aborted, and other processes take over "
                    "their\n"
                    "jobs.",
            .may_reload = true,
        },
    [OPTION_HELP] = {.name = "help", .kind = OPTION_KIND_SWITCH, .help = "print this and exit"},
    [OPTION_VERSION] = {.name = "version", .kind = OPTION_KIND_SWITCH, .help = "print the version and exit"},
    [OPTION_PRINT_CONFIG] = {.name = "print-config",
                             .kind = OPTION_KIND_SWITCH,
                             .help = "print each option's value and where it comes from, and exit"},
    /* This option is for developers who change this table. Its output is config/duepost.conf. */
    [OPTION_PRINT_REFERENCE] = {.name = "print-reference", .kind = OPTION_KIND_SWITCH},
    [OPTION_PRINT_MAN] = {.name = "print-man", .kind = OPTION_KIND_SWITCH},
};

enum option_id option_find(struct slice name)
{
    enum option_id id = 0;
    while (id < OPTION_COUNT && !slice_equal(name, slice_of(option_table[id].name)))
        id++;
    return id;
}

void option_variable(const struct option *option, char variable[OPTION_VARIABLE_MAX])
{
    int size = snprintf(variable, OPTION_VARIABLE_MAX, "DUEPOST_%s", option->name);
    for (int i = 0; i < size; i++)
        variable[i] = variable[i] == '-' ? '_' : (char)toupper((unsigned char)variable[i]);
}

void options_compare(const struct options *live, const struct options *fresh, struct buffer *changed,
                     struct buffer *fixed)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        const char *a = live->settings[id].text;
        const char *b = fresh->settings[id].text;
        if (a && b ? strcmp(a, b) == 0 : a == b)
            continue;
        struct buffer *names = option_table[id].may_reload ? changed : fixed;
        buffer_printf(names, "%s%s", names->size ? " " : "", option_table[id].name);
    }
}
