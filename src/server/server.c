#include "server/server.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "app/job_counts.h"
#include "app/lease.h"
#include "app/live.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "io/http/client.h"
#include "io/http/server.h"
#include "server/options/options.h"
#include "server/redis/redis_private.h"
#include "server/server_private.h"
#include "tracing/exporter.h"
#include "store/clock.h"

#define PREFLIGHT_US INT64_C(2000000) /* maximum wait for Redis; then the server starts without it */
#define CUT_US       INT64_C(3000000) /* time to record the outcomes of aborted attempts */

struct server {
    struct options *options; /* the options in use */
    struct reload *reload;
    struct loop *loop;
    struct listeners *listeners;
    struct redis_address redis; /* address of Redis */
    char *redis_text;           /* address of Redis as configured */
    struct redis_addresses *redis_addresses;
    char *prefix;
    struct embedded_redis *embedded;
    struct store_options store;
    struct store *preflight; /* checks whether Redis can be used, before the server serves clients */
    struct metrics_board *board;
    struct job_counts_board *counts;
    struct live_board *live;
    struct lease_board *lease_board;
    struct history_thread *history; /* NULL: no history */
    struct outbox *outbox;          /* relay of the outbox; NULL: no outbox */
    struct exporter *exporter;      /* exporter of spans; NULL: no spans are recorded */
    struct reactor **reactors;
    size_t reactor_count, ready_count, opened_count, drained_count;
    bool waits_to_listen; /* no reactor listens until all reactors are ready */
    atomic_size_t
        awaited; /* number of reactors that have not been ready yet; each reactor reads and changes it */
    bool is_listening_told;
    struct watch *signals;
    int signal_fd;
    struct timer *timer; /* timer of the current step: preflight, reactors' connections, drain, abort */
    bool is_stopping, is_cut;
    int exit_code;
};

static void server_fail(struct server *server, const char *what, const char *why)
{
    log_error(what, LOG_TEXT("why", why));
    server->exit_code = EXIT_FAILURE;
}

/* ---- the end: drain, cut, reactors, Redis ---- */

static void on_redis_stopped(void *arg, enum status status, const char *why)
{
    struct server *server = arg;
    if (status != STATUS_OK)
        log_warning("redis_not_stopped_cleanly", LOG_TEXT("why", why));
    loop_stop(server->loop);
}

static void stop_all(struct server *server)
{
    timer_stop(server->timer);
    store_free(server->preflight);
    server->preflight = NULL;
    for (size_t i = 0; i < server->reactor_count; i++)
        reactor_stop(server->reactors[i]);
    server->reactor_count = 0;
    outbox_stop(server->outbox);
    server->outbox = NULL;
    history_thread_stop(server->history);
    server->history = NULL;
    exporter_stop(server->exporter);
    server->exporter = NULL;
    if (server->embedded)
        embedded_redis_stop(server->embedded, on_redis_stopped, server);
    else
        loop_stop(server->loop);
}

static void on_reactor_drained(void *arg)
{
    struct server *server = arg;
    if (++server->drained_count == server->reactor_count)
        stop_all(server);
}

