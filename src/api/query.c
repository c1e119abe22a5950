#include "api/query.h"

#include <ctype.h>
#include <stdio.h>

#include "api/access.h"
#include "api/cursor.h"
#include "api/problem.h"
#include "api/route.h"
#include "base/decimal.h"
#include "base/memory.h"
#include "base/percent.h"
#include "base/timestamp.h"
#include "job/job_id.h"
#include "job/suggestion.h"

enum { LIMIT_DEFAULT = 100, NAME_MAX_BYTES = 64, PER_SECOND_MAX = 1000000 };

static void add_error(struct job_errors *errors, struct slice field, const char *detail)
{
    if (errors->count == JOB_ERRORS_MAX)
        return;
    struct job_error *error = &errors->items[errors->count++];
    snprintf(error->field, sizeof error->field, "%.*s",
             (int)(field.size < NAME_MAX_BYTES ? field.size : NAME_MAX_BYTES), field.data ? field.data : "");
    snprintf(error->detail, sizeof error->detail, "%s", detail);
}

/* Only names in plain ASCII are repeated in an error. */
static struct slice shown(struct slice name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] <= 0x20 || name.data[i] >= 0x7f)
            return SLICE("");
    return name;
}

static bool take_pair(struct slice *query, struct slice *name, struct slice *value)
{
    struct slice pair;
    while (query->size) {
        slice_cut(*query, '&', &pair, query);
        if (pair.size) {
            slice_cut(pair, '=', name, value);
            return true;
        }
    }
    return false;
}

bool query_is_empty(struct exchange *exchange)
{
    struct slice query = exchange->query, name, value;
    struct job_errors errors;
    errors.count = 0; /* and nothing else: it is large, and almost always empty */
    while (take_pair(&query, &name, &value))
        add_error(&errors, shown(name), "unknown query parameter: this path takes none");
    if (errors.count)
        problem_answer_errors(exchange, "query", &errors);
    return errors.count == 0;
}

/* ---- lists ---- */

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
    PARAMETER_LIMIT,
    PARAMETER_ORDER,
    PARAMETER_CURSOR,
    PARAMETER_TOPIC_CURSOR,
    PARAMETER_PER_SECOND,
    PARAMETER_DRY_RUN,
    PARAMETER_RECEIVER_CURSOR,
    PARAMETER_COUNT
};

static const char *const parameter_names[PARAMETER_COUNT] = {
    [PARAMETER_STATE] = "state",
    [PARAMETER_TOPIC] = "topic",
    [PARAMETER_DUE_AFTER] = "dueAfter",
    [PARAMETER_DUE_BEFORE] = "dueBefore",
    [PARAMETER_DIED_AFTER] = "diedAfter",
    [PARAMETER_DIED_BEFORE] = "diedBefore",
    [PARAMETER_ENDED_AFTER] = "endedAfter",
    [PARAMETER_ENDED_BEFORE] = "endedBefore",
    [PARAMETER_URL_HOST] = "urlHost",
    [PARAMETER_ID_PREFIX] = "idPrefix",
    [PARAMETER_REASON] = "reason",
    [PARAMETER_LAST_STATUS] = "lastStatus",
    [PARAMETER_LIMIT] = "limit",
    [PARAMETER_ORDER] = "order",
    [PARAMETER_CURSOR] = "cursor",
    [PARAMETER_TOPIC_CURSOR] = "cursor",
    [PARAMETER_PER_SECOND] = "perSecond",
    [PARAMETER_DRY_RUN] = "dryRun",
    [PARAMETER_RECEIVER_CURSOR] = "cursor",
};

/* Which of them a list has, as bits. */
enum {
    DUE_PARAMETERS = 1 << PARAMETER_DUE_AFTER | 1 << PARAMETER_DUE_BEFORE,
    DIED_PARAMETERS = 1 << PARAMETER_DIED_AFTER | 1 << PARAMETER_DIED_BEFORE,
    ENDED_PARAMETERS = 1 << PARAMETER_ENDED_AFTER | 1 << PARAMETER_ENDED_BEFORE,
    JOB_PARAMETERS = 1 << PARAMETER_STATE | 1 << PARAMETER_TOPIC | DUE_PARAMETERS | DIED_PARAMETERS |
                     ENDED_PARAMETERS | 1 << PARAMETER_URL_HOST | 1 << PARAMETER_ID_PREFIX |
                     1 << PARAMETER_REASON | 1 << PARAMETER_LAST_STATUS | 1 << PARAMETER_LIMIT |
                     1 << PARAMETER_ORDER | 1 << PARAMETER_CURSOR,
    CANCEL_PARAMETERS = JOB_PARAMETERS | 1 << PARAMETER_DRY_RUN,
    REDRIVE_PARAMETERS = CANCEL_PARAMETERS | 1 << PARAMETER_PER_SECOND,
    TOPIC_PARAMETERS = 1 << PARAMETER_LIMIT | 1 << PARAMETER_TOPIC_CURSOR,
    RECEIVER_PARAMETERS = 1 << PARAMETER_LIMIT | 1 << PARAMETER_RECEIVER_CURSOR,
};

