#include "api/api_private.h"

#include <ctype.h>
#include <stdio.h>

#include "app/app.h"
#include "app/limits.h"
#include "base/seal.h"
#include "base/duration.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "http/access.h"
#include "job/job_id.h"

/* ---- values that several lists have ---- */

const char *query_value_limit(void *max, struct slice value)
{
    uint64_t limit;
    if (!slice_to_number(value, APP_PAGE_MAX, &limit) || limit == 0)
        return "must be 1 to 1000";
    *(size_t *)max = limit;
    return NULL;
}

const char *query_value_time(void *time_ms, struct slice value)
{
    int64_t *ms = time_ms;
    if (!timestamp_parse(value, ms))
        return TIMESTAMP_EXPECTED;
    if (*ms == 0)
        *ms = 1; /* 0 stands for a parameter that is absent */
    return NULL;
}

const char *query_value_flag(void *flag, struct slice value)
{
    bool *is_set = flag;
    *is_set = slice_equal(value, SLICE("true"));
    return *is_set || slice_equal(value, SLICE("false")) ? NULL : "must be true or false";
}

const char *query_value_topic(void *topic, struct slice value)
{
    *(struct slice *)topic = value;
    return topic_is_valid(value) ? NULL : "must be a topic: 1 to 128 characters of A-Z a-z 0-9 . _ -";
}

const char *query_value_id_prefix(void *prefix, struct slice value)
{
    *(struct slice *)prefix = value;
    return value.size > 0 && value.size <= JOB_ID_MAX ? NULL : "must be 1 to 255 bytes";
}

const char *query_value_label(void *labels, struct slice value)
{
    struct job_labels *found = labels;
    if (seal_has_labels())
        return "cannot be used: this server encrypts labels (--encrypt-labels)";
    if (!job_label_is_valid(value))
        return JOB_LABEL_EXPECTED;
    if (job_labels_have(found, value))
        return NULL;
    if (found->count == JOB_LABELS_MAX)
        return "must not appear more than 10 times";
    found->items[found->count++] = value;
    return NULL;
}

enum { PER_SECOND_MAX = 1000000, TOTAL_MAX = 1000000000, WORDS_MAX = 16 };

enum {
    WAITING_STATES = 1 << JOB_STATE_DELAYED | 1 << JOB_STATE_READY,
    KEPT_STATES = 1 << JOB_STATE_DELIVERED | 1 << JOB_STATE_CANCELLED,
    ENDED_STATES = KEPT_STATES | 1 << JOB_STATE_DEAD,
    ALL_STATES = WAITING_STATES | 1 << JOB_STATE_LEASED |
                 1 << JOB_STATE_DEAD, /* states of the list if the parameter state is absent */
};

/* ---- values of lists of jobs ---- */

static const char *read_state(void *into, struct slice value)
{
    struct list_query *query = into;
    query->is_any = slice_equal(value, SLICE("any"));
    if (query->is_any)
        query->bulk.list.filter.states = ENDED_STATES;
    if (query->is_any)
        return NULL;
    for (int i = JOB_STATE_DELAYED; i <= JOB_STATE_CANCELLED; i++) {
        if (slice_equal(value, slice_of(job_state_word((enum job_state)i)))) {
            query->bulk.list.filter.states = 1U << i;
            return NULL;
        }
    }
    return "must be delayed, ready, leased, dead, delivered, cancelled or any";
}

static const char *read_source(void *into, struct slice value)
{
    struct list_query *query = into;
    query->has_source = true;
    query->bulk.list.is_of_history = slice_equal(value, SLICE("history"));
    return query->bulk.list.is_of_history || slice_equal(value, SLICE("redis")) ? NULL
                                                                                : "must be redis or history";
}

static const char *read_key(void *into, struct slice value)
{
    struct list_query *query = into;
    query->bulk.list.filter.has_key = true;
    query->bulk.list.filter.key = value;
    return value.size == 0 || lane_key_is_valid(value) ? NULL : QUERY_KEY_EXPECTED;
}

/* Reads a host with an optional port. Changes the host to lower case. */
static const char *read_host(void *into, struct slice value)
{
    struct list_query *query = into;
    char *text = query->text + (value.data - query->text);
    for (size_t i = 0; i < value.size; i++)
        text[i] = (char)tolower((unsigned char)text[i]);
    query->bulk.list.filter.host = value;
    return value.size > 0 && !memchr(value.data, '/', value.size)
               ? NULL
               : "must be a host, with or without its port";
}

