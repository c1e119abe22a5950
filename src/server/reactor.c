#include "server/server_private.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/api.h"
#include "app/app.h"
#include "app/audit.h"
#include "app/clock.h"
#include "app/job_counts.h"
#include "app/lease.h"
#include "app/live.h"
#include "app/stream.h"
#include "app/token_uses.h"
#include "app/wait.h"
#include "base/log.h"
#include "base/memory.h"
#include "history/history.h"
#include "http/site.h"
#include "io/http/client.h"
#include "io/http/limits.h"
#include "io/http/server.h"
#include "io/time_zones.h"
#include "job/token.h"
#include "qstash/qstash.h"
#include "store/clock.h"
#include "store/shard.h"
#include "web/web.h"
#include "worker/archiver.h"
#include "worker/carry_worker.h"
#include "worker/consumer.h"
#include "worker/heartbeat.h"
#include "worker/janitor.h"
#include "worker/sweep.h"

enum { IDLE_RECEIVERS_MIN = 256 };

/* Several times what a relay has: 32 connections, with an array of 8 MiB and single jobs of 16 MiB at most.
 */
static const struct http_limits_options inner_limits = {
    .connections = 256, .body_bytes = 256 * 1024 * 1024, .lingering = 1};

/* The objects that maintain the data of one shard. */
struct upkeep {
    struct reactor *reactor;
    size_t shard;
    struct janitor *janitor;
    struct pattern_keeper *pattern_keeper;
    struct archiver *archiver;
    struct heartbeat *heartbeat; /* NULL: none */
    struct carry_worker *carry_worker;
    unsigned losses; /* how many losses of the shard's data were logged */
    enum { DURABILITY_UNSEEN, DURABILITY_HELD, DURABILITY_DROPPED } durability; /* as far as it was logged */
};

struct reactor {
    struct reactor_options options;
    pthread_t thread;
    struct loop *loop;
    struct metrics *metrics;
    struct store *store;
    struct job_counts *counts;
    struct live *live;             /* NULL except in the first reactor */
    struct token_uses *token_uses; /* NULL except in the first reactor */
    struct time_zones *zones;
    struct history *history; /* NULL: no history */
    struct app app;
    struct app_leases *leases;
    struct token_rate *token_rates; /* see struct app */
    char own_url[JOB_URL_MAX + 1];  /* see struct attempt_policy */
    struct app_waits *waits;
    struct app_streams *streams;
    struct app_clock *clock; /* NULL: no manual clock */
    struct site *site;
    struct api *api;
    struct qstash *qstash; /* NULL: the QStash API is off */
    struct http_server *server;
    bool is_closed;                    /* new connections are no longer accepted */
    struct http_server *health_server; /* NULL without --health-listen */
    struct http_server *inner_server;  /* for the outbox's relay; NULL: not in this reactor */
    struct http_limits
        *inner_limits; /* limits of inner_server: other clients cannot take its room, nor it theirs */
    struct http_client *client;
    struct identities *identities;
    struct consumer *consumer;
    struct upkeep *upkeeps; /* one for each shard whose carry worker runs in this reactor */
    size_t upkeep_count;
    struct hook *log_hook;
    struct hook *drain_watch; /* hook of the loop that notices the end of a drain; NULL unless draining */
    bool was_ready;
    bool goes_on_accepting; /* during a drain, accept connections until the last attempt has ended */
    bool is_consumer_drained;
    bool is_drained;
};

static const struct delivery_forms forms = {{&delivery_form_standard, &qstash_form}};

static void *reactor_run(void *arg)
{
    struct reactor *reactor = arg;
    log_gather_begin();
    loop_run(reactor->loop);
    log_gather_end();
    return NULL;
}

static void write_log_lines(void *arg)
{
    (void)arg;
    log_flush();
}

/* Divides a limit of the process by the number of reactors. Returns this reactor's part, rounded up. */
static size_t part_of(const struct reactor *reactor, int64_t all)
{
    size_t count = reactor->options.count;
    return ((size_t)all + count - 1) / count;
}

