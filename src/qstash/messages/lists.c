#include "qstash/messages/lists.h"

#include <stdio.h>

#include "base/encoding.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "http/query.h"
#include "job/text/json.h"

static const struct {
    struct slice name;
    enum filter filter;
} names[] = {
    {SLICE_INIT("label"), FILTER_LABEL},
    {SLICE_INIT("url"), FILTER_URL},
    {SLICE_INIT("host"), FILTER_HOST},
    {SLICE_INIT("path"), FILTER_PATH},
    {SLICE_INIT("topicName"), FILTER_GROUP},
    {SLICE_INIT("queueName"), FILTER_QUEUE},
    {SLICE_INIT("flowControlKey"), FILTER_FLOW_KEY},
    {SLICE_INIT("scheduleId"), FILTER_SCHEDULE_ID},
    {SLICE_INIT("callerIp"), FILTER_CALLER_IP},
    {SLICE_INIT("callerIP"), FILTER_CALLER_IP},
    {SLICE_INIT("messageId"), FILTER_MESSAGE_ID},
    {SLICE_INIT("messageIds"), FILTER_MESSAGE_ID},
    {SLICE_INIT("workflowRunId"), FILTER_RUN_ID},
    {SLICE_INIT("workflowRunIds"), FILTER_RUN_ID},
    {SLICE_INIT("workflowUrl"), FILTER_RUN_URL},
    {SLICE_INIT("workflowUrlExactMatch"), FILTER_EXACT_URL},
    {SLICE_INIT("workflowCreatedAt"), FILTER_RUN_MADE},
    {SLICE_INIT("failureFunctionState"), FILTER_FAILURE_STATE},
    {SLICE_INIT("dlqIds"), FILTER_DLQ_ID},
    {SLICE_INIT("responseStatus"), FILTER_RESPONSE_STATUS},
    {SLICE_INIT("state"), FILTER_STATE},
    {SLICE_INIT("source"), FILTER_SOURCE},
    {SLICE_INIT("count"), FILTER_COUNT},
    {SLICE_INIT("cursor"), FILTER_CURSOR},
    {SLICE_INIT("fromDate"), FILTER_FROM},
    {SLICE_INIT("toDate"), FILTER_TO},
    {SLICE_INIT("order"), FILTER_ORDER},
    {SLICE_INIT("groupBy"), FILTER_GROUP_BY},
    {SLICE_INIT("trimBody"), FILTER_TRIM},
};

/* ---- reading ---- */

static void filters_refuse(struct filters *filters, struct slice name, const char *why)
{
    if (name.size > 64)
        name.size = 64;
    if (!filters->fault[0])
        snprintf(filters->fault, sizeof filters->fault, "parameter %.*s: %s", SLICE_ARG(name), why);
}

static void add_word(struct filters *filters, enum filter filter, struct slice word)
{
    if (word.size == 0)
        return;
    if (filters->word_count == FILTER_WORDS_MAX)
        filters_refuse(filters, SLICE("values"), "at most 1000 values are possible in all");
    else
        filters->words[filters->word_count++] = (struct filter_word){filter, word};
}

/* Adds the words of a value. A url may contain commas, so it is one word. */
static void add_words(struct filters *filters, enum filter filter, struct slice value)
{
    if (filter == FILTER_URL || filter == FILTER_PATH || filter == FILTER_RUN_URL) {
        add_word(filters, filter, value);
        return;
    }
    for (bool has_more = true; has_more;) {
        struct slice word;
        has_more = slice_cut(value, ',', &word, &value);
        add_word(filters, filter, slice_trim(word));
    }
}

static void take_number(struct filters *filters, struct slice name, struct slice value, uint64_t min,
                        uint64_t max, int64_t *number)
{
    uint64_t found = 0;
    if (!slice_to_number(value, max, &found))
        filters_refuse(filters, name, "must be a number");
    else if (found < min)
        filters_refuse(filters, name, "must be at least 1");
    *number = (int64_t)found;
}

/* Reads one parameter. The filters borrow the value, which is decoded. */
static void filters_take(struct filters *filters, unsigned accepted, struct slice name, struct slice value)
{
    size_t row = 0;
    while (row < sizeof names / sizeof *names && !slice_equal(names[row].name, name))
        row++;
    if (row == sizeof names / sizeof *names || !(accepted & 1U << names[row].filter)) {
        filters_refuse(filters, name, "is unknown, or not accepted by this path");
        return;
    }
    enum filter filter = names[row].filter;
    filters->given |= 1U << filter;
    if (filter == FILTER_COUNT)
        take_number(filters, name, value, 1, INT32_MAX, &filters->count);
    else if (filter == FILTER_TRIM)
        take_number(filters, name, value, 0, INT32_MAX, &filters->trim);
    else if (filter == FILTER_FROM)
        take_number(filters, name, value, 0, TIMESTAMP_MAX_MS, &filters->from_ms);
    else if (filter == FILTER_TO)
        take_number(filters, name, value, 0, TIMESTAMP_MAX_MS, &filters->to_ms);
    else if (filter == FILTER_CURSOR) {
        if (!query_open_cursor(&value))
            filters_refuse(filters, name, "is not a whole cursor of this list");
        filters->cursor = value;
    } else
        add_words(filters, filter, value);
}

