#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/encoding.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/lease_text.h"
#include "store/store_private.h"
#include "store/clock.h"

enum {
    ASK_AGAIN_US = 5 * 1000 * 1000,
    ASK_SOON_US = 500 * 1000, /* interval of the queries while Redis cannot be used */
    REFRESH_US = 1000 * 1000,
    US_PER_S = 1000 * 1000,
    REDIS_MAJOR_MIN = 7, /* first version of Redis with script flags */
};

struct redis_state {
    struct redis_link *link;
    struct slice jobs_key;
    const struct store_options *options;
    bool may_lay_out;
    loop_fn *on_change;
    void *arg;
    struct timer *again;
    int64_t asked_us; /* time at which the last queries were sent */
    struct redis_info info;
    struct rights *rights;
    bool aof_is_broken;
    char secret[DEFER_SECRET_SIZE]; /* see shard_secret; empty: not known yet */
    char trouble[160];              /* Redis's error when it refuses writes; empty: none */
    char refusal[RIGHTS_TEXT_MAX];  /* reason why Redis cannot be used, from the last complete round of
                                       queries; empty: it can be used */
};

/* Returns the value of a "name:value" line of INFO. */
static struct slice info_value(struct slice info, const char *name)
{
    size_t size = strlen(name);
    for (struct slice line; info.size;) {
        slice_cut(info, '\n', &line, &info);
        if (line.size > size && memcmp(line.data, name, size) == 0 && line.data[size] == ':') {
            line = slice_skip(line, size + 1);
            if (line.size && line.data[line.size - 1] == '\r')
                line.size--;
            return line;
        }
    }
    return (struct slice){NULL, 0};
}

static int64_t info_number(struct slice info, const char *name)
{
    uint64_t number;
    return slice_to_number(info_value(info, name), INT64_MAX, &number) ? (int64_t)number : 0;
}

static int64_t info_us(struct slice info, const char *name)
{
    int64_t us;
    return decimal_parse(info_value(info, name), US_PER_S, INT64_MAX / 8, &us, NULL) ? us : 0;
}

static void copy(char *to, size_t size, struct slice from)
{
    snprintf(to, size, "%.*s", SLICE_ARG(from));
}

/* Returns whether duepost can use this Redis: version, eviction policy and layout of the data must fit. */
static bool is_usable(const struct redis_state *state, struct problem *problem)
{
    return store_check_version(&state->info, problem) == STATUS_OK &&
           store_check_eviction(&state->info, problem) == STATUS_OK &&
           store_check_layout(&state->info, state->options->shards, problem) == STATUS_OK;
}

/* Counts online replicas: "slave0:ip=...,port=...,state=online,offset=...,lag=0". */
static unsigned count_replicas(struct slice info)
{
    unsigned online = 0;
    for (unsigned i = 0; i < DURABILITY_REPLICAS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "slave%u", i);
        struct slice line = info_value(info, name);
        if (line.size && memmem(line.data, line.size, "state=online", strlen("state=online")))
            online++;
    }
    return online;
}

static void on_info(void *arg, const struct redis_reply *reply)
{
    struct redis_state *state = arg;
    struct slice info = redis_reply_text(reply);
    if (redis_reply_kind(reply) != REDIS_KIND_TEXT)
        return;
    copy(state->info.version, sizeof state->info.version, info_value(info, "redis_version"));
    copy(state->info.role, sizeof state->info.role, info_value(info, "role"));
    copy(state->info.eviction, sizeof state->info.eviction, info_value(info, "maxmemory_policy"));
    state->aof_is_broken = slice_equal(info_value(info, "aof_last_write_status"), SLICE("err"));
    state->info.has_aof = slice_equal(info_value(info, "aof_enabled"), SLICE("1")) && !state->aof_is_broken;
    state->info.in_force.replicas = count_replicas(info);
    state->info.used_bytes = info_number(info, "used_memory");
    state->info.max_bytes = info_number(info, "maxmemory");
    state->info.system_bytes = info_number(info, "total_system_memory");
    state->info.cpu_us = info_us(info, "used_cpu_sys") + info_us(info, "used_cpu_user") +
                         info_us(info, "used_cpu_sys_children") + info_us(info, "used_cpu_user_children");
}