static bool is_reason(struct slice word)
{
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] != '_' && (word.data[i] < 'a' || word.data[i] > 'z'))
            return false;
    return word.size > 0;
}

/* Returns whether the word is a status, such as 503, or a class, such as 5xx. */
static bool is_status(struct slice word)
{
    uint64_t number;
    bool is_class = word.size == 3 && slice_ends_with(word, SLICE("xx"));
    return is_class ? word.data[0] >= '1' && word.data[0] <= '5'
                    : word.size == 3 && slice_to_number(word, 599, &number) && number >= 100;
}

/* Returns whether is_one is true for each word of a list separated by commas. */
static bool are_words(struct slice words, bool (*is_one)(struct slice))
{
    struct slice word;
    bool is_more;
    do {
        is_more = slice_cut(words, ',', &word, &words);
        if (!is_one(word))
            return false;
    } while (is_more);
    return true;
}

static const char *read_reason(void *into, struct slice value)
{
    struct list_query *query = into;
    query->bulk.list.filter.reasons = value;
    return are_words(value, is_reason) ? NULL : "must be a reason such as gone, or several with commas";
}

static const char *read_last_status(void *into, struct slice value)
{
    struct list_query *query = into;
    query->bulk.list.filter.statuses = value;
    return are_words(value, is_status) ? NULL
                                       : "must be a status such as 503, or 5xx, or several with commas";
}

static const char *read_order(void *into, struct slice value)
{
    struct list_query *query = into;
    query->bulk.list.is_newest_first = slice_equal(value, SLICE("newest"));
    return query->bulk.list.is_newest_first || slice_equal(value, SLICE("oldest"))
               ? NULL
               : "must be oldest or newest";
}

static const char *read_cursor(void *into, struct slice value)
{
    struct list_query *query = into;
    return query_open_cursor(&value) && app_cursor_parse(query->app, value, &query->bulk.list.from)
               ? NULL
               : QUERY_CURSOR_EXPECTED;
}

static const char *read_topic_cursor(void *into, struct slice value)
{
    struct list_query *query = into;
    return query_open_cursor(&value) && app_topic_cursor_parse(query->app, value, &query->topic)
               ? NULL
               : QUERY_CURSOR_EXPECTED;
}

static const char *read_receiver_cursor(void *into, struct slice value)
{
    struct list_query *query = into;
    return query_open_cursor(&value) && app_receiver_cursor_parse(query->app, value, &query->receiver)
               ? NULL
               : QUERY_CURSOR_EXPECTED;
}

static const char *read_key_cursor(void *into, struct slice value)
{
    struct list_query *query = into;
    struct buffer room = buffer_of(query->key_room, sizeof query->key_room);
    return query_open_cursor(&value) && app_lane_cursor_parse(value, &room, &query->after_key)
               ? NULL
               : QUERY_CURSOR_EXPECTED;
}

/* Reads a rate in jobs a second, with up to three decimals. */
static const char *read_per_second(void *into, struct slice value)
{
    struct list_query *query = into;
    int64_t per_1000_s;
    bool is_exact;
    if (!decimal_parse(value, 1000, PER_SECOND_MAX * INT64_C(1000), &per_1000_s, &is_exact) || !is_exact ||
        per_1000_s == 0)
        return "must be 0.001 to 1000000";
    query->bulk.step_us = INT64_C(1000000000) / per_1000_s;
    return NULL;
}

/* Reads the maximum number of jobs on which a bulk action acts in all its pages. */
static const char *read_total(void *into, struct slice value)
{
    struct list_query *query = into;
    return slice_to_number(value, TOTAL_MAX, &query->bulk.limit) && query->bulk.limit > 0
               ? NULL
               : "must be 1 to 1000000000";
}

static const char *read_delay(void *into, struct slice value)
{
    struct list_query *query = into;
    return duration_parse(value, JOB_DELAY_MAX_MS, &query->bulk.at_ms)
               ? NULL
               : "must be a duration of at most 10 years, such as 900 or 15m";
}

static const char *read_due_at(void *into, struct slice value)
{
    struct list_query *query = into;
    int64_t *at_ms = &query->bulk.at_ms;
    const char *error = query_value_time(at_ms, value);
    query->bulk.has_due_at = true;
    if (error)
        return error;
    return *at_ms - app_now_ms(query->app) <= JOB_DELAY_MAX_MS ? NULL : "must be within 10 years";
}

