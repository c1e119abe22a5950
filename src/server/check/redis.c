/* redis.c - the lines of duepost check about Redis; of a private Redis its program, directory, disk and
 * process, too. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/metrics.h"
#include "base/system.h"
#include "io/loop.h"
#include "job/rekey.h"
#include "server/check/check_private.h"
#include "server/options/options.h"
#include "server/redis/redis_private.h"

/* ---- the private Redis ---- */

struct check_embedded {
    int fd;                          /* open directory; -1: not open */
    char path[DATA_DIR_SOCKET_SIZE]; /* path of Redis's socket */
};

struct probing {
    struct loop *loop;
    enum redis_answer answer;
};

static void on_probed(void *arg, enum redis_answer answer, pid_t pid, int pidfd)
{
    struct probing *probing = arg;
    (void)pid;
    if (pidfd >= 0)
        close(pidfd);
    probing->answer = answer;
    loop_stop(probing->loop);
}

static enum redis_answer probe(struct loop *loop, const char *path)
{
    struct probing probing = {loop, REDIS_ANSWER_NONE};
    redis_probe_start(loop, path, on_probed, &probing);
    loop_run(loop);
    return probing.answer;
}

/* If the disk has less room than this, the line is a warning, because Redis needs room for a second copy of
 * all data when it rewrites its append-only file. */
#define DISK_LOW_BYTES (INT64_C(256) << 20)

/* Shortens path to the nearest parent folder that exists, in which the first start would create the data
 * directory. */
