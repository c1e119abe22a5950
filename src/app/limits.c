#include "app/limits.h"

#include "app/app_private.h"
#include "base/memory.h"

enum { TRIES_MAX = 5, LIMIT_CURSOR_MAX = JOB_TOPIC_MAX + 32 };

static const char *const change_events[] = {"limit_replaced", "limit_changed", "limit_removed"};

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

/* ---- change ---- */

struct change {
    struct app *app;
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

static void fail_change(struct change *change, enum status status)
{
    use_case_end(change->app, SLICE(""), status, NULL, change->fn, change->arg);
    change_free(change);
}

static void on_set(void *arg, enum status status, const struct slice *names, size_t count)
{
    struct change *change = arg;
    if (status == STATUS_STALE && ++change->tries < TRIES_MAX) {
        read_old(change);
        return;
    }
    audit(change->caller, change_events[change->call.kind], "limit", change->call.name, status);
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
                             ? limit_settings_parse(change->call.text, &settings, errors)
                             : limit_settings_patch(old, change->call.text, &text, &settings, errors);
    buffer_clear(&change->new_text);
    if (status == STATUS_OK) {
        limit_settings_write(&settings, &change->new_text);
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
    if (!meets_tags(change) || (!is_there && kind != APP_CHANGE_REPLACE)) {
        end_change(change,
                   &(struct app_verdict){.end = meets_tags(change) ? STATUS_NOT_FOUND : STATUS_STALE});
        return false;
    }
    if (kind == APP_CHANGE_RESET)
        return true;
    enum status status = limit_settings_read(buffer_slice(&change->old_text), &old);
    if (status == STATUS_INVALID && kind == APP_CHANGE_REPLACE)
        status = limit_settings_read(SLICE(""), &old);
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

static void on_old(void *arg, enum status status, const struct limit *found, size_t count, bool has_more)
{
    struct change *change = arg;
    (void)has_more;
    if (status != STATUS_OK) {
        fail_change(change, status_of_read(status));
        return;
    }
    buffer_clear(&change->old_text);
    if (count)
        buffer_append(&change->old_text, found->settings);
    if (make_change(change))
        store_set_limit(change->app->store, change->call.name, buffer_slice(&change->old_text),
                        change->call.kind == APP_CHANGE_RESET ? SLICE("") : buffer_slice(&change->new_text),
                        on_set, change);
}

static void read_old(struct change *change)
{
    store_limits(change->app->store, change->call.name, SLICE(""), 1, on_old, change);
}

void app_limit_change(struct app *app, const struct app_caller *caller, const struct app_limit_change *call,
                      app_verdict_fn *fn, void *arg)
{
    if (call->kind == APP_CHANGE_REPLACE && store_shards(app->store) > 1) {
        use_case_refuse_field("", LIMIT_NEEDS_ONE_SHARD, fn, arg);
        return;
    }
    if (use_case_is_unready(app, SLICE(""), fn, arg))
        return;
    struct change *change = NEW(struct change);
    *change = (struct change){.app = app, .caller = caller, .call = *call, .fn = fn, .arg = arg};
    buffer_init(&change->old_text, TOPIC_LAYERS_BYTES_MAX);
    buffer_init(&change->new_text, TOPIC_SETTINGS_BYTES_MAX);
    read_old(change);
}
