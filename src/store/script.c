#include "store/script.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/test_point.h"

enum {
    FIRST_ARGS = 64,
    NUMBER_BYTES = 24,
    NUMBERS_IN_BLOCK = 60,
    REFUSALS_TOLD_MAX = 10, /* per second */
    VERSIONS_MAX = 4,       /* of duepost, whose functions Redis keeps */
};

/* Whether Redis has accepted functions since the last connection of this reactor. */
static _Thread_local bool has_functions;

/* Texts of numbers, which calls borrow. So a block never moves. */
struct number_block {
    struct number_block *next;
    size_t used;
    char texts[NUMBERS_IN_BLOCK][NUMBER_BYTES];
};

enum script_way { BY_FUNCTION, BY_DIGEST, BY_TEXT };

struct script_call {
    enum script_id script;
    enum script_way way;
    struct slice *argv;
    size_t argc, capacity;
    struct number_block *numbers;
    struct redis_link *link;
    script_fn *fn;
    void *arg;
};

struct script_call *script_call_new(enum script_id script, struct slice key)
{
    struct script_call *call = NEW(struct script_call);
    call->script = script;
    call->capacity = FIRST_ARGS;
    call->argv = NEW_ARRAY(struct slice, call->capacity);
    call->argc = 2; /* the command, and what it runs: see send */
    script_call_text(call, SLICE("1"));
    script_call_text(call, key);
    return call;
}

static void script_call_free(struct script_call *call)
{
    for (struct number_block *block = call->numbers; block;) {
        struct number_block *next = block->next;
        free(block);
        block = next;
    }
    free(call->argv);
    free(call);
}

void script_call_text(struct script_call *call, struct slice text)
{
    if (call->argc == call->capacity) {
        call->capacity *= 2;
        call->argv = memory_resize(call->argv, call->capacity * sizeof *call->argv);
    }
    call->argv[call->argc++] = text;
}

void script_call_number(struct script_call *call, int64_t number)
{
    struct number_block *block = call->numbers;
    if (!block || block->used == NUMBERS_IN_BLOCK) {
        block = NEW(struct number_block);
        block->next = call->numbers;
        call->numbers = block;
    }
    char *text = block->texts[block->used++];
    struct buffer digits = {.data = text, .capacity = NUMBER_BYTES, .max = NUMBER_BYTES - 1};
    buffer_append_number(&digits, number);
    script_call_text(call, slice_from(text, digits.size));
}

/* Identifies an error by its first word. All errors except those from within a script mean that the script
 * did not run. If the slot is being migrated, the script stopped at its probe. */
