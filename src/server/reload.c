#include "server/server_private.h"

#include "base/memory.h"
#include "server/options/options.h"
#include "server/options/options_private.h"

enum { NAMES_MAX = 1024 };

static void reload_begin(struct reload *);

struct reload {
    struct loop *loop;
    const struct options_input *input;
    struct options **live;
    reload_prepare_fn *prepare;
    void *arg;
    struct reactor *const *reactors;
    size_t reactor_count; /* 0: reactors do not run yet, or are about to end */
    bool is_wanted;       /* a reload was requested and waits for the reactors */

    /* The previous options and tokens, and the number of reactors that may still use these. */
    struct options *old;
    struct token_table *old_tokens;
    size_t waiting;
};

static void free_old(struct reload *reload)
{
    token_table_release(reload->old_tokens);
    reload->old_tokens = NULL;
    if (!reload->old)
        return;
    options_fini(reload->old);
    free(reload->old);
    reload->old = NULL;
}

/* Logs which options have changed, when all reactors use the new options. */
static void count_reloaded(void *arg)
{
    struct reload *reload = arg;
    if (--reload->waiting > 0)
        return;
    const struct options *live = *reload->live;
    if (live->tokens)
        token_file_log(live->tokens_file, live->tokens);
    if (reload->old) {
        struct buffer changed, fixed;
        buffer_init(&changed, NAMES_MAX);
        buffer_init(&fixed, NAMES_MAX);
        options_compare(reload->old, live, &changed, &fixed);
        log_info("options_reloaded", LOG_SLICE("changed", buffer_slice(&changed)));
        if (fixed.size)
            log_warning("options_need_a_restart", LOG_SLICE("options", buffer_slice(&fixed)));
        buffer_fini(&changed);
        buffer_fini(&fixed);
        options_log_warnings(live);
        log_set_level(live->log_level);
    }
    free_old(reload);
    if (reload->is_wanted)
        reload_begin(reload);
}

static void on_reloaded(void *arg)
{
    struct reload *reload = arg;
    loop_post(reload->loop, count_reloaded, reload);
}

static void tell_reactors(struct reload *reload)
{
    reload->waiting = reload->reactor_count;
    for (size_t i = 0; i < reload->reactor_count; i++)
        reactor_reload(reload->reactors[i], *reload->live, on_reloaded, reload);
}

/* Returns the new options. If they are wrong, logs why and returns NULL. */
static struct options *reload_load(struct reload *reload)
{
    struct options *fresh = NEW(struct options);
    struct problem problem;
    enum status status = options_load(fresh, reload->input, &problem);
    if (status == STATUS_OK && (status = reload->prepare(reload->arg, fresh, &problem)) != STATUS_OK)
        options_fini(fresh);
    if (status == STATUS_OK)
        return fresh;
    log_error("options_not_reloaded", LOG_TEXT("why", problem.text));
    free(fresh);
    return NULL;
}

/* Reads the current token file again, because a mistake in other options must not keep a revoked token valid.
 * The change of the live options is safe, because reactors read these options only when they are notified. */
static void take_tokens_only(struct reload *reload)
{
    struct options *live = *reload->live;
    struct token_table *fresh;
    struct problem warning, problem;
    if (!live->tokens_file)
        return;
    if (token_file_read(live->tokens_file, &fresh, &warning, &problem) != STATUS_OK) {
        log_error("tokens_not_read", LOG_TEXT("why", problem.text));
        return;
    }
    if (warning.text[0])
        log_warning("configuration", LOG_TEXT("what", warning.text));
    reload->old_tokens = live->tokens;
    live->tokens = fresh;
    tell_reactors(reload);
}

static void reload_begin(struct reload *reload)
{
    reload->is_wanted = false;
    struct options *fresh = reload_load(reload);
    if (fresh) {
        reload->old = *reload->live;
        *reload->live = fresh;
        tell_reactors(reload);
    } else {
        take_tokens_only(reload);
    }
}

struct reload *reload_new(struct loop *loop, const struct options_input *input, struct options **live,
                          reload_prepare_fn *prepare, void *arg)
{
    struct reload *reload = NEW(struct reload);
    *reload = (struct reload){.loop = loop, .input = input, .live = live, .prepare = prepare, .arg = arg};
    return reload;
}

void reload_use(struct reload *reload, struct reactor *const *reactors, size_t count)
{
    reload->reactors = reactors;
    reload->reactor_count = count;
    if (count == 0)
        reload->is_wanted = false;
    else if (reload->is_wanted)
        reload_begin(reload);
}

void reload_run(struct reload *reload)
{
    struct problem problem;
    if (log_reopen(&problem) != STATUS_OK)
        log_error("log_not_reopened", LOG_TEXT("why", problem.text));
    if (reload->waiting > 0 || reload->reactor_count == 0) {
        reload->is_wanted = true;
        log_info("options_reloaded_later", LOG_TEXT("why", "duepost is still starting or reloading"));
    } else {
        reload_begin(reload);
    }
}

void reload_free(struct reload *reload)
{
    if (!reload)
        return;
    free_old(reload);
    free(reload);
}
