#include "app/siblings.h"

#include "app/audit.h"
#include "app/use_case.h"
#include "base/memory.h"

enum { TRIES_MAX = 5 };

struct sibling_change {
    struct app *app;
    const struct app_caller *caller;
    struct slice topic;
    app_sibling_fn *change;
    app_verdict_fn *fn;
    void *arg;
    struct buffer old_settings, new_settings;
    int tries;
};

static void sibling_read(struct sibling_change *);

/* Returns the status of a failed read. A read changes nothing, so the outcome is never unknown. */
static enum status status_of_read(enum status status)
{
    return status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status;
}

static void sibling_change_free(struct sibling_change *change)
{
    buffer_fini(&change->old_settings);
    buffer_fini(&change->new_settings);
    free(change);
}

static void sibling_end(struct sibling_change *change, enum status status)
{
    use_case_end(change->app, change->topic, status, NULL, change->fn, change->arg);
    sibling_change_free(change);
}

static void sibling_refuse(struct sibling_change *change, enum status end)
{
    use_case_refuse(end, change->fn, change->arg);
    sibling_change_free(change);
}

static void sibling_done(struct sibling_change *change, struct slice settings)
{
    change->fn(change->arg, &(struct app_verdict){.end = STATUS_OK, .settings = settings});
    sibling_change_free(change);
}

static void on_sibling_set(void *arg, enum status status)
{
    struct sibling_change *change = arg;
    if (status == STATUS_STALE && ++change->tries < TRIES_MAX) {
        sibling_read(change);
        return;
    }
    audit(change->caller, change->new_settings.size ? "settings_changed" : "settings_reset", "topic",
          change->topic, status);
    if (status == STATUS_STALE)
        sibling_refuse(change, STATUS_CONTENDED);
    else if (status == STATUS_OK)
        sibling_done(change, buffer_slice(&change->new_settings));
    else
        sibling_end(change, status);
}

static void sibling_write(struct sibling_change *change)
{
    struct slice old = buffer_slice(&change->old_settings), new = buffer_slice(&change->new_settings);
    if (slice_equal(old, new))
        sibling_done(change, new);
    else
        store_set_topic(change->app->store, change->topic, old, new, on_sibling_set, change);
}

/* Creates the new settings from those that were read. */
static void sibling_make(struct sibling_change *change, int64_t now_ms)
{
    struct topic_settings settings;
    struct slice old = buffer_slice(&change->old_settings);
    enum status status = topic_settings_read(old, &settings);
    if (status != STATUS_OK || settings.lacks.size) {
        if (status == STATUS_OK)
            topic_settings_fini(&settings);
        sibling_refuse(change, status == STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_UNREADABLE);
        return;
    }
    enum app_sibling_change what = change->change(change->arg, &settings, old.size > 0, now_ms);
    buffer_clear(&change->new_settings);
    if (what == APP_SIBLING_WRITE)
        topic_settings_write(&settings, &change->new_settings);
    topic_settings_fini(&settings);
    if (change->new_settings.failed)
        sibling_refuse(change, STATUS_TOO_LARGE);
    else if (what == APP_SIBLING_MISSING)
        sibling_refuse(change, STATUS_NOT_FOUND);
    else if (what == APP_SIBLING_KEEP)
        sibling_done(change, old);
    else
        sibling_write(change);
}

static void on_sibling_read(void *arg, enum status status, const struct topic *topic, size_t count,
                            struct topic_cursor next)
{
    struct sibling_change *change = arg;
    (void)count, (void)next;
    if (status != STATUS_OK) {
        sibling_end(change, status_of_read(status));
        return;
    }
    buffer_clear(&change->old_settings);
    buffer_append(&change->old_settings, topic->own);
    sibling_make(change, topic->now_ms);
}

static void sibling_read(struct sibling_change *change)
{
    store_topics(change->app->store, &(struct store_topics){.topic = change->topic, .max = 1},
                 on_sibling_read, change);
}

void app_sibling_change(struct app *app, const struct app_caller *caller, struct slice topic,
                        app_sibling_fn *make, app_verdict_fn *fn, void *arg)
{
    if (use_case_is_unready(app, topic, fn, arg))
        return;
    struct sibling_change *change = NEW(struct sibling_change);
    *change = (struct sibling_change){
        .app = app, .caller = caller, .topic = topic, .change = make, .fn = fn, .arg = arg};
    buffer_init(&change->old_settings, TOPIC_SETTINGS_BYTES_MAX);
    buffer_init(&change->new_settings, TOPIC_SETTINGS_BYTES_MAX);
    sibling_read(change);
}

enum app_sibling_change app_sibling_remove(void *arg, struct topic_settings *settings, bool has_settings,
                                           int64_t now_ms)
{
    (void)arg, (void)settings, (void)now_ms;
    return has_settings ? APP_SIBLING_REMOVE : APP_SIBLING_KEEP;
}