struct reading {
    struct exchange *exchange;
    unsigned known, given; /* bits */
    struct job_errors errors;
};

static bool read_state(struct exchange *exchange, struct slice value)
{
    for (int i = JOB_STATE_DELAYED; i <= JOB_STATE_CANCELLED; i++) {
        if (slice_equal(value, slice_of(job_state_word((enum job_state)i)))) {
            exchange->parameters->jobs.states = 1U << i;
            return true;
        }
    }
    return false;
}

static void set_limit(struct exchange_query *parameters, size_t limit)
{
    parameters->jobs.max = parameters->topics.max = parameters->receivers.max = limit;
}

static bool read_limit(struct exchange *exchange, struct slice value)
{
    uint64_t limit;
    if (!slice_to_number(value, STORE_LIST_MAX, &limit) || limit == 0)
        return false;
    set_limit(exchange->parameters, limit);
    return true;
}

static bool read_time(struct slice value, int64_t *ms)
{
    return timestamp_parse(value, ms) && *ms > 0;
}

/* Jobs a second, with up to three decimals. */
static bool read_per_second(struct exchange *exchange, struct slice value)
{
    int64_t per_1000_s;
    bool is_exact;
    if (!decimal_parse(value, 1000, PER_SECOND_MAX * INT64_C(1000), &per_1000_s, &is_exact) || !is_exact ||
        per_1000_s == 0)
        return false;
    exchange->parameters->step_us = INT64_C(1000000000) / per_1000_s;
    return true;
}

/* A host, maybe with its port, in lower case. */
static bool read_host(struct exchange *exchange, struct slice value)
{
    char *text = exchange->parameters->text + (value.data - exchange->parameters->text);
    for (size_t i = 0; i < value.size; i++)
        text[i] = (char)tolower((unsigned char)text[i]);
    exchange->parameters->jobs.host = value;
    return value.size > 0 && !memchr(value.data, '/', value.size);
}

static bool is_reason(struct slice word)
{
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] != '_' && (word.data[i] < 'a' || word.data[i] > 'z'))
            return false;
    return word.size > 0;
}

/* 503 or 5xx. */
static bool is_status(struct slice word)
{
    uint64_t number;
    bool is_class = word.size == 3 && slice_ends_with(word, SLICE("xx"));
    return is_class ? word.data[0] >= '1' && word.data[0] <= '5'
                    : word.size == 3 && slice_to_number(word, 599, &number) && number >= 100;
}

/* Whether each of them, with commas between, is one. */
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

