/* workflows.c - GET /workflows, and GET and DELETE /workflows/<topic>/<workflowId> */
#include "api/api_private.h"
#include "app/workflows.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "http/access.h"
#include "job/target/url.h"
#include "job/text/json.h"

static const struct slice state_words[] = {[WORKFLOW_ACTIVE] = SLICE_INIT("active"),
                                           [WORKFLOW_SUCCEEDED] = SLICE_INIT("succeeded"),
                                           [WORKFLOW_FAILED] = SLICE_INIT("failed"),
                                           [WORKFLOW_CANCELLED] = SLICE_INIT("cancelled")};

/* ---- the query ---- */

struct workflow_request {
    struct app *app;
    struct workflow_list list;
    int64_t made_ms;
    char text[QUERY_BYTES_MAX + 1]; /* the decoded query; the values point into it */
};

static const char *read_state(void *into, struct slice value)
{
    struct workflow_request *request = into;
    request->list.has_state = true;
    for (size_t i = 0; i < sizeof state_words / sizeof *state_words; i++) {
        if (slice_equal(value, state_words[i])) {
            request->list.state = (enum workflow_state)i;
            return NULL;
        }
    }
    return "must be active, succeeded, failed or cancelled";
}

static const char *read_cursor(void *into, struct slice value)
{
    struct workflow_request *request = into;
    return query_open_cursor(&value) && app_workflow_cursor_parse(request->app, value, &request->list.from)
               ? NULL
               : QUERY_CURSOR_EXPECTED;
}

/* Reads a time: a number of milliseconds, or a text as answers have it. */
static const char *read_created(void *into, struct slice value)
{
    struct workflow_request *request = into;
    uint64_t number = 0;
    bool is_number = slice_to_number(value, INT64_MAX, &number);
    request->made_ms = (int64_t)number;
    return (is_number || timestamp_parse(value, &request->made_ms)) && request->made_ms > 0
               ? NULL
               : "must be ms since 1970, or a time as in RFC 3339, such as 2030-01-01T00:00:00.123Z";
}

enum { OF_ONE = 1 << 5 /* the bit of the parameter created, which only a read of one workflow accepts */ };

static const struct query_parameter parameters[] = {
    {"topic", QUERY_TOPIC(struct workflow_request, list.owner)},
    {"state", read_state, 0},
    {"idPrefix", QUERY_ID_PREFIX(struct workflow_request, list.prefix)},
    {"limit", QUERY_LIMIT(struct workflow_request, list.max)},
    {"cursor", read_cursor, 0},
    {"created", read_created, 0},
};

/* Reads the query. Returns NULL after answering 400. */
static struct workflow_request *read_request(struct exchange *exchange, unsigned known)
{
    struct workflow_request *request = NEW(struct workflow_request);
    struct buffer text = buffer_of(request->text, sizeof request->text);
    struct query_reading reading = {.exchange = exchange,
                                    .parameters = parameters,
                                    .count = sizeof parameters / sizeof *parameters,
                                    .known = known};
    request->app = app_of(exchange);
    request->list.max = QUERY_LIMIT_DEFAULT;
    exchange_keep(exchange, request, free);
    query_read(&reading, request, &text);
    return query_end(&reading) ? request : NULL;
}

/* ---- a workflow as JSON ---- */

static void add_job(struct json_writer *json, struct slice id)
{
    struct slice topic, job_id;
    slice_cut(id, '/', &topic, &job_id);
    json_add_text(json, "topic", topic);
    json_add_text(json, "jobId", job_id);
}

static void add_name(struct json_writer *json, struct slice id)
{
    struct slice topic, workflow_id;
    slice_cut(id, '/', &topic, &workflow_id);
    json_add_text(json, "topic", topic);
    json_add_text(json, "workflowId", workflow_id);
}