static bool disk_of_existing(char *path, struct statvfs *disk)
{
    while (statvfs(path, disk) != 0) {
        if (errno != ENOENT || strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
            return false;
        const char *parent = dirname(path);
        memmove(path, parent, strlen(parent) + 1);
    }
    return true;
}

static void check_disk(struct check_report *report, const char *data_dir)
{
    struct statvfs disk;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s", data_dir) >= (int)sizeof path || !disk_of_existing(path, &disk))
        return;
    int64_t free_bytes = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    long long mib = (long long)(free_bytes >> 20);
    if (free_bytes < DATA_DIR_ROOM_BYTES)
        check_add(report, CHECK_FAILURE, "disk",
                  "the disk of %s is full; the private Redis does not run until 1 MiB is free", path);
    else if (free_bytes < DISK_LOW_BYTES)
        check_add(report, CHECK_WARNING, "disk",
                  "%lld MiB are free in %s; the private Redis stops when its disk is full", mib, path);
    else
        check_add(report, CHECK_OK, "disk", "%lld MiB are free in %s", mib, path);
}

/* Returns whether the private Redis runs now and accepts connections. Starts, creates and locks nothing. */
static bool check_embedded_find(struct check_report *report, struct loop *loop, const struct options *options,
                                struct check_embedded *embedded)
{
    struct redis_program program;
    struct problem problem;
    bool exists;
    if (redis_program_find(options->embedded_server, &program, &problem) != STATUS_OK) {
        check_add(report, CHECK_FAILURE, "server", "%s", problem.text);
        return false;
    }
    check_add(report, CHECK_OK, "server", "%s %s is installed", program.path, program.version);
    redis_program_fini(&program);
    if (data_dir_try(options->data_dir, &exists, &problem) != STATUS_OK) {
        check_add(report, CHECK_FAILURE, "redis", "%s", problem.text);
        return false;
    }
    embedded->fd = open(options->data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check_disk(report, options->data_dir);
    data_dir_socket(options->data_dir, embedded->fd, REDIS_SOCKET_NAME, embedded->path);
    enum redis_answer answer = exists ? probe(loop, embedded->path) : REDIS_ANSWER_NONE;
    if (answer == REDIS_ANSWER_PONG)
        return true;
    check_add(report, answer == REDIS_ANSWER_LOADING ? CHECK_WARNING : CHECK_OK, "redis",
              answer == REDIS_ANSWER_LOADING
                  ? "the private Redis in %s still loads its data; check again later"
                  : "the private Redis in %s does not run; duepost starts it",
              options->data_dir);
    return false;
}

/* ---- each Redis ---- */

enum {
    WRITES = 5,          /* number of writes to each shard whose time is measured */
    WRITE_SLOW_MS = 100, /* a write that takes longer is reported, because a client waits this long for each
                            confirmation */
    SKEW_MS = 1000,
    SKEW_MAX_MS =
        300000, /* receivers refuse signatures that are older than this, as Standard Webhooks requires */
    MEMORY_HIGH_PERCENT = 80,
};

#define READY_US INT64_C(3000000)
#define WRITE_US INT64_C(10000000)

struct redis_check {
    struct check_report *report;
    const struct options *options;
    struct loop *loop;
    struct timer *timer;
    struct store *store;
    /* The measured writes: state of the current write, and time of the slowest one. */
    size_t shard;
    int writes; /* number of writes in this shard; the first write is not measured */
    bool is_over;
    int64_t began_us, began_ms, slowest_us;
    enum status write_status;
    int64_t skew_ms, skew_rtt_us;
    /* The look at the keys: pages and texts that were read, and a key that is missing. */
    size_t looks, texts;
    enum status look_status;
    char lacks[SEAL_NAME_SIZE];
};

static void on_timeout(void *arg)
{
    const struct redis_check *check = arg;
    loop_stop(check->loop);
}

/* ---- connect ---- */

/* Ends the wait when Redis is ready, or when its properties are known and it cannot be used. */
static void on_store_change(void *arg)
{
    const struct redis_check *check = arg;
    struct problem why;
    if (store_is_ready(check->store, &why) ||
        (store_redis_info(check->store)->is_known && store_is_refused(check->store, &why)))
        loop_stop(check->loop);
}

/* ---- writes ---- */

static void try_next(struct redis_check *check);

static void on_tried(void *arg, enum status status, int64_t now_us)
{
    struct redis_check *check = arg;
    if (check->is_over)
        return;
    check->write_status = status;
    if (status == STATUS_OK && check->writes > 0) {
        int64_t took_us = clock_steady_us() - check->began_us;
        int64_t here_ms = check->began_ms + took_us / 2000;
        if (check->slowest_us < took_us)
            check->slowest_us = took_us;
        if (check->skew_rtt_us == 0 || took_us < check->skew_rtt_us) {
            check->skew_rtt_us = took_us;
            check->skew_ms = here_ms - now_us / 1000;
        }
    }
    if (++check->writes > WRITES) {
        check->writes = 0;
        check->shard++;
    }
    if (status != STATUS_OK || check->shard == store_shards(check->store))
        loop_stop(check->loop);
    else
        try_next(check);
}

static void try_next(struct redis_check *check)
{
    check->began_us = clock_steady_us();
    check->began_ms = clock_wall_ms();
    store_try_write(check->store, check->shard, on_tried, check);
}

/* ---- lines ---- */

enum { CHECK_TEXT_SIZE = 256 }; /* size of one part of a line */

static void check_redis_describe(const struct redis_address *redis, char text[CHECK_TEXT_SIZE])
{
    if (redis->path)
        snprintf(text, CHECK_TEXT_SIZE, "unix:%.200s", redis->path);
    else if (redis->seed_count)
        snprintf(text, CHECK_TEXT_SIZE, "%s%s://%.120s:%u and %zu more%s%.60s",
                 redis->is_cluster ? "cluster" : "sentinel", redis->has_tls ? "s" : "", redis->seeds[0].host,
                 redis->seeds[0].port, redis->seed_count - 1, redis->service ? ", service " : "",
                 redis->service ? redis->service : "");
    else
        snprintf(text, CHECK_TEXT_SIZE, "%.200s:%u%s", redis->host, redis->port,
                 redis->has_tls ? " with TLS" : "");
}

static void add_failure(const struct redis_check *check, const char *name, size_t shard, const char *why)
{
    if (store_shards(check->store) > 1)
        check_add(check->report, CHECK_FAILURE, name, "shard %zu: %s", shard, why);
    else
        check_add(check->report, CHECK_FAILURE, name, "%s", why);
}

/* Adds the line of a property that each shard must have. */
static void add_line(const struct redis_check *check, const char *name,
                     enum status (*judge)(const struct redis_info *, struct problem *), const char *found)
{
    struct problem problem;
    for (size_t i = 0; i < store_shards(check->store); i++)
        if (judge(store_redis_info_of(check->store, i), &problem) != STATUS_OK) {
            add_failure(check, name, i, problem.text);
            return;
        }
    check_add(check->report, CHECK_OK, name, "%s", found);
}

static void add_layout(const struct redis_check *check)
{
    const struct redis_info *info = store_redis_info_of(check->store, 0);
    struct problem problem;
    if (store_check_layout(info, store_shards(check->store), &problem) != STATUS_OK)
        check_add(check->report, CHECK_FAILURE, "data", "%s", problem.text);
    else if (info->format == 0)
        check_add(check->report, CHECK_OK, "data",
                  "none under the prefix %s yet; the first start creates them", check->options->prefix);
    else
        check_add(check->report, CHECK_OK, "data", "format %lld, %lld shards, prefix %s",
                  (long long)info->format, (long long)info->shards, check->options->prefix);
}

static void add_rights(const struct redis_check *check)
{
    struct problem problem;
    if (store_is_denied(check->store, &problem))
        check_add(check->report, CHECK_FAILURE, "rights", "%s", problem.text);
    else
        check_add(check->report, CHECK_OK, "rights", "all that duepost needs");
}

static void add_durability(const struct redis_check *check, const struct store_options *options)
{
    const struct redis_info *info = store_redis_info(check->store);
    char configured[DURABILITY_TEXT_MAX], in_force[DURABILITY_TEXT_MAX];
    struct problem problem;
    const char *risk = redis_info_risk(info);
    store_durability_configured(check->store, configured);
    redis_info_durability(info, in_force);
    if (!store_is_ready(check->store, &problem))
        check_add(check->report, CHECK_FAILURE, "durability", "%s", problem.text);
    else if (info->is_trusted)
        check_add(
            check->report, CHECK_WARNING, "durability",
            "%s is trusted, not checked: Redis refuses CONFIG GET appendfsync, and --trust-durability is on",
            in_force);
    else if (!options->is_durability_set && risk)
        check_add(
            check->report, CHECK_WARNING, "durability",
            "confirmed jobs are lost when Redis crashes or its host loses power: %s; set both in Redis and "
            "--durability fsync, or accept the risk with --durability memory",
            risk);
    else
        check_add(check->report, CHECK_OK, "durability", "%s is configured, Redis provides %s", configured,
                  in_force);
}

static void add_memory(const struct redis_check *check)
{
    const struct redis_info *info = store_redis_info(check->store);
    int64_t max = info->max_bytes ? info->max_bytes : info->system_bytes;
    const char *of = info->max_bytes ? "maxmemory" : "its host's memory";
    long long percent = max ? info->used_bytes * 100 / max : 0, mib = info->used_bytes >> 20;
    if (percent >= MEMORY_HIGH_PERCENT)
        check_add(check->report, CHECK_WARNING, "memory",
                  "Redis uses %lld MiB, %lld %% of %s (%lld MiB), at which it accepts no more jobs; keep "
                  "more than %d %% of it free",
                  mib, percent, of, (long long)max >> 20, 100 - MEMORY_HIGH_PERCENT);
    else
        check_add(check->report, CHECK_OK, "memory", "Redis uses %lld MiB, %lld %% of %s", mib, percent, of);
}

static void add_writes(const struct redis_check *check)
{
    long long us = check->slowest_us;
    struct problem problem = {"no answer"};
    if (check->write_status != STATUS_OK) {
        (void)store_is_ready(check->store, &problem);
        add_failure(check, "write", check->shard,
                    check->write_status == STATUS_FULL
                        ? "Redis is out of memory (maxmemory): give it more, or remove jobs"
                        : problem.text);
        return;
    }
    check_add(
        check->report, us / 1000 < WRITE_SLOW_MS ? CHECK_OK : CHECK_WARNING, "write",
        "the slowest of %zu took %lld.%02lld ms%s", store_shards(check->store) * WRITES, us / 1000,
        us % 1000 / 10,
        us / 1000 < WRITE_SLOW_MS
            ? ""
            : "; each confirmed change takes about this long: check Redis's disk, replicas and network");
}

static bool is_replica(const struct redis_info *info)
{
    return info->is_known && info->role[0] && strcmp(info->role, "master") != 0;
}

static void add_lines(struct redis_check *check, const struct store_options *options)
{
    char where[CHECK_TEXT_SIZE], found[2 * CHECK_TEXT_SIZE];
    struct problem problem = {""};
    const struct redis_info *info = store_redis_info(check->store);
    (void)store_is_ready(check->store, &problem);
    check_redis_describe(options->redis, where);
    if (is_replica(info) || (!info->is_known && !store_is_denied(check->store, &problem))) {
        check_add(check->report, CHECK_FAILURE, "redis", "%s: %s; check --redis", where, problem.text);
        return;
    }
    snprintf(found, sizeof found, "%s, version %s, %zu %s", where, info->version, store_shards(check->store),
             store_shards(check->store) == 1 ? "shard" : "shards");
    if (info->is_known)
        check_add(check->report, CHECK_OK, "redis", "%s", found);
    add_rights(check);
    if (!info->is_known)
        return;
    add_line(check, "version", store_check_version, info->version);
    if (info->eviction[0])
        add_line(check, "eviction", store_check_eviction, info->eviction);
    else
        check_add(check->report, CHECK_WARNING, "eviction",
                  "not checked: INFO of this Redis has no maxmemory_policy; a Redis that evicts keys loses "
                  "jobs when its memory is full");
    add_layout(check);
    add_memory(check);
    if (store_is_refused(check->store, &problem))
        return;
    add_durability(check, options);
}

static void try_writes(struct redis_check *check)
{
    check->write_status = STATUS_UNKNOWN;
    timer_start(check->timer, WRITE_US);
    try_next(check);
    loop_run(check->loop);
    check->is_over = true;
    add_writes(check);
    if (check->write_status == STATUS_OK) {
        long long skew_ms = check->skew_ms, distance_ms = skew_ms < 0 ? -skew_ms : skew_ms;
        distance_ms = distance_ms > check->skew_rtt_us / 2000 ? distance_ms - check->skew_rtt_us / 2000 : 0;
        if (distance_ms < SKEW_MS)
            check_add(check->report, CHECK_OK, "clock", "this host and Redis differ by less than %d ms",
                      SKEW_MS);
        else
            check_add(
                check->report, distance_ms < SKEW_MAX_MS ? CHECK_WARNING : CHECK_FAILURE, "clock",
                "this host's clock is %lld.%03lld s %s that of Redis. Due times follow the clock of Redis, "
                "signatures and logs follow that of this host: synchronize both (NTP)",
                distance_ms / 1000, distance_ms % 1000, skew_ms < 0 ? "behind" : "ahead of");
    }
}

/* ---- keys of the encryption ---- */

/* The texts that are read for a look at their keys: one page of each hash. */
static const struct slice looked_at[] = {SLICE_INIT("topics"), SLICE_INIT("patterns"),
                                         SLICE_INIT("groups"), SLICE_INIT("schedules"),
                                         SLICE_INIT("jobs"),   SLICE_INIT("kept")};
enum { LOOKED_AT = sizeof looked_at / sizeof *looked_at, TEXTS = 50 };

static void look_next(struct redis_check *check);

static void on_texts(void *arg, enum status status, const struct store_secrets *found)
{
    struct redis_check *check = arg;
    if (check->is_over)
        return;
    for (size_t i = 0; status == STATUS_OK && i < found->count && !check->lacks[0]; i++)
        (void)rekey_lacks(found->items[i].text, check->lacks);
    check->texts += status == STATUS_OK ? found->count : 0;
    check->look_status = status;
    check->looks++;
    if (status != STATUS_OK || check->lacks[0] || check->looks == LOOKED_AT * store_shards(check->store))
        loop_stop(check->loop);
    else
        look_next(check);
}

static void look_next(struct redis_check *check)
{
    store_secrets(check->store, check->looks / LOOKED_AT, looked_at[check->looks % LOOKED_AT], SLICE("0"),
                  TEXTS, on_texts, check);
}

static void check_keys(struct redis_check *check)
{
    const struct seal_keys *keys = check->options->encryption_keys;
    char name[SEAL_NAME_SIZE] = "";
    check->is_over = false;
    check->look_status = STATUS_UNKNOWN;
    timer_start(check->timer, WRITE_US);
    look_next(check);
    loop_run(check->loop);
    check->is_over = true;
    if (keys)
        seal_keys_name(keys, 0, name);
    if (check->lacks[0])
        check_add(check->report, CHECK_FAILURE, "encryption",
                  "data in Redis need the key %s, which %s; jobs and topics that need it are held. Add the "
                  "key to the "
                  "file of --encryption-keys",
                  check->lacks,
                  keys ? "the file does not have" : "is missing, because there is no --encryption-keys");
    else if (check->look_status != STATUS_OK)
        check_add(check->report, CHECK_WARNING, "encryption", "not checked: the data could not be read");
    else if (keys)
        check_add(check->report, CHECK_OK, "encryption",
                  "%zu %s in the file, %s encrypts; each of %zu texts in Redis opens", seal_keys_count(keys),
                  seal_keys_count(keys) == 1 ? "key" : "keys", name, check->texts);
    else
        check_add(check->report, CHECK_OK, "encryption", "off");
}

static bool may_write(const struct redis_check *check)
{
    struct problem problem;
    const struct redis_info *info = store_redis_info(check->store);
    return info->is_known && !is_replica(info) && !store_is_refused(check->store, &problem);
}

static void check_store(struct redis_check *check, const struct redis_address *redis)
{
    struct metrics_board *board = metrics_board_new(1);
    struct store_options store = store_setup(check->options, redis, check->options->prefix);
    store.metrics = metrics_of(board, 0);
    store.is_read_only = true;
    check->store = store_new(check->loop, &store);
    store_on_change(check->store, on_store_change, check);
    timer_start(check->timer, READY_US);
    loop_run(check->loop);
    store_on_change(check->store, NULL, NULL);
    add_lines(check, &store);
    if (may_write(check)) {
        try_writes(check);
        check_keys(check);
    }
    store_free(check->store);
    metrics_board_free(board);
}

void check_redis(struct check_report *report, const struct options *options)
{
    struct redis_check check = {.report = report, .options = options, .loop = loop_new()};
    struct redis_address redis = options->redis_address;
    struct check_embedded embedded = {.fd = -1};
    check.timer = timer_new(check.loop, on_timeout, &check);
    if (!options->is_embedded || check_embedded_find(report, check.loop, options, &embedded)) {
        if (options->is_embedded)
            redis.path = embedded.path;
        check_store(&check, &redis);
    }
    if (embedded.fd >= 0)
        close(embedded.fd);
    timer_free(check.timer);
    loop_free(check.loop);
}