static struct slice decode(struct filters *filters, struct slice name, struct slice encoded)
{
    size_t start = filters->text.size;
    if (!percent_decode_form(encoded, &filters->text))
        filters_refuse(filters, name, "is not valid percent-encoding");
    return slice_from(filters->text.data + start, filters->text.size - start);
}

static void take_json(struct filters *filters, unsigned accepted, struct slice name, struct slice value)
{
    struct json_cursor items;
    struct slice item;
    if (slice_equal(value, SLICE("null")))
        return;
    if (json_is_text(value)) {
        filters_take(filters, accepted, name, json_text(value, &filters->text));
    } else if (json_open(value, &items) && items.close == ']') {
        bool is_empty = true;
        for (; json_next_item(&items, &item); is_empty = false)
            take_json(filters, accepted, name, item);
        if (is_empty) /* an empty list of ids must not match all messages */
            filters_take(filters, accepted, name, SLICE(""));
    } else {
        filters_take(filters, accepted, name, value);
    }
}

static void read_body(struct filters *filters, unsigned accepted, struct slice body)
{
    static const struct json_limits limits = {4, FILTER_WORDS_MAX};
    char room[64 + 1];
    struct buffer scratch = buffer_of(room, sizeof room);
    struct json_fault fault;
    struct json_cursor cursor;
    struct slice key, value;
    if (slice_trim(body).size == 0 || slice_equal(slice_trim(body), SLICE("null")))
        return;
    if (json_check(body, &limits, &fault) != STATUS_OK || !json_open(body, &cursor) || cursor.close != '}') {
        filters_refuse(filters, SLICE("body"), "must be a JSON object");
        return;
    }
    filters->has_object = true;
    while (json_next_member(&cursor, &key, &value))
        take_json(filters, accepted, json_name(key, &scratch), value);
}

bool query_has(struct slice query, struct slice wanted)
{
    struct slice pair;
    while (query.size) {
        slice_cut(query, '&', &pair, &query);
        if (slice_equal(pair, wanted))
            return true;
    }
    return false;
}

bool filters_read(struct exchange *exchange, unsigned accepted, struct filters *filters)
{
    struct slice body = http_request_body(exchange->request);
    *filters = (struct filters){
        .to_ms = INT64_MAX, .trim = -1, .words = NEW_ARRAY(struct filter_word, FILTER_WORDS_MAX)};
    buffer_init_fallible(&filters->text, FILTER_TEXT_MAX);
    buffer_reserve(&filters->text,
                   exchange->query.size +
                       body.size); /* the buffer must not move later, because slices point into it */
    if (!filters->text.failed) {
        struct slice query = exchange->query;
        struct slice pair, name, value;
        while (query.size) {
            slice_cut(query, '&', &pair, &query);
            slice_cut(pair, '=', &name, &value);
            if (pair.size && !slice_equal(name, SLICE("qstash_token")))
                filters_take(filters, accepted, name, decode(filters, name, value));
        }
        read_body(filters, accepted, body);
    }
    if (!filters->text.failed && !filters->fault[0])
        return true;
    if (filters->text.failed)
        exchange_refuse(exchange, 413, "the parameters are over %d bytes", FILTER_TEXT_MAX);
    else
        exchange_refuse(exchange, 400, "%s", filters->fault);
    return false; /* the answer may have freed the filters */
}

void filters_fini(struct filters *filters)
{
    free(filters->words);
    buffer_fini(&filters->text);
}

/* ---- matching ---- */

static struct slice host_of(const struct job *job)
{
    struct url url;
    const char *ignored;
    return url_parse(job->url, &url, &ignored) == STATUS_OK ? url.host : SLICE("");
}

/* Returns the path of the url, without its query. */
static struct slice path_of(const struct job *job)
{
    struct url url;
    const char *ignored;
    struct slice path, query;
    if (url_parse(job->url, &url, &ignored) != STATUS_OK)
        return SLICE("");
    slice_cut(url.target, '?', &path, &query);
    return path.size ? path : SLICE("/");
}