/* Returns this reactor's exact part of max-in-flight, which may be 0. A reactor whose part is 0 claims no
 * jobs, so it does not wait for Redis to report due jobs either. */
static size_t max_in_flight(const struct reactor *reactor)
{
    size_t all = (size_t)reactor->options.options->max_in_flight, count = reactor->options.count;
    return all / count + (reactor->options.index < all % count);
}

static struct http_server_options server_options(const struct reactor *reactor)
{
    const struct options *options = reactor->options.options;
    return (struct http_server_options){
        .tls = options->tls,
        .handler = {.limits = reactor->options.limits, .max_waiting = part_of(reactor, options->max_waiting)},
        .head_timeout_ms = options->header_timeout_ms,
        .body_timeout_ms = options->body_timeout_ms,
        .send_timeout_ms = options->answer_timeout_ms,
    };
}

/* Starts to listen. No error is expected, because the socket is bound. */
static int listen_at(int fd)
{
    if (!listener_begin(fd))
        log_error("cannot_listen", LOG_TEXT("why", strerror(errno)));
    return fd;
}

static void start_server(struct reactor *reactor)
{
    struct http_server_options server = server_options(reactor);
    server.listen_fd = listen_at(reactor->options.listen_fd);
    site_attach(reactor->site, &server);
    reactor->server = http_server_new(reactor->loop, &server);
}

static struct site_options site_options(struct reactor *reactor)
{
    const struct options *options = reactor->options.options;
    return (struct site_options){
        .max_body_bytes = (size_t)options->max_body_bytes,
        .tokens = options->tokens,
        .listen_host = slice_of(options->listen.host),
        .hosts = slice_of(options->hosts),
        .metrics = reactor->metrics,
        .tracer = reactor->options.tracer,
        .inner_token = reactor->options.inner_token,
        .app = &reactor->app,
    };
}

/* Sets the options that the code of the requests (src/app) needs. Called at the start and after a reload. */
static void set_app(struct reactor *reactor)
{
    const struct options *options = reactor->options.options;
    reactor->app = (struct app){
        .store = reactor->store,
        .targets = options->targets,
        .schedule = &options->retry_schedule,
        .identity = options->identity_keys,
        .is_breaker_on = options->is_breaker_on,
        .max_in_flight = options->max_in_flight,
        .max_jobs = options->max_jobs,
        .zones = reactor->zones,
        .forms = &forms,
        .history = reactor->history,
        .clock = reactor->clock,
        .metrics = reactor->metrics,
        .board = reactor->options.board,
        .limits = reactor->options.limits,
        .counts = reactor->counts,
        .leases = reactor->leases,
        .waits = reactor->waits,
        .streams = reactor->streams,
        .live = reactor->options.live,
        .lease_board = reactor->options.lease_board,
        .tracer = reactor->options.tracer,
        .is_redis_private = options->is_embedded,
        .token_rates = reactor->token_rates,
    };
}