static void on_signal(void *arg, bool readable, bool writable)
{
    struct server *server = arg;
    struct signalfd_siginfo info;
    (void)readable, (void)writable;
    if (read(server->signal_fd, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGHUP) {
        if (!server->is_stopping)
            reload_run(server->reload);
    } else if (server->is_stopping) {
        log_warning("stopped_at_once", LOG_TEXT("why", "a second signal"));
        pid_t redis = server->embedded ? embedded_redis_pid(server->embedded) : 0;
        if (redis > 0)
            kill(redis, SIGTERM);
        _exit(EXIT_FAILURE);
    } else {
        server->is_stopping = true;
        reload_use(server->reload, NULL, 0);
        if (server->reactor_count == 0) {
            stop_all(server);
            return;
        }
        outbox_end(server->outbox);
        bool has_partner = listeners_has_partner(server->listeners);
        log_info("draining", LOG_NUMBER("timeout_ms", server->options->drain_timeout_ms),
                 LOG_TEXT("new_connections",
                          has_partner ? "accepted, because another process shares the port" : "refused"));
        for (size_t i = 0; i < server->reactor_count; i++)
            reactor_drain(server->reactors[i], has_partner);
        timer_start(server->timer, server->options->drain_timeout_ms * 1000);
    }
}

/* ---- the start: signals, listener, Redis, preflight, reactors ---- */

/* Logs that the server listens. A program that waits for this line may send jobs at once. */
static void tell_listening(struct server *server)
{
    if (server->is_listening_told)
        return;
    server->is_listening_told = true;
    timer_stop(server->timer);
    printf("duepost listening on %s\n", listeners_url(server->listeners));
    fflush(stdout);
}

static void on_reactor_opened(void *arg)
{
    struct server *server = arg;
    if (++server->opened_count == server->reactor_count && !server->is_stopping)
        tell_listening(server);
}

static void open_reactors(struct server *server)
{
    server->waits_to_listen = false;
    for (size_t i = 0; i < server->reactor_count; i++)
        reactor_open(server->reactors[i]);
}

static void on_reactor_ready(void *arg)
{
    struct server *server = arg;
    if (++server->ready_count < server->reactor_count || server->is_stopping)
        return;
    if (server->waits_to_listen)
        open_reactors(server);
    else
        tell_listening(server);
}

static void start_history(struct server *server)
{
    const struct options *options = server->options;
    const struct history_options history = {
        .sqlite_path = options->history_path,
        .url = options->history_url,
        .bodies = options->history_bodies,
        .max_age_ms = options->history_max_age_ms,
        .max_bytes = options->history_max_bytes,
    };
    if (options_have_history(options))
        server->history = history_thread_start(&history);
}

static void start_exporter(struct server *server)
{
    const struct otlp_options *otlp = &server->options->otlp;
    const struct exporter_options exporter = {
        .url = otlp->url,
        .ca_file = server->options->receiver_ca,
        .resource = buffer_slice(&otlp->resource),
        .headers = otlp->headers,
        .header_count = otlp->header_count,
        .one_in = otlp->one_in,
    };
    if (otlp->url)
        server->exporter = exporter_start(&exporter);
}

static void start_reactors(struct server *server, bool is_redis_ready)
{
    const struct options *options = server->options;
    size_t count = (size_t)options->reactors;
    server->waits_to_listen = options->shares_port && is_redis_ready;
    if (options->outbox_url)
        server->outbox = outbox_new(options->outbox_url, metrics_relay(server->board));
    start_history(server);
    start_exporter(server);
    server->reactors = NEW_ARRAY(struct reactor *, count);
    atomic_init(&server->awaited, count);
    for (size_t i = 0; i < count; i++) {
        struct reactor_options reactor = {
            .options = options,
            .store = &server->store,
            .listen_fd = listeners_take(server->listeners, i),
            .health_fd = listeners_take_health(server->listeners, i),
            .inner_fd = i == 0 ? outbox_take_socket(server->outbox) : -1,
            .inner_token = outbox_token(server->outbox),
            .waits_to_listen = server->waits_to_listen,
            .limits = listeners_limits(server->listeners),
            .board = server->board,
            .counts = server->counts,
            .live = server->live,
            .lease_board = server->lease_board,
            .history = server->history,
            .tracer = exporter_tracer(server->exporter),
            .index = i,
            .count = count,
            .is_alone = server->embedded != NULL,
            .awaited = &server->awaited,
            .owner = server->loop,
            .on_ready = on_reactor_ready,
            .on_opened = on_reactor_opened,
            .on_drained = on_reactor_drained,
            .arg = server,
        };
        server->reactors[server->reactor_count++] = reactor_start(&reactor);
    }
    outbox_start(server->outbox);
    reload_use(server->reload, server->reactors, server->reactor_count);
}

static void end_preflight(void *arg)
{
    struct server *server = arg;
    struct problem why;
    timer_stop(server->timer);
    if (server->is_stopping || !server->preflight)
        return;
    if (store_is_refused(server->preflight, &why)) {
        server_fail(server, "redis_refused", why.text);
        stop_all(server);
        return;
    }
    bool is_ready = store_is_ready(server->preflight, &why);
    store_free(server->preflight);
    server->preflight = NULL;
    start_reactors(server, is_ready);
    if (is_ready) {
        timer_start(server->timer, PREFLIGHT_US);
        return;
    }
    log_warning("not_ready", LOG_TEXT("why", why.text));
    tell_listening(server);
}

static void server_on_timer(void *arg)
{
    struct server *server = arg;
    if (server->is_stopping && server->is_cut) {
        stop_all(server);
    } else if (server->is_stopping) {
        log_warning("drain_timeout",
                    LOG_TEXT("then", "attempts that still run are aborted and their leases released"));
        server->is_cut = true;
        for (size_t i = 0; i < server->reactor_count; i++)
            reactor_cut(server->reactors[i]);
        timer_start(server->timer, CUT_US);
    } else if (server->preflight) {
        end_preflight(server);
    } else if (server->waits_to_listen) {
        open_reactors(server);
    } else {
        tell_listening(server);
    }
}

/* Ends the preflight, the check of Redis before the server serves clients, when Redis can be used or is
 * refused. In other states, such as the first layout of many shards, the preflight continues until its timer
 * fires. The store must not be freed within its callback, so a later turn frees it. */
static void on_preflight_change(void *arg)
{
    struct server *server = arg;
    struct problem why;
    if (server->preflight &&
        (store_is_ready(server->preflight, &why) || store_is_refused(server->preflight, &why)))
        loop_post(server->loop, end_preflight, server);
}

static void begin_preflight(struct server *server)
{
    server->preflight = store_new(server->loop, &server->store);
    store_on_change(server->preflight, on_preflight_change, server);
    timer_start(server->timer, PREFLIGHT_US);
}

/* Warns if the data directory has no files of jobs, but the history has jobs that ended: the files may have
 * been lost, or left out of a backup. */
static void warn_of_missing_jobs(const struct server *server)
{
    const struct options *options = server->options;
    const struct history_options history = {.sqlite_path = options->history_path,
                                            .url = options->history_url};
    if (options_have_history(options) && embedded_redis_is_new(server->embedded) &&
        history_has_jobs(&history))
        log_warning("jobs_files_missing", LOG_TEXT("data", options->data_dir),
                    LOG_TEXT("why", "the history has jobs, but the data directory has no files of jobs"),
                    LOG_TEXT("do", "if jobs are missing, stop duepost and restore the whole data directory"));
}

static void on_redis_started(void *arg, enum status status, const char *why)
{
    struct server *server = arg;
    if (server->is_stopping)
        return;
    if (status == STATUS_OK) {
        begin_preflight(server);
        return;
    }
    server_fail(server, "embedded_redis_failed", why);
    stop_all(server);
}

/* Completes options: called at the start and at each reload. */
static enum status prepare(void *arg, struct options *options, struct problem *problem)
{
    struct server *server = arg;
    if (listeners_check(server->listeners, options, problem) != STATUS_OK)
        return STATUS_INVALID;
    if (!options->tls != !server->options->tls) {
        problem_set(problem, "--tls-cert: switching TLS on or off needs a restart");
        return STATUS_INVALID;
    }
    listeners_refuse(server->listeners, options->targets);
    redis_addresses_refuse(server->redis_addresses, &server->redis, options->targets);
    /* At the start and at each reload: copies to the live board the options for which all processes on one
     * Redis need the same values. */
    struct buffer shared;
    buffer_init_fallible(&shared, LIVE_SETTINGS_MAX);
    shared_options_write(options, &shared);
    if (!shared.failed)
        live_board_set_settings(server->live, buffer_slice(&shared));
    buffer_fini(&shared);
    seal_use(options->encryption_keys, options->encrypts_labels);
    return STATUS_OK;
}

static void use_password(struct secret *password, struct secret *fresh)
{
    char *text = secret_copy(fresh);
    secret_replace(password, text);
    secret_free_copy(text);
}

/* Makes new connections use the fresh passwords of Redis and of the Sentinels, and the fresh certificates. If
 * the address or the user of a password or certificate has changed, keeps the old one, because such a change
 * needs a restart. */
static void use_redis_access(struct server *server, struct options *fresh)
{
    const char *address = fresh->settings[OPTION_REDIS].text;
    if (!address || strcmp(address, server->redis_text) != 0)
        return;
    use_password(server->redis.password, fresh->redis_address.password);
    if (strcmp(fresh->redis_address.sentinel_user ? fresh->redis_address.sentinel_user : "",
               server->redis.sentinel_user ? server->redis.sentinel_user : "") == 0)
        use_password(server->redis.sentinel_password, fresh->redis_address.sentinel_password);
    if (server->redis.tls && fresh->redis_tls) {
        redis_tls_replace(server->redis.tls, fresh->redis_tls);
        fresh->redis_tls = NULL;
    }
}

/* Completes options: called at each reload. */
static enum status prepare_reload(void *arg, struct options *fresh, struct problem *problem)
{
    enum status status = prepare(arg, fresh, problem);
    if (status == STATUS_OK)
        use_redis_access(arg, fresh);
    return status;
}

/* A libcurl that ends the process when it reads an answer is not used to read answers. */
static void try_libcurl(void)
{
    struct problem problem;
    enum status status = http_trial_run_client(&problem);
    if (status == STATUS_FAILED) {
        log_error("libcurl_unsafe", LOG_TEXT("detail", problem.text));
        http_client_distrust_libcurl();
    } else if (status != STATUS_OK) {
        log_warning("libcurl_not_tried", LOG_TEXT("detail", problem.text));
    }
}

static enum status open_all(struct server *server, struct problem *problem)
{
    struct options *options = server->options;
    enum status status = http_trial_run(problem);
    if (status == STATUS_OK)
        try_libcurl();
    if (status == STATUS_OK)
        status = listeners_open(options, &server->listeners, problem);
    if (status != STATUS_OK)
        return status;
    /* Moves address and passwords of Redis out of the options, because the server uses this data after the
     * options have been freed. */
    const char *text = options->settings[OPTION_REDIS].text;
    server->redis_text = slice_dup(slice_of(text ? text : ""));
    server->redis = options->redis_address;
    if (!server->redis.password)
        server->redis.password = secret_new((struct slice){NULL, 0});
    if (!server->redis.sentinel_password)
        server->redis.sentinel_password = secret_new((struct slice){NULL, 0});
    options->redis_address = (struct redis_address){0};
    options->redis_tls = NULL;
    server->prefix = slice_dup(slice_of(options->prefix));
    status = prepare(server, options, problem);
    if (status != STATUS_OK)
        return status;
    if (options->tokens)
        token_file_log(options->tokens_file, options->tokens);
    server->store = store_setup(options, &server->redis, server->prefix);
    server->store.metrics = metrics_of(
        server->board, 0); /* metrics of the first reactor, for the preflight; no reactor runs yet */
    if (!options->is_embedded)
        return STATUS_OK;
    status = embedded_redis_new(server->loop, options->data_dir, options->embedded_server, &server->embedded,
                                problem);
    if (status != STATUS_OK)
        return status;
    if (options->is_clock_manual && !options->is_durability_set)
        embedded_redis_leave_unsynced(server->embedded);
    server->redis.path = slice_dup(slice_of(embedded_redis_path(server->embedded)));
    server->store.outage = embedded_redis_outage(server->embedded);
    return STATUS_OK;
}

static void close_all(struct server *server)
{
    embedded_redis_free(server->embedded);
    redis_tls_free(server->redis.tls);
    redis_address_fini(&server->redis);
    if (server->redis_text)
        explicit_bzero(server->redis_text, strlen(server->redis_text));
    free(server->redis_text);
    redis_addresses_free(server->redis_addresses);
    free(server->prefix);
    reload_free(server->reload);
    options_fini(server->options);
    free(server->options);
    listeners_free(server->listeners);
    timer_free(server->timer);
    watch_free(server->signals);
    close(server->signal_fd);
    free(server->reactors);
    metrics_board_free(server->board);
    job_counts_board_free(server->counts);
    live_board_free(server->live);
    lease_board_free(server->lease_board);
    loop_free(server->loop);
}

int server_run(struct options *options, const struct options_input *input)
{
    struct server server = {.options = options, .exit_code = EXIT_SUCCESS};
    struct problem problem;
    server.loop = loop_new();
    server.reload = reload_new(server.loop, input, &server.options, prepare_reload, &server);
    server.redis_addresses = redis_addresses_new();
    server.board = metrics_board_new((size_t)options->reactors);
    server.counts = job_counts_board_new();
    server.lease_board = lease_board_new();
    server.live = live_board_new((size_t)options->reactors);
    server.timer = timer_new(server.loop, server_on_timer, &server);
    /* The signals are blocked before any thread starts, so that only signal_fd receives them. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    server.signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    server.signals = watch_new(server.loop, server.signal_fd, on_signal, &server);
    watch_set(server.signals, true, false);
    file_limit_raise(options);
    if (options->is_clock_manual) {
        clock_make_manual();
        log_warning("clock_is_manual",
                    LOG_TEXT("what",
                             "jobs become due by a clock that stands still until POST /clock moves it; "
                             "use it for tests only"));
    }
    if (open_all(&server, &problem) != STATUS_OK) {
        server_fail(&server, "cannot_start", problem.text);
    } else {
        if (server.embedded) {
            warn_of_missing_jobs(&server);
            embedded_redis_start(server.embedded, on_redis_started, &server);
        } else {
            begin_preflight(&server);
        }
        loop_run(server.loop);
        log_info("stopped", LOG_NUMBER("exit_code", server.exit_code));
    }
    close_all(&server);
    return server.exit_code;
}