/* ---- parameters ---- */

enum parameter {
    PARAMETER_STATE,
    PARAMETER_TOPIC,
    PARAMETER_DUE_AFTER,
    PARAMETER_DUE_BEFORE,
    PARAMETER_DIED_AFTER,
    PARAMETER_DIED_BEFORE,
    PARAMETER_ENDED_AFTER,
    PARAMETER_ENDED_BEFORE,
    PARAMETER_URL_HOST,
    PARAMETER_ID_PREFIX,
    PARAMETER_REASON,
    PARAMETER_LAST_STATUS,
    PARAMETER_LABEL,
    PARAMETER_KEY,
    PARAMETER_LIMIT,
    PARAMETER_ORDER,
    PARAMETER_CURSOR,
    PARAMETER_TOPIC_CURSOR,
    PARAMETER_TOTAL,
    PARAMETER_ALL,
    PARAMETER_PAGE_LIMIT,
    PARAMETER_PATTERNS,
    PARAMETER_FAILING,
    PARAMETER_PER_SECOND,
    PARAMETER_DELAY,
    PARAMETER_DUE_AT,
    PARAMETER_DRY_RUN,
    PARAMETER_RECEIVER_CURSOR,
    PARAMETER_KEY_CURSOR,
    PARAMETER_SOURCE,
    PARAMETER_COUNT
};

static const struct query_parameter parameters[PARAMETER_COUNT] = {
    [PARAMETER_STATE] = {"state", read_state, 0},
    [PARAMETER_TOPIC] = {"topic", QUERY_TOPIC(struct list_query, bulk.list.filter.topic)},
    [PARAMETER_DUE_AFTER] = {"dueAfter", QUERY_TIME(struct list_query, bulk.list.filter.after_ms)},
    [PARAMETER_DUE_BEFORE] = {"dueBefore", QUERY_TIME(struct list_query, bulk.list.filter.before_ms)},
    [PARAMETER_DIED_AFTER] = {"diedAfter", QUERY_TIME(struct list_query, bulk.list.filter.after_ms)},
    [PARAMETER_DIED_BEFORE] = {"diedBefore", QUERY_TIME(struct list_query, bulk.list.filter.before_ms)},
    [PARAMETER_ENDED_AFTER] = {"endedAfter", QUERY_TIME(struct list_query, bulk.list.filter.after_ms)},
    [PARAMETER_ENDED_BEFORE] = {"endedBefore", QUERY_TIME(struct list_query, bulk.list.filter.before_ms)},
    [PARAMETER_URL_HOST] = {"urlHost", read_host, 0},
    [PARAMETER_ID_PREFIX] = {"idPrefix", QUERY_ID_PREFIX(struct list_query, bulk.list.filter.id_prefix)},
    [PARAMETER_REASON] = {"reason", read_reason, 0},
    [PARAMETER_LAST_STATUS] = {"lastStatus", read_last_status, 0},
    [PARAMETER_LABEL] = {"label", QUERY_LABELS(struct list_query, labels)},
    [PARAMETER_KEY] = {"key", read_key, 0},
    [PARAMETER_LIMIT] = {"limit", QUERY_LIMIT(struct list_query, bulk.list.max)},
    [PARAMETER_ORDER] = {"order", read_order, 0},
    [PARAMETER_CURSOR] = {"cursor", read_cursor, 0},
    [PARAMETER_TOPIC_CURSOR] = {"cursor", read_topic_cursor, 0},
    [PARAMETER_PATTERNS] = {"patterns", QUERY_FLAG(struct list_query, is_of_patterns)},
    [PARAMETER_FAILING] = {"failing", QUERY_FLAG(struct list_query, is_of_failing)},
    [PARAMETER_PER_SECOND] = {"perSecond", read_per_second, 0},
    [PARAMETER_TOTAL] = {"limit", read_total, 0},
    [PARAMETER_ALL] = {"all", QUERY_FLAG(struct list_query, is_all)},
    [PARAMETER_PAGE_LIMIT] = {"pageLimit", QUERY_LIMIT(struct list_query, bulk.list.max)},
    [PARAMETER_DELAY] = {"delay", read_delay, 0},
    [PARAMETER_DUE_AT] = {"dueAt", read_due_at, 0},
    [PARAMETER_DRY_RUN] = {"dryRun", QUERY_FLAG(struct list_query, bulk.is_dry_run)},
    [PARAMETER_RECEIVER_CURSOR] = {"cursor", read_receiver_cursor, 0},
    [PARAMETER_KEY_CURSOR] = {"cursor", read_key_cursor, 0},
    [PARAMETER_SOURCE] = {"source", read_source, 0},
};

