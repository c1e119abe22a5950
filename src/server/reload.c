#include "server/reload.h"

#include "base/memory.h"

enum { NAMES_MAX = 1024 };

struct reload {
    struct loop *loop;
    const struct options_input *input;
    reload_prepare_fn *prepare;
    void *arg;
    struct options *old; /* reactors may still look at it */
    size_t waiting;      /* for so many of them */
};

static void free_old(struct reload *reload)
{
    if (!reload->old)
        return;
    options_fini(reload->old);
    free(reload->old);
    reload->old = NULL;
}

static void count_reloaded(void *arg)
{
    struct reload *reload = arg;
    if (--reload->waiting == 0)
        free_old(reload);
}

static void on_reloaded(void *arg)
{
    struct reload *reload = arg;
    loop_post(reload->loop, count_reloaded, reload);
}

static void log_changes(const struct options *live, const struct options *fresh)
{
    struct buffer changed, fixed;
    buffer_init(&changed, NAMES_MAX);
    buffer_init(&fixed, NAMES_MAX);
    options_compare(live, fresh, &changed, &fixed);
    log_info("options_reloaded", LOG_SLICE("changed", buffer_slice(&changed)));
    if (fixed.size)
        log_warning("options_need_a_restart", LOG_SLICE("options", buffer_slice(&fixed)));
    buffer_fini(&changed);
    buffer_fini(&fixed);
}

struct reload *reload_new(struct loop *loop, const struct options_input *input, reload_prepare_fn *prepare,
                          void *arg)
{
    struct reload *reload = NEW(struct reload);
    *reload = (struct reload){.loop = loop, .input = input, .prepare = prepare, .arg = arg};
    return reload;
}

/* NULL: they are wrong, and that was logged. */
static struct options *load(struct reload *reload)
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

void reload_run(struct reload *reload, struct options **live, struct reactor *const *reactors, size_t count)
{
    struct problem problem;
    if (log_reopen(&problem) != STATUS_OK)
        log_error("log_not_reopened", LOG_TEXT("why", problem.text));
    if (reload->old || count == 0) {
        log_warning("options_not_reloaded", LOG_TEXT("why", "duepost is still busy starting or reloading"));
        return;
    }
    struct options *fresh = load(reload);
    if (!fresh)
        return;
    log_changes(*live, fresh);
    options_log_warnings(fresh);
    log_set_level(fresh->log_level);
    reload->old = *live;
    *live = fresh;
    reload->waiting = count;
    for (size_t i = 0; i < count; i++)
        reactor_reload(reactors[i], fresh, on_reloaded, reload);
}

void reload_free(struct reload *reload)
{
    if (!reload)
        return;
    free_old(reload);
    free(reload);
}
