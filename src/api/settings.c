/* PUT, PATCH and DELETE /topics/<topic>
 *
 * A change reads the settings, makes the new ones, and writes them unless they have changed meanwhile; then
 * it begins anew. */
#include "api/audit.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/target_check.h"
#include "api/view.h"
#include "base/memory.h"
#include "job/job_errors.h"
#include "job/topic_settings.h"

enum { TRIES_MAX = 5 };

/* What becomes of the settings: the body, the body merged into them, nothing. */
enum change_kind { CHANGE_REPLACE, CHANGE_MERGE, CHANGE_RESET };
static const char *const change_events[] = {"settings_replaced", "settings_changed", "settings_reset"};

struct change {
    struct exchange *exchange;
    enum change_kind kind;
    struct buffer old_settings, new_settings;
    int tries;
};

static void read_settings(struct change *);

static void change_end(struct change *change)
{
    buffer_fini(&change->old_settings);
    buffer_fini(&change->new_settings);
    free(change);
}

static void on_set(void *arg, enum status status)
{
    struct change *change = arg;
    struct exchange *exchange = change->exchange;
    if (status == STATUS_STALE && ++change->tries < TRIES_MAX) {
        read_settings(change);
        return;
    }
    audit_topic(exchange, change_events[change->kind], status);
    if (status == STATUS_STALE) {
        problem_answer(exchange, 503, "Others change these settings all the time; nothing changed.");
    } else if (status != STATUS_OK) {
        problem_answer_status(exchange, status, "Repeating the request is safe.");
    } else {
        struct buffer *body = exchange_scratch(exchange);
        buffer_append(body, SLICE("{\"topic\":"));
        buffer_append_json(body, exchange->topic);
        view_write_settings(body, buffer_slice(&change->new_settings));
        buffer_append_byte(body, '}');
        exchange_answer_json(exchange, 200, NULL, 0, buffer_slice(body));
    }
    change_end(change);
}

static void check_target(const struct exchange *exchange, const char *name, struct slice url,
                         struct job_errors *errors)
{
    if (!target_is_allowed(exchange->api, url))
        job_errors_add(errors, name, TARGET_REFUSED);
}

/* The new settings, as they are written. INVALID: errors says what is wrong. */
static enum status make_settings(struct change *change, struct job_errors *errors)
{
    struct topic_settings settings;
    struct slice body = http_request_body(change->exchange->request);
    struct buffer merged;
    enum status status = STATUS_OK;
    buffer_init_fallible(&merged, TOPIC_SETTINGS_BYTES_MAX + body.size);
    if (change->kind == CHANGE_MERGE)
        status = topic_settings_merge(buffer_slice(&change->old_settings), body, &merged, errors);
    if (status == STATUS_OK)
        status = topic_settings_parse(change->kind == CHANGE_MERGE ? buffer_slice(&merged) : body, &settings,
                                      errors);
    buffer_clear(&change->new_settings);
    if (status == STATUS_OK) {
        check_target(change->exchange, "url", settings.url, errors);
        check_target(change->exchange, "onDead", settings.on_dead, errors);
        topic_settings_write(&settings, &change->new_settings);
        topic_settings_fini(&settings);
    }
    buffer_fini(&merged);
    return status == STATUS_OK && errors->count > 0 ? STATUS_INVALID : status;
}

static void on_settings(void *arg, enum status status, const struct store_topic *topic, size_t count,
                        bool is_partial, struct store_topic_cursor next)
{
    struct change *change = arg;
    struct exchange *exchange = change->exchange;
    struct job_errors errors;
    (void)count, (void)is_partial, (void)next;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, PROBLEM_READ_ONLY);
        change_end(change);
        return;
    }
    buffer_clear(&change->old_settings);
    buffer_append(&change->old_settings, topic->settings);
    if (change->kind != CHANGE_RESET && (status = make_settings(change, &errors)) != STATUS_OK) {
        problem_answer_invalid(exchange, status, "topic", &errors);
        change_end(change);
        return;
    }
    store_set_topic(exchange->api->options.store, exchange->topic, buffer_slice(&change->old_settings),
                    buffer_slice(&change->new_settings), on_set, change);
}

static void read_settings(struct change *change)
{
    struct store_topics topics = {.topic = change->exchange->topic, .max = 1};
    store_topics(change->exchange->api->options.store, &topics, on_settings, change);
}

static void change_settings(struct exchange *exchange, enum change_kind kind)
{
    if (problem_answer_unready(exchange))
        return;
    struct change *change = NEW(struct change);
    change->exchange = exchange;
    change->kind = kind;
    buffer_init(&change->old_settings, TOPIC_SETTINGS_BYTES_MAX);
    buffer_init(&change->new_settings, TOPIC_SETTINGS_BYTES_MAX);
    read_settings(change);
}

void topic_put_handle(struct exchange *exchange)
{
    change_settings(exchange, CHANGE_REPLACE);
}

void topic_patch_handle(struct exchange *exchange)
{
    change_settings(exchange, CHANGE_MERGE);
}

void topic_delete_handle(struct exchange *exchange)
{
    change_settings(exchange, CHANGE_RESET);
}