/* What is wrong, or NULL. */
static const char *read_parameter(struct exchange *exchange, enum parameter parameter, struct slice value)
{
    static const char bad_cursor[] = "is not from an answer of ours";
    static const char bad_time[] = "must be a time as in RFC 3339, such as 2030-01-01T00:00:00Z";
    size_t shards = store_shards(exchange->api->options.store);
    switch (parameter) {
    case PARAMETER_STATE:
        return read_state(exchange, value) ? NULL
                                           : "must be delayed, ready, leased, dead, delivered or cancelled";
    case PARAMETER_TOPIC:
        exchange->parameters->jobs.topic = value;
        return topic_is_valid(value) ? NULL : "is no topic";
    case PARAMETER_DUE_AFTER:
    case PARAMETER_DIED_AFTER:
    case PARAMETER_ENDED_AFTER:
        return read_time(value, &exchange->parameters->jobs.after_ms) ? NULL : bad_time;
    case PARAMETER_DUE_BEFORE:
    case PARAMETER_DIED_BEFORE:
    case PARAMETER_ENDED_BEFORE:
        return read_time(value, &exchange->parameters->jobs.before_ms) ? NULL : bad_time;
    case PARAMETER_URL_HOST:
        return read_host(exchange, value) ? NULL : "must be a host, with or without its port";
    case PARAMETER_ID_PREFIX:
        exchange->parameters->jobs.id_prefix = value;
        return value.size && value.size <= JOB_ID_MAX ? NULL : "must be 1 to 255 bytes";
    case PARAMETER_REASON:
        exchange->parameters->jobs.reasons = value;
        return are_words(value, is_reason) ? NULL : "must be a reason such as gone, or several with commas";
    case PARAMETER_LAST_STATUS:
        exchange->parameters->jobs.statuses = value;
        return are_words(value, is_status) ? NULL
                                           : "must be a status such as 503, or 5xx, or several with commas";
    case PARAMETER_LIMIT:
        return read_limit(exchange, value) ? NULL : "must be 1 to 1000";
    case PARAMETER_ORDER:
        exchange->parameters->jobs.is_newest_first = slice_equal(value, SLICE("newest"));
        return exchange->parameters->jobs.is_newest_first || slice_equal(value, SLICE("oldest"))
                   ? NULL
                   : "must be oldest or newest";
    case PARAMETER_CURSOR:
        return cursor_parse(value, shards, exchange->parameters->cursor, &exchange->parameters->jobs.from,
                            &exchange->parameters->begin_ms)
                   ? NULL
                   : bad_cursor;
    case PARAMETER_TOPIC_CURSOR:
        return cursor_parse_topic(value, shards, &exchange->parameters->topics.from) ? NULL : bad_cursor;
    case PARAMETER_PER_SECOND:
        return read_per_second(exchange, value) ? NULL : "must be 0.001 to 1000000";
    case PARAMETER_DRY_RUN:
        exchange->parameters->is_dry_run = slice_equal(value, SLICE("true"));
        return exchange->parameters->is_dry_run || slice_equal(value, SLICE("false"))
                   ? NULL
                   : "must be true or false";
    default:
        return cursor_parse_receiver(value, shards, &exchange->parameters->receivers.from) ? NULL
                                                                                           : bad_cursor;
    }
}

static enum parameter find_parameter(unsigned known, struct slice name)
{
    for (int i = 0; i < PARAMETER_COUNT; i++)
        if (known & 1U << i && slice_equal(name, slice_of(parameter_names[i])))
            return (enum parameter)i;
    return PARAMETER_COUNT;
}

static void report_unknown(struct reading *reading, struct slice name)
{
    struct suggestion meant = {.name = name};
    char detail[SUGGESTION_DETAIL_SIZE];
    for (int i = 0; i < PARAMETER_COUNT; i++)
        if (reading->known & 1U << i)
            suggestion_weigh(&meant, parameter_names[i]);
    suggestion_write(&meant, "unknown query parameter", detail);
    add_error(&reading->errors, shown(name), detail);
}

static void read_pair(struct reading *reading, struct slice name, struct slice value, struct buffer *text)
{
    enum parameter parameter = find_parameter(reading->known, name);
    const char *detail = NULL;
    size_t start = text->size;
    if (parameter == PARAMETER_COUNT) {
        report_unknown(reading, name);
        return;
    }
    if (reading->given & 1U << parameter)
        detail = "is given twice";
    else if (!percent_decode(value, '\0', text))
        detail = "is not readable";
    else
        detail =
            read_parameter(reading->exchange, parameter, slice_from(text->data + start, text->size - start));
    reading->given |= 1U << parameter;
    if (detail)
        add_error(&reading->errors, name, detail);
}

static void read_pairs(struct reading *reading)
{
    struct exchange *exchange = reading->exchange;
    struct slice query = exchange->query, name, value;
    exchange->parameters = NEW(struct exchange_query);
    set_limit(exchange->parameters, LIMIT_DEFAULT);
    struct buffer text = {.data = exchange->parameters->text,
                          .capacity = sizeof exchange->parameters->text,
                          .max = EXCHANGE_QUERY_MAX};
    while (take_pair(&query, &name, &value))
        read_pair(reading, name, value, &text);
}

static bool end_reading(const struct reading *reading)
{
    if (reading->errors.count)
        problem_answer_errors(reading->exchange, "query", &reading->errors);
    return reading->errors.count == 0;
}

