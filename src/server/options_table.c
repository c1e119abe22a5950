#include "server/options_table.h"

#include <ctype.h>

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
            .text = "An IPv6 address stands in brackets: [::1]:7700. Port 0 picks a free one; the line\n"
                    "\"duepost listening on ...\" on stdout tells which. What is no loopback address needs\n"
                    "tokens.",
        },
    [OPTION_TOKENS] =
        {
            .name = "tokens",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(tokens_file),
            .help = "file that says who may do what; without it duepost listens on loopback only",
            .text =
                "A line each: NAME sha256:DIGEST scopes=schedule,read,cancel,admin, and to bound it\n"
                "further topics=orders-*,mail and rate=1000/s (or /m, /h; with each duepost process). A\n"
                "line that begins with # is a comment. \"duepost token new NAME scopes=...\" prints a new\n"
                "token and its line: the file holds digests, and no token. A request sends its token as\n"
                "\"Authorization: Bearer TOKEN\". SIGHUP reads the file again, also when other options are\n"
                "wrong; when the file itself is wrong then, what was read before stays, and when no token\n"
                "is left in it, nobody gets in.",
            .may_reload = true,
        },
    [OPTION_HOSTS] =
        {
            .name = "hosts",
            .placeholder = "LIST",
            .kind = OPTION_KIND_HOSTS,
            .offset = MEMBER(hosts),
            .help = "names by which this host may be asked where there are no tokens",
            .text =
                "Separated by commas, without ports, and beside localhost, loopback addresses and that of\n"
                "listen. A request without tokens that comes by another name in its header Host is\n"
                "refused, and so is what another site's web page sends: else any page that somebody on\n"
                "this host looks at could use duepost. A proxy in front may send a name of its own: for\n"
                "nginx that of its upstream. Probes of /healthz and /readyz may come by any name.",
            .may_reload = true,
        },
    [OPTION_TLS_CERT] =
        {
            .name = "tls-cert",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(tls_cert),
            .help = "PEM file with a certificate and its chain: the API speaks TLS 1.2 and 1.3",
            .text =
                "Together with tls-key. SIGHUP reads both again, and connections that begin from then on\n"
                "see the new certificate; when they cannot be used, the old one stays. With TLS there is\n"
                "no plain HTTP. To switch it on or off takes a restart.",
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
            .help = "where /healthz, /readyz and /metrics are answered, too, and nothing else",
            .text =
                "For probes that shall not share a port with clients. It answers until the end, also while\n"
                "duepost stops; /readyz is 503 then. TLS and tokens are those of the API, so that beyond\n"
                "loopback it takes tokens, too, which /metrics asks for and the other two don't.",
        },
    [OPTION_SHARE_PORT] =
        {
            .name = "share-port",
            .placeholder = "on|off",
            .kind = OPTION_KIND_ON_OFF,
            .offset = MEMBER(shares_port),
            .fallback = "off",
            .help = "listen although another duepost of the same user listens on that port",
            .text =
                "For a restart without a gap, with a Redis of yours: start the new duepost with it, and "
                "stop\n"
                "the old one when the new one is ready. On SIGTERM, a duepost whose port another process\n"
                "shares goes on accepting while its attempts drain; else it refuses connections at once.\n"
                "Where the kernel has net.ipv4.tcp_migrate_req = 1, not even a connection that comes at the\n"
                "moment in which the old one closes its socket is reset.",
        },
    [OPTION_REDIS] =
        {
            .name = "redis",
            .placeholder = "ADDRESS",
            .kind = OPTION_KIND_REDIS,
            .help = "the Redis that keeps the jobs; without it duepost runs a private one",
            .text =
                "redis://[user[:password]@]host[:port][/db], unix:PATH, or where Sentinels know the "
                "primary:\n"
                "sentinel://host[:port],.../service, or some nodes of a Cluster:\n"
                "cluster://[user[:password]@]host[:port],... Redis 7.0 or newer, with\n"
                "maxmemory-policy noeviction; docs/operations.md lists the rights of a Redis user. A\n"
                "password may stand here and in DUEPOST_REDIS, but not in the flag, which everybody on the\n"
                "host can read.",
        },
    [OPTION_REDIS_PASSWORD_FILE] =
        {
            .name = "redis-password-file",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(redis_password_file),
            .help = "file with the password of --redis on its only line",
        },
    [OPTION_SHARDS] =
        {
            .name = "shards",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(shards),
            .min = 1,
            .max = STORE_SHARDS_MAX,
            .help = "into how many parts the jobs are split that a Redis Cluster keeps",
            .text =
                "Default: 16 with a Cluster; else 1, and nothing but 1. A topic lives whole in one shard,\n"
                "and a shard in one slot of the Cluster. The number is written at the first start and\n"
                "stays: a duepost that is set up with another one refuses to start. Each shard takes five\n"
                "connections a reactor.",
        },
    [OPTION_DATA] =
        {
            .name = "data",
            .placeholder = "DIR",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(data_dir),
            .help = "directory of the private Redis",
            .text = "Made with mode 0700; nobody else may own it or read it. One duepost at a time uses it.\n"
                    "Default: $STATE_DIRECTORY, else $XDG_STATE_HOME/duepost, else ~/.local/state/duepost.",
        },
    [OPTION_CONFIG] =
        {
            .name = "config",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(config),
            .help = "configuration file; default " OPTIONS_CONFIG_FILE " if it is there",
        },
    [OPTION_DURABILITY] =
        {
            .name = "durability",
            .placeholder = "CLASS",
            .kind = OPTION_KIND_DURABILITY,
            .fallback = "auto",
            .help = "what a confirmed change survives: memory, fsync, replicated:N or auto",
            .text =
                "memory: a crash of duepost, but not of Redis. fsync: a power cut, too, because Redis has\n"
                "written it to disk (append-only file, fsync always) before it is confirmed. replicated:N:\n"
                "the loss of the primary, because N replicas have it (WAIT); fsync+replicated:N: both. "
                "auto:\n"
                "fsync with the private Redis, and what it gives with another one; a warning at start says "
                "if\n"
                "that is memory. Where Redis does not keep the class that is set, duepost answers 503 and "
                "says\n"
                "why.",
        },
    [OPTION_REACTORS] =
        {
            .name = "reactors",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(reactors),
            .min = 1,
            .max = 64,
            .help = "threads that serve and deliver",
            .text = "Default: one for each core that duepost may use but one, which is Redis's; 1 to 4.",
        },
    [OPTION_MAX_IN_FLIGHT] =
        {
            .name = "max-in-flight",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(max_in_flight),
            .min = 1,
            .max = 65536,
            .fallback = "1024",
            .help = "most attempts that this process runs at once",
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
            .help = "most attempts of one topic at once",
            .text = "A topic whose receiver hangs leaves the other attempts to the other topics.",
            .may_reload = true,
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
            .help = "longest request that is taken, or job of many; beyond: 413",
            .text = "Bytes, or with a unit: 512KiB, 1MiB. At most 16MiB.",
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
            .help = "most jobs that may wait; beyond: 507; 0 is no bound",
            .text = "Dead jobs do not count, see dead-max. With a Cluster each shard has its part of that.",
            .may_reload = true,
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
            .help = "most dead jobs that are kept; beyond, the oldest are removed; 0 is no bound",
            .text = "Each takes as much of Redis's memory as a waiting job. What is removed is logged and "
                    "counted in\n"
                    "duepost_dead_removed_by_number_total. With a Cluster each shard has its part of that.",
            .may_reload = true,
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
            .text = "From 1s to 3650d. A topic's retention may be shorter. What is removed by age is logged "
                    "and counted in\n"
                    "duepost_dead_removed_by_age_total.",
            .may_reload = true,
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
            .help = "most connections of clients at once; beyond: 503",
            .text =
                "For one more an idle one is closed. When none is idle, 16 more for each reactor are taken, "
                "for\n"
                "one request each: /healthz, /readyz and /metrics are answered, all else is 503, and the\n"
                "newest takes the place of the oldest.",
        },
    [OPTION_MAX_CONNECTIONS_PER_ADDRESS] =
        {
            .name = "max-connections-per-address",
            .placeholder = "N",
            .kind = OPTION_KIND_NUMBER,
            .offset = MEMBER(max_connections_per_address),
            .min = 0,
            .max = 1000000,
            .help = "most of them from one address; 0 is no bound",
            .text =
                "Default: a quarter of max-connections, but no bound for this host itself, where a proxy in\n"
                "front may run. A number that is set here counts for all. The addresses of an IPv6 /64 are "
                "one.\n"
                "Beyond it connections are treated as those beyond max-connections.",
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
            .help = "most requests that wait for Redis at once; beyond: 503",
            .text = "Each reactor has its part of that.",
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
            .help = "memory for bodies of requests and answers under way; beyond: 503",
            .text = "Bodies of up to 16KiB do not count, and are taken whatever others hold. What confirms a "
                    "change\n"
                    "is answered in any case.",
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
            .help = "how long a client may take for the header section of a request",
            .text = "From the connection on, or from the request line. Who is late is cut off, however busy "
                    "it is.",
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
            .help = "how long a client may take for the body of a request",
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
            .help = "how long a client may take to read an answer",
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
            .text = "From 1s to 30d. The same request within it is answered the same again.",
        },
    [OPTION_RETRY_SCHEDULE] =
        {
            .name = "retry-schedule",
            .placeholder = "WAITS",
            .kind = OPTION_KIND_SCHEDULE,
            .fallback = "15s 3m 10m 30m 30m 1h 2h 6h 15h",
            .help = "waits between the attempts of a job that has none of its own",
            .text =
                "At most 100 durations (500ms 15s 3m 1h 2d, or seconds) with spaces or commas between them,\n"
                "each counted from the end of the failed attempt. Nothing: one attempt, no retries.",
            .may_reload = true,
        },
    [OPTION_BREAKER] =
        {
            .name = "breaker",
            .placeholder = "on|off",
            .kind = OPTION_KIND_ON_OFF,
            .offset = MEMBER(is_breaker_on),
            .fallback = "on",
            .help = "hold the jobs of receivers that fail, and send fewer where they ask for it",
            .text =
                "After 20 failures in a row, jobs are held, without an attempt, until one attempt has found\n"
                "that their receiver is back: those of a host and port that cannot be reached (connect,\n"
                "tls), and those of a path that answers 502, 503, 504 or not at all (timeout, reset). A\n"
                "timeout of less than a second counts for nothing. 429, 502 and 504 halve the number of\n"
                "attempts in flight at a host and port, each 2xx adds one. A topic's setting breaker comes\n"
                "before this one.",
            .may_reload = true,
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
            .help = "how long a receiver's jobs are held before one attempt tries it",
            .text = "From 100ms to 10m; it doubles with each such attempt that fails, to 10m.",
        },
    [OPTION_ALLOW_TARGET] =
        {
            .name = "allow-target",
            .placeholder = "LIST",
            .kind = OPTION_KIND_TARGETS,
            .fallback = "",
            .help = "CIDR blocks and hosts that jobs may lead to beside public addresses",
            .text = "Separated by commas: 10.1.0.0/16,::1,hooks.internal,*.svc.cluster.local. A host name "
                    "allows\n"
                    "whatever it resolves to, *.NAME every name below NAME. To allow all addresses, private "
                    "ones\n"
                    "too, write 0.0.0.0/0,::/0. May be given more than once; the lists add up. duepost's own "
                    "port\n"
                    "and its Redis stay refused.",
            .may_reload = true,
        },
    [OPTION_EGRESS_PROXY] =
        {
            .name = "egress-proxy",
            .placeholder = "URL",
            .kind = OPTION_KIND_PROXY,
            .offset = MEMBER(egress_proxy),
            .help = "HTTP proxy through which all deliveries go",
            .text =
                "http://[user:password@]host:port. https urls go through a tunnel (CONNECT). duepost then\n"
                "connects to the proxy only, and resolves no receiver's name: where names lead is for the\n"
                "proxy to check. Addresses spelt out in urls, and localhost, are judged by duepost as\n"
                "without a proxy. A password may stand here and in DUEPOST_EGRESS_PROXY, but not in the\n"
                "flag. http_proxy and its like in the environment do nothing.",
        },
    [OPTION_RECEIVER_CA] =
        {
            .name = "receiver-ca",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(receiver_ca),
            .help = "PEM file with certificates to trust beside the system's",
        },
    [OPTION_SIGNING_SECRET_FILE] =
        {
            .name = "signing-secret-file",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(signing_secret_file),
            .help = "file with the keys that sign the deliveries of topics without keys of their own",
            .text =
                "As Standard Webhooks says: whsec_ and base64 of 24 to 64 random bytes (HMAC-SHA256), or\n"
                "whsk_ and base64 of an ed25519 seed and its public key. One a line, at most 8; all of\n"
                "them sign, so that a new one can be added before the old one goes. Only you should be\n"
                "able to read the file. It is read again on SIGHUP.",
            .may_reload = true,
        },
    [OPTION_PREFIX] =
        {
            .name = "prefix",
            .placeholder = "TEXT",
            .kind = OPTION_KIND_PREFIX,
            .offset = MEMBER(prefix),
            .fallback = "duepost:",
            .help = "what the name of every key in Redis begins with",
            .text = "At most 64 bytes without braces, spaces and control bytes.",
        },
    [OPTION_LOG] =
        {
            .name = "log",
            .placeholder = "FILE",
            .kind = OPTION_KIND_TEXT,
            .offset = MEMBER(log),
            .help = "where the log goes instead of stderr",
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
            .text =
                "At info each attempt that fails and each job that ends has a line; at warning only dead\n"
                "jobs have. Audit lines are written at any level.",
            .may_reload = true,
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
            .help = "how long running attempts may go on after SIGTERM",
            .text = "What still runs then is cut and left to others.",
            .may_reload = true,
        },
    [OPTION_HELP] = {.name = "help", .kind = OPTION_KIND_SWITCH, .help = "print this and exit"},
    [OPTION_VERSION] = {.name = "version", .kind = OPTION_KIND_SWITCH, .help = "print the version and exit"},
    [OPTION_PRINT_CONFIG] = {.name = "print-config",
                             .kind = OPTION_KIND_SWITCH,
                             .help = "print each option's value and where it comes from, and exit"},
    /* For whoever changes this table: config/duepost.conf is its output. */
    [OPTION_PRINT_REFERENCE] = {.name = "print-reference", .kind = OPTION_KIND_SWITCH},
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

static bool is_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

void options_compare(const struct options *live, const struct options *fresh, struct buffer *changed,
                     struct buffer *fixed)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        if (is_equal(live->settings[id].text, fresh->settings[id].text))
            continue;
        struct buffer *names = option_table[id].may_reload ? changed : fixed;
        buffer_printf(names, "%s%s", names->size ? " " : "", option_table[id].name);
    }
}