static void end_round(struct redis_state *state)
{
    struct problem problem = {""};
    state->info.is_known = state->info.version[0] != '\0';
    const char *denied = rights_refusal(state->rights);
    bool is_refused = denied || !is_usable(state, &problem);
    snprintf(state->refusal, sizeof state->refusal, "%s", denied ? denied : is_refused ? problem.text : "");
    if (state->trouble[0] || denied || !redis_state_give_durability(state) ||
        (state->may_lay_out && !redis_state_is_laid_out(state)))
        timer_start(state->again, ASK_SOON_US);
    state->on_change(state->arg);
}

static void read_layout(struct redis_state *state, const struct redis_reply *reply)
{
    state->info.format = redis_reply_integer(redis_reply_at(reply, 1));
    state->info.shards = redis_reply_integer(redis_reply_at(reply, 2));
    state->info.is_clock_manual = redis_reply_integer(redis_reply_at(reply, 4)) == 1;
    copy(state->secret, sizeof state->secret, redis_reply_text(redis_reply_at(reply, 5)));
    int64_t born_ms = redis_reply_integer(redis_reply_at(reply, 3));
    if (state->info.born_ms && born_ms != state->info.born_ms)
        state->info.losses++;
    state->info.born_ms = born_ms;
}

static void on_opened(void *arg, enum status status, const struct redis_reply *reply)
{
    struct redis_state *state = arg;
    if (status == STATUS_OK) {
        int64_t now_us = redis_reply_integer(redis_reply_at(reply, 0));
        state->info.clock_us = now_us - clock_boot_us();
        if (clock_is_manual())
            clock_turn_to(now_us);
        read_layout(state, reply);
    }
    copy(state->trouble, sizeof state->trouble, status == STATUS_OK ? SLICE("") : redis_reply_text(reply));
    if (reply)
        end_round(state);
}

/* Reads the layout of the data. If the data has no layout yet, open.lua writes the layout that this
 * process uses, but only if may_lay_out is set and duepost can use this Redis. */
static void open_data(struct redis_state *state)
{
    struct problem problem;
    unsigned char random[(DEFER_SECRET_SIZE - 1) / 2];
    char secret[DEFER_SECRET_SIZE];
    random_fill(random, sizeof random);
    hex_write(secret, random, sizeof random);
    struct script_call *open = script_call_new(SCRIPT_OPEN, state->jobs_key);
    struct script_args *args = script_call_args(open);
    script_args_number(args, 0);
    script_args_number(args, STORE_FORMAT);
    script_args_number(args, (int64_t)state->options->shards);
    script_args_number(args, state->may_lay_out && is_usable(state, &problem));
    script_args_number(args, store_options_part(state->options, state->options->history_backlog_bytes));
    script_args_text(args, slice_of(state->options->history_bodies ? state->options->history_bodies : "on"));
    script_args_text(args, slice_from(secret, sizeof secret - 1));
    script_call_send(open, state->link, on_opened, state);
}

static void on_rights_known(void *arg)
{
    struct redis_state *state = arg;
    if (rights_refusal(state->rights))
        end_round(state);
    else
        open_data(state);
}

/* Returns whether to trust the operator that each write is synced (--trust-durability). A Redis service may
 * have no append-only file and store each write in another way. If Redis shows the setting appendfsync, or
 * reports that its append-only file is broken, the option is ignored. */
static bool is_trusted(const struct redis_state *state, bool is_hidden)
{
    const struct store_options *options = state->options;
    return options->trusts_durability && options->durability.is_synced && is_hidden && !state->aof_is_broken;
}

/* Reads the setting appendfsync. Then queries the rights if they must be checked, and after that the
 * layout. */
