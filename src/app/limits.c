#include "app/limits.h"

#include "app/app_private.h"
#include "base/memory.h"

enum { TRIES_MAX = 5, LIMIT_CURSOR_MAX = JOB_TOPIC_MAX + 32 };

/* Differences between limits and keys: the word in the audit log, events, and functions of their settings.
 */
static const struct kind {
    const char *word, *events[3];
    enum status (*parse)(struct slice, struct topic_settings *, struct job_errors *);
    enum status (*read)(struct slice, struct topic_settings *);
    enum status (*patch)(const struct topic_settings *, struct slice, struct buffer *,
                         struct topic_settings *, struct job_errors *);
    void (*write)(const struct topic_settings *, struct buffer *);
    audit_show_fn *show;
} of_limit = {"limit",
              {"limit_replaced", "limit_changed", "limit_removed"},
              limit_settings_parse,
              limit_settings_read,
              limit_settings_patch,
              limit_settings_write,
              audit_show_limit},
  of_key = {"key",
            {"key_replaced", "key_changed", "key_reset"},
            key_settings_parse,
            key_settings_read,
            key_settings_patch,
            key_settings_write,
            audit_show_key};

void app_limit_tag(struct slice settings, char tag[JOB_TAG_SIZE])
{
    job_tag_make(SLICE("limit"), 0, settings, tag);
}

struct limit limit_view(const struct limit *limit)
{
    struct topic_settings settings;
    struct limit view = *limit;
    view.hold = HOLD_NONE;
    view.max_in_flight = 0;
    if (limit_settings_read(limit->settings, &settings) != STATUS_OK)
        return view;
    view.max_in_flight = settings.max_in_flight;
    if (settings.is_paused)
        view.hold = HOLD_PAUSED;
    else if (settings.max_in_flight && limit->in_flight >= settings.max_in_flight)
        view.hold = HOLD_IN_FLIGHT;
    else if (limit->next_ms > limit->now_ms)
        view.hold = HOLD_RATE;
    topic_settings_fini(&settings);
    return view;
}

/* Returns the status of a read. A read changes nothing, so the outcome is never unknown. */
static enum status status_of_read(enum status status)
{
    return status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status;
}

/* ---- lists ---- */

struct limits_call {
    struct app *app;
    app_limit_fn *each;
    app_verdict_fn *fn;
    void *arg;
    size_t max, count;
    char room[JOB_TOPIC_NAME_MAX];
    struct slice after; /* name of the last limit that was read; points into room */
};

static void read_limits(struct limits_call *);

static void keep_place(struct limits_call *call, struct slice name)
{
    size_t size = name.size < sizeof call->room ? name.size : sizeof call->room;
    if (size)
        memcpy(call->room, name.data, size);
    call->after = slice_from(call->room, size);
}

static void on_limits(void *arg, enum status status, const struct limit *limits, size_t count, bool has_more)
{
    struct limits_call *call = arg;
    char room[LIMIT_CURSOR_MAX];
    struct buffer cursor = buffer_of(room, sizeof room);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        struct limit limit = limit_view(&limits[i]);
        call->each(call->arg, &limit);
        call->count++;
    }
    if (status == STATUS_OK && count > 0)
        keep_place(call, limits[count - 1].name);
    if (status == STATUS_OK && has_more && call->count < call->max) {
        read_limits(call);
        return;
    }
    if (status == STATUS_OK) {
        if (has_more)
            cursor_write_topic(&cursor, &(struct topic_cursor){0, call->after});
        call->fn(call->arg,
                 &(struct app_verdict){.end = STATUS_OK, .page = {.cursor = buffer_slice(&cursor)}});
    } else {
        use_case_end(call->app, SLICE(""), status_of_read(status), NULL, call->fn, call->arg);
    }
    free(call);
}

static void read_limits(struct limits_call *call)
{
    store_limits(call->app->store, SLICE(""), call->after, call->max - call->count, on_limits, call);
}