/* Adds the members that a list shows of each workflow. */
static void add_summary(struct json_writer *json, const struct workflow *workflow)
{
    add_name(json, workflow->id);
    json_add_text(json, "state", state_words[workflow->state]);
    json_add_time(json, "createdAt", workflow->made_ms);
    if (workflow->ended_ms)
        json_add_time(json, "endedAt", workflow->ended_ms);
    /* The answer shows only the labels, and the url without secrets. */
    struct json_cursor cursor;
    struct slice key, value;
    struct buffer text;
    if (json_open(workflow->settings, &cursor) && cursor.close == '}') {
        buffer_init(&text, workflow->settings.size + 1);
        while (json_next_member(&cursor, &key, &value)) {
            if (slice_equal(key, SLICE("\"labels\""))) {
                json_put_name(json, "labels");
                json_put_raw(json, value);
            } else if (slice_equal(key, SLICE("\"url\"")) && json_is_text(value)) {
                json_put_name(json, "url");
                url_show(json_text(value, &text), json_put(json));
            }
        }
        buffer_fini(&text);
    }
    json_add_number(json, "elementCount", (int64_t)workflow->element_count);
    json_add_number(json, "openCount", (int64_t)workflow->open_count);
    if (workflow->failed_by.size) {
        json_add_object(json, "failedBy");
        add_job(json, workflow->failed_by);
        json_end_object(json);
    }
}

static struct slice role_word(const struct workflow_open *job)
{
    static const struct slice words[] = {[WORKFLOW_STEP] = SLICE_INIT("step"),
                                         [WORKFLOW_CALL] = SLICE_INIT("call"),
                                         [WORKFLOW_ANSWER] = SLICE_INIT("answer")};
    return job->is_wait ? SLICE("wait") : words[job->role];
}

static void put_workflow(struct json_writer *json, const struct workflow *workflow)
{
    json_put_object(json);
    add_summary(json, workflow);
    if (workflow->parent.size) {
        json_add_object(json, "parent");
        add_name(json, workflow->parent);
        json_add_time(json, "createdAt", workflow->parent_made_ms);
        json_end_object(json);
    }
    json_add_number(json, "bytes", workflow->bytes);
    json_add_array(json, "elements");
    for (size_t i = 0; workflow->elements && i < workflow->element_count; i++) {
        const struct workflow_element *element = &workflow->elements[i];
        json_put_object(json);
        add_job(json, element->job);
        json_add_text(json, "kind", element->is_call ? SLICE("call") : SLICE("step"));
        json_add_time(json, "at", element->at_ms);
        json_add_number(json, "bytes", (int64_t)element->bytes);
        json_end_object(json);
    }
    json_end_array(json);
    json_add_array(json, "jobs");
    for (size_t i = 0; workflow->open && i < workflow->open_count; i++) {
        const struct workflow_open *job = &workflow->open[i];
        json_put_object(json);
        add_job(json, job->job);
        json_add_text(json, "role", role_word(job));
        if (job->position)
            json_add_number(json, "element", (int64_t)job->position);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

/* ---- GET ---- */

static void workflow_on_listed(void *arg, const struct workflow *workflow)
{
    struct page *page = arg;
    json_put_object(&page->json);
    add_summary(&page->json, workflow);
    json_end_object(&page->json);
}

HANDLER(workflows_handle)
{
    const struct workflow_request *request = read_request(exchange, OF_ONE - 1);
    if (request && access_admit_topic(exchange, request->list.owner))
        app_workflow_list(app_of(exchange), &request->list, workflow_on_listed, page_end,
                          page_new(exchange, "workflows"));
}

static void workflow_on_read(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_NOT_FOUND) {
        exchange_refuse(exchange, 404, "There is no such workflow.");
    } else if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &problem_of_read);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        put_workflow(&json, workflow);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
}

HANDLER(workflow_read_handle)
{
    const struct workflow_request *request = read_request(exchange, OF_ONE);
    if (!request)
        return;
    const struct workflow_query query = {.id = exchange->key, .made_ms = request->made_ms, .with_jobs = true};
    app_workflow_find(app_of(exchange), &query, workflow_on_read, exchange);
}

/* ---- DELETE ---- */

static void workflow_on_cancelled(void *arg, const struct app_verdict *verdict)
{
    static const struct problem_words words = {
        "workflow",
        "Repeat the request: the answer 404 then means that the workflow is not active any more."};
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_NOT_FOUND) {
        exchange_refuse(exchange, 404, "No workflow with this id is active.");
    } else if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &words);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        json_put_object(&json);
        add_name(&json, exchange->key);
        json_add_text(&json, "state", state_words[WORKFLOW_CANCELLED]);
        json_end_object(&json);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
}

HANDLER(workflow_cancel_handle)
{
    const struct app_workflow_end end = {.id = exchange->key, .is_cancelled = true};
    app_workflow_end(app_of(exchange), &exchange->caller, &end, workflow_on_cancelled, exchange);
}