static void on_appendfsync(void *arg, const struct redis_reply *reply)
{
    struct redis_state *state = arg;
    if (!reply)
        return;
    struct slice mode = redis_reply_text(redis_reply_at(reply, 1));
    bool is_hidden = mode.size == 0; /* CONFIG is forbidden */
    state->info.is_fsync_hidden = state->info.has_aof && is_hidden;
    state->info.is_trusted = is_trusted(state, is_hidden);
    state->info.in_force.is_synced =
        state->info.is_trusted || (state->info.has_aof && slice_equal(mode, SLICE("always")));
    if (rights_need_recheck(state->rights))
        rights_ask(state->rights);
    else
        open_data(state);
}

static void redis_state_ask(void *arg)
{
    struct redis_state *state = arg;
    if (!redis_link_is_up(state->link))
        return;
    state->asked_us = clock_steady_us();
    redis_send(state->link, 1, (struct slice[]){SLICE("INFO")}, on_info, state);
    redis_send(state->link, 3, (struct slice[]){SLICE("CONFIG"), SLICE("GET"), SLICE("appendfsync")},
               on_appendfsync, state);
    timer_start_aligned(state->again, ASK_AGAIN_US);
}

struct redis_state *redis_state_new(struct loop *loop, struct redis_link *link, struct slice jobs_key,
                                    const struct store_options *options, bool may_lay_out, loop_fn *on_change,
                                    void *arg)
{
    struct redis_state *state = NEW(struct redis_state);
    state->link = link;
    state->jobs_key = jobs_key;
    state->options = options;
    state->may_lay_out = may_lay_out;
    state->on_change = on_change;
    state->arg = arg;
    state->again = timer_new(loop, redis_state_ask, state);
    state->rights = rights_new(link, jobs_key, options, on_rights_known, state);
    return state;
}

struct slice redis_state_secret(const struct redis_state *state)
{
    return slice_of(state->secret);
}

void redis_state_free(struct redis_state *state)
{
    if (!state)
        return;
    timer_free(state->again);
    rights_free(state->rights);
    free(state);
}

void redis_state_lay_out(struct redis_state *state)
{
    if (state->may_lay_out)
        return;
    state->may_lay_out = true;
    if (!redis_state_is_laid_out(state) && state->info.is_known)
        timer_start(state->again, 0);
}

void redis_state_start(struct redis_state *state)
{
    rights_recheck(state->rights);
    redis_state_ask(state);
}

void redis_state_stop(struct redis_state *state)
{
    state->info.is_known = false;
    timer_stop(state->again);
}

void redis_state_note_denial(struct redis_state *state)
{
    if (rights_refusal(state->rights))
        return; /* rights are denied, so the next round of queries comes soon without this call */
    rights_recheck(state->rights);
    redis_state_recheck(state);
}

void redis_state_note_subscription(struct redis_state *state, bool is_denied)
{
    rights_note_subscription(state->rights, is_denied);
    if (is_denied)
        redis_state_recheck(state);
}

void redis_state_recheck(struct redis_state *state)
{
    if (!state->trouble[0] && state->info.is_known)
        timer_start(state->again, 0);
}

void redis_state_refresh(struct redis_state *state)
{
    if (state->info.is_known && clock_steady_us() - state->asked_us >= REFRESH_US)
        timer_start(state->again, 0);
}

const struct redis_info *redis_state_get(const struct redis_state *state)
{
    return &state->info;
}

bool redis_state_give_durability(const struct redis_state *state)
{
    const struct store_options *options = state->options;
    return !options->is_durability_set || durability_covers(state->info.in_force, options->durability);
}

const char *redis_state_trouble(const struct redis_state *state)
{
    return state->trouble[0] ? state->trouble : NULL;
}

bool redis_state_is_laid_out(const struct redis_state *state)
{
    return state->info.format > 0;
}

const char *redis_state_denial(const struct redis_state *state)
{
    return rights_refusal(state->rights);
}

const char *redis_state_refusal(const struct redis_state *state)
{
    return state->refusal[0] ? state->refusal : NULL;
}

/* ---- durability ---- */

