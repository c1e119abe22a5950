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
        exchange_refuse(exchange, 503, "Others change these settings all the time; nothing changed.");
    } else if (status != STATUS_OK) {
        problem_answer_status(exchange, status, "Repeating the request is safe.");
    } else {
        struct buffer *body = exchange_scratch(exchange);
        buffer_append(body, SLICE("{\"topic\":"));
        buffer_append_json(body, exchange->topic);
        view_write_settings(body, buffer_slice(&change->new_settings));
        buffer_append_byte(body, '}');
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
    change_end(change);
}

static void check_target(const struct exchange *exchange, const char *name, struct slice url,
                         struct job_errors *errors)
{
    char why[TARGET_WHY_SIZE];
    if (!target_is_allowed(api_of(exchange), url, why))
        job_errors_add(errors, name, why);
}

/* From what the client sent, into *settings, which borrows from it, from old, or from text. */
static enum status read_change(const struct change *change, const struct topic_settings *old,
                               struct buffer *text, struct topic_settings *settings,
                               struct job_errors *errors)
{
    struct slice body = http_request_body(change->exchange->request);
    if (change->kind == CHANGE_REPLACE)
        return topic_settings_parse(body, settings, errors);
    return topic_settings_patch(old, body, text, settings, errors);
}

/* Settings of all topics count where a topic has none of its own; so far these two. */
static void check_for_all(const struct topic_settings *settings, struct job_errors *errors)
{
    struct topic_settings known = {.retention_ms = settings->retention_ms, .on_dead = settings->on_dead};
    struct buffer all, some;
    buffer_init(&all, TOPIC_SETTINGS_BYTES_MAX);
    buffer_init(&some, TOPIC_SETTINGS_BYTES_MAX);
    topic_settings_write_known(settings, &all);
    topic_settings_write_known(&known, &some);
    if (!slice_equal(buffer_slice(&all), buffer_slice(&some)))
        job_errors_add(errors, "",
                       "all topics (*) can have retention and onDead only; set the others topic by topic");
    buffer_fini(&all);
    buffer_fini(&some);
}

/* The new settings, as they are written. INVALID: errors says what is wrong. */
static enum status make_settings(struct change *change, const struct topic_settings *old,
                                 struct job_errors *errors)
{
    struct topic_settings settings;
    struct buffer text;
    buffer_init_fallible(&text, TOPIC_SETTINGS_BYTES_MAX + http_request_body(change->exchange->request).size);
    enum status status = read_change(change, old, &text, &settings, errors);
    buffer_clear(&change->new_settings);
    if (status == STATUS_OK) {
        check_target(change->exchange, "url", settings.url, errors);
        check_target(change->exchange, "onDead", settings.on_dead, errors);
        if (slice_equal(change->exchange->topic, SLICE("*")))
            check_for_all(&settings, errors);
        topic_settings_write(&settings, &change->new_settings);
        topic_settings_fini(&settings);
    }
    buffer_fini(&text);
    return status == STATUS_OK && errors->count > 0 ? STATUS_INVALID : status;
}

/* Makes the new settings from the old ones. False: it has answered. */
static bool make_change(struct change *change)
{
    struct exchange *exchange = change->exchange;
    struct topic_settings old;
    struct job_errors errors;
    enum status status = topic_settings_read(buffer_slice(&change->old_settings), &old);
    bool is_readable = status == STATUS_OK;
    if (status == STATUS_INVALID && change->kind == CHANGE_REPLACE)
        status = topic_settings_read(SLICE(""), &old);
    if (status == STATUS_INVALID) {
        exchange_refuse(exchange, 409, "The topic's settings in Redis cannot be read; PUT replaces them.");
        return false;
    }
    if (status == STATUS_OK && is_readable && old.lacks.size) {
        exchange_refuse(
            exchange, 409,
            "The topic's settings need \"%.*s\", which this process does not know: a later version of "
            "duepost can change them, and DELETE resets them.",
            SLICE_ARG(old.lacks));
        topic_settings_fini(&old);
        return false;
    }
    if (status == STATUS_OK) {
        status = make_settings(change, &old, &errors);
        topic_settings_fini(&old);
    }
    if (status != STATUS_OK)
        problem_answer_invalid(exchange, status, "topic", &errors);
    return status == STATUS_OK;
}

static void on_settings(void *arg, enum status status, const struct store_topic *topic, size_t count,
                        struct store_topic_cursor next)
{
    struct change *change = arg;
    struct exchange *exchange = change->exchange;
    (void)count, (void)next;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, PROBLEM_READ_ONLY);
        change_end(change);
        return;
    }
    buffer_clear(&change->old_settings);
    buffer_append(&change->old_settings, topic->settings);
    if (change->kind != CHANGE_RESET && !make_change(change)) {
        change_end(change);
        return;
    }
    store_set_topic(api_of(exchange)->options.store, exchange->topic, buffer_slice(&change->old_settings),
                    buffer_slice(&change->new_settings), on_set, change);
}

static void read_settings(struct change *change)
{
    struct store_topics topics = {.topic = change->exchange->topic, .max = 1};
    store_topics(api_of(change->exchange)->options.store, &topics, on_settings, change);
}

static void change_settings(struct exchange *exchange, enum change_kind kind)
{
    if (problem_answer_sibling(exchange) || problem_answer_unready(exchange))
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