/* One of another list leads nowhere in this one. */
static void check_cursor(struct reading *reading)
{
    const struct store_list *list = &reading->exchange->parameters->jobs;
    if (reading->errors.count == 0 && reading->given & 1U << PARAMETER_CURSOR &&
        !(list->states & 1U << list->from.state))
        add_error(&reading->errors, SLICE("cursor"), "is from another list");
}

enum {
    WAITING_STATES = 1 << JOB_STATE_DELAYED | 1 << JOB_STATE_READY,
    KEPT_STATES = 1 << JOB_STATE_DELIVERED | 1 << JOB_STATE_CANCELLED,
    ALL_STATES =
        WAITING_STATES | 1 << JOB_STATE_LEASED | 1 << JOB_STATE_DEAD, /* that a list without state has */
};

/* Each state has a time of its own, leased jobs none that stays. Without a state these say which ones are
 * meant. */
static void check_times(struct reading *reading)
{
    static const struct {
        unsigned parameters, states;
        const char *detail;
    } kinds[] = {
        {DUE_PARAMETERS, WAITING_STATES, "is for delayed and ready jobs only"},
        {DIED_PARAMETERS | 1 << PARAMETER_REASON, 1 << JOB_STATE_DEAD, "is for dead jobs only"},
        {ENDED_PARAMETERS, KEPT_STATES, "is for delivered and cancelled jobs only"},
    };
    struct store_list *list = &reading->exchange->parameters->jobs;
    bool has_state = list->states != 0;
    if (!has_state)
        list->states = ALL_STATES;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        unsigned given = reading->given & kinds[k].parameters;
        if (given && !has_state)
            list->states &= kinds[k].states;
        for (int i = 0; i < PARAMETER_COUNT; i++)
            if (given & 1U << i && !(list->states & kinds[k].states))
                add_error(&reading->errors, slice_of(parameter_names[i]), kinds[k].detail);
    }
}

static bool read_list(struct exchange *exchange, unsigned known)
{
    struct reading reading = {.exchange = exchange, .known = known};
    struct store_list *list;
    read_pairs(&reading);
    list = &exchange->parameters->jobs;
    if (known == CANCEL_PARAMETERS && !(reading.given & 1U << PARAMETER_STATE))
        add_error(&reading.errors, SLICE("state"), "is required: delayed, ready, leased or dead");
    else if (known == CANCEL_PARAMETERS && list->states & KEPT_STATES)
        add_error(&reading.errors, SLICE("state"),
                  "must be delayed, ready, leased or dead: these jobs have ended");
    else if (!(reading.given & 1U << PARAMETER_TOPIC) && list->states & KEPT_STATES)
        add_error(&reading.errors, SLICE("topic"), "is required with this state");
    else
        check_times(&reading);
    check_cursor(&reading);
    return end_reading(&reading) && access_admit_topic(exchange, list->topic);
}

bool query_read_list(struct exchange *exchange)
{
    return read_list(exchange, JOB_PARAMETERS);
}

bool query_read_cancel(struct exchange *exchange)
{
    return read_list(exchange, CANCEL_PARAMETERS);
}

/* Only dead ones are run again; to mean all of them, say so. */
bool query_read_redrive(struct exchange *exchange)
{
    struct reading reading = {.exchange = exchange, .known = REDRIVE_PARAMETERS};
    struct store_list *list;
    read_pairs(&reading);
    list = &exchange->parameters->jobs;
    if (reading.given & 1U << PARAMETER_STATE && list->states != 1U << JOB_STATE_DEAD)
        add_error(&reading.errors, SLICE("state"), "must be dead");
    if (!(reading.given & (1U << PARAMETER_STATE | 1U << PARAMETER_TOPIC)))
        add_error(&reading.errors, SLICE("topic"), "is required, or state=dead for all topics");
    list->states = 1U << JOB_STATE_DEAD;
    check_times(&reading);
    check_cursor(&reading);
    return end_reading(&reading) && access_admit_topic(exchange, list->topic);
}

bool query_read_topics(struct exchange *exchange)
{
    struct reading reading = {.exchange = exchange, .known = TOPIC_PARAMETERS};
    read_pairs(&reading);
    return end_reading(&reading);
}

bool query_read_receivers(struct exchange *exchange)
{
    struct reading reading = {.exchange = exchange, .known = RECEIVER_PARAMETERS};
    read_pairs(&reading);
    return end_reading(&reading);
}
