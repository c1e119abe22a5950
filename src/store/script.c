#include "store/script.h"

#include "base/buffer.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/test_point.h"
#include "store/clock.h"

enum {
    NUMBERS_IN_BLOCK = 60,
    REFUSALS_TOLD_MAX = 10, /* maximum number of refusals that are logged in a second */
    REFUSED_US = 1000000,   /* time after a refusal in which functions are not loaded again */
    VERSIONS_MAX = 4,       /* number of versions of duepost whose functions Redis keeps */
    EARLIER_LIBRARIES = 63, /* number of libraries of a version before 0.3, which had one for each script */
};

/* The library is being loaded on this connection. */
struct loading {
    struct redis_link *link;
    struct loading *next;
};

/* The state of the library in Redis, as far as this reactor has seen it. */
static _Thread_local struct {
    bool were_listed;   /* libraries of other versions have been listed */
    bool keeps_others;  /* see script_keep_others */
    bool is_full;       /* the last refusal was OOM */
    int64_t refused_us; /* when Redis last refused to load the library on these connections, or 0 */
    struct loading *loadings;
} library;

static const struct slice FUNCTION_IS_MISSING = SLICE_INIT("ERR Function not found");

struct script_call {
    enum script_id script;
    bool was_repeated; /* after Redis did not find the function */
    struct script_args args;
    struct redis_link *link;
    script_fn *fn;
    void *arg;
};

/* ---- arguments ---- */

struct script_numbers {
    struct script_numbers *next;
    size_t used;
    char texts[NUMBERS_IN_BLOCK][SCRIPT_NUMBER_BYTES];
};

const struct slice *script_args_all(const struct script_args *args)
{
    return args->others ? args->others : args->few;
}

void script_args_text(struct script_args *args, struct slice text)
{
    if (args->count < SCRIPT_ARGS_FEW && !args->others) {
        args->few[args->count++] = text;
        return;
    }
    if (args->count >= args->capacity) {
        size_t capacity = 2 * args->count > 64 ? 2 * args->count : 64;
        struct slice *others = memory_resize(args->others, capacity * sizeof *others);
        if (!args->others)
            memcpy(others, args->few, sizeof args->few);
        args->others = others;
        args->capacity = capacity;
    }
    args->others[args->count++] = text;
}

static char *next_number(struct script_args *args)
{
    struct script_numbers *block = args->other_numbers;
    if (args->number_count < SCRIPT_NUMBERS_FEW)
        return args->numbers[args->number_count++];
    if (!block || block->used == NUMBERS_IN_BLOCK) {
        block = NEW(struct script_numbers);
        block->next = args->other_numbers;
        args->other_numbers = block;
    }
    return block->texts[block->used++];
}

static void add_number(struct script_args *args, const char *prefix, int64_t number)
{
    char *text = next_number(args);
    struct buffer digits = buffer_of(text, SCRIPT_NUMBER_BYTES);
    buffer_append(&digits, slice_of(prefix));
    buffer_append_number(&digits, number);
    script_args_text(args, slice_from(text, digits.size));
}

void script_args_number(struct script_args *args, int64_t number)
{
    add_number(args, "", number);
}

void script_args_when(struct script_args *args, struct job_when when)
{
    add_number(args, when.is_absolute ? "@" : "", when.ms);
}

void script_args_fini(struct script_args *args)
{
    for (struct script_numbers *block = args->other_numbers; block;) {
        struct script_numbers *next = block->next;
        free(block);
        block = next;
    }
    free(args->others);
}

/* ---- calls ---- */

struct script_call *script_call_new(enum script_id script, struct slice key)
{
    struct script_call *call = NEW(struct script_call);
    call->script = script;
    script_args_text(&call->args, SLICE("FCALL"));
    const struct script_text *text = &script_texts[script];
    script_args_text(&call->args, slice_of(clock_is_manual() ? text->manual_function : text->function));
    script_args_text(&call->args, SLICE("1"));
    script_args_text(&call->args, key);
    return call;
}

struct script_args *script_call_args(struct script_call *call)
{
    return &call->args;
}

static void script_call_free(struct script_call *call)
{
    script_args_fini(&call->args);
    free(call);
}

/* Returns the status for an error reply of Redis by the reply's first word (see the table in README.md).
 * Except for errors from within a script, an error means that the script did not run. If Redis Cluster is
 * migrating the slot, the script stopped at its probe (check.lua), before its first write. */