static bool parse_replicas(struct slice text, struct durability *durability)
{
    uint64_t number;
    const struct slice name = SLICE("replicated:");
    if (!slice_starts_with(text, name))
        return false;
    if (!slice_to_number(slice_skip(text, name.size), DURABILITY_REPLICAS_MAX, &number) || number == 0)
        return false;
    durability->replicas = (unsigned)number;
    return true;
}

bool durability_parse(struct slice text, struct durability *durability)
{
    struct slice first, rest;
    *durability = (struct durability){.is_synced = false};
    if (slice_equal(text, SLICE("memory")))
        return true;
    slice_cut(text, '+', &first, &rest);
    if (slice_equal(first, SLICE("fsync"))) {
        durability->is_synced = true;
        return text.size == first.size || parse_replicas(rest, durability);
    }
    return parse_replicas(text, durability);
}

void durability_format(struct durability durability, char text[DURABILITY_TEXT_MAX])
{
    const char *synced = durability.is_synced ? "fsync" : "memory";
    if (durability.replicas == 0)
        snprintf(text, DURABILITY_TEXT_MAX, "%s", synced);
    else
        snprintf(text, DURABILITY_TEXT_MAX, "%sreplicated:%u", durability.is_synced ? "fsync+" : "",
                 durability.replicas);
}

bool durability_covers(struct durability given, struct durability wanted)
{
    return given.is_synced >= wanted.is_synced && given.replicas >= wanted.replicas;
}

void redis_info_durability(const struct redis_info *info, char text[DURABILITY_TEXT_MAX])
{
    bool is_hidden = info->is_fsync_hidden && !info->is_trusted;
    if (!info->is_known || (is_hidden && info->in_force.replicas == 0))
        snprintf(text, DURABILITY_TEXT_MAX, "unknown");
    else
        durability_format(info->in_force, text);
}

const char *redis_info_risk(const struct redis_info *info)
{
    if (info->in_force.is_synced)
        return NULL;
    return info->is_fsync_hidden ? "Redis refuses CONFIG GET appendfsync"
                                 : "Redis does not have appendonly yes and appendfsync always";
}

/* ---- can duepost use this Redis? ---- */

/* ---- whether duepost can use a Redis with this information ---- */

enum status store_check_version(const struct redis_info *info, struct problem *problem)
{
    if (strtol(info->version, NULL, 10) >= REDIS_MAJOR_MIN)
        return STATUS_OK;
    if (info->version[0])
        problem_set(problem, "Redis is version %s; duepost needs 7.0 or newer", info->version);
    else
        problem_set(problem,
                    "Redis does not say its version (redis_version in INFO); duepost needs 7.0 or newer");
    return STATUS_INVALID;
}

/* Refuses a Redis that evicts keys, because it would lose jobs. */
enum status store_check_eviction(const struct redis_info *info, struct problem *problem)
{
    if (!info->eviction[0] || strcmp(info->eviction, "noeviction") == 0)
        return STATUS_OK;
    problem_set(problem,
                "Redis has maxmemory-policy %s, which may evict jobs; duepost needs noeviction: CONFIG SET "
                "maxmemory-policy noeviction, and the same in redis.conf",
                info->eviction);
    return STATUS_INVALID;
}

enum status store_check_layout(const struct redis_info *info, size_t shards, struct problem *problem)
{
    if (info->format == 0)
        return STATUS_OK;
    if (info->format > STORE_FORMAT_MAX)
        problem_set(problem,
                    "the data in Redis has format %lld, newer than this duepost's %d; run a newer duepost",
                    (long long)info->format, STORE_FORMAT_MAX);
    else if (info->shards != (int64_t)shards)
        problem_set(problem, "the data in Redis has %lld shards, this duepost is set up for %zu",
                    (long long)info->shards, shards);
    else if (info->is_clock_manual && !clock_is_manual())
        problem_set(problem, "the data follows a manual clock; start duepost with --clock manual, or with "
                             "another directory in --data");
    else if (!info->is_clock_manual && clock_is_manual())
        problem_set(problem, "the data follows the clock of Redis, and --clock manual would stop it; start "
                             "duepost without --clock manual, or with a new directory in --data");
    else
        return STATUS_OK;
    return STATUS_INVALID;
}