static void start_api(struct reactor *reactor)
{
    struct site_options site = site_options(reactor);
    struct api_options api = {
        .loop = reactor->loop, .app = &reactor->app, .awaited = reactor->options.awaited};
    if (reactor->options.history)
        reactor->history = history_new(reactor->loop, reactor->options.history);
    reactor->counts = job_counts_new(reactor->loop, reactor->options.counts);
    if (reactor->options.index == 0)
        reactor->live = live_new(reactor->loop, reactor->store, reactor->options.board,
                                 reactor->options.limits, reactor->options.live);
    reactor->zones = time_zones_new(TIME_ZONES_FOLDER);
    reactor->app.store = reactor->store;
    reactor->token_rates = NEW_ARRAY(struct token_rate, APP_TOKEN_RATES);
    reactor->app.token_rates = reactor->token_rates;
    reactor->leases = app_leases_new(reactor->loop, &reactor->app);
    reactor->waits = app_waits_new(reactor->loop, &reactor->app);
    reactor->streams = app_streams_new(reactor->loop, &reactor->app);
    if (clock_is_manual())
        reactor->clock = app_clock_new(reactor->loop, &reactor->app);
    set_app(reactor);
    if (reactor->options.index == 0) {
        reactor->token_uses = token_uses_new(reactor->loop, &reactor->app);
        token_uses_set(reactor->token_uses, reactor->options.options->tokens);
    }
    reactor->site = site_new(&site);
    reactor->api = api_new(&api);
    site_add(reactor->site, &api_dialect, reactor->api);
    if (reactor->options.options->has_dashboard)
        site_add(reactor->site, &web_dialect, NULL);
    if (reactor->options.options->has_qstash) {
        reactor->qstash = qstash_new(&reactor->app, reactor->options.options->is_qstash_dev);
        site_add(reactor->site, &qstash_dialect, reactor->qstash);
    }
    if (!reactor->options.waits_to_listen)
        start_server(reactor);
    if (reactor->options.health_fd >= 0) {
        struct http_server_options server = server_options(reactor);
        server.listen_fd = listen_at(reactor->options.health_fd);
        server.handler.limits = NULL;
        site_attach_probes(reactor->site, &server);
        reactor->health_server = http_server_new(reactor->loop, &server);
    }
    if (reactor->options.inner_fd >= 0) {
        struct http_server_options server = server_options(reactor);
        server.tls = NULL;
        server.listen_fd = listen_at(reactor->options.inner_fd);
        server.handler.limits = reactor->inner_limits = http_limits_new(&inner_limits);
        site_attach_inner(reactor->site, &server);
        reactor->inner_server = http_server_new(reactor->loop, &server);
    }
}

/* Writes the url of this API for receivers, or nothing if it is not known. */
static void find_own_url(struct reactor *reactor)
{
    const struct options *options = reactor->options.options;
    const char *host = options->listen.host;
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    bool is_v6 = host && strchr(host, ':');
    reactor->own_url[0] = '\0';
    if (options->public_url && options->public_url[0]) {
        snprintf(reactor->own_url, sizeof reactor->own_url, "%s", options->public_url);
    } else if (host && strcmp(host, "0.0.0.0") != 0 && strcmp(host, "::") != 0 &&
               getsockname(reactor->options.listen_fd, (struct sockaddr *)&bound, &size) == 0) {
        uint16_t port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                          : ((struct sockaddr_in *)&bound)->sin_port);
        snprintf(reactor->own_url, sizeof reactor->own_url, "http%s://%s%s%s:%u", options->tls ? "s" : "",
                 is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    }
}

static struct attempt_policy attempt_policy(struct reactor *reactor)
{
    const struct options *options = reactor->options.options;
    find_own_url(reactor);
    return (struct attempt_policy){
        .targets = options->targets,
        .schedule = &options->retry_schedule,
        .forms = &forms,
        .keys = &options->signing_keys,
        .identity_keys = options->identity_keys,
        .own_url = slice_of(reactor->own_url),
        .is_breaker_on = options->is_breaker_on,
        .has_history = reactor->history,
        .tracer = reactor->options.tracer,
    };
}

static void start_consumer(struct reactor *reactor)
{
    const struct options *options = reactor->options.options;
    /* max_idle also becomes the size of libcurl's connection cache, which includes connections in use. */
    size_t max_idle =
        max_in_flight(reactor) > IDLE_RECEIVERS_MIN ? max_in_flight(reactor) : IDLE_RECEIVERS_MIN;
    struct http_client_options client = {
        .ca_file = options->receiver_ca,
        .proxy = options->egress_proxy,
        .max_idle = max_idle,
        .uses_libcurl_only = options->uses_libcurl_only,
    };
    reactor->client = http_client_new(reactor->loop, &client);
    reactor->identities = identities_new(&(struct identities_options){.loop = reactor->loop,
                                                                      .store = reactor->store,
                                                                      .client = reactor->client,
                                                                      .client_options = &client,
                                                                      .targets = options->targets});
    struct consumer_options consumer = {
        .store = reactor->store,
        .identities = reactor->identities,
        .policy = attempt_policy(reactor),
        .max_in_flight = max_in_flight(reactor),
        .max_bytes = (size_t)options->max_bodies_bytes / reactor->options.count + 1,
        .metrics = reactor->metrics,
    };
    reactor->consumer = consumer_new(reactor->loop, &consumer);
}