static enum status script_error_status(struct slice error)
{
    static const struct {
        struct slice word;
        enum status status;
    } table[] = {
        {SLICE_INIT("OOM"), STATUS_FULL},
        {SLICE_INIT("LOADING"), STATUS_UNAVAILABLE},
        {SLICE_INIT("MASTERDOWN"), STATUS_UNAVAILABLE},
        {SLICE_INIT("CLUSTERDOWN"), STATUS_UNAVAILABLE},
        {SLICE_INIT("MOVED"), STATUS_UNAVAILABLE},
        {SLICE_INIT("ASK"), STATUS_UNAVAILABLE},
        {SLICE_INIT("TRYAGAIN"), STATUS_UNAVAILABLE},
        {SLICE_INIT("READONLY"), STATUS_UNAVAILABLE},
        {SLICE_INIT("BUSY"), STATUS_UNAVAILABLE},
        {SLICE_INIT("MISCONF"), STATUS_UNAVAILABLE},
        {SLICE_INIT("NOREPLICAS"), STATUS_UNAVAILABLE},
        {SLICE_INIT("NOAUTH"), STATUS_UNAVAILABLE},
        {SLICE_INIT("NOPERM"), STATUS_UNAVAILABLE},
        {SLICE_INIT(SCRIPT_NEWER_FORMAT), STATUS_UNAVAILABLE},
    };
    struct slice word, rest;
    if (slice_starts_with(error, SLICE("ERR Script attempted to access a non local key")) ||
        slice_starts_with(error, FUNCTION_IS_MISSING) ||
        slice_starts_with(error, SLICE("ERR unknown command")))
        return STATUS_UNAVAILABLE;
    slice_cut(error, ' ', &word, &rest);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (slice_equal(word, table[i].word))
            return table[i].status;
    return STATUS_UNKNOWN;
}

static void load_library(struct redis_link *link);

/* If the call did not run because Redis does not have the function, loads the library. Returns whether the
 * call has to be sent again. Redis loads the library first, because the connection keeps the order. */
static bool needs_repetition(struct script_call *call, const struct redis_reply *reply)
{
    if (call->was_repeated || redis_reply_kind(reply) != REDIS_KIND_ERROR || !redis_link_is_up(call->link) ||
        !slice_starts_with(redis_reply_text(reply), FUNCTION_IS_MISSING))
        return false;
    if (library.refused_us && clock_boot_us() - library.refused_us < REFUSED_US)
        return false;
    load_library(call->link);
    call->was_repeated = true;
    return true;
}

void script_leave_link(struct redis_link *link, const struct redis_reply *reply)
{
    if (redis_reply_kind(reply) != REDIS_KIND_ERROR)
        return;
    struct slice error = redis_reply_text(reply);
    if (slice_starts_with(error, SLICE("READONLY")) || slice_starts_with(error, SLICE("NOAUTH")) ||
        slice_starts_with(error, SLICE("LOADING")))
        redis_link_reset(link, "Redis serves no writes on this connection");
}

/* Logs a refusal. During an outage, each call to each shard is refused. So a reactor logs only a few refusals
 * each second, and counts the others in one line. */
static void log_refusal(const char *script, struct slice error)
{
    static _Thread_local struct {
        int64_t second_us;
        unsigned told, quiet;
    } refusals;
    int64_t now_us = clock_boot_us();
    if (now_us - refusals.second_us >= INT64_C(1000000)) {
        refusals.second_us = now_us;
        refusals.told = 0;
    }
    if (refusals.told == REFUSALS_TOLD_MAX) {
        refusals.quiet++;
        return;
    }
    refusals.told++;
    log_warning("redis_refused", LOG_TEXT("script", script), LOG_SLICE("error", error),
                LOG_NUMBER("more", refusals.quiet));
    refusals.quiet = 0;
}

static enum status status_of(const struct script_call *call, const struct redis_reply *reply)
{
    if (!reply)
        return STATUS_UNKNOWN;
    if (redis_reply_kind(reply) != REDIS_KIND_ERROR)
        return STATUS_OK;
    struct slice error = redis_reply_text(reply);
    enum status status = script_error_status(error);
    if (library.is_full && slice_starts_with(error, FUNCTION_IS_MISSING) &&
        !script_texts[call->script].runs_when_full)
        status = STATUS_FULL;
    log_refusal(script_texts[call->script].name, error);
    return status;
}

static void send(struct script_call *call);

static void on_reply(void *arg, const struct redis_reply *reply)
{
    struct script_call *call = arg;
    TEST_POINT("after", script_texts[call->script].name);
    if (needs_repetition(call, reply)) {
        send(call);
        return;
    }
    script_leave_link(call->link, reply);
    call->fn(call->arg, status_of(call, reply), reply);
    script_call_free(call);
}