static bool is_run_made_at(const struct message_view *view, struct slice text)
{
    uint64_t ms;
    return slice_to_number(text, INT64_MAX, &ms) && (int64_t)ms == message_view_run_ms(view);
}

static bool word_matches(const struct filter_word *word, const struct message_view *view)
{
    switch (word->filter) {
    case FILTER_LABEL:
        return job_labels_have(&view->job.labels, word->text);
    case FILTER_URL:
        return slice_equal(word->text, view->job.url);
    case FILTER_HOST:
        return slice_equal_nocase(word->text, host_of(&view->job));
    case FILTER_PATH:
        return slice_equal(word->text, path_of(&view->job));
    case FILTER_GROUP:
        return slice_equal(word->text, view->data.group);
    case FILTER_QUEUE:
        return slice_equal(word->text, view->data.queue);
    case FILTER_FLOW_KEY:
        return slice_equal(word->text, view->data.flow.key);
    case FILTER_SCHEDULE_ID:
        return slice_equal(word->text, view->data.schedule_id);
    case FILTER_CALLER_IP:
        return slice_equal(word->text, view->data.caller_ip);
    case FILTER_MESSAGE_ID:
        return slice_equal(word->text, view->job.job_id);
    case FILTER_RUN_ID:
        return slice_equal(word->text, view->data.run.id);
    case FILTER_RUN_URL:
        return slice_equal(word->text, view->data.run.url);
    case FILTER_RUN_MADE:
        return is_run_made_at(view, word->text);
    default:
        return true;
    }
}

bool filters_match_time(const struct filters *filters, int64_t at_ms)
{
    return at_ms >= filters->from_ms && at_ms <= filters->to_ms;
}

bool filters_match(const struct filters *filters, const struct message_view *view)
{
    unsigned open = filters->given & ((1U << FILTER_MATCHED) - 1);
    for (size_t i = 0; i < filters->word_count && open; i++)
        if (open & 1U << filters->words[i].filter && word_matches(&filters->words[i], view))
            open &= ~(1U << filters->words[i].filter);
    return open == 0;
}

struct slice filters_only(const struct filters *filters, enum filter filter)
{
    size_t at = 0;
    struct slice word = filters_next(filters, filter, &at);
    return filters_next(filters, filter, &at).size ? SLICE("") : word;
}

struct slice filters_next(const struct filters *filters, enum filter filter, size_t *at)
{
    while (*at < filters->word_count && filters->words[*at].filter != filter)
        ++*at;
    return *at < filters->word_count ? filters->words[(*at)++].text : SLICE("");
}

/* ---- pages ---- */

/* Sets the position of the list. Returns false if the text is not a cursor of the list. */
static bool set_position(struct walk *walk)
{
    struct slice text = slice_of(walk->cursor);
    struct app_cursor *from = &walk->messages.from;
    *from = (struct app_cursor){.is_set = false};
    walk->runs.from = (struct workflow_cursor){.shard = 0};
    if (text.size == 0)
        return true;
    if (walk->is_of_runs)
        return app_workflow_cursor_parse(walk->app, text, &walk->runs.from);
    return app_cursor_parse(walk->app, text, from) && from->is_of_history == walk->messages.is_of_history;
}

static void set_cursor(struct walk *walk, struct slice text)
{
    size_t size = text.size <= WALK_CURSOR_MAX ? text.size : 0;
    if (size)
        memmove(walk->cursor, text.data, size);
    walk->cursor[size] = '\0';
}

bool walk_move(struct walk *walk, struct slice cursor)
{
    set_cursor(walk, cursor);
    return cursor.size <= WALK_CURSOR_MAX && set_position(walk);
}

static void walk_on_page(void *arg, const struct app_verdict *verdict)
{
    struct walk *walk = arg;
    set_cursor(walk, verdict->page.cursor);
    walk->on_page(walk->arg, verdict);
}

static void walk_on_message(void *arg, const struct stored_job *job)
{
    struct walk *walk = arg;
    walk->on_message(walk->arg, job);
}

static void walk_on_run(void *arg, const struct workflow *workflow)
{
    struct walk *walk = arg;
    walk->on_run(walk->arg, workflow);
}

void walk_read(struct walk *walk, size_t max)
{
    set_position(walk); /* succeeds, because the cursor came with a page, or walk_move has checked it */
    walk->messages.max = walk->runs.max = max;
    if (walk->is_of_runs)
        app_workflow_list(walk->app, &walk->runs, walk_on_run, walk_on_page, walk);
    else
        app_list(walk->app, &walk->messages, walk_on_message, walk_on_page, walk);
}