static void on_claim_carried(void *arg, enum status status, const struct consumer_carried *carried)
{
    const struct upkeep *upkeep = arg;
    carry_worker_note_carried(upkeep->carry_worker, status, carried);
}

static bool on_due(void *arg)
{
    struct upkeep *upkeep = arg;
    const struct reactor *reactor = upkeep->reactor;
    return consumer_carry(reactor->consumer, upkeep->shard, reactor->options.is_alone, on_claim_carried,
                          upkeep);
}

static void on_turns(void *arg)
{
    const struct upkeep *upkeep = arg;
    consumer_claim(upkeep->reactor->consumer, upkeep->shard);
}

static bool find_certificate(void *arg, int64_t *until_ms)
{
    const struct upkeep *upkeep = arg;
    const struct http_tls *tls = upkeep->reactor->options.options->tls;
    int64_t from_ms;
    return tls && http_tls_dates(tls, &from_ms, until_ms);
}

static void start_upkeep(struct reactor *reactor, size_t number)
{
    struct upkeep *upkeep = &reactor->upkeeps[reactor->upkeep_count++];
    struct shard *shard = store_shard(reactor->store, number);
    upkeep->reactor = reactor;
    upkeep->shard = number;
    upkeep->janitor = janitor_new(reactor->loop, shard, reactor->metrics);
    upkeep->pattern_keeper = pattern_keeper_new(reactor->loop, reactor->store, shard);
    struct archiver_options archiver = {
        .shard = shard,
        .metrics = reactor->metrics,
        .history = reactor->history,
    };
    upkeep->archiver = archiver_new(reactor->loop, &archiver);
    if (number == 0 && reactor->options.options->heartbeat_url)
        upkeep->heartbeat =
            heartbeat_new(reactor->client, reactor->store, reactor->options.options->heartbeat_url,
                          reactor->options.options->heartbeat_every_ms);
    struct carry_worker_options carry_worker = {
        .store = reactor->store,
        .shard = shard,
        .forms = &forms,
        .metrics = reactor->metrics,
        .janitor = upkeep->janitor,
        .pattern_keeper = upkeep->pattern_keeper,
        .schedule = &reactor->options.options->retry_schedule,
        .archiver = upkeep->archiver,
        .durability = reactor->options.store->is_durability_set ? &reactor->options.store->durability : NULL,
        .certificate = find_certificate,
        .heartbeat = upkeep->heartbeat,
        .is_alone = reactor->options.is_alone,
        .on_due = on_due,
        .on_turns = on_turns,
        .arg = upkeep,
    };
    upkeep->carry_worker = carry_worker_new(reactor->loop, &carry_worker);
}

/* Warns if the operator has chosen no durability class and a crash of Redis would lose confirmed jobs. */
static void warn_of_durability(const struct reactor *reactor)
{
    const struct redis_info *info = store_redis_info(reactor->store);
    const char *why = redis_info_risk(info);
    if (reactor->options.store->is_durability_set || !why)
        return;
    log_warning(
        info->is_fsync_hidden ? "durability_is_unknown" : "durability_is_memory",
        LOG_TEXT("risk", "confirmed jobs are lost when Redis crashes or its host loses power"),
        LOG_TEXT("why", why),
        LOG_TEXT("do",
                 "set both in Redis and --durability fsync, or accept the risk with --durability memory"));
}

/* Logs that a shard has lost its data. New jobs do not wait for the operator: they are accepted as soon as
 * duepost has written its layout into the empty shard. duepost has no copy of the lost data to restore. */