static void on_down(void *arg, const struct redis_reply *reply)
{
    (void)reply;
    struct script_call *call = arg;
    call->fn(call->arg, STATUS_UNAVAILABLE, NULL);
    script_call_free(call);
}

static void send(struct script_call *call)
{
    TEST_POINT("before", script_texts[call->script].name);
    redis_send(call->link, call->args.count, script_args_all(&call->args),
               redis_link_is_up(call->link) ? on_reply : on_down, call);
}

void script_call_send(struct script_call *call, struct redis_link *link, script_fn *fn, void *arg)
{
    call->link = link;
    call->fn = fn;
    call->arg = arg;
    send(call);
}

/* ---- library ---- */

static const struct script_library *used_library(void)
{
    return clock_is_manual() ? &script_manual_library : &script_library;
}

static void on_deleted(void *arg, const struct redis_reply *reply)
{
    (void)arg, (void)reply; /* the reply is not needed: another process may have deleted the library */
}

/* Returns the name of a library in a reply that has a list of names and values for each library. */
static struct slice listed_name(const struct redis_reply *reply, size_t at)
{
    return redis_reply_text(redis_reply_at(redis_reply_at(reply, at), 1));
}

/* Deletes the libraries of other versions if there are those of many versions. The others stay, because these
 * versions may be running. */
static void on_listed(void *arg, const struct redis_reply *reply)
{
    struct redis_link *link = arg;
    size_t count = redis_reply_size(reply), earlier = 0;
    for (size_t i = 0; i < count; i++)
        earlier += listed_name(reply, i).size != slice_of(used_library()->name).size;
    size_t versions = count - earlier + (earlier + EARLIER_LIBRARIES - 1) / EARLIER_LIBRARIES;
    for (size_t i = 0; versions > VERSIONS_MAX && i < count && redis_link_is_up(link); i++) {
        struct slice name = listed_name(reply, i);
        struct slice argv[] = {SLICE("FUNCTION"), SLICE("DELETE"), name};
        if (!slice_equal(name, slice_of(used_library()->name)))
            redis_send(link, 3, argv, on_deleted, NULL);
    }
}

static void list_libraries(struct redis_link *link)
{
    struct slice argv[] = {SLICE("FUNCTION"), SLICE("LIST"), SLICE("LIBRARYNAME"), SLICE("duepost_*")};
    library.were_listed = true;
    redis_send(link, 4, argv, on_listed, link);
}

/* Returns whether Redis has the library now. Logs a refusal. */
static bool was_loaded(struct redis_link *link, const struct redis_reply *reply)
{
    struct slice exists = SLICE("already exists"); /* another connection has loaded the library */
    if (!reply)
        return false;
    struct slice error = redis_reply_text(reply);
    if (redis_reply_kind(reply) != REDIS_KIND_ERROR ||
        memmem(error.data, error.size, exists.data, exists.size))
        return true;
    log_refusal("FUNCTION LOAD", error);
    library.refused_us = clock_boot_us();
    library.is_full = slice_starts_with(error, SLICE("OOM"));
    script_leave_link(link, reply);
    return false;
}

/* At the end of the process, connections may be freed by another thread, whose list lacks this entry. */
static void end_loading(struct loading *loading)
{
    struct loading **at = &library.loadings;
    while (*at && *at != loading)
        at = &(*at)->next;
    if (*at)
        *at = loading->next;
    free(loading);
}

/* If the library was loaded, lists the libraries of all versions, because this may be a new version in this
 * Redis. */
static void on_loaded(void *arg, const struct redis_reply *reply)
{
    struct loading *loading = arg;
    struct redis_link *link = loading->link;
    bool is_there = was_loaded(link, reply) && redis_link_is_up(link);
    end_loading(loading);
    if (is_there && !library.were_listed && !library.keeps_others)
        list_libraries(link);
}

/* Loads the library, unless it is being loaded on this connection: several calls may find that it is missing.
 */
static void load_library(struct redis_link *link)
{
    for (const struct loading *other = library.loadings; other; other = other->next)
        if (other->link == link)
            return;
    struct loading *loading = NEW(struct loading);
    *loading = (struct loading){.link = link, .next = library.loadings};
    library.loadings = loading;
    struct slice argv[] = {SLICE("FUNCTION"), SLICE("LOAD"), slice_of(used_library()->text)};
    redis_send(link, 3, argv, on_loaded, loading);
}

void script_keep_others(void)
{
    library.keeps_others = true;
}

void script_note_link_up(void)
{
    library.were_listed = library.is_full = false;
    library.refused_us = 0;
}