/* The parameters that each kind of request accepts: a set with one bit for each parameter. */
enum {
    DUE_PARAMETERS = 1 << PARAMETER_DUE_AFTER | 1 << PARAMETER_DUE_BEFORE,
    DIED_PARAMETERS = 1 << PARAMETER_DIED_AFTER | 1 << PARAMETER_DIED_BEFORE,
    ENDED_PARAMETERS = 1 << PARAMETER_ENDED_AFTER | 1 << PARAMETER_ENDED_BEFORE,
    JOB_PARAMETERS = 1 << PARAMETER_STATE | 1 << PARAMETER_TOPIC | DUE_PARAMETERS | DIED_PARAMETERS |
                     ENDED_PARAMETERS | 1 << PARAMETER_URL_HOST | 1 << PARAMETER_ID_PREFIX |
                     1 << PARAMETER_REASON | 1 << PARAMETER_LAST_STATUS | 1 << PARAMETER_LABEL |
                     1 << PARAMETER_KEY | 1 << PARAMETER_LIMIT | 1 << PARAMETER_ORDER | 1 << PARAMETER_CURSOR,
    LIST_PARAMETERS = JOB_PARAMETERS | 1 << PARAMETER_SOURCE,
    BULK_PARAMETERS = (JOB_PARAMETERS & ~(1 << PARAMETER_LIMIT)) | 1 << PARAMETER_TOTAL | 1 << PARAMETER_ALL |
                      1 << PARAMETER_PAGE_LIMIT | 1 << PARAMETER_DRY_RUN,
    REDRIVE_PARAMETERS = BULK_PARAMETERS | 1 << PARAMETER_PER_SECOND | 1 << PARAMETER_SOURCE,
    RESCHEDULE_PARAMETERS = BULK_PARAMETERS | 1 << PARAMETER_DELAY | 1 << PARAMETER_DUE_AT,
    TOPIC_PARAMETERS =
        1 << PARAMETER_LIMIT | 1 << PARAMETER_TOPIC_CURSOR | 1 << PARAMETER_PATTERNS | 1 << PARAMETER_FAILING,
    SHARED_LIMIT_PARAMETERS = 1 << PARAMETER_LIMIT | 1 << PARAMETER_TOPIC_CURSOR,
    KEY_PARAMETERS = 1 << PARAMETER_LIMIT | 1 << PARAMETER_KEY_CURSOR,
    RECEIVER_PARAMETERS = 1 << PARAMETER_LIMIT | 1 << PARAMETER_RECEIVER_CURSOR,
};

/* Reads the parameters into a list_query, which the exchange keeps. */
static void read_parameters(struct query_reading *reading, struct exchange *exchange, unsigned known)
{
    struct list_query *query = NEW(struct list_query);
    struct buffer text = buffer_of(query->text, sizeof query->text);
    *reading = (struct query_reading){.exchange = exchange,
                                      .parameters = parameters,
                                      .count = PARAMETER_COUNT,
                                      .known = known,
                                      .repeatable = 1U << PARAMETER_LABEL};
    query->app = app_of(exchange);
    query->bulk.filter = exchange->query;
    query->bulk.list.max = QUERY_LIMIT_DEFAULT;
    exchange_keep(exchange, query, free);
    query_read(reading, query, &text);
    struct buffer joined = buffer_of(query->joined_labels, sizeof query->joined_labels);
    for (size_t i = 0; i < query->labels.count; i++) {
        if (i > 0)
            buffer_append_byte(&joined, '\n');
        buffer_append(&joined, query->labels.items[i]);
    }
    query->bulk.list.filter.labels = buffer_slice(&joined);
}

/* Adds an error if the cursor is from another list. */
static void check_cursor(struct query_reading *reading)
{
    const struct app_list *list = &list_query(reading->exchange)->bulk.list;
    if (reading->errors.count == 0 && reading->given & 1U << PARAMETER_CURSOR &&
        (list->from.is_of_history != list->is_of_history ||
         (!list->is_of_history && !(list->filter.states & 1U << list->from.at.state))))
        query_add_error(reading, SLICE("cursor"), "is from another list");
}

