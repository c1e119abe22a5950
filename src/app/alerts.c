#include "app/alerts.h"

#include <stdlib.h>

#include "app/app_private.h"
#include "app/topics.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/topic/topic_sealed.h"
#include "store/alert.h"

/* ---- alerts that have begun ---- */

struct list_call {
    struct app *app;
    const struct app_caller *caller;
    app_alert_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

static int compare_since(const void *a, const void *b)
{
    const struct app_alert *left = a, *right = b;
    return (left->since_ms > right->since_ms) - (left->since_ms < right->since_ms);
}

static bool may_see(const struct app_caller *caller, const struct app_alert *alert)
{
    struct slice topic, rest;
    slice_cut(alert->subject, '/', &topic, &rest);
    return alert_kind_is_of_topic(alert->kind) ? app_caller_reaches(caller, topic) : caller->topics.size == 0;
}

static void on_episodes(void *arg, enum status status, const struct store_episode *episodes, size_t count)
{
    struct list_call *call = arg;
    struct app_alert *alerts = NEW_ARRAY(struct app_alert, count + 1);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct alert_episode episode;
        if (!alert_name_read(episodes[i].name, &alerts[found].kind, &alerts[found].subject) ||
            !alert_episode_read(episodes[i].state, &episode) || !may_see(call->caller, &alerts[found]))
            continue;
        alerts[found].since_ms = episode.since_ms;
        alerts[found++].count = episode.count;
    }
    qsort(alerts, found, sizeof *alerts, compare_since);
    for (size_t i = 0; status == STATUS_OK && i < found; i++)
        call->each(call->arg, &alerts[i]);
    use_case_end(call->app, SLICE(""), status, NULL, call->fn, call->arg);
    free(alerts);
    free(call);
}

void app_alerts(struct app *app, const struct app_caller *caller, app_alert_fn *each, app_verdict_fn *fn,
                void *arg)
{
    struct list_call *call = NEW(struct list_call);
    *call = (struct list_call){app, caller, each, fn, arg};
    store_alerts(app->store, on_episodes, call);
}

/* ---- trying alerts out ---- */

struct test_call {
    struct app *app;
    const struct app_caller *caller;
    struct slice topic;
    app_alert_test_fn *each;
    app_verdict_fn *fn;
    void *arg;
    struct topic_settings settings;
    struct buffer text; /* the settings as Redis has them */
    struct alert_rules rules;
    bool has_rules;
    char ids[ALERT_RULES_MAX][ALERT_ID_SIZE];
    struct buffer records[ALERT_RULES_MAX];
    struct store_alert_change changes[ALERT_RULES_MAX];
};

static void test_free(struct test_call *call)
{
    for (size_t i = 0; call->has_rules && i < call->rules.count; i++)
        buffer_fini(&call->records[i]);
    if (call->has_rules)
        alert_rules_fini(&call->rules);
    topic_settings_fini(&call->settings);
    buffer_fini(&call->text);
    free(call);
}

static void end_test(struct test_call *call, enum status status)
{
    use_case_end(call->app, call->topic, status, NULL, call->fn, call->arg);
    test_free(call);
}

static void on_scheduled(void *arg, enum status status, const bool *done, size_t count)
{
    struct test_call *call = arg;
    if (status == STATUS_OK && (count != call->rules.count || !done[count - 1]))
        status = STATUS_FULL;
    audit(call->caller, "alerts_tested", "topic", call->topic, status);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        struct app_alert_test test = {.rule = &call->rules.items[i]};
        slice_cut(slice_of(call->ids[i]), '/', &test.topic, &test.job_id);
        call->each(call->arg, &test);
    }
    end_test(call, status);
}

static void make_tests(struct test_call *call)
{
    int64_t now_ms = app_now_ms(call->app);
    uint64_t number;
    for (size_t i = 0; i < call->rules.count; i++) {
        random_fill(&number, sizeof number);
        buffer_init(&call->records[i], JOB_RECORD_MAX);
        alert_test_write(&call->rules.items[i], call->topic, now_ms, number, call->ids[i], &call->records[i]);
        call->changes[i] = (struct store_alert_change){.id = slice_of(call->ids[i]),
                                                       .record = buffer_slice(&call->records[i])};
    }
    store_change_alerts(call->app->store, now_ms * 1000, call->changes, call->rules.count, on_scheduled,
                        call);
}

static void on_topic(void *arg, const struct topic *topic)
{
    struct test_call *call = arg;
    buffer_append(&call->text, topic->settings);
}

static void on_read(void *arg, const struct app_verdict *verdict)
{
    struct test_call *call = arg;
    if (verdict->end != STATUS_OK) {
        call->fn(call->arg, verdict);
        test_free(call);
        return;
    }
    if (topic_settings_read(buffer_slice(&call->text), &call->settings) != STATUS_OK)
        call->settings = (struct topic_settings){.weight = 0};
    call->has_rules = call->settings.alerts.size > 0 && alert_rules_read(call->settings.alerts, &call->rules);
    if (call->has_rules && call->rules.count > 0)
        make_tests(call);
    else
        end_test(call, STATUS_NOT_FOUND);
}

void app_alerts_test(struct app *app, const struct app_caller *caller, struct slice topic,
                     app_alert_test_fn *each, app_verdict_fn *fn, void *arg)
{
    if (use_case_is_unready(app, SLICE(ALERT_TOPIC), fn, arg))
        return;
    struct test_call *call = NEW(struct test_call);
    call->app = app;
    call->caller = caller;
    call->topic = topic;
    call->each = each;
    call->fn = fn;
    call->arg = arg;
    buffer_init(&call->text, TOPIC_STORED_BYTES_MAX);
    if (topic_pattern_is_open(topic))
        app_patterns(app, caller, topic, on_topic, on_read, call);
    else
        app_topic(app, topic, on_topic, on_read, call);
}