enum status script_error_status(struct slice error)
{
    static const struct {
        struct slice word;
        enum status status;
    } table[] = {
        {{"OOM", 3}, STATUS_FULL},
        {{"LOADING", 7}, STATUS_UNAVAILABLE},
        {{"MASTERDOWN", 10}, STATUS_UNAVAILABLE},
        {{"CLUSTERDOWN", 11}, STATUS_UNAVAILABLE},
        {{"MOVED", 5}, STATUS_UNAVAILABLE},
        {{"ASK", 3}, STATUS_UNAVAILABLE},
        {{"TRYAGAIN", 8}, STATUS_UNAVAILABLE},
        {{"READONLY", 8}, STATUS_UNAVAILABLE},
        {{"BUSY", 4}, STATUS_UNAVAILABLE},
        {{"MISCONF", 7}, STATUS_UNAVAILABLE},
        {{"NOREPLICAS", 10}, STATUS_UNAVAILABLE},
        {{"NOAUTH", 6}, STATUS_UNAVAILABLE},
        {{"NOPERM", 6}, STATUS_UNAVAILABLE},
        {{"NOSCRIPT", 8}, STATUS_UNAVAILABLE},
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

/* Returns whether Redis has no functions, or does not permit them: the function did not run. */
static bool is_function_refused(struct slice error)
{
    return slice_starts_with(error, SLICE("ERR unknown command")) ||
           (slice_starts_with(error, SLICE("NOPERM")) && contains(error, SLICE("'fcall'")));
}

static void load_function(struct redis_link *link, enum script_id script);

/* Chooses another way for a call that did not run, because Redis does not have what it was to run. */
static bool call_goes_otherwise(struct script_call *call, const struct redis_reply *reply)
{
    if (redis_reply_kind(reply) != REDIS_KIND_ERROR || !redis_link_is_up(call->link))
        return false;
    struct slice error = redis_reply_text(reply);
    if (call->way == BY_FUNCTION && is_function_refused(error)) {
        has_functions = false;
        call->way = BY_DIGEST;
        return true;
    }
    if (call->way == BY_FUNCTION && slice_starts_with(error, SLICE("ERR Function not found"))) {
        load_function(call->link, call->script);
        call->way = BY_TEXT;
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

/* Logs a refusal. During an outage each call of each shard is refused, so a reactor logs only a few refusals
 * each second, and the number of the others. */
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
    call->argv[0] = call->way == BY_FUNCTION ? SLICE("FCALL")
                    : call->way == BY_DIGEST ? SLICE("EVALSHA")
                                             : SLICE("EVAL");
    call->argv[1] = slice_of(call->way == BY_FUNCTION ? script->function
                             : call->way == BY_DIGEST ? script->digest
                                                      : script->text);
    redis_send(call->link, call->argc, call->argv, redis_link_is_up(call->link) ? on_reply : on_down, call);
}

void script_call_send(struct script_call *call, struct redis_link *link, script_fn *fn, void *arg)
{
    call->link = link;
    call->fn = fn;
    call->arg = arg;
    call->way = has_functions ? BY_FUNCTION : BY_DIGEST;
    send(call);
}

/* ---- loading ---- */

static void on_text_loaded(void *arg, const struct redis_reply *reply)
{
    const struct script_text *script = arg;
    if (redis_reply_kind(reply) == REDIS_KIND_ERROR)
        log_error("script_refused", LOG_TEXT("script", script->name),
                  LOG_SLICE("error", redis_reply_text(reply)));
}

static void load_texts(struct redis_link *link)
{
    for (size_t i = 0; i < SCRIPT_COUNT; i++) {
        struct slice argv[] = {SLICE("SCRIPT"), SLICE("LOAD"), slice_of(script_texts[i].text)};
        redis_send(link, 3, argv, on_text_loaded, (void *)(uintptr_t)&script_texts[i]);
    }
}

/* The reply to FUNCTION LOAD. Errors that say something about Redis's state, such as READONLY, OOM or
 * LOADING, begin with other words than ERR and NOPERM; the function is then loaded when it is missing. */
static bool is_load_refused(const struct redis_reply *reply)
{
    if (redis_reply_kind(reply) != REDIS_KIND_ERROR)
        return false;
    struct slice error = redis_reply_text(reply);
    return slice_starts_with(error, SLICE("NOPERM")) ||
           (slice_starts_with(error, SLICE("ERR")) && !contains(error, SLICE("already exists")));
}

static void on_function_loaded(void *arg, const struct redis_reply *reply)
{
    (void)arg;
    if (is_load_refused(reply))
        has_functions = false;
}

static void load_function(struct redis_link *link, enum script_id script)
{
    struct slice argv[] = {SLICE("FUNCTION"), SLICE("LOAD"), slice_of(script_texts[script].library)};
    redis_send(link, 3, argv, on_function_loaded, NULL);
}

static bool is_of_this_version(struct slice function)
{
    for (size_t i = 0; i < SCRIPT_COUNT; i++)
        if (slice_equal(function, slice_of(script_texts[i].function)))
            return true;
    return false;
}

static void on_deleted(void *arg, const struct redis_reply *reply)
{
    (void)arg, (void)reply; /* another process may have deleted it */
}

/* Deletes the functions of other versions if there are many. The reply has a list of names and values for
 * each library. */
static void on_listed(void *arg, const struct redis_reply *reply)
{
    struct redis_link *link = arg;
    size_t count = redis_reply_size(reply);
    for (size_t i = 0; count > VERSIONS_MAX * SCRIPT_COUNT && i < count && redis_link_is_up(link); i++) {
        struct slice name = redis_reply_text(redis_reply_at(redis_reply_at(reply, i), 1));
        struct slice argv[] = {SLICE("FUNCTION"), SLICE("DELETE"), name};
        if (!is_of_this_version(name))
            redis_send(link, 3, argv, on_deleted, NULL);
    }
}

/* The reply for the last function: all have been answered. */
static void on_all_loaded(void *arg, const struct redis_reply *reply)
{
    struct redis_link *link = arg;
    if (!reply || !redis_link_is_up(link))
        return;
    if (is_load_refused(reply)) {
        has_functions = false;
        load_texts(link);
        return;
    }
    has_functions = true;
    if (redis_reply_kind(reply) != REDIS_KIND_ERROR) { /* the first process of this version */
        struct slice argv[] = {SLICE("FUNCTION"), SLICE("LIST"), SLICE("LIBRARYNAME"), SLICE("duepost_*")};
        redis_send(link, 4, argv, on_listed, link);
    }
}

void script_load_all(struct redis_link *link)
{
    for (size_t i = 0; i < SCRIPT_COUNT; i++) {
        struct slice argv[] = {SLICE("FUNCTION"), SLICE("LOAD"), slice_of(script_texts[i].library)};
        if (i < SCRIPT_COUNT - 1)
            redis_send(link, 3, argv, on_function_loaded, NULL);
        else
            redis_send(link, 3, argv, on_all_loaded, link);
    }
}
