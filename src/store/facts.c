#include "store/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/log.h"
#include "base/memory.h"
#include "store/rights.h"
#include "store/script.h"

enum {
    ASK_AGAIN_US = 5 * 1000 * 1000,
    ASK_SOON_US = 500 * 1000, /* interval of the queries while Redis cannot be used */
    REFRESH_US = 1000 * 1000,
    US_PER_S = 1000 * 1000,
    REDIS_MAJOR_MIN = 7, /* first version of Redis with script flags */
};

struct facts {
    struct redis_link *link;
    struct slice jobs_key;
    const struct store_options *options;
    bool may_lay_out;
    loop_fn *on_change;
    void *arg;
    struct timer *again;
    int64_t asked_us; /* time at which the last queries were sent */
    struct store_facts facts;
    struct rights *rights;
    bool aof_is_broken;
    char trouble[160];             /* Redis's error when it refuses writes; empty: none */
    char refusal[RIGHTS_TEXT_MAX]; /* reason why Redis cannot be used, from the last complete round of
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
static bool is_usable(const struct facts *facts, struct problem *problem)
{
    return store_check_version(&facts->facts, problem) == STATUS_OK &&
           store_check_eviction(&facts->facts, problem) == STATUS_OK &&
           store_check_layout(&facts->facts, facts->options->shards, problem) == STATUS_OK;
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
    struct facts *facts = arg;
    struct slice info = redis_reply_text(reply);
    if (redis_reply_kind(reply) != REDIS_KIND_TEXT)
        return;
    copy(facts->facts.version, sizeof facts->facts.version, info_value(info, "redis_version"));
    copy(facts->facts.role, sizeof facts->facts.role, info_value(info, "role"));
    copy(facts->facts.eviction, sizeof facts->facts.eviction, info_value(info, "maxmemory_policy"));
    facts->aof_is_broken = slice_equal(info_value(info, "aof_last_write_status"), SLICE("err"));
    facts->facts.has_aof = slice_equal(info_value(info, "aof_enabled"), SLICE("1")) && !facts->aof_is_broken;
    facts->facts.in_force.replicas = count_replicas(info);
    facts->facts.used_bytes = info_number(info, "used_memory");
    facts->facts.max_bytes = info_number(info, "maxmemory");
    facts->facts.system_bytes = info_number(info, "total_system_memory");
    facts->facts.cpu_us = info_us(info, "used_cpu_sys") + info_us(info, "used_cpu_user") +
                          info_us(info, "used_cpu_sys_children") + info_us(info, "used_cpu_user_children");
}

static void end_round(struct facts *facts)
{
    struct problem problem = {""};
    facts->facts.is_known = facts->facts.version[0] != '\0';
    const char *denied = rights_refusal(facts->rights);
    bool is_refused = denied || !is_usable(facts, &problem);
    snprintf(facts->refusal, sizeof facts->refusal, "%s", denied ? denied : is_refused ? problem.text : "");
    if (facts->trouble[0] || denied || !facts_give_durability(facts) ||
        (facts->may_lay_out && !facts_is_laid_out(facts)))
        timer_start(facts->again, ASK_SOON_US);
    facts->on_change(facts->arg);
}

static void read_layout(struct facts *facts, const struct redis_reply *reply)
{
    facts->facts.format = redis_reply_integer(redis_reply_at(reply, 1));
    facts->facts.shards = redis_reply_integer(redis_reply_at(reply, 2));
    int64_t born_ms = redis_reply_integer(redis_reply_at(reply, 3));
    if (facts->facts.born_ms && born_ms != facts->facts.born_ms)
        facts->facts.losses++;
    facts->facts.born_ms = born_ms;
}

static void on_opened(void *arg, enum status status, const struct redis_reply *reply)
{
    struct facts *facts = arg;
    if (status == STATUS_OK) {
        facts->facts.clock_us = redis_reply_integer(redis_reply_at(reply, 0)) - clock_boot_us();
        read_layout(facts, reply);
    }
    copy(facts->trouble, sizeof facts->trouble, status == STATUS_OK ? SLICE("") : redis_reply_text(reply));
    if (reply)
        end_round(facts);
}

/* Reads the layout of the data. If the data has no layout yet, open.lua writes the layout that this
 * process uses, but only if may_lay_out is set and duepost can use this Redis. */
static void open_data(struct facts *facts)
{
    struct problem problem;
    struct script_call *open = script_call_new(SCRIPT_OPEN, facts->jobs_key);
    struct script_args *args = script_call_args(open);
    script_args_number(args, 0);
    script_args_number(args, STORE_FORMAT);
    script_args_number(args, (int64_t)facts->options->shards);
    script_args_number(args, facts->may_lay_out && is_usable(facts, &problem));
    script_args_number(args, store_options_part(facts->options, facts->options->history_backlog_bytes));
    script_args_text(args, slice_of(facts->options->history_bodies ? facts->options->history_bodies : "on"));
    script_call_send(open, facts->link, on_opened, facts);
}

static void on_rights_known(void *arg)
{
    struct facts *facts = arg;
    if (rights_refusal(facts->rights))
        end_round(facts);
    else
        open_data(facts);
}

/* Returns whether to trust the operator that each write is synced (--trust-durability). A Redis service may
 * have no append-only file and store each write in another way. If Redis shows the setting appendfsync, or
 * reports that its append-only file is broken, the option is ignored. */
static bool is_trusted(const struct facts *facts, bool is_hidden)
{
    const struct store_options *options = facts->options;
    return options->trusts_durability && options->durability.is_synced && is_hidden && !facts->aof_is_broken;
}

/* Reads the setting appendfsync. Then queries the rights if they must be checked, and after that the
 * layout. */
static void on_appendfsync(void *arg, const struct redis_reply *reply)
{
    struct facts *facts = arg;
    if (!reply)
        return;
    struct slice mode = redis_reply_text(redis_reply_at(reply, 1));
    bool is_hidden = mode.size == 0; /* CONFIG is forbidden */
    facts->facts.is_fsync_hidden = facts->facts.has_aof && is_hidden;
    facts->facts.is_trusted = is_trusted(facts, is_hidden);
    facts->facts.in_force.is_synced =
        facts->facts.is_trusted || (facts->facts.has_aof && slice_equal(mode, SLICE("always")));
    if (rights_need_recheck(facts->rights))
        rights_ask(facts->rights);
    else
        open_data(facts);
}

static void facts_ask(void *arg)
{
    struct facts *facts = arg;
    if (!redis_link_is_up(facts->link))
        return;
    facts->asked_us = clock_steady_us();
    redis_send(facts->link, 1, (struct slice[]){SLICE("INFO")}, on_info, facts);
    redis_send(facts->link, 3, (struct slice[]){SLICE("CONFIG"), SLICE("GET"), SLICE("appendfsync")},
               on_appendfsync, facts);
    timer_start_aligned(facts->again, ASK_AGAIN_US);
}

struct facts *facts_new(struct loop *loop, struct redis_link *link, struct slice jobs_key,
                        const struct store_options *options, bool may_lay_out, loop_fn *on_change, void *arg)
{
    struct facts *facts = NEW(struct facts);
    facts->link = link;
    facts->jobs_key = jobs_key;
    facts->options = options;
    facts->may_lay_out = may_lay_out;
    facts->on_change = on_change;
    facts->arg = arg;
    facts->again = timer_new(loop, facts_ask, facts);
    facts->rights = rights_new(link, jobs_key, options, on_rights_known, facts);
    return facts;
}

void facts_free(struct facts *facts)
{
    if (!facts)
        return;
    timer_free(facts->again);
    rights_free(facts->rights);
    free(facts);
}

void facts_lay_out(struct facts *facts)
{
    if (facts->may_lay_out)
        return;
    facts->may_lay_out = true;
    if (!facts_is_laid_out(facts) && facts->facts.is_known)
        timer_start(facts->again, 0);
}

void facts_start(struct facts *facts)
{
    rights_recheck(facts->rights);
    facts_ask(facts);
}

void facts_stop(struct facts *facts)
{
    facts->facts.is_known = false;
    timer_stop(facts->again);
}

void facts_note_denial(struct facts *facts)
{
    if (rights_refusal(facts->rights))
        return; /* rights are denied, so the next round of queries comes soon without this call */
    rights_recheck(facts->rights);
    facts_recheck(facts);
}

void facts_note_subscription(struct facts *facts, bool is_denied)
{
    rights_note_subscription(facts->rights, is_denied);
    if (is_denied)
        facts_recheck(facts);
}

void facts_recheck(struct facts *facts)
{
    if (!facts->trouble[0] && facts->facts.is_known)
        timer_start(facts->again, 0);
}

void facts_refresh(struct facts *facts)
{
    if (facts->facts.is_known && clock_steady_us() - facts->asked_us >= REFRESH_US)
        timer_start(facts->again, 0);
}

const struct store_facts *facts_get(const struct facts *facts)
{
    return &facts->facts;
}

bool facts_give_durability(const struct facts *facts)
{
    const struct store_options *options = facts->options;
    return !options->is_durability_set || durability_covers(facts->facts.in_force, options->durability);
}

const char *facts_trouble(const struct facts *facts)
{
    return facts->trouble[0] ? facts->trouble : NULL;
}

bool facts_is_laid_out(const struct facts *facts)
{
    return facts->facts.format > 0;
}

const char *facts_denial(const struct facts *facts)
{
    return rights_refusal(facts->rights);
}

const char *facts_refusal(const struct facts *facts)
{
    return facts->refusal[0] ? facts->refusal : NULL;
}

/* ---- can duepost use this Redis? ---- */

enum status store_check_version(const struct store_facts *facts, struct problem *problem)
{
    if (strtol(facts->version, NULL, 10) >= REDIS_MAJOR_MIN)
        return STATUS_OK;
    if (facts->version[0])
        problem_set(problem, "Redis is version %s; duepost needs 7.0 or newer", facts->version);
    else
        problem_set(problem,
                    "Redis does not say its version (redis_version in INFO); duepost needs 7.0 or newer");
    return STATUS_INVALID;
}

/* Refuses a Redis that evicts keys, because it would lose jobs. */
enum status store_check_eviction(const struct store_facts *facts, struct problem *problem)
{
    if (!facts->eviction[0] || strcmp(facts->eviction, "noeviction") == 0)
        return STATUS_OK;
    problem_set(problem,
                "Redis has maxmemory-policy %s, which may evict jobs; duepost needs noeviction: CONFIG SET "
                "maxmemory-policy noeviction, and the same in redis.conf",
                facts->eviction);
    return STATUS_INVALID;
}

enum status store_check_layout(const struct store_facts *facts, size_t shards, struct problem *problem)
{
    if (facts->format == 0)
        return STATUS_OK;
    if (facts->format > STORE_FORMAT_MAX)
        problem_set(problem,
                    "the data in Redis has format %lld, newer than this duepost's %d; run a newer duepost",
                    (long long)facts->format, STORE_FORMAT_MAX);
    else if (facts->shards != (int64_t)shards)
        problem_set(problem, "the data in Redis has %lld shards, this duepost is set up for %zu",
                    (long long)facts->shards, shards);
    else
        return STATUS_OK;
    return STATUS_INVALID;
}
