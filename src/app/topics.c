#include "app/topics.h"

#include "app/cursor.h"
#include "app/use_case.h"
#include "base/memory.h"
#include "job/topic/topic_patterns.h"

enum { AFTER_MAX = JOB_TOPIC_NAME_MAX + 2, TOPIC_CURSOR_MAX = JOB_TOPIC_NAME_MAX + 32 };

bool app_topic_cursor_parse(const struct app *app, struct slice text, struct topic_cursor *cursor)
{
    return cursor_parse_topic(text, store_shards(app->store), cursor);
}

/* ---- a page ---- */

/* A call that lists topics. If the caller has a right to some topics only, the page has only these topics.
 * The cursor contains the name of the page's last topic. So neither the page nor its cursor discloses the
 * names of other topics. */
struct topics_call {
    struct app *app;
    const struct app_caller *caller;
    app_topic_fn *each;
    app_verdict_fn *fn;
    void *arg;
    size_t max, count;
    enum topics_kind { ALL_TOPICS, FAILING_TOPICS, GROUPS } kind;
    struct buffer after; /* the name of a topic: the list continues with the topics after it */
};

static void read_page(struct topics_call *, struct topic_cursor from);

static void topics_call_free(struct topics_call *call)
{
    buffer_fini(&call->after);
    free(call);
}

static void end_page(struct topics_call *call, struct topic_cursor next)
{
    char room[TOPIC_CURSOR_MAX + 1];
    struct buffer text = buffer_of(room, sizeof room);
    if (next.name.size || next.shard)
        cursor_write_topic(&text, &next);
    call->fn(call->arg, &(struct app_verdict){.end = STATUS_OK, .page = {.cursor = buffer_slice(&text)}});
    topics_call_free(call);
}

static void on_topics(void *arg, enum status status, const struct topic *topics, size_t count,
                      struct topic_cursor next)
{
    struct topics_call *call = arg;
    if (status != STATUS_OK) {
        use_case_end(call->app, SLICE(""), status, NULL, call->fn, call->arg);
        topics_call_free(call);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!(call->kind == GROUPS ? app_caller_reaches_group : app_caller_reaches)(call->caller,
                                                                                    topics[i].name))
            continue;
        struct topic topic = topic_view(call->app, &topics[i]);
        call->each(call->arg, &topic);
        call->count++;
    }
    if (next.name.size && call->count < call->max)
        read_page(call, next);
    else
        end_page(call, next);
}

/* Reads the next topics of this shard or of a later shard. */
static void read_page(struct topics_call *call, struct topic_cursor from)
{
    struct store *store = call->app->store;
    struct store_topics topics = {.max = call->max - call->count,
                                  .are_groups = call->kind == GROUPS,
                                  .are_failing = call->kind == FAILING_TOPICS};
    struct slice patterns = call->kind == GROUPS ? call->caller->groups : call->caller->topics;
    bool has_more = true;
    if (patterns.size && call->kind != FAILING_TOPICS) {
        has_more = topic_patterns_seek(patterns, from.name, &call->after);
    } else {
        buffer_clear(&call->after);
        buffer_append(&call->after, from.name);
    }
    if (!has_more && from.shard + 1 < store_shards(store)) {
        read_page(call, (struct topic_cursor){.shard = from.shard + 1});
        return;
    }
    if (!has_more) {
        end_page(call, (struct topic_cursor){.shard = 0});
        return;
    }
    topics.from = (struct topic_cursor){from.shard, buffer_slice(&call->after)};
    store_topics(store, &topics, on_topics, call);
}

static void begin_pages(struct app *app, const struct app_caller *caller, size_t max,
                        struct topic_cursor from, enum topics_kind kind, app_topic_fn *each,
                        app_verdict_fn *fn, void *arg)
{
    struct topics_call *call = NEW(struct topics_call);
    *call =
        (struct topics_call){.app = app, .caller = caller, .each = each, .fn = fn, .arg = arg, .max = max};
    call->kind = kind;
    buffer_init(&call->after, AFTER_MAX);
    read_page(call, from);
}

