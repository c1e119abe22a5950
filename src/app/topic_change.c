#include <assert.h>

#include "app/app_private.h"
#include "app/topics.h"
#include "base/memory.h"
#include "io/time_zones.h"
#include "job/alert/alert_rules.h"
#include "job/delivery/identity.h"
#include "job/schedule/windows.h"
#include "job/text/job_errors.h"
#include "job/topic/topic_patterns.h"
#include "job/topic/topic_sealed.h"
#include "job/topic/topic_settings.h"

enum { TRIES_MAX = 5 };

static const char *const change_events[] = {"settings_replaced", "settings_changed", "settings_reset"};

struct change {
    struct app *app;
    const struct app_caller *caller;
    struct slice name;
    enum app_change kind;
    struct slice text; /* text that the client sent */
    app_verdict_fn *fn;
    void *arg;
    struct buffer old_settings, new_settings; /* old_settings of a topic: as Redis has them */
    struct buffer stored;                     /* the new settings of a topic, sealed */
    int tries;
    bool is_pattern;
    struct pattern_set patterns; /* change of a pattern: the settings of all patterns */
    struct store_pattern written[PATTERN_SET_MAX];
};

static void read_settings(struct change *);

static void change_free(struct change *change)
{
    buffer_fini(&change->old_settings);
    buffer_fini(&change->new_settings);
    buffer_fini(&change->stored);
    pattern_set_fini(&change->patterns);
    free(change);
}

/* Ends the use case, because the new settings name a limit that does not exist. */
static void refuse_limit(struct change *change)
{
    struct topic_settings settings;
    struct problem why;
    if (topic_settings_read(buffer_slice(&change->new_settings), &settings) != STATUS_OK)
        settings = (struct topic_settings){.weight = 0};
    problem_set(&why, "there is no such limit; make it first: PUT /limits/%.*s", SLICE_ARG(settings.limit));
    use_case_refuse_field("limit", why.text, change->fn, change->arg);
    topic_settings_fini(&settings);
    change_free(change);
}

static void on_set(void *arg, enum status status)
{
    struct change *change = arg;
    if (status == STATUS_STALE && ++change->tries < TRIES_MAX) {
        read_settings(change);
        return;
    }
    if (status == STATUS_NO_LIMIT) {
        refuse_limit(change);
        return;
    }
    audit_change(change->caller, change_events[change->kind], change->is_pattern ? "pattern" : "topic",
                 change->name, status, audit_show_topic, buffer_slice(&change->old_settings),
                 buffer_slice(&change->new_settings));
    if (status == STATUS_STALE)
        use_case_refuse(STATUS_CONTENDED, change->fn, change->arg);
    else if (status == STATUS_OK)
        change->fn(change->arg,
                   &(struct app_verdict){.end = STATUS_OK, .settings = buffer_slice(&change->new_settings)});
    else
        use_case_end(change->app, change->name, status, NULL, change->fn, change->arg);
    change_free(change);
}

static void check_callback_target(const struct app *app, const char *name, struct slice value,
                                  struct job_errors *errors)
{
    char why[TARGET_WHY_SIZE];
    if (!target_is_callback_allowed(app, value, why))
        job_errors_add(errors, name, why);
}

static void check_window_zones(const struct app *app, struct slice text, struct job_errors *errors)
{
    struct windows windows = {.count = 0};
    const struct time_zone *ignored;
    struct problem problem;
    if (text.size == 0 || windows_parse(text, &windows, &problem) != STATUS_OK)
        return; /* topic_settings_parse has refused it */
    for (size_t i = 0; i < windows.count; i++)
        if (time_zones_find(app->zones, windows.items[i].zone, &ignored, &problem) != STATUS_OK)
            job_errors_add(errors, "windows", problem.text);
}

/* Checks the urls of the alerts. Alerts that belong to no topic can only be set for all topics. */
static void check_alerts(const struct change *change, struct slice value, struct job_errors *errors)
{
    struct alert_rules rules;
    char why[TARGET_WHY_SIZE];
    if (value.size == 0 || !alert_rules_read(value, &rules))
        return; /* topic_settings_parse has refused it */
    for (size_t i = 0; i < rules.count; i++) {
        if (!alert_kind_is_of_topic(rules.items[i].kind) && !slice_equal(change->name, SLICE("*")))
            job_errors_add(errors, "alerts.on",
                           "belongs to no topic: only the settings of the pattern \"*\" can have it");
        if (!target_is_allowed(change->app, rules.items[i].url, why))
            job_errors_add(errors, "alerts.url", why);
    }
    alert_rules_fini(&rules);
}

/* Creates *settings from the old settings and the client's text. *settings borrow the client's text, *old
 * and the buffer text. */
