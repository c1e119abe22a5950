#include "store/script.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/test_point.h"

enum {
    NUMBERS_IN_BLOCK = 60,
    REFUSALS_TOLD_MAX = 10, /* maximum number of refusals that are logged in a second */
    VERSIONS_MAX = 4,       /* number of versions of duepost whose functions Redis keeps */
};

/* The state of the functions in Redis, as far as this reactor has seen it. */
static _Thread_local struct {
    bool are_refused;              /* Redis has no functions, or does not permit them */
    bool were_listed;              /* functions of other versions have been listed */
    bool is_loading[SCRIPT_COUNT]; /* FUNCTION LOAD is under way */
} functions;

enum script_way { BY_FUNCTION, BY_DIGEST, BY_TEXT };

struct script_call {
    enum script_id script;
    enum script_way way;
    bool was_loaded; /* the function was loaded for this call */
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
    call->args.count =
        2; /* the command, and the name of the function, digest or text that it runs: see send */
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
 * migrating the slot, the script stopped at its probe (probe.lua), before its first write. */
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
        {SLICE_INIT("NOSCRIPT"), STATUS_UNAVAILABLE},
        {SLICE_INIT(SCRIPT_NEWER_FORMAT), STATUS_UNAVAILABLE},
    };
    struct slice word, rest;
    if (slice_starts_with(error, SLICE("ERR Script attempted to access a non local key")))
        return STATUS_UNAVAILABLE;
    slice_cut(error, ' ', &word, &rest);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (slice_equal(word, table[i].word))
            return table[i].status;
    return STATUS_UNKNOWN;
}

static bool contains(struct slice text, struct slice part)
{
    return memmem(text.data, text.size, part.data, part.size) != NULL;
}

/* Returns whether this error means that Redis has no functions, or does not permit them. In this case, the
 * function did not run. */
static bool is_function_refused(struct slice error)
{
    return slice_starts_with(error, SLICE("ERR unknown command")) ||
           (slice_starts_with(error, SLICE("NOPERM")) && contains(error, SLICE("'fcall'")));
}

static void load_function(struct redis_link *link, enum script_id script);

/* If the call did not run because Redis does not have the function or script, sends the call in another form.
 * Returns whether it was sent again. */
static bool call_goes_otherwise(struct script_call *call, const struct redis_reply *reply)
{
    if (redis_reply_kind(reply) != REDIS_KIND_ERROR || !redis_link_is_up(call->link))
        return false;
    struct slice error = redis_reply_text(reply);
    if (call->way == BY_FUNCTION && is_function_refused(error)) {
        functions.are_refused = true;
        call->way = BY_DIGEST;
        return true;
    }
    if (call->way == BY_FUNCTION && slice_starts_with(error, SLICE("ERR Function not found"))) {
        if (call->was_loaded)
            call->way = BY_TEXT;
        else
            load_function(call->link, call->script);
        call->was_loaded = true;
        return true;
    }
    if (call->way != BY_DIGEST || !slice_starts_with(error, SLICE("NOSCRIPT")))
        return false;
    call->way = BY_TEXT;
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
    log_refusal(script_texts[call->script].name, error);
    return status;
}

static void send(struct script_call *call);

static void on_reply(void *arg, const struct redis_reply *reply)
{
    struct script_call *call = arg;
    TEST_POINT("after", script_texts[call->script].name);
    if (call_goes_otherwise(call, reply)) {
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
    const struct script_text *script = &script_texts[call->script];
    TEST_POINT("before", script->name);
    struct slice *argv = call->args.others ? call->args.others : call->args.few;
    argv[0] = call->way == BY_FUNCTION ? SLICE("FCALL")
              : call->way == BY_DIGEST ? SLICE("EVALSHA")
                                       : SLICE("EVAL");
    argv[1] = slice_of(call->way == BY_FUNCTION ? script->function
                       : call->way == BY_DIGEST ? script->digest
                                                : script->text);
    redis_send(call->link, call->args.count, argv, redis_link_is_up(call->link) ? on_reply : on_down, call);
}

void script_call_send(struct script_call *call, struct redis_link *link, script_fn *fn, void *arg)
{
    call->link = link;
    call->fn = fn;
    call->arg = arg;
    call->way = functions.are_refused ? BY_DIGEST : BY_FUNCTION;
    send(call);
}

/* ---- functions ---- */

static bool is_of_this_version(struct slice function)
{
    for (size_t i = 0; i < SCRIPT_COUNT; i++)
        if (slice_equal(function, slice_of(script_texts[i].function)))
            return true;
    return false;
}

static void on_deleted(void *arg, const struct redis_reply *reply)
{
    (void)arg, (void)reply; /* the reply is not needed: another process may have deleted the library */
}

/* Deletes the functions of other versions if there are many. The reply has a list of names and values for
 * each library. */
static void on_listed(void *arg, const struct redis_reply *reply)
{
    struct redis_link *link = arg;
    size_t count = redis_reply_size(reply);
    for (size_t i = 0; count > (size_t)VERSIONS_MAX * SCRIPT_COUNT && i < count && redis_link_is_up(link);
         i++) {
        struct slice name = redis_reply_text(redis_reply_at(redis_reply_at(reply, i), 1));
        struct slice argv[] = {SLICE("FUNCTION"), SLICE("DELETE"), name};
        if (!is_of_this_version(name))
            redis_send(link, 3, argv, on_deleted, NULL);
    }
}

static void list_functions(struct redis_link *link)
{
    struct slice argv[] = {SLICE("FUNCTION"), SLICE("LIST"), SLICE("LIBRARYNAME"), SLICE("duepost_*")};
    functions.were_listed = true;
    redis_send(link, 4, argv, on_listed, link);
}

/* A function that is being loaded into Redis. */
struct loading {
    enum script_id script;
    struct redis_link *link;
};

/* Returns whether the error means that Redis does not accept functions: it begins with ERR or NOPERM.
 * Other errors report a state of Redis, such as READONLY, OOM or LOADING; then the function is loaded when
 * the next call does not find it. */
static bool is_load_refused(struct slice error)
{
    return slice_starts_with(error, SLICE("NOPERM")) ||
           (slice_starts_with(error, SLICE("ERR")) && !contains(error, SLICE("already exists")));
}

/* Lists the functions of all versions, because this one may be the first function of a new version in this
 * Redis. Functions of old versions may then be deleted. */
static void on_function_loaded(void *arg, const struct redis_reply *reply)
{
    struct loading *loading = arg;
    functions.is_loading[loading->script] = false;
    if (reply && redis_reply_kind(reply) == REDIS_KIND_ERROR)
        functions.are_refused |= is_load_refused(redis_reply_text(reply));
    else if (reply && !functions.were_listed && redis_link_is_up(loading->link))
        list_functions(loading->link);
    free(loading);
}

static void load_function(struct redis_link *link, enum script_id script)
{
    if (functions.is_loading[script])
        return;
    struct loading *loading = NEW(struct loading);
    struct slice argv[] = {SLICE("FUNCTION"), SLICE("LOAD"), slice_of(script_texts[script].code)};
    *loading = (struct loading){script, link};
    functions.is_loading[script] = true;
    redis_send(link, 3, argv, on_function_loaded, loading);
}

void script_try_functions(void)
{
    functions.are_refused = functions.were_listed = false;
}