void app_limits(struct app *app, size_t max, struct topic_cursor from, app_limit_fn *each, app_verdict_fn *fn,
                void *arg)
{
    struct limits_call *call = NEW(struct limits_call);
    *call = (struct limits_call){.app = app, .each = each, .fn = fn, .arg = arg, .max = max};
    keep_place(call, from.name);
    read_limits(call);
}

/* ---- one ---- */

struct limit_call {
    struct app *app;
    app_limit_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

static void on_limit(void *arg, enum status status, const struct limit *found, size_t count, bool has_more)
{
    struct limit_call *call = arg;
    (void)has_more;
    if (status == STATUS_OK && count == 0)
        status = STATUS_NOT_FOUND;
    if (status == STATUS_OK) {
        struct limit limit = limit_view(found);
        call->each(call->arg, &limit);
    }
    use_case_end(call->app, SLICE(""), status_of_read(status), NULL, call->fn, call->arg);
    free(call);
}

void app_limit(struct app *app, struct slice name, app_limit_fn *each, app_verdict_fn *fn, void *arg)
{
    struct limit_call *call = NEW(struct limit_call);
    *call = (struct limit_call){app, each, fn, arg};
    store_limits(app->store, name, SLICE(""), 1, on_limit, call);
}

/* ---- keys ---- */

struct lanes_call {
    struct app *app;
    struct slice topic, key;
    app_lane_fn *each;
    app_verdict_fn *fn;
    void *arg;
    size_t left;
    enum status status;
    struct app_walk walk;
};

static void on_lanes(void *arg, enum status status, const struct topic_lane *lanes, size_t count,
                     struct slice after)
{
    struct lanes_call *call = arg;
    call->status = status_of_read(status);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        call->each(call->arg, &lanes[i]);
    call->left -= count;
    app_walk_keep(&call->walk, 0, after);
    app_walk_on(&call->walk, status == STATUS_OK && call->left > 0);
}

static void lanes_read(void *arg)
{
    struct lanes_call *call = arg;
    store_lanes(call->app->store,
                &(struct store_lanes){.topic = call->topic, .after = call->walk.place, .max = call->left},
                on_lanes, call);
}

static void lanes_end(void *arg)
{
    struct lanes_call *call = arg;
    char room[APP_CURSOR_MAX];
    struct buffer cursor = buffer_of(room, sizeof room);
    if (call->status == STATUS_OK && call->walk.has_more)
        cursor_write_place(&cursor, 0, call->walk.place);
    if (call->status == STATUS_OK)
        call->fn(call->arg,
                 &(struct app_verdict){.end = STATUS_OK, .page = {.cursor = buffer_slice(&cursor)}});
    else
        use_case_end(call->app, call->topic, call->status, NULL, call->fn, call->arg);
    free(call);
}

void app_lanes(struct app *app, struct slice topic, size_t max, struct slice after, app_lane_fn *each,
               app_verdict_fn *fn, void *arg)
{
    struct lanes_call *call = NEW(struct lanes_call);
    *call = (struct lanes_call){.app = app, .topic = topic, .each = each, .fn = fn, .arg = arg, .left = max};
    call->walk = (struct app_walk){.page = lanes_read, .end = lanes_end, .arg = call};
    app_walk_keep(&call->walk, 0, after);
    app_walk_begin(&call->walk);
}

bool app_lane_cursor_parse(struct slice text, struct buffer *room, struct slice *after)
{
    size_t shard;
    return cursor_parse_place(text, 1, room, &shard, after) && after->size <= STORE_LANE_PLACE_MAX;
}

static void on_lane(void *arg, enum status status, const struct topic_lane *found, size_t count,
                    struct slice after)
{
    struct lanes_call *call = arg;
    (void)after;
    if (status == STATUS_OK)
        call->each(call->arg, count ? found : &(struct topic_lane){.key = call->key, .due_ms = -1});
    use_case_end(call->app, call->topic, status_of_read(status), NULL, call->fn, call->arg);
    free(call);
}

void app_lane(struct app *app, struct slice topic, struct slice key, app_lane_fn *each, app_verdict_fn *fn,
              void *arg)
{
    struct lanes_call *call = NEW(struct lanes_call);
    *call = (struct lanes_call){.app = app, .topic = topic, .key = key, .each = each, .fn = fn, .arg = arg};
    store_lanes(app->store, &(struct store_lanes){.topic = topic, .is_one = true, .key = key, .max = 1},
                on_lane, call);
}

/* ---- change ---- */

struct change {
    struct app *app;
    const struct kind *kind;
    const struct app_caller *caller;
    struct app_limit_change call;
    app_verdict_fn *fn;
    void *arg;
    struct buffer old_text, new_text;
    int tries;
};

static void read_old(struct change *);

static void change_free(struct change *change)
{
    buffer_fini(&change->old_text);
    buffer_fini(&change->new_text);
    free(change);
}

static void end_change(struct change *change, const struct app_verdict *verdict)
{
    change->fn(change->arg, verdict);
    change_free(change);
}

/* Returns the name whose shard has the limit or the key. */
static struct slice id_of(const struct app_limit_change *call)
{
    return call->topic.size ? call->name : SLICE("");
}

static void fail_change(struct change *change, enum status status)
{
    use_case_end(change->app, id_of(&change->call), status, NULL, change->fn, change->arg);
    change_free(change);
}

static void on_set(void *arg, enum status status, const struct slice *names, size_t count)
{
    struct change *change = arg;
    if (status == STATUS_STALE && ++change->tries < TRIES_MAX) {
        read_old(change);
        return;
    }
    audit_change(change->caller, change->kind->events[change->call.kind], change->kind->word,
                 change->call.name, status, change->kind->show, buffer_slice(&change->old_text),
                 buffer_slice(&change->new_text));
    switch (status) {
    case STATUS_OK:
        end_change(change, &(struct app_verdict){.end = STATUS_OK,
                                                 .settings = buffer_slice(&change->new_text),
                                                 .was_there = change->old_text.size > 0});
        break;
    case STATUS_STALE:
        end_change(change, &(struct app_verdict){.end = STATUS_CONTENDED});
        break;
    case STATUS_IN_USE:
        end_change(change, &(struct app_verdict){.end = STATUS_IN_USE, .users = names, .user_count = count});
        break;
    default:
        fail_change(change, status);
    }
}

/* Returns whether the stored limit meets the condition of the request. If there is no limit, returns whether
 * the condition allows that. */
static bool meets_tags(const struct change *change)
{
    struct slice tags = change->call.tags;
    char tag[JOB_TAG_SIZE];
    if (change->old_text.size == 0)
        return tags.size == 0 || tags.data[0] == JOB_TAGS_EXCLUDED;
    app_limit_tag(buffer_slice(&change->old_text), tag);
    return job_tags_match(tags, tag);
}

/* Writes the new settings. Returns INVALID with the errors in errors. */
static enum status make_settings(struct change *change, const struct topic_settings *old,
                                 struct job_errors *errors)
{
    struct topic_settings settings;
    struct buffer text;
    buffer_init_fallible(&text, TOPIC_SETTINGS_BYTES_MAX + change->call.text.size);
    enum status status = change->call.kind == APP_CHANGE_REPLACE
                             ? change->kind->parse(change->call.text, &settings, errors)
                             : change->kind->patch(old, change->call.text, &text, &settings, errors);
    buffer_clear(&change->new_text);
    if (status == STATUS_OK) {
        change->kind->write(&settings, &change->new_text);
        topic_settings_fini(&settings);
    }
    buffer_fini(&text);
    return status;
}

/* Creates the new settings from the old ones. If that fails, ends the use case and returns false. */
static bool make_change(struct change *change)
{
    struct topic_settings old;
    struct job_errors errors;
    enum app_change kind = change->call.kind;
    bool is_there = change->old_text.size > 0;
    bool is_lost = !is_there && change->kind == &of_limit && kind != APP_CHANGE_REPLACE;
    if (!meets_tags(change) || is_lost) {
        end_change(change,
                   &(struct app_verdict){.end = meets_tags(change) ? STATUS_NOT_FOUND : STATUS_STALE});
        return false;
    }
    if (kind == APP_CHANGE_RESET)
        return true;
    enum status status = change->kind->read(buffer_slice(&change->old_text), &old);
    if (status == STATUS_INVALID && kind == APP_CHANGE_REPLACE)
        status = change->kind->read(SLICE(""), &old);
    if (status == STATUS_INVALID) {
        end_change(change, &(struct app_verdict){.end = STATUS_UNREADABLE});
        return false;
    }
    if (status == STATUS_OK && old.lacks.size) {
        change->fn(change->arg, &(struct app_verdict){.end = STATUS_LACKING, .why = old.lacks});
        topic_settings_fini(&old);
        change_free(change);
        return false;
    }
    if (status == STATUS_OK) {
        status = make_settings(change, &old, &errors);
        topic_settings_fini(&old);
    }
    if (status == STATUS_INVALID)
        end_change(change, &(struct app_verdict){.end = STATUS_INVALID, .errors = &errors});
    else if (status != STATUS_OK)
        fail_change(change, status);
    return status == STATUS_OK;
}

static struct slice key_of(const struct change *change)
{
    return slice_skip(change->call.name, change->call.topic.size + 1);
}

static void on_key_set(void *arg, enum status status)
{
    on_set(arg, status, NULL, 0);
}

/* Receives the text of the limit or the key, which is empty if it has no settings. */
static void on_old(struct change *change, enum status status, struct slice text)
{
    if (status != STATUS_OK) {
        fail_change(change, status_of_read(status));
        return;
    }
    buffer_clear(&change->old_text);
    buffer_append(&change->old_text, text);
    if (!make_change(change))
        return;
    struct slice old_text = buffer_slice(&change->old_text), new_text = change->call.kind == APP_CHANGE_RESET
                                                                            ? SLICE("")
                                                                            : buffer_slice(&change->new_text);
    if (change->kind == &of_limit)
        store_set_limit(change->app->store, change->call.name, old_text, new_text, on_set, change);
    else
        store_set_lane(change->app->store, change->call.topic, key_of(change), old_text, new_text, on_key_set,
                       change);
}

static void on_old_limit(void *arg, enum status status, const struct limit *found, size_t count,
                         bool has_more)
{
    (void)has_more;
    on_old(arg, status, status == STATUS_OK && count ? found->settings : SLICE(""));
}

static void on_old_key(void *arg, enum status status, const struct topic_lane *found, size_t count,
                       struct slice after)
{
    (void)after;
    on_old(arg, status, status == STATUS_OK && count ? found->settings : SLICE(""));
}

static void read_old(struct change *change)
{
    struct store *store = change->app->store;
    struct store_lanes one = {.topic = change->call.topic, .is_one = true, .key = key_of(change), .max = 1};
    if (change->kind == &of_limit)
        store_limits(store, change->call.name, SLICE(""), 1, on_old_limit, change);
    else
        store_lanes(store, &one, on_old_key, change);
}

void app_limit_change(struct app *app, const struct app_caller *caller, const struct app_limit_change *call,
                      app_verdict_fn *fn, void *arg)
{
    bool is_key = call->topic.size > 0;
    if (!is_key && call->kind == APP_CHANGE_REPLACE && store_shards(app->store) > 1) {
        use_case_refuse_field("", LIMIT_NEEDS_ONE_SHARD, fn, arg);
        return;
    }
    if ((is_key && use_case_is_sibling(call->name, fn, arg)) ||
        use_case_is_unready(app, id_of(call), fn, arg))
        return;
    struct change *change = NEW(struct change);
    *change = (struct change){.app = app,
                              .kind = is_key ? &of_key : &of_limit,
                              .caller = caller,
                              .call = *call,
                              .fn = fn,
                              .arg = arg};
    buffer_init(&change->old_text, TOPIC_LAYERS_BYTES_MAX);
    buffer_init(&change->new_text, TOPIC_SETTINGS_BYTES_MAX);
    read_old(change);
}