static enum status read_change(const struct change *change, const struct topic_settings *old,
                               struct buffer *text, struct topic_settings *settings,
                               struct job_errors *errors)
{
    if (change->kind == APP_CHANGE_REPLACE) {
        enum status status = topic_settings_parse(change->text, settings, errors);
        if (status == STATUS_OK)
            settings->form_keys = old->form_keys;
        return status;
    }
    return topic_settings_patch(old, change->text, text, settings, errors);
}

/* Returns whether the caller may change the settings that do not concern this topic only. A limit also
 * concerns topics that a caller with a right to some topics only does not reach: a topic that joins it takes
 * room from the others, and one that leaves it is bounded no more. A proxy reads what is sent without TLS,
 * such as the headers that the topic has from a pattern. */
static bool may_change_shared(const struct change *change, const struct topic_settings *old,
                              const struct topic_settings *new)
{
    return change->caller->topics.size == 0 ||
           (slice_equal(old->limit, new->limit) && slice_equal(old->egress_proxy, new->egress_proxy));
}

/* Writes the new settings. Returns INVALID with the errors in errors, or NOT_REACHED. */
static enum status make_settings(struct change *change, const struct topic_settings *old,
                                 struct job_errors *errors)
{
    struct topic_settings settings;
    struct buffer text;
    buffer_init_fallible(&text, TOPIC_SETTINGS_BYTES_MAX + change->text.size);
    enum status status = read_change(change, old, &text, &settings, errors);
    buffer_clear(&change->new_settings);
    if (status == STATUS_OK && !may_change_shared(change, old, &settings)) {
        status = STATUS_NOT_REACHED;
        topic_settings_fini(&settings);
    }
    if (status == STATUS_OK) {
        char why[TARGET_WHY_SIZE];
        if (settings.limit.size && store_shards(change->app->store) > 1)
            job_errors_add(errors, "limit", LIMIT_NEEDS_ONE_SHARD);
        if (!target_is_allowed(change->app, settings.url, why))
            job_errors_add(errors, "url", why);
        if (settings.has_auth && slice_equal(settings.auth.type, SLICE("jwt")) &&
            !identity_keys_have(change->app->identity, settings.auth.algorithm))
            job_errors_add(errors, "auth.type",
                           "needs a key of the server for the algorithm: set its option identity-key-file");
        if (!target_is_allowed(change->app, settings.auth.token_url, why))
            job_errors_add(errors, "auth.tokenUrl", why);
        char proxy[PROXY_URL_MAX + 1];
        proxy_url_plain(settings.egress_proxy, proxy);
        if (!target_is_allowed(change->app, slice_of(proxy), why))
            job_errors_add(errors, "egressProxy", why);
        check_window_zones(change->app, settings.windows, errors);
        check_callback_target(change->app, "onDelivered", settings.on_delivered, errors);
        check_callback_target(change->app, "onDead", settings.on_dead, errors);
        check_callback_target(change->app, "onAttempt", settings.on_attempt, errors);
        check_alerts(change, settings.alerts, errors);
        topic_settings_write(&settings, &change->new_settings);
        topic_settings_fini(&settings);
    }
    buffer_fini(&text);
    return status == STATUS_OK && errors->count > 0 ? STATUS_INVALID : status;
}

/* Creates the new settings from the old settings. If that fails, ends the use case and returns false. */
static bool make_change(struct change *change)
{
    struct topic_settings old;
    struct job_errors errors;
    enum status status = topic_settings_read(buffer_slice(&change->old_settings), &old);
    bool is_readable = status == STATUS_OK;
    if (status == STATUS_INVALID && change->kind == APP_CHANGE_REPLACE)
        status = topic_settings_read(SLICE(""), &old);
    if (status == STATUS_INVALID) {
        use_case_refuse(STATUS_UNREADABLE, change->fn, change->arg);
        return false;
    }
    if (status == STATUS_OK && is_readable && old.lacks.size) {
        change->fn(change->arg, &(struct app_verdict){.end = STATUS_LACKING, .why = old.lacks});
        topic_settings_fini(&old);
        return false;
    }
    if (status == STATUS_OK) {
        status = make_settings(change, &old, &errors);
        topic_settings_fini(&old);
    }
    if (status == STATUS_INVALID)
        change->fn(change->arg, &(struct app_verdict){.end = STATUS_INVALID, .errors = &errors});
    else if (status == STATUS_NOT_REACHED)
        change->fn(change->arg, &(struct app_verdict){.end = status, .is_of_limit = true});
    else if (status != STATUS_OK)
        use_case_end(change->app, change->name, status, NULL, change->fn, change->arg);
    return status == STATUS_OK;
}

