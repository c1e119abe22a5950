/* run_logs.c - GET /v2/workflows/logs, and GET /v2/workflows/events?groupBy=workflowRunId: the log of runs.
 *
 *   1. list    reads a page of the list of runs, the latest run first; if the request names one id, only
 *              the runs with this id
 *   2. read    reads the next run, and leaves it out if the filters do not match
 *   3. page    reads its open messages, the message that made it fail, and its failure callback
 *   4. write   writes the run, and continues with 2 or 1; or answers, if there are enough runs or bytes */
#include "app/workflows.h"
#include "base/memory.h"
#include "http/query.h"
#include "qstash/logs/event.h"
#include "qstash/messages/message.h"
#include "qstash/qstash_private.h"
#include "qstash/runs/run_log.h"

enum {
    COUNT_MAX = 10,
    PAGE_MAX = 100,             /* number of runs in a page of the list */
    READS_MAX = 1000,           /* maximum number of runs that a request reads */
    LISTS_MAX = 10,             /* maximum number of pages of the list that a request reads */
    MESSAGES_MAX = 64,          /* maximum number of open messages of one run */
    ANSWER_BYTES = 1024 * 1024, /* if an answer is larger than this, no more runs are added */
    LARGE_BYTES = 512 * 1024,   /* if the elements of a run are larger than this, bodies are cut */
    LARGE_TRIM = 1024,
    RESULT_MAX = 16 * 1024 * 1024,
};

#define ACCEPTED                                                                                             \
    (1U << FILTER_LABEL | 1U << FILTER_URL | 1U << FILTER_HOST | 1U << FILTER_PATH | 1U << FILTER_FLOW_KEY | \
     1U << FILTER_CALLER_IP | 1U << FILTER_MESSAGE_ID | 1U << FILTER_RUN_ID | 1U << FILTER_RUN_URL |         \
     1U << FILTER_RUN_MADE | 1U << FILTER_STATE | 1U << FILTER_COUNT | 1U << FILTER_CURSOR |                 \
     1U << FILTER_FROM | 1U << FILTER_TO | 1U << FILTER_GROUP_BY | 1U << FILTER_TRIM)

/* A run that was listed, and is read later. */
struct candidate {
    char id[RUN_KEY_SIZE];
    int64_t made_ms;
};

/* A copy of a run that was read. */
struct read_run {
    struct workflow workflow;
    struct workflow_element *elements;
    struct workflow_open *open;
    struct buffer text; /* the slices of the members below point into this text */
    struct run run;
    struct message_settings settings;
    struct message_view view; /* the run as a message, see run_log.h; owns nothing */
    char failure_key[CALLBACK_KEY_SIZE];
};

struct logs {
    struct exchange *exchange;
    struct filters filters;
    unsigned states;            /* requested states, as bits 1 << state */
    size_t count;               /* number of runs that may still be added to the answer */
    char run_key[RUN_KEY_SIZE]; /* key of the run, if the request names exactly one id; empty: any */
    struct candidate candidates[PAGE_MAX];
    size_t candidate_count, at;
    struct walk walk;      /* the list; its cursor is behind the candidates, and empty for one id */
    struct candidate last; /* the last run that was examined */
    /* The run being read was already in the previous answer, and is read only to find the earlier run with
     * its id. */
    bool is_passing;
    size_t reads, lists;
    struct read_run run;
    bool has_run;
    struct event_page page;
    struct buffer result;
};

static void drop_run(struct logs *logs)
{
    if (!logs->has_run)
        return;
    logs->has_run = false;
    free(logs->run.elements);
    free(logs->run.open);
    buffer_fini(&logs->run.text);
    message_settings_fini(&logs->run.settings);
    run_fini(&logs->run.run);
}

static void logs_free(void *arg)
{
    struct logs *logs = arg;
    drop_run(logs);
    event_page_fini(&logs->page);
    filters_fini(&logs->filters);
    buffer_fini(&logs->result);
    free(logs);
}

static void logs_list(struct logs *);
static void logs_read(struct logs *);