void app_topics(struct app *app, const struct app_caller *caller, size_t max, struct topic_cursor from,
                app_topic_fn *each, app_verdict_fn *fn, void *arg)
{
    begin_pages(app, caller, max, from, ALL_TOPICS, each, fn, arg);
}

void app_topics_failing(struct app *app, const struct app_caller *caller, size_t max,
                        struct topic_cursor from, app_topic_fn *each, app_verdict_fn *fn, void *arg)
{
    begin_pages(app, caller, max, from, FAILING_TOPICS, each, fn, arg);
}

void app_groups(struct app *app, const struct app_caller *caller, size_t max, struct topic_cursor from,
                app_topic_fn *each, app_verdict_fn *fn, void *arg)
{
    bool has_none = caller->groups.size == 0 && caller->topics.size > 0;
    if (has_none)
        fn(arg, &(struct app_verdict){.end = STATUS_OK});
    else
        begin_pages(app, caller, max, from, GROUPS, each, fn, arg);
}

/* ---- one ---- */

struct topic_call {
    struct app *app;
    struct slice name;
    app_topic_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

static void on_topic(void *arg, enum status status, const struct topic *found, size_t count,
                     struct topic_cursor next)
{
    struct topic_call *call = arg;
    (void)count, (void)next;
    if (status == STATUS_OK) {
        struct topic topic = topic_view(call->app, found);
        call->each(call->arg, &topic);
    }
    use_case_end(call->app, call->name, status, NULL, call->fn, call->arg);
    free(call);
}

void app_topic(struct app *app, struct slice name, app_topic_fn *each, app_verdict_fn *fn, void *arg)
{
    struct topic_call *call = NEW(struct topic_call);
    struct store_topics topics = {.topic = name, .max = 1};
    *call = (struct topic_call){app, name, each, fn, arg};
    store_topics(app->store, &topics, on_topic, call);
}

/* ---- patterns ---- */

struct patterns_call {
    struct app *app;
    const struct app_caller *caller;
    struct slice name; /* name of the only pattern to list; empty: all */
    app_topic_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

static void give_pattern(const struct patterns_call *call, struct slice name, struct slice text)
{
    struct buffer own;
    buffer_init(&own, TOPIC_LAYERS_BYTES_MAX);
    struct topic pattern = {.name = name, .due_ms = -1};
    if (topic_layers_own(text, &own))
        pattern.settings = pattern.own = buffer_slice(&own);
    else
        pattern.settings = pattern.own =
            text; /* a stored text that is empty, or that duepost did not write, is shown unchanged */
    call->each(call->arg, &pattern);
    buffer_fini(&own);
}

static void on_patterns(void *arg, enum status status, const struct store_patterns *found)
{
    struct patterns_call *call = arg;
    bool is_given = false;
    for (size_t i = 0; status == STATUS_OK && i < found->count; i++) {
        const struct store_pattern *pattern = &found->patterns[i];
        if (call->name.size ? !slice_equal(pattern->name, call->name)
                            : !app_caller_reaches(call->caller, pattern->name))
            continue;
        give_pattern(call, pattern->name, pattern->text);
        is_given = true;
    }
    if (status == STATUS_OK && call->name.size && !is_given)
        give_pattern(call, call->name, SLICE(""));
    use_case_end(call->app, call->name, status, NULL, call->fn, call->arg);
    free(call);
}

void app_patterns(struct app *app, const struct app_caller *caller, struct slice name, app_topic_fn *each,
                  app_verdict_fn *fn, void *arg)
{
    struct patterns_call *call = NEW(struct patterns_call);
    *call = (struct patterns_call){app, caller, name, each, fn, arg};
    store_patterns(app->store, on_patterns, call);
}