/* Returns whether the settings may be removed. If not, ends the use case. */
static bool may_reset(const struct change *change)
{
    struct topic_settings old;
    if (topic_settings_read(buffer_slice(&change->old_settings), &old) != STATUS_OK)
        return true;
    const struct topic_settings none = {.limit = SLICE("")};
    bool is_unknown = old.lacks.size && change->caller->topics.size; /* may name a limit */
    bool may = !is_unknown && may_change_shared(change, &old, &none);
    topic_settings_fini(&old);
    if (!may)
        change->fn(change->arg, &(struct app_verdict){.end = STATUS_NOT_REACHED, .is_of_limit = true});
    return may;
}

/* Creates the new settings. If that fails, ends the change and returns false. */
static bool change_old(struct change *change)
{
    if (change->kind == APP_CHANGE_RESET ? may_reset(change) : make_change(change))
        return true;
    change_free(change);
    return false;
}

/* Ends the change after a failed read, which has changed nothing. */
static void end_read(struct change *change, enum status status)
{
    status = status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status;
    use_case_end(change->app, change->name, status, NULL, change->fn, change->arg);
    change_free(change);
}

/* ---- change of a topic ---- */

static void on_settings(void *arg, enum status status, const struct topic *topic, size_t count,
                        struct topic_cursor next)
{
    struct change *change = arg;
    (void)count, (void)next;
    if (status != STATUS_OK) {
        end_read(change, status);
        return;
    }
    buffer_clear(&change->old_settings);
    buffer_append(&change->old_settings, topic->own);
    if (!change_old(change))
        return;
    buffer_clear(&change->stored);
    topic_settings_seal(change->name, buffer_slice(&change->new_settings), &change->stored);
    assert(!change->stored.failed);
    store_set_topic(change->app->store, change->name, buffer_slice(&change->old_settings),
                    buffer_slice(&change->stored), on_set, change);
}

/* ---- change of a pattern ---- */

/* Takes the settings of all patterns, and finds the own settings of the pattern to change. The pattern's
 * stored text also contains the settings of shorter patterns, which are left out here. Returns false if the
 * text cannot be read. */
static bool take_patterns(struct change *change, const struct store_patterns *found)
{
    struct topic_settings settings;
    bool is_whole = true;
    pattern_set_fini(&change->patterns);
    for (size_t i = 0; i < found->count; i++)
        is_whole =
            is_whole && pattern_set_add(&change->patterns, found->patterns[i].name, found->patterns[i].text);
    struct slice text = pattern_set_text(&change->patterns, change->name);
    buffer_clear(&change->old_settings);
    if (text.size == 0 || topic_settings_read(text, &settings) != STATUS_OK) {
        buffer_append(&change->old_settings, text);
        return is_whole;
    }
    if (settings.lacks.size)
        buffer_append(&change->old_settings, text);
    else
        is_whole = is_whole && topic_layers_own(text, &change->old_settings);
    topic_settings_fini(&settings);
    return is_whole;
}

/* Ends the use case with an error, because the change of the pattern is not possible. */
static void refuse_patterns(struct change *change, enum pattern_set_end end)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    job_errors_add(&errors, "", "there are 100 patterns with settings already; delete one first");
    if (end == PATTERN_SET_FULL)
        change->fn(change->arg, &(struct app_verdict){.end = STATUS_INVALID, .errors = &errors});
    else if (end == PATTERN_SET_LACKING)
        change->fn(change->arg, &(struct app_verdict){.end = STATUS_LACKING,
                                                      .why = SLICE("settings of a longer pattern")});
    else
        use_case_refuse(STATUS_UNREADABLE, change->fn, change->arg);
    change_free(change);
}

static void on_patterns(void *arg, enum status status, const struct store_patterns *found)
{
    struct change *change = arg;
    struct pattern_set *set = &change->patterns;
    if (status != STATUS_OK) {
        end_read(change, status);
        return;
    }
    if (!take_patterns(change, found)) {
        refuse_patterns(change, PATTERN_SET_UNREADABLE);
        return;
    }
    if (!change_old(change))
        return;
    enum pattern_set_end end = pattern_set_change(set, change->name, buffer_slice(&change->new_settings));
    if (end != PATTERN_SET_DONE) {
        refuse_patterns(change, end);
        return;
    }
    for (size_t i = 0; i < set->count; i++)
        change->written[i] = (struct store_pattern){buffer_slice(&set->patterns[i].name),
                                                    buffer_slice(&set->patterns[i].text)};
    struct store_patterns patterns = {found->version, change->written, set->count};
    store_set_patterns(change->app->store, &patterns, on_set, change);
}

/* ---- */

