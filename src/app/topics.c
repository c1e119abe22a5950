#include "app/topics.h"

#include "app/app_private.h"
#include "app/lease.h"
#include "base/memory.h"
#include "job/topic/topic_patterns.h"
#include "job/topic/topic_settings.h"

enum { AFTER_MAX = JOB_TOPIC_NAME_MAX + 2, TOPIC_CURSOR_MAX = JOB_TOPIC_NAME_MAX + 32 };

bool app_topic_cursor_parse(const struct app *app, struct slice text, struct topic_cursor *cursor)
{
    return cursor_parse_topic(text, store_shards(app->store), cursor);
}

/* ---- a topic as clients see it: why its jobs wait, and who waits for them ---- */

/* State of a topic. is_pull: the topic is a pull topic. has_room: its maxInFlight lets more attempts begin.
 * has_rate: it has a rate of its own. has_limit: it shares a limit with other topics. */
struct topic_state {
    bool is_pull, has_room, has_rate, has_limit;
};

static struct topic_state state_of(const struct topic *topic, int64_t default_max)
{
    struct topic_settings settings;
    struct topic_state state = {.is_pull = false};
    if (!topic->settings.size ||
        topic_settings_read_for(topic->name, topic->settings, &settings) != STATUS_OK)
        return state;
    state.is_pull = topic_settings_are_pull(&settings);
    state.has_rate = settings.rate_jobs > 0;
    state.has_limit = settings.limit.size > 0;
    int64_t max = settings.max_in_flight || state.is_pull ? settings.max_in_flight : default_max;
    state.has_room = !max || topic->leased < max;
    topic_settings_fini(&settings);
    return state;
}

/* In the store, a pull topic is always held, because the consumers, which POST jobs, must not claim its jobs.
 * Clients do not see this hold as long as workers may lease more jobs. */
static enum topic_hold hold_of(const struct topic *topic, struct topic_state state)
{
    if (topic->held_ms == TOPIC_FREE)
        return topic->lacks_url ? HOLD_NO_URL : HOLD_NONE;
    switch (topic_settings_service(topic->settings)) {
    case TOPIC_PAUSED:
        return HOLD_PAUSED;
    case TOPIC_UNREADABLE:
        return HOLD_SETTINGS;
    default:
        if (topic->opens_ms > 0 || topic->opens_ms == TOPIC_HELD)
            return HOLD_WINDOWS;
        if (topic->lacks_url)
            return HOLD_NO_URL;
        if (topic->head.size)
            return HOLD_LINE;
        if (topic->is_gathering)
            return HOLD_BATCH;
        if (topic->held_ms != TOPIC_HELD) /* the rate of the limit, or its own */
            return state.has_limit && !state.has_rate ? HOLD_LIMIT : HOLD_RATE;
        if (state.has_room && (state.is_pull || state.has_limit))
            return state.is_pull ? HOLD_NONE : HOLD_LIMIT;
        return HOLD_IN_FLIGHT;
    }
}

static struct slice job_id_of(struct slice id)
{
    struct slice topic, job_id;
    return slice_cut(id, '/', &topic, &job_id) ? job_id : SLICE("");
}

struct topic topic_view(const struct app *app, const struct topic *topic)
{
    struct topic_state state = state_of(topic, store_max_in_flight_topic(app->store));
    struct topic view = *topic;
    view.is_pull = state.is_pull;
    view.waiting = app->lease_board ? lease_board_waiting(app->lease_board, topic->name) : 0;
    view.hold = hold_of(topic, state);
    view.head_job = job_id_of(topic->head);
    view.held_until_ms = topic->held_ms > 0 && view.hold != HOLD_NO_URL ? topic->held_ms : 0;
    return view;
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
    enum topics_kind { ALL_TOPICS, FAILING_TOPICS, GROUPS, SIBLINGS } kind;
    struct slice prefix; /* SIBLINGS: beginning of the names */
    struct app_walk walk;
    enum status status;
    struct buffer after; /* the name of a topic: the list continues with the topics after it */
};

/* Passes a topic to the caller, unless the list leaves it out. Returns false behind the last sibling topic.
 */
static bool give_topic(struct topics_call *call, const struct topic *found)
{
    if (call->kind == SIBLINGS && (call->count == call->max || !slice_starts_with(found->name, call->prefix)))
        return false;
    bool is_given = call->kind == SIBLINGS ? found->own.size > 0
                    : call->kind == GROUPS ? app_caller_reaches_group(call->caller, found->name)
                                           : app_caller_reaches(call->caller, found->name);
    if (is_given) {
        struct topic topic = topic_view(call->app, found);
        call->each(call->arg, &topic);
        call->count++;
    }
    return true;
}