/* Adds an error for each time parameter that does not fit the states. Delayed and ready jobs have due times,
 * dead jobs have times of death, and so on; leased jobs have none, because their time changes. If the request
 * has no state, its time parameters select the states. */
static void check_times(struct query_reading *reading)
{
    struct app_list *list = &list_query(reading->exchange)->bulk.list;
    const struct {
        unsigned parameters, states;
        const char *detail;
    } kinds[] = {
        {DUE_PARAMETERS, WAITING_STATES, "is for delayed and ready jobs only"},
        {DIED_PARAMETERS | 1 << PARAMETER_REASON, 1 << JOB_STATE_DEAD, "is for dead jobs only"},
        {ENDED_PARAMETERS, list->is_of_history ? ENDED_STATES : KEPT_STATES,
         list->is_of_history ? "is for jobs that have ended only"
                             : "is for delivered and cancelled jobs only"},
    };
    bool has_state = list->filter.states != 0 && !list_query(reading->exchange)->is_any;
    if (!has_state)
        list->filter.states = list->is_of_history ? ENDED_STATES : ALL_STATES;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        unsigned given = reading->given & kinds[k].parameters;
        if (given && !has_state)
            list->filter.states &= kinds[k].states;
        for (int i = 0; i < PARAMETER_COUNT; i++)
            if (given & 1U << i && !(list->filter.states & kinds[k].states))
                query_add_error(reading, slice_of(parameters[i].name), kinds[k].detail);
    }
}

static void add_source_error(struct query_reading *reading, enum parameter parameter, const char *detail)
{
    query_add_error(reading, slice_of(parameters[parameter].name), detail);
}

static size_t count_words(struct slice text)
{
    size_t count = 1;
    for (size_t i = 0; i < text.size; i++)
        count += text.data[i] == ',';
    return count;
}

static void check_history(struct query_reading *reading)
{
    const struct app_list *list = &list_query(reading->exchange)->bulk.list;
    if (!list_query(reading->exchange)->app->history)
        add_source_error(reading,
                         list_query(reading->exchange)->has_source ? PARAMETER_SOURCE : PARAMETER_STATE,
                         "needs a history, and this server keeps none (--history)");
    if (list->filter.states & ~(unsigned)ENDED_STATES)
        add_source_error(reading, PARAMETER_STATE,
                         "with source=history, must be dead, delivered, cancelled or any");
    if (count_words(list->filter.reasons) > WORDS_MAX)
        add_source_error(reading, PARAMETER_REASON, "must have at most 16 values with source=history");
    if (count_words(list->filter.statuses) > WORDS_MAX)
        add_source_error(reading, PARAMETER_LAST_STATUS, "must have at most 16 values with source=history");
}

/* Chooses whether the list comes from Redis or from the history. Dead jobs come from Redis, where they can be
 * run again, unless the client selects the history. Delivered and cancelled jobs come from the history, if
 * the server keeps one. */
static void choose_source(struct query_reading *reading)
{
    struct list_query *query = list_query(reading->exchange);
    struct app_list *list = &query->bulk.list;
    if (query->has_source && !list->is_of_history && query->is_any)
        add_source_error(reading, PARAMETER_STATE, "cannot be any with source=redis");
    else if (!query->has_source)
        list->is_of_history = query->is_any || (query->app->history && list->filter.states & KEPT_STATES);
    if (list->is_of_history)
        check_history(reading);
}

bool query_read_list(struct exchange *exchange)
{
    struct query_reading reading;
    struct app_list *list;
    read_parameters(&reading, exchange, LIST_PARAMETERS);
    list = &list_query(exchange)->bulk.list;
    choose_source(&reading);
    if (!list->is_of_history && !list_query(exchange)->is_any && !(reading.given & 1U << PARAMETER_TOPIC) &&
        list->filter.states & KEPT_STATES)
        query_add_error(&reading, SLICE("topic"), "is required with this state");
    else
        check_times(&reading);
    check_cursor(&reading);
    return query_end(&reading) && access_admit_topic(exchange, list->filter.topic);
}

/* ---- bulk actions ---- */