static void read_settings(struct change *change)
{
    struct store_topics topics = {.topic = change->name, .max = 1};
    if (change->is_pattern)
        store_patterns(change->app->store, on_patterns, change);
    else
        store_topics(change->app->store, &topics, on_settings, change);
}

void app_topic_change(struct app *app, const struct app_caller *caller, struct slice name,
                      enum app_change kind, struct slice text, app_verdict_fn *fn, void *arg)
{
    bool is_pattern = topic_pattern_is_open(name);
    if (use_case_is_sibling(name, fn, arg) ||
        use_case_is_unready(app, is_pattern ? SLICE("") : name, fn, arg))
        return;
    struct change *change = NEW(struct change);
    change->app = app;
    change->caller = caller;
    change->name = name;
    change->kind = kind;
    change->text = text;
    change->fn = fn;
    change->arg = arg;
    change->is_pattern = is_pattern;
    buffer_init(&change->old_settings, TOPIC_STORED_BYTES_MAX);
    buffer_init(&change->new_settings, TOPIC_SETTINGS_BYTES_MAX);
    buffer_init(&change->stored, TOPIC_STORED_BYTES_MAX);
    read_settings(change);
}

/* ---- change of a sibling topic ---- */

enum { SIBLING_TRIES_MAX = 5 };

struct sibling_change {
    struct app *app;
    const struct app_caller *caller;
    struct slice topic;
    app_sibling_fn *change;
    app_verdict_fn *fn;
    void *arg;
    struct buffer old_settings, new_settings, stored; /* stored: the new settings, sealed */
    int tries;
};

static void sibling_read(struct sibling_change *);

static void sibling_change_free(struct sibling_change *change)
{
    buffer_fini(&change->old_settings);
    buffer_fini(&change->new_settings);
    buffer_fini(&change->stored);
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
    if (status == STATUS_STALE && ++change->tries < SIBLING_TRIES_MAX) {
        sibling_read(change);
        return;
    }
    audit_change(change->caller, change->new_settings.size ? "settings_changed" : "settings_reset", "topic",
                 change->topic, status, audit_show_topic, buffer_slice(&change->old_settings),
                 buffer_slice(&change->new_settings));
    if (status == STATUS_STALE)
        sibling_refuse(change, STATUS_CONTENDED);
    else if (status == STATUS_OK)
        sibling_done(change, buffer_slice(&change->new_settings));
    else
        sibling_end(change, status);
}

/* Writes the new settings, unless they are equal to the old ones as they were before they were sealed. */
static void sibling_write(struct sibling_change *change, struct slice opened)
{
    struct slice new = buffer_slice(&change->new_settings);
    buffer_clear(&change->stored);
    topic_settings_seal(change->topic, new, &change->stored);
    if (slice_equal(opened, new))
        sibling_done(change, new);
    else if (change->stored.failed)
        sibling_refuse(change, STATUS_TOO_LARGE);
    else
        store_set_topic(change->app->store, change->topic, buffer_slice(&change->old_settings),
                        buffer_slice(&change->stored), on_sibling_set, change);
}

/* Creates the new settings from those that were read. */
static void sibling_make(struct sibling_change *change, int64_t now_ms)
{
    struct topic_settings settings;
    struct slice old = buffer_slice(&change->old_settings);
    enum status status = topic_settings_read(old, &settings);
    if (status != STATUS_OK) {
        sibling_refuse(change, status == STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_UNREADABLE);
        return;
    }
    if (settings.lacks.size) {
        topic_settings_fini(&settings);
        sibling_refuse(change, STATUS_LACKING);
        return;
    }
    struct buffer before; /* the old settings, as they are written if nothing changes */
    buffer_init(&before, TOPIC_SETTINGS_BYTES_MAX);
    topic_settings_write(&settings, &before);
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
        sibling_write(change, buffer_slice(&before));
    buffer_fini(&before);
}

static void on_sibling_read(void *arg, enum status status, const struct topic *topic, size_t count,
                            struct topic_cursor next)
{
    struct sibling_change *change = arg;
    (void)count, (void)next;
    if (status != STATUS_OK) {
        sibling_end(change, status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status);
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
    buffer_init(&change->old_settings, TOPIC_STORED_BYTES_MAX);
    buffer_init(&change->new_settings, TOPIC_SETTINGS_BYTES_MAX);
    buffer_init(&change->stored, TOPIC_STORED_BYTES_MAX);
    sibling_read(change);
}

enum app_sibling_change app_sibling_remove(void *arg, struct topic_settings *settings, bool has_settings,
                                           int64_t now_ms)
{
    (void)arg, (void)settings, (void)now_ms;
    return has_settings ? APP_SIBLING_REMOVE : APP_SIBLING_KEEP;
}