/* ---- 4. write ---- */

/* Adds the cursor with which the next answer begins after the last run or after the last page. */
static void add_cursor(struct json_writer *json, const struct logs *logs)
{
    struct buffer text;
    if (!logs->run_key[0] && logs->at == logs->candidate_count) {
        query_add_cursor(json, slice_of(logs->walk.cursor));
        return;
    }
    buffer_init(&text, WALK_CURSOR_MAX);
    app_workflow_cursor_write(app_of(logs->exchange), slice_of(logs->last.id), logs->last.made_ms, &text);
    query_add_cursor(json, buffer_slice(&text));
    buffer_fini(&text);
}

static void logs_answer(struct logs *logs, bool is_end)
{
    struct exchange *exchange = logs->exchange;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    if (logs->result.failed) {
        exchange_refuse(exchange, 503, "there is no memory for the log; ask for fewer runs");
        return;
    }
    json_put_object(&json);
    json_add_array(&json, "runs");
    buffer_append(body, buffer_slice(&logs->result));
    json_end_array(&json);
    if (!is_end)
        add_cursor(&json, logs);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

/* Continues with the next run or the next page, or answers. */
static void logs_go_on(struct logs *logs)
{
    bool is_one_id = logs->run_key[0];
    bool is_left = logs->at < logs->candidate_count;
    if (!is_left && !logs->walk.cursor[0])
        logs_answer(logs, true);
    else if (logs->count == 0 || logs->reads >= READS_MAX || logs->result.size >= ANSWER_BYTES ||
             (!is_left && logs->lists >= LISTS_MAX))
        logs_answer(logs, false);
    else if (is_left || is_one_id)
        logs_read(logs);
    else
        logs_list(logs);
}

static void logs_write(struct logs *logs, const struct run_log_message *messages, size_t count,
                       const struct run_log_message *failure)
{
    struct slice topic, failure_id;
    size_t trim = logs->filters.trim >= 0 ? (size_t)logs->filters.trim : SIZE_MAX;
    if (logs->run.workflow.bytes > LARGE_BYTES && trim > LARGE_TRIM)
        trim = LARGE_TRIM;
    slice_cut(slice_of(logs->run.failure_key), '/', &topic, &failure_id);
    const struct run_log log = {.workflow = &logs->run.workflow,
                                .run = &logs->run.run,
                                .view = &logs->run.view,
                                .settings = &logs->run.settings,
                                .messages = messages,
                                .message_count = count,
                                .failure = failure,
                                .failure_id = failure_id,
                                .trim = trim};
    struct json_writer json =
        logs->result.size ? json_writer_behind(&logs->result) : json_writer_to(&logs->result);
    run_log_put(&json, &log);
    logs->count--;
}

static void on_page(void *arg)
{
    struct logs *logs = arg;
    struct run_log_message messages[EVENT_PAGE_MAX], failure = {.view = NULL};
    struct message_view *views = NEW_ARRAY(struct message_view, logs->page.count + 1);
    size_t count = 0, read = 0;
    if (logs->page.fault_status) {
        free(views);
        exchange_refuse(logs->exchange, logs->page.fault_status, "%s", logs->page.fault);
        return;
    }
    for (size_t i = 0; i < logs->page.count; i++) {
        const struct event_item *item = &logs->page.items[i];
        if (!item->id.size || !message_view_read(item->id, buffer_slice(&item->record), &views[read]))
            continue;
        struct run_log_message message = {&views[read++], item->state, buffer_slice(&item->lines)};
        bool is_over = item->state == JOB_STATE_DELIVERED || item->state == JOB_STATE_CANCELLED;
        if (slice_equal(item->id, slice_of(logs->run.failure_key)))
            failure = message;
        else if (!is_over) /* if is_over, the message has ended since the run was read */
            messages[count++] = message;
    }
    logs_write(logs, messages, count, failure.view ? &failure : NULL);
    for (size_t i = 0; i < read; i++)
        message_view_fini(&views[i]);
    free(views);
    drop_run(logs);
    logs_go_on(logs);
}

/* ---- 3. page ---- */

static void add_message(struct logs *logs, struct slice key)
{
    struct slice topic, message_id;
    slice_cut(key, '/', &topic, &message_id);
    event_page_add_id(&logs->page, message_id, 0);
}

static void logs_page(struct logs *logs)
{
    struct read_run *run = &logs->run;
    struct buffer key = buffer_of(run->failure_key, CALLBACK_KEY_SIZE);
    run->failure_key[0] = '\0';
    event_page_begin_ids(&logs->page);
    for (size_t i = 0; i < run->workflow.open_count && i < MESSAGES_MAX; i++)
        add_message(logs, run->open[i].job);
    if (run->workflow.failed_by.size) {
        add_message(logs, run->workflow.failed_by);
        callback_write_failure_key(run->workflow.failed_by, &key);
        buffer_append_byte(&key, '\0');
        if (run->settings.failure_callback.url.size)
            add_message(logs, slice_of(run->failure_key));
    }
    event_page_end_ids(&logs->page);
}

/* ---- 2. read ---- */

static struct slice copy_text(struct buffer *text, struct slice from)
{
    size_t start = text->size;
    buffer_append(text, from);
    return text->failed ? SLICE("") : slice_from(text->data + start, from.size);
}

static size_t bytes_of(const struct workflow *workflow)
{
    size_t bytes = workflow->id.size + workflow->settings.size + workflow->result.size +
                   workflow->parent.size + workflow->failed_by.size;
    for (size_t i = 0; workflow->elements && i < workflow->element_count; i++)
        bytes += workflow->elements[i].text.size + workflow->elements[i].job.size;
    for (size_t i = 0; workflow->open && i < workflow->open_count; i++)
        bytes += workflow->open[i].job.size + workflow->open[i].wait.size;
    return bytes;
}

static void copy_lists(struct read_run *run, const struct workflow *workflow)
{
    size_t elements = workflow->elements ? workflow->element_count : 0;
    size_t open = workflow->open ? workflow->open_count : 0;
    run->elements = NEW_ARRAY(struct workflow_element, elements + 1);
    run->open = NEW_ARRAY(struct workflow_open, open + 1);
    for (size_t i = 0; i < elements; i++) {
        run->elements[i] = workflow->elements[i];
        run->elements[i].text = copy_text(&run->text, workflow->elements[i].text);
        run->elements[i].job = copy_text(&run->text, workflow->elements[i].job);
    }
    for (size_t i = 0; i < open; i++) {
        run->open[i] = workflow->open[i];
        run->open[i].job = copy_text(&run->text, workflow->open[i].job);
        run->open[i].wait = copy_text(&run->text, workflow->open[i].wait);
    }
    run->workflow.elements = run->elements;
    run->workflow.open = run->open;
    run->workflow.element_count = elements;
    run->workflow.open_count = open;
}

/* Copies a run. Returns false if it cannot be read, or if there is no memory. */
static bool keep_run(struct logs *logs, const struct workflow *workflow)
{
    struct read_run *run = &logs->run;
    size_t bytes = bytes_of(workflow);
    run->workflow = *workflow;
    if (!run_read(workflow->settings, workflow->made_ms, &run->run))
        return false;
    logs->has_run = true;
    buffer_init_fallible(&run->text, bytes + 1);
    buffer_reserve(&run->text, bytes); /* the buffer must not move later, because slices point into it */
    message_settings_init(&run->settings);
    run->workflow.id = copy_text(&run->text, workflow->id);
    run->workflow.result = copy_text(&run->text, workflow->result);
    run->workflow.parent = copy_text(&run->text, workflow->parent);
    run->workflow.failed_by = copy_text(&run->text, workflow->failed_by);
    run->workflow.settings = run->workflow.first_job = SLICE("");
    copy_lists(run, workflow);
    run_apply(&run->run, &run->settings);
    /* the run as a message, for filters and views */
    const struct message_settings *settings = &run->settings;
    struct slice topic, id;
    slice_cut(run->workflow.id, '/', &topic, &id);
    run->view = (struct message_view){
        .job = {.url = run->run.url, .labels = settings->labels, .header_count = settings->header_count},
        .data = {.caller_ip = run->run.caller_ip,
                 .flow = settings->flow,
                 .redact = settings->redact,
                 .run = {.id = id, .url = run->run.url, .made_ms = run->workflow.made_ms}},
    };
    memcpy(run->view.job.headers, settings->headers, settings->header_count * sizeof *settings->headers);
    return !run->text.failed;
}

/* If the filters name a message of this run, sets this message's id in the view, so that the view matches. */
static void take_message_id(struct logs *logs)
{
    struct slice word;
    for (size_t at = 0; (word = filters_next(&logs->filters, FILTER_MESSAGE_ID, &at)).size;) {
        for (size_t i = 0; i < logs->run.workflow.element_count; i++) {
            struct slice topic, message_id;
            slice_cut(logs->run.elements[i].job, '/', &topic, &message_id);
            if (slice_equal(message_id, word))
                logs->run.view.job.job_id = word;
        }
    }
}

/* If the request names one id, makes the earlier run with this id the next run to be read. */
static void find_previous(struct logs *logs, int64_t previous_ms)
{
    if (!logs->run_key[0])
        return;
    if (previous_ms) {
        memcpy(logs->candidates[0].id, logs->run_key, sizeof logs->run_key);
        logs->candidates[0].made_ms = previous_ms;
        logs->at = 0;
        logs->candidate_count = 1;
    }
}

static void on_run(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct logs *logs = arg;
    if (verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND) {
        answer_refuse_verdict(logs->exchange, verdict);
        return;
    }
    find_previous(logs, workflow ? workflow->previous_ms : 0);
    if (workflow)
        logs->last.made_ms = workflow->made_ms;
    bool is_passed = logs->is_passing;
    logs->is_passing = false;
    if (workflow && !is_passed && keep_run(logs, workflow)) {
        take_message_id(logs);
        if (logs->states & 1U << workflow->state && filters_match_time(&logs->filters, workflow->made_ms) &&
            filters_match(&logs->filters, &logs->run.view)) {
            logs_page(logs);
            return;
        }
    }
    bool is_out_of_memory = logs->has_run && logs->run.text.failed;
    drop_run(logs);
    if (is_out_of_memory)
        exchange_refuse(logs->exchange, 503, "there is no memory for the log");
    else
        logs_go_on(logs);
}

static void logs_read(struct logs *logs)
{
    logs->last = logs->candidates[logs->at++];
    logs->reads++;
    const struct workflow_query query = {.id = slice_of(logs->last.id),
                                         .made_ms = logs->last.made_ms,
                                         .with_jobs = true,
                                         .texts_max = RUN_LOG_TEXTS_MAX};
    app_workflow_find(app_of(logs->exchange), &query, on_run, logs);
}

/* ---- 1. list ---- */

static void logs_on_listed(void *arg, const struct workflow *workflow)
{
    struct logs *logs = arg;
    struct candidate *candidate = &logs->candidates[logs->candidate_count];
    struct buffer id = buffer_of(candidate->id, RUN_KEY_SIZE);
    buffer_append(&id, workflow->id);
    buffer_append_byte(&id, '\0');
    candidate->made_ms = workflow->made_ms;
    /* The list has only a part of a run's data, so a run that may match is read. */
    if (!id.failed && logs->states & 1U << workflow->state &&
        filters_match_time(&logs->filters, workflow->made_ms))
        logs->candidate_count++;
}

static void on_list_end(void *arg, const struct app_verdict *verdict)
{
    struct logs *logs = arg;
    if (verdict->end != STATUS_OK) {
        answer_refuse_verdict(logs->exchange, verdict);
        return;
    }
    logs_go_on(logs);
}

static void logs_list(struct logs *logs)
{
    for (unsigned i = WORKFLOW_ACTIVE; i <= WORKFLOW_CANCELLED; i++) {
        if (logs->states == 1U << i) {
            logs->walk.runs.has_state = true;
            logs->walk.runs.state = (enum workflow_state)i;
        }
    }
    logs->candidate_count = logs->at = 0;
    logs->lists++;
    walk_read(&logs->walk, PAGE_MAX);
}

/* ---- the request ---- */

static const char *read_states(struct logs *logs)
{
    struct slice word;
    for (size_t at = 0; (word = filters_next(&logs->filters, FILTER_STATE, &at)).size;) {
        enum workflow_state state;
        if (!run_log_state(word, &state))
            return "parameter state: must be RUN_STARTED, RUN_SUCCESS, RUN_FAILED or RUN_CANCELED";
        logs->states |= 1U << state;
    }
    if (!logs->states)
        logs->states = ~0U;
    return NULL;
}

static const char bad_cursor[] = "parameter cursor: must be a cursor from an answer with these filters";

/* Takes the id of the run, if the request names exactly one. */
static void take_run_id(struct logs *logs)
{
    size_t at = 0;
    struct slice id = filters_next(&logs->filters, FILTER_RUN_ID, &at);
    bool is_only = id.size && !filters_next(&logs->filters, FILTER_RUN_ID, &at).size;
    if (is_only && id.size <= RUN_ID_MAX)
        run_key(id, logs->run_key);
}

/* Begins at the position of the cursor: a position in the list, or, if the request names one id, a run with
 * this id, whose earlier runs follow. */
static const char *read_cursor(struct logs *logs)
{
    struct slice place, id = slice_of(logs->run_key);
    uint64_t made_ms;
    if (!logs->filters.cursor.size)
        return NULL;
    if (!walk_move(&logs->walk, logs->filters.cursor) || !logs->walk.runs.from.place.size)
        return bad_cursor;
    if (id.size == 0)
        return NULL;
    place = logs->walk.runs.from.place;
    if (place.size <= id.size + 1 || !slice_starts_with(place, id) ||
        !slice_to_number(slice_skip(place, id.size + 1), INT64_MAX, &made_ms))
        return bad_cursor;
    logs->walk.cursor[0] = '\0';
    logs->candidates[0].made_ms = (int64_t)made_ms;
    logs->is_passing = true;
    return NULL;
}

static void logs_handle(struct exchange *exchange, bool needs_group)
{
    struct logs *logs = NEW(struct logs);
    const char *fault = NULL;
    logs->exchange = exchange;
    buffer_init_fallible(&logs->result, RESULT_MAX);
    event_page_init(&logs->page, exchange, &logs->filters, on_page, logs);
    logs->walk = (struct walk){.app = app_of(exchange),
                               .is_of_runs = true,
                               .runs = {.owner = SLICE(QSTASH_TOPIC)},
                               .on_run = logs_on_listed,
                               .on_page = on_list_end,
                               .arg = logs};
    exchange_keep(exchange, logs, logs_free);
    if (!filters_read(exchange, ACCEPTED, &logs->filters))
        return;
    logs->count =
        logs->filters.count > 0 && logs->filters.count < COUNT_MAX ? (size_t)logs->filters.count : COUNT_MAX;
    take_run_id(logs);
    fault = read_states(logs);
    if (!fault)
        fault = read_cursor(logs);
    if (!fault) {
        size_t at = 0;
        struct slice word = filters_next(&logs->filters, FILTER_GROUP_BY, &at);
        bool is_known = slice_equal(word, SLICE("workflowRunId"));
        fault = is_known || (!word.size && !needs_group) ? NULL : "parameter groupBy: must be workflowRunId";
    }
    if (fault) {
        exchange_refuse(exchange, 400, "%s", fault);
    } else if (logs->run_key[0]) { /* the latest run with this id, or, with a cursor, the cursor's run */
        memcpy(logs->candidates[0].id, logs->run_key, sizeof logs->run_key);
        logs->candidate_count = 1;
        logs_go_on(logs);
    } else {
        logs_list(logs);
    }
}

HANDLER(run_logs_handle)
{
    logs_handle(exchange, false);
}

HANDLER(run_events_handle)
{
    logs_handle(exchange, true);
}