static void tell_of_loss(struct upkeep *upkeep)
{
    const struct reactor *reactor = upkeep->reactor;
    const struct redis_info *info = store_redis_info_of(reactor->store, upkeep->shard);
    if (info->losses == upkeep->losses)
        return;
    upkeep->losses = info->losses;
    metrics_count(reactor->metrics, METRICS_COUNTER_LOSSES, 1);
    log_error(
        "data_lost", LOG_NUMBER("shard", (int64_t)upkeep->shard),
        LOG_TEXT("why", "Redis does not have the data that it had before: it was emptied (FLUSHALL), its "
                        "files were lost, or another Redis took its place"),
        LOG_TEXT("lost", "all jobs, schedules, and settings of topics that were in it"),
        LOG_TEXT("do", "stop duepost and restore a backup of Redis, or send the jobs and settings again"));
}

/* Logs that a shard no longer has the durability that it had, and that it has it again. Without a configured
 * class, only the loss of fsync counts, because no change waits for replicas. */
static void tell_of_durability(struct upkeep *upkeep)
{
    const struct reactor *reactor = upkeep->reactor;
    const struct store_options *options = reactor->options.store;
    const struct redis_info *info = store_redis_info_of(reactor->store, upkeep->shard);
    struct durability wanted =
        options->is_durability_set ? options->durability : (struct durability){true, 0};
    char configured[DURABILITY_TEXT_MAX], in_force[DURABILITY_TEXT_MAX];
    bool is_held = durability_covers(info->in_force, wanted),
         was_dropped = upkeep->durability == DURABILITY_DROPPED;
    if (!info->is_known || (!is_held && upkeep->durability != DURABILITY_HELD))
        return;
    upkeep->durability = is_held ? DURABILITY_HELD : DURABILITY_DROPPED;
    if (is_held && !was_dropped)
        return;
    store_durability_configured(reactor->store, configured);
    redis_info_durability(info, in_force);
    if (is_held)
        log_info("durability_restored", LOG_NUMBER("shard", (int64_t)upkeep->shard),
                 LOG_TEXT("configured", configured), LOG_TEXT("in_force", in_force));
    else
        log_error(
            "durability_dropped", LOG_NUMBER("shard", (int64_t)upkeep->shard),
            LOG_TEXT("configured", configured), LOG_TEXT("in_force", in_force),
            LOG_TEXT("risk", options->is_durability_set
                                 ? "changes are answered 503 until Redis provides the configured durability"
                                 : "confirmed jobs are lost when Redis crashes or its host loses power"),
            LOG_TEXT("do", "restore appendonly yes, appendfsync always and the replicas of Redis"));
}

static void on_store_change(void *arg)
{
    struct reactor *reactor = arg;
    struct problem why;
    metrics_redis_processor(reactor->metrics, store_redis_info(reactor->store)->cpu_us);
    for (size_t i = 0; i < reactor->upkeep_count; i++) {
        tell_of_loss(&reactor->upkeeps[i]);
        tell_of_durability(&reactor->upkeeps[i]);
    }
    if (reactor->was_ready || !store_is_ready(reactor->store, &why))
        return;
    reactor->was_ready = true;
    if (reactor->options.index == 0) {
        warn_of_durability(reactor);
        /* Warns when Redis hides its eviction policy, which could make it lose jobs. */
        if (!store_redis_info(reactor->store)->eviction[0]) {
            log_warning("eviction_is_unknown", LOG_TEXT("why", "INFO of this Redis has no maxmemory_policy"),
                        LOG_TEXT("risk", "a Redis that evicts keys loses jobs when its memory is full"),
                        LOG_TEXT("do", "make sure that it does not evict: maxmemory-policy noeviction"));
        }
        /* Says that the durability is not checked. */
        char trusted[DURABILITY_TEXT_MAX];
        const struct redis_info *info = store_redis_info(reactor->store);
        if (info->is_trusted) {
            redis_info_durability(info, trusted);
            log_warning(
                "durability_is_trusted", LOG_TEXT("durability", trusted),
                LOG_TEXT("what", "trusted, not checked"),
                LOG_TEXT("why", "Redis refuses CONFIG GET appendfsync, and --trust-durability is on"));
        }
    }
    atomic_fetch_sub(reactor->options.awaited, 1);
    loop_post(reactor->options.owner, reactor->options.on_ready, reactor->options.arg);
}