/* The parameters and states that an action accepts. */
static const struct action {
    unsigned parameters, states;
    const char *states_text; /* the states as words for an error, after "is required: " or "must be " */
} actions[] = {
    [APP_CANCEL] = {BULK_PARAMETERS, ALL_STATES, "delayed, ready, leased or dead"},
    [APP_REDRIVE] = {REDRIVE_PARAMETERS, 1 << JOB_STATE_DEAD, "dead"},
    [APP_RUN] = {BULK_PARAMETERS, WAITING_STATES | 1 << JOB_STATE_DEAD, "delayed, ready or dead"},
    [APP_RESCHEDULE] = {RESCHEDULE_PARAMETERS, WAITING_STATES | 1 << JOB_STATE_DEAD,
                        "delayed, ready or dead"},
};

/* Checks the states. The action redrive runs only dead jobs. Without a topic, the client must give
 * state=dead, to confirm that it means the dead jobs of all topics. */
static void check_states(struct query_reading *reading, enum app_action action)
{
    struct app_list *list = &list_query(reading->exchange)->bulk.list;
    char detail[64];
    if (list->filter.states & ~actions[action].states) {
        snprintf(detail, sizeof detail, "must be %s", actions[action].states_text);
        query_add_error(reading, SLICE("state"), detail);
    } else if (action == APP_REDRIVE) {
        if (!(reading->given & (1U << PARAMETER_STATE | 1U << PARAMETER_TOPIC)))
            query_add_error(reading, SLICE("topic"),
                            "is required; for the dead jobs of all topics, send state=dead instead");
        list->filter.states = 1U << JOB_STATE_DEAD;
    } else if (!(reading->given & 1U << PARAMETER_STATE)) {
        snprintf(detail, sizeof detail, "is required: %s", actions[action].states_text);
        query_add_error(reading, SLICE("state"), detail);
    }
}

/* Checks that the request has either limit=N or all=true. */
static void check_bound(struct query_reading *reading)
{
    const struct list_query *query = list_query(reading->exchange);
    bool has_limit = reading->given & 1U << PARAMETER_TOTAL;
    if (has_limit && query->is_all)
        query_add_error(reading, SLICE("all"), "cannot be combined with limit");
    else if (!has_limit && !query->is_all)
        query_add_error(reading, SLICE("limit"),
                        "is required: limit=N for at most N jobs in all, or all=true for all that match");
}

/* Refuses an empty key: it may come from a variable of a script that is not set, and would select all jobs
 * without a key. */
static void check_key(struct query_reading *reading)
{
    const struct job_filter *filter = &list_query(reading->exchange)->bulk.list.filter;
    if (filter->has_key && filter->key.size == 0)
        query_add_error(reading, SLICE("key"), "must not be empty in an action on many jobs");
}

bool query_read_bulk(struct exchange *exchange, enum app_action action)
{
    struct query_reading reading;
    struct list_query *query;
    read_parameters(&reading, exchange, actions[action].parameters);
    query = list_query(exchange);
    check_key(&reading);
    query->bulk.action = action;
    if (!(reading.given & 1U << PARAMETER_PAGE_LIMIT))
        query->bulk.list.max = APP_PAGE_MAX;
    check_states(&reading, action);
    check_bound(&reading);
    if (action == APP_RESCHEDULE) {
        unsigned given = reading.given & (1U << PARAMETER_DELAY | 1U << PARAMETER_DUE_AT);
        if (!given)
            query_add_error(&reading, SLICE("delay"), "is required, unless dueAt is set");
        else if (given & (given - 1))
            query_add_error(&reading, SLICE("dueAt"), "cannot be combined with delay");
    }
    if (query->bulk.list.is_of_history)
        check_history(&reading);
    if (query->bulk.list.filter.states)
        check_times(&reading);
    check_cursor(&reading);
    return query_end(&reading) && access_admit_topic(exchange, query->bulk.list.filter.topic);
}

bool query_read_topics(struct exchange *exchange)
{
    struct query_reading reading;
    read_parameters(&reading, exchange, TOPIC_PARAMETERS);
    return query_end(&reading);
}

bool query_read_limits(struct exchange *exchange)
{
    struct query_reading reading;
    read_parameters(&reading, exchange, SHARED_LIMIT_PARAMETERS);
    return query_end(&reading);
}

bool query_read_lanes(struct exchange *exchange)
{
    struct query_reading reading;
    read_parameters(&reading, exchange, KEY_PARAMETERS);
    return query_end(&reading);
}

bool query_read_receivers(struct exchange *exchange)
{
    struct query_reading reading;
    read_parameters(&reading, exchange, RECEIVER_PARAMETERS);
    return query_end(&reading);
}
