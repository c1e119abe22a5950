#include "api/query.h"

#include <stdio.h>

#include "api/cursor.h"
#include "api/problem.h"
#include "api/route.h"
#include "job/job_id.h"

enum { LIMIT_DEFAULT = 100, NAME_MAX_BYTES = 64 };

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
        add_error(&errors, shown(name), "is no parameter here");
    if (errors.count)
        problem_answer_errors(exchange, "query", &errors);
    return errors.count == 0;
}

/* ---- GET /jobs ---- */

enum parameter { PARAMETER_STATE, PARAMETER_TOPIC, PARAMETER_LIMIT, PARAMETER_CURSOR, PARAMETER_COUNT };

static const char *const parameter_names[PARAMETER_COUNT] = {"state", "topic", "limit", "cursor"};

static bool read_state(struct exchange *exchange, struct slice value)
{
    for (int i = JOB_STATE_DELAYED; i <= JOB_STATE_DEAD; i++) {
        if (slice_equal(value, slice_of(job_state_word((enum job_state)i)))) {
            exchange->list.state = (enum job_state)i;
            return true;
        }
    }
    return false;
}

static const char *read_parameter(struct exchange *exchange, enum parameter parameter, struct slice value)
{
    uint64_t limit;
    switch (parameter) {
    case PARAMETER_STATE:
        return read_state(exchange, value) ? NULL : "must be delayed, ready, leased or dead";
    case PARAMETER_TOPIC:
        exchange->list.topic = value;
        return topic_is_valid(value) ? NULL : "is no topic";
    case PARAMETER_LIMIT:
        if (!slice_to_number(value, STORE_LIST_MAX, &limit) || limit == 0)
            return "must be 1 to 1000";
        exchange->list.limit = limit;
        return NULL;
    default:
        return cursor_parse(value, store_shards(exchange->api->options.store), &exchange->list.cursor)
                   ? NULL
                   : "is not from an answer of ours";
    }
}

static enum parameter find_parameter(struct slice name)
{
    for (int i = 0; i < PARAMETER_COUNT; i++)
        if (slice_equal(name, slice_of(parameter_names[i])))
            return (enum parameter)i;
    return PARAMETER_COUNT;
}

bool query_read_list(struct exchange *exchange)
{
    struct slice query = exchange->query, name, value;
    struct job_errors errors = {.count = 0};
    struct buffer text = {
        .data = exchange->list.text, .capacity = sizeof exchange->list.text, .max = EXCHANGE_CURSOR_MAX};
    bool is_given[PARAMETER_COUNT] = {false};
    exchange->list.limit = LIMIT_DEFAULT;
    while (take_pair(&query, &name, &value)) {
        enum parameter parameter = find_parameter(name);
        size_t start = text.size;
        if (parameter == PARAMETER_COUNT)
            add_error(&errors, shown(name), "is no parameter here");
        else if (is_given[parameter])
            add_error(&errors, name, "is given twice");
        else if (!percent_decode(value, '\0', &text))
            add_error(&errors, name, "is not readable");
        else {
            const char *detail =
                read_parameter(exchange, parameter, slice_from(text.data + start, text.size - start));
            if (detail)
                add_error(&errors, name, detail);
        }
        if (parameter < PARAMETER_COUNT)
            is_given[parameter] = true;
    }
    if (!is_given[PARAMETER_STATE])
        add_error(&errors, SLICE("state"), "is required: delayed, ready, leased or dead");
    else if (!is_given[PARAMETER_TOPIC] && exchange->list.state <= JOB_STATE_READY)
        add_error(&errors, SLICE("topic"), "is required with this state");
    if (errors.count)
        problem_answer_errors(exchange, "query", &errors);
    return errors.count == 0;
}