static void open_server(void *arg)
{
    struct reactor *reactor = arg;
    if (reactor->server || reactor->is_closed)
        return;
    start_server(reactor);
    loop_post(reactor->options.owner, reactor->options.on_opened, reactor->options.arg);
}

void reactor_open(struct reactor *reactor)
{
    loop_post(reactor->loop, open_server, reactor);
}

struct reactor *reactor_start(const struct reactor_options *options)
{
    struct reactor *reactor = NEW(struct reactor);
    reactor->options = *options;
    reactor->loop = loop_new();
    reactor->metrics = metrics_of(options->board, options->index);
    struct store_options store = *options->store;
    store.metrics = reactor->metrics;
    reactor->store = store_new(reactor->loop, &store);
    store_on_change(reactor->store, on_store_change, reactor);
    start_api(reactor);
    start_consumer(reactor);
    /* Starts the carry workers of this reactor's shards. Each shard has one carry worker in the process. */
    size_t shards = store_shards(reactor->store);
    reactor->upkeeps = NEW_ARRAY(struct upkeep, shards);
    for (size_t i = reactor->options.index; i < shards; i += reactor->options.count)
        start_upkeep(reactor, i);
    reactor->log_hook = hook_new(reactor->loop, LOOP_PHASE_SEND, write_log_lines, NULL);
    if (pthread_create(&reactor->thread, NULL, reactor_run, reactor) != 0)
        abort();
    return reactor;
}

/* ---- reload ---- */

struct reload_call {
    struct reactor *reactor;
    const struct options *options;
    loop_fn *on_reloaded;
    void *arg;
};

static void reload(void *arg)
{
    struct reload_call *call = arg;
    struct reactor *reactor = call->reactor;
    const struct options *options = call->options;
    if (reactor->options.index == 0)
        app_audit_tokens(&reactor->app, reactor->options.options->tokens, options->tokens);
    reactor->options.options = options;
    store_set_limits(reactor->store, &(struct store_options){
                                         .max_in_flight_topic = options->max_in_flight_topic,
                                         .max_jobs = options->max_jobs,
                                         .dead_max = options->dead_max,
                                         .dead_max_age_ms = options->dead_max_age_ms,
                                     });
    struct site_options site = site_options(reactor);
    site_reload(reactor->site, &site);
    set_app(reactor);
    if (reactor->token_uses)
        token_uses_set(reactor->token_uses, options->tokens);
    if (options->tls && reactor->server)
        http_server_set_tls(reactor->server, options->tls);
    if (options->tls && reactor->health_server)
        http_server_set_tls(reactor->health_server, options->tls);
    struct attempt_policy policy = attempt_policy(reactor);
    consumer_reload(reactor->consumer, &policy, max_in_flight(reactor));
    identities_reload(reactor->identities, policy.targets);
    for (size_t i = 0; i < reactor->upkeep_count; i++)
        carry_worker_set_schedule(reactor->upkeeps[i].carry_worker, &options->retry_schedule);
    call->on_reloaded(call->arg);
    free(call);
}

void reactor_reload(struct reactor *reactor, const struct options *options, loop_fn *on_reloaded, void *arg)
{
    struct reload_call *call = NEW(struct reload_call);
    *call = (struct reload_call){reactor, options, on_reloaded, arg};
    loop_post(reactor->loop, reload, call);
}

/* ---- drain: takes no new connections and jobs, and waits for the last answers and outcomes ---- */

static void stop_accepting(void *arg)
{
    struct reactor *reactor = arg;
    api_drain(reactor->api);
    app_leases_drain(reactor->leases);
    app_waits_drain(reactor->waits);
    app_streams_drain(reactor->streams);
    if (reactor->clock)
        app_clock_drain(reactor->clock);
    reactor->is_closed = true;
    if (reactor->server)
        http_server_quiesce(
            reactor->server); /* only the API's server: the health server runs until the end */
}

