#include "app/fake_history.h"

#include <check.h>

struct history {
    struct fake_history_call call;
};

static struct history fake;

struct history *fake_history(void)
{
    fake.call.name = NULL;
    return &fake;
}

struct fake_history_call fake_history_take(const char *name)
{
    struct fake_history_call call = fake.call;
    ck_assert_msg(call.name, "%s was not called", name);
    ck_assert_str_eq(call.name, name);
    fake.call.name = NULL;
    return call;
}

void fake_history_expect_none(void)
{
    ck_assert_msg(!fake.call.name, "%s was called", fake.call.name);
}

static struct fake_history_call *keep_call(struct history *history, const char *name, void *arg)
{
    ck_assert_msg(!history->call.name, "%s waits for its answer", history->call.name);
    history->call = (struct fake_history_call){.name = name, .arg = arg};
    return &history->call;
}

void history_find(struct history *history, struct slice id, history_found_fn *fn, void *arg)
{
    struct fake_history_call *call = keep_call(history, "find", arg);
    call->id = id;
    call->fn.found = fn;
}

void history_list(struct history *history, const struct history_list *list, history_page_fn *fn, void *arg)
{
    struct fake_history_call *call = keep_call(history, "list", arg);
    call->list = *list;
    call->filter = list->filter;
    call->fn.page = fn;
}

void history_count(struct history *history, const struct job_filter *filter, history_counts_fn *fn, void *arg)
{
    struct fake_history_call *call = keep_call(history, "count", arg);
    call->filter = *filter;
    call->fn.counts = fn;
}

void history_stats(struct history *history, const struct outcome_steps *stats, history_stats_fn *fn,
                   void *arg)
{
    struct fake_history_call *call = keep_call(history, "stats", arg);
    call->stats = *stats;
    call->fn.stats = fn;
}

void history_delete(struct history *history, const struct job_filter *filter, history_deleted_fn *fn,
                    void *arg)
{
    struct fake_history_call *call = keep_call(history, "delete", arg);
    call->filter = *filter;
    call->fn.deleted = fn;
}

void history_trail(struct history *history, const struct trail_query *trail, history_trail_fn *fn, void *arg)
{
    struct fake_history_call *call = keep_call(history, "trail", arg);
    call->trail = *trail;
    call->fn.trail = fn;
}
