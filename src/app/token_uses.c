#include "app/token_uses.h"

#include <stdlib.h>

#include "base/encoding.h"
#include "base/memory.h"
#include "store/store.h"

#define TICK_US (INT64_C(1000) * TOKEN_USES_TICK_MS)

enum {
    WRITE_MS = 60000, /* a token that is used all the time is written this often */
    DIGEST_BYTES = 4, /* a new token under an old name has another beginning of its digest */
    NAME_BYTES = TOKEN_NAME_MAX + 1 + 2 * DIGEST_BYTES,
};

struct token_uses {
    struct app *app;
    struct timer *timer;
    struct token_table *tokens; /* shared; NULL: none */
    bool is_writing;
};

/* A call of the store. */
struct uses_call {
    struct app *app;
    struct token_uses *uses;    /* writes; NULL: reads */
    struct token_table *tokens; /* writes: shared; reads: borrowed */
    struct buffer text;
    size_t count;
    struct slice names[TOKENS_MAX];
    int64_t times[TOKENS_MAX];
    size_t places[TOKENS_MAX]; /* writes: numbers of the tokens in the table */
    app_token_uses_fn *fn;
    void *arg;
};

static struct uses_call *call_new(struct app *app, struct token_table *tokens)
{
    struct uses_call *call = NEW(struct uses_call);
    call->app = app;
    call->tokens = tokens;
    buffer_init(&call->text, (size_t)TOKENS_MAX * NAME_BYTES);
    buffer_reserve(&call->text, (size_t)TOKENS_MAX * NAME_BYTES); /* the names point into it */
    return call;
}

static void call_free(struct uses_call *call)
{
    buffer_fini(&call->text);
    free(call);
}

/* Adds the name that a token has in Redis. */
static void add_token(struct uses_call *call, size_t place, const struct token *token)
{
    char hex[2 * DIGEST_BYTES];
    size_t at = call->text.size;
    hex_write(hex, token->digest, DIGEST_BYTES);
    buffer_printf(&call->text, "%s:%.*s", token->name, (int)sizeof hex, hex);
    call->names[call->count] = slice_from(call->text.data + at, call->text.size - at);
    call->places[call->count] = place;
    call->times[call->count++] = token->used_ms;
}

/* ---- writing ---- */

static void on_written(void *arg, enum status status, const int64_t *times)
{
    struct uses_call *call = arg;
    (void)times;
    call->uses->is_writing = false;
    for (size_t i = 0; status != STATUS_OK && i < call->count; i++)
        token_table_change(call->tokens, call->places[i])->written_ms = 0; /* the next tick tries again */
    token_table_release(call->tokens);
    call_free(call);
}

static void on_tick(void *arg)
{
    struct token_uses *uses = arg;
    size_t count = uses->tokens && !uses->is_writing ? token_table_count(uses->tokens) : 0;
    struct uses_call *call = NULL;
    timer_start(uses->timer, TICK_US);
    for (size_t i = 0; i < count; i++) {
        struct token *token = token_table_change(uses->tokens, i);
        int64_t used_ms = token->used_ms;
        bool is_due = !token->written_ms || app_now_ms(uses->app) - token->written_ms >= WRITE_MS;
        if (used_ms <= token->written_ms || !is_due)
            continue;
        if (!call)
            call = call_new(uses->app, token_table_share(uses->tokens));
        add_token(call, i, token);
        token->written_ms = call->times[call->count - 1];
    }
    if (!call)
        return;
    call->uses = uses;
    uses->is_writing = true;
    store_token_uses(uses->app->store, call->names, call->times, call->count, on_written, call);
}

struct token_uses *token_uses_new(struct loop *loop, struct app *app)
{
    struct token_uses *uses = NEW(struct token_uses);
    uses->app = app;
    uses->timer = timer_new(loop, on_tick, uses);
    timer_start(uses->timer, TICK_US);
    return uses;
}

void token_uses_set(struct token_uses *uses, struct token_table *tokens)
{
    struct token_table *old = uses->tokens;
    if (tokens == old)
        return;
    for (size_t i = 0; old && tokens && i < token_table_count(tokens); i++) {
        struct token *token = token_table_change(tokens, i);
        const struct token *same = token_table_find_same(old, token);
        int64_t used_ms = same ? same->used_ms : 0;
        if (used_ms > token->used_ms)
            token->used_ms = used_ms;
        token->written_ms = same ? same->written_ms : 0;
    }
    uses->tokens = tokens ? token_table_share(tokens) : NULL;
    token_table_release(old);
}

void token_uses_free(struct token_uses *uses)
{
    if (!uses)
        return;
    timer_free(uses->timer);
    token_table_release(uses->tokens);
    free(uses);
}

/* ---- reading ---- */

static void on_read(void *arg, enum status status, const int64_t *times)
{
    struct uses_call *call = arg;
    for (size_t i = 0; status == STATUS_OK && i < call->count; i++)
        if (times[i] > call->times[i])
            call->times[i] = times[i];
    call->fn(call->arg, call->times);
    call_free(call);
}

void app_token_uses(struct app *app, struct token_table *tokens, app_token_uses_fn *fn, void *arg)
{
    struct uses_call *call = call_new(app, tokens);
    for (size_t i = 0; i < token_table_count(tokens); i++)
        add_token(call, i, token_table_at(tokens, i));
    call->fn = fn;
    call->arg = arg;
    store_token_uses(app->store, call->names, NULL, call->count, on_read, call);
}