static void reactor_on_turn_end(void *arg)
{
    struct reactor *reactor = arg;
    if (reactor->is_consumer_drained && reactor->goes_on_accepting) {
        reactor->goes_on_accepting = false;
        loop_post(reactor->loop, stop_accepting, reactor);
        return;
    }
    if (reactor->is_drained || !reactor->is_consumer_drained ||
        (reactor->server && http_server_pending(reactor->server) > 0) ||
        (reactor->inner_server && http_server_pending(reactor->inner_server) > 0))
        return;
    reactor->is_drained = true;
    loop_post(reactor->options.owner, reactor->options.on_drained, reactor->options.arg);
}

static void on_consumer_drained(void *arg)
{
    struct reactor *reactor = arg;
    reactor->is_consumer_drained = true;
}

static void drain(void *arg)
{
    struct reactor *reactor = arg;
    reactor->drain_watch = hook_new(reactor->loop, LOOP_PHASE_SEND, reactor_on_turn_end, reactor);
    if (!reactor->goes_on_accepting)
        stop_accepting(reactor);
    else if (reactor->health_server)
        http_server_quiesce(
            reactor->health_server); /* health probes then reach the other process, which continues */
    for (size_t i = 0; i < reactor->upkeep_count; i++) {
        carry_worker_stop(reactor->upkeeps[i].carry_worker);
        archiver_stop(reactor->upkeeps[i].archiver);
    }
    consumer_drain(reactor->consumer, on_consumer_drained, reactor);
}

static void cut(void *arg)
{
    struct reactor *reactor = arg;
    consumer_cut(reactor->consumer);
}

static void stop(void *arg)
{
    struct reactor *reactor = arg;
    loop_stop(reactor->loop);
}

static void drain_slowly(void *arg)
{
    struct reactor *reactor = arg;
    reactor->goes_on_accepting = true;
    drain(reactor);
}

void reactor_drain(struct reactor *reactor, bool goes_on_accepting)
{
    loop_post(reactor->loop, goes_on_accepting ? drain_slowly : drain, reactor);
}

void reactor_cut(struct reactor *reactor)
{
    loop_post(reactor->loop, cut, reactor);
}

void reactor_stop(struct reactor *reactor)
{
    loop_post(reactor->loop, stop, reactor);
    pthread_join(reactor->thread, NULL);
    store_free(
        reactor->store); /* the store is freed first, because its last callbacks use the other objects */
    reactor->app.store = NULL;
    consumer_free(reactor->consumer);
    for (size_t i = 0; i < reactor->upkeep_count; i++) {
        carry_worker_free(reactor->upkeeps[i].carry_worker);
        janitor_free(reactor->upkeeps[i].janitor);
        pattern_keeper_free(reactor->upkeeps[i].pattern_keeper);
        archiver_free(reactor->upkeeps[i].archiver);
        heartbeat_free(reactor->upkeeps[i].heartbeat);
    }
    free(reactor->upkeeps);
    identities_free(reactor->identities);
    http_client_free(reactor->client);
    if (reactor->server)
        http_server_free(reactor->server);
    else
        close(reactor->options.listen_fd);
    http_server_free(reactor->health_server);
    http_server_free(reactor->inner_server);
    http_limits_free(reactor->inner_limits);
    site_free(reactor->site);
    api_free(reactor->api);
    qstash_free(reactor->qstash);
    app_leases_free(reactor->leases);
    app_waits_free(reactor->waits);
    app_streams_free(reactor->streams);
    free(reactor->token_rates);
    app_clock_free(reactor->clock);
    job_counts_free(reactor->counts);
    live_free(reactor->live);
    token_uses_free(reactor->token_uses);
    time_zones_free(reactor->zones);
    history_free(reactor->history);
    hook_free(reactor->drain_watch);
    hook_free(reactor->log_hook);
    loop_free(reactor->loop);
    free(reactor);
}