static void on_topics(void *arg, enum status status, const struct topic *topics, size_t count,
                      struct topic_cursor next)
{
    struct topics_call *call = arg;
    bool is_inside = status == STATUS_OK, is_whole = next.name.size == 0;
    for (size_t i = 0; i < count && is_inside; i++)
        is_inside = give_topic(call, &topics[i]);
    if (call->kind == SIBLINGS && next.shard != store_shard_number(call->app->store, call->prefix))
        is_whole = true;
    call->status = status;
    app_walk_keep(&call->walk, next.shard, next.name);
    app_walk_on(&call->walk, is_inside && !is_whole && (call->kind == SIBLINGS || call->count < call->max));
}

/* Reads the next topics of this shard or of a later shard. */
static void topics_read(void *arg)
{
    struct topics_call *call = arg;
    struct store *store = call->app->store;
    struct app_walk *walk = &call->walk;
    struct store_topics topics = {.max = call->kind == SIBLINGS ? APP_PAGE_MAX : call->max - call->count,
                                  .are_groups = call->kind == GROUPS,
                                  .are_failing = call->kind == FAILING_TOPICS};
    struct slice patterns = call->kind == SIBLINGS ? SLICE("")
                            : call->kind == GROUPS ? call->caller->groups
                                                   : call->caller->topics;
    bool has_more = true;
    if (patterns.size && call->kind != FAILING_TOPICS) {
        has_more = topic_patterns_seek(patterns, walk->place, &call->after);
    } else {
        buffer_clear(&call->after);
        buffer_append(&call->after, walk->place);
    }
    if (!has_more) {
        bool is_last = walk->shard + 1 >= store_shards(store);
        app_walk_keep(walk, is_last ? 0 : walk->shard + 1, SLICE(""));
        app_walk_on(walk, true);
        return;
    }
    topics.from = (struct topic_cursor){walk->shard, buffer_slice(&call->after)};
    store_topics(store, &topics, on_topics, call);
}

static void topics_end(void *arg)
{
    struct topics_call *call = arg;
    char room[TOPIC_CURSOR_MAX + 1];
    struct buffer text = buffer_of(room, sizeof room);
    if (call->status == STATUS_OK && call->kind != SIBLINGS) {
        if (call->walk.has_more)
            cursor_write_topic(&text, &(struct topic_cursor){call->walk.shard, call->walk.place});
        call->fn(call->arg, &(struct app_verdict){.end = STATUS_OK, .page = {.cursor = buffer_slice(&text)}});
    } else {
        bool is_unknown = call->kind == SIBLINGS && call->status == STATUS_UNKNOWN; /* only a read failed */
        use_case_end(call->app, call->prefix, is_unknown ? STATUS_UNAVAILABLE : call->status, NULL, call->fn,
                     call->arg);
    }
    buffer_fini(&call->after);
    free(call);
}

static void begin_pages(const struct topics_call *copied, struct topic_cursor from)
{
    struct topics_call *call = NEW(struct topics_call);
    *call = *copied;
    call->walk = (struct app_walk){.page = topics_read, .end = topics_end, .arg = call};
    buffer_init(&call->after, AFTER_MAX);
    app_walk_keep(&call->walk, from.shard, from.name);
    app_walk_begin(&call->walk);
}

void app_topics(struct app *app, const struct app_caller *caller, size_t max, struct topic_cursor from,
                app_topic_fn *each, app_verdict_fn *fn, void *arg)
{
    begin_pages(&(struct topics_call){app, caller, each, fn, arg, max, .kind = ALL_TOPICS}, from);
}

void app_topics_failing(struct app *app, const struct app_caller *caller, size_t max,
                        struct topic_cursor from, app_topic_fn *each, app_verdict_fn *fn, void *arg)
{
    begin_pages(&(struct topics_call){app, caller, each, fn, arg, max, .kind = FAILING_TOPICS}, from);
}

void app_groups(struct app *app, const struct app_caller *caller, size_t max, struct topic_cursor from,
                app_topic_fn *each, app_verdict_fn *fn, void *arg)
{
    bool has_none = caller->groups.size == 0 && caller->topics.size > 0;
    if (has_none)
        fn(arg, &(struct app_verdict){.end = STATUS_OK});
    else
        begin_pages(&(struct topics_call){app, caller, each, fn, arg, max, .kind = GROUPS}, from);
}

void app_siblings(struct app *app, struct slice prefix, size_t max, app_topic_fn *each, app_verdict_fn *fn,
                  void *arg)
{
    const struct topics_call call = {app, NULL, each, fn, arg, max, .kind = SIBLINGS, .prefix = prefix};
    begin_pages(&call, (struct topic_cursor){store_shard_number(app->store, prefix), prefix});
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
