/* lists.c - /jobs: GET and DELETE; GET /jobs/count; POST /jobs/redrive, /jobs/run and /jobs/reschedule; GET
 * /stats and DELETE /history */
#include "api/api_private.h"
#include "app/lists.h"
#include "base/duration.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "http/access.h"

static void on_job(void *arg, const struct stored_job *job)
{
    struct page *page = arg;
    view_put_job(&page->json, job, app_of(page->exchange)->schedule);
}

HANDLER(list_handle)
{
    if (query_read_list(exchange))
        app_list(app_of(exchange), &list_query(exchange)->bulk.list, on_job, page_end,
                 page_new(exchange, "jobs"));
}

static void on_count(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &problem_of_read);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_number(&json, "count", verdict->page.count);
    if (verdict->outcome_count)
        view_add_outcomes(&json, verdict->outcomes);
    page_add_end(&json, &verdict->page);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(count_handle)
{
    if (query_read_list(exchange))
        app_count(app_of(exchange), &list_query(exchange)->bulk.list, on_count, exchange);
}

/* ---- bulk actions ---- */

static void on_bulk(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        static const struct problem_words words = {"request", "Repeating the request is safe."};
        const struct app_bulk_counts *counts = &verdict->counts;
        if (verdict->end == STATUS_UNKNOWN && counts->matched > 0)
            exchange_refuse(
                exchange, 503,
                "%zu of the %zu matching jobs are done, %zu were skipped; the outcome of %zu is unknown. "
                "Repeating the request is safe.",
                counts->done, counts->matched, counts->skipped, counts->unknown);
        else
            problem_answer_verdict(exchange, verdict, &words);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_number(&json, "matched", (int64_t)verdict->counts.matched);
    json_add_number(&json, "done", (int64_t)verdict->counts.done);
    json_add_number(&json, "skipped", (int64_t)verdict->counts.skipped);
    page_add_end(&json, &verdict->page);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void bulk_act(struct exchange *exchange, enum app_action action)
{
    if (!query_read_bulk(exchange, action))
        return;
    const struct app_bulk *bulk = &list_query(exchange)->bulk;
    if (bulk->list.is_of_history)
        app_redrive_history(app_of(exchange), &exchange->caller, bulk, on_bulk, exchange);
    else
        app_bulk(app_of(exchange), &exchange->caller, bulk, on_bulk, exchange);
}

HANDLER(cancel_many_handle)
{
    bulk_act(exchange, APP_CANCEL);
}

HANDLER(redrive_handle)
{
    bulk_act(exchange, APP_REDRIVE);
}

HANDLER(run_many_handle)
{
    bulk_act(exchange, APP_RUN);
}

HANDLER(reschedule_handle)
{
    bulk_act(exchange, APP_RESCHEDULE);
}

/* ---- statistics and removal of ended jobs ---- */

enum { STEP_MS = 60000, STEP_MIN_MS = 1000, SPAN_MS = 3600000, ANSWER_MAX = 4 * 1024 * 1024 };
#define STEP_MAX_MS (INT64_C(366) * 86400 * 1000)

/* The parameters of a request. The exchange has this struct as its state. */
struct history_query {
    struct outcome_steps stats;
    struct app_removal removal;
    struct slice topic;             /* the parameter topic, which is copied to stats and removal */
    char text[QUERY_BYTES_MAX + 1]; /* the decoded query; the values point into it */
};

static struct history_query *query_of(const struct exchange *exchange)
{
    return exchange->state;
}

/* ---- values ---- */

static const char *read_step(void *into, struct slice value)
{
    struct history_query *query = into;
    return duration_parse(value, STEP_MAX_MS, &query->stats.step_ms) && query->stats.step_ms >= STEP_MIN_MS
               ? NULL
               : "must be a duration from 1s to 366d, such as 60 or 5m";
}

static const char *read_state(void *into, struct slice value)
{
    struct history_query *query = into;
    for (int i = JOB_STATE_DEAD; i <= JOB_STATE_CANCELLED; i++) {
        if (slice_equal(value, slice_of(job_state_word((enum job_state)i)))) {
            query->removal.states = 1U << i;
            return NULL;
        }
    }
    return slice_equal(value, SLICE("any")) ? NULL : "must be dead, delivered, cancelled or any";
}

enum {
    PARAMETER_TOPIC,
    PARAMETER_FROM,
    PARAMETER_TO,
    PARAMETER_STEP,
    PARAMETER_BEFORE,
    PARAMETER_STATE,
    PARAMETER_COUNT,
    STATS_PARAMETERS = 1 << PARAMETER_TOPIC | 1 << PARAMETER_FROM | 1 << PARAMETER_TO | 1 << PARAMETER_STEP,
    BOUND_PARAMETERS = 1 << PARAMETER_TOPIC | 1 << PARAMETER_BEFORE,
};

static const struct query_parameter parameters[PARAMETER_COUNT] = {
    [PARAMETER_TOPIC] = {"topic", QUERY_TOPIC(struct history_query, topic)},
    [PARAMETER_FROM] = {"from", QUERY_TIME(struct history_query, stats.from_ms)},
    [PARAMETER_TO] = {"to", QUERY_TIME(struct history_query, stats.to_ms)},
    [PARAMETER_STEP] = {"step", read_step, 0},
    [PARAMETER_BEFORE] = {"before", QUERY_TIME(struct history_query, removal.before_ms)},
    [PARAMETER_STATE] = {"state", read_state, 0},
};

/* Reads the query into the history_query of the exchange. */
static void read_parameters(struct query_reading *reading, struct exchange *exchange, unsigned known)
{
    struct history_query *query = NEW(struct history_query);
    struct buffer text = buffer_of(query->text, sizeof query->text);
    *reading = (struct query_reading){
        .exchange = exchange, .parameters = parameters, .count = PARAMETER_COUNT, .known = known};
    query->removal.filter = exchange->query;
    exchange_keep(exchange, query, free);
    query_read(reading, query, &text);
    query->stats.topic = query->removal.topic = query->topic;
}

/* ---- GET /stats ---- */

static void on_stats(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    struct buffer body;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &problem_of_read);
        return;
    }
    buffer_init_fallible(&body, ANSWER_MAX);
    struct json_writer json = json_writer_to(&body);
    const struct outcome_steps *stats = &query_of(exchange)->stats;
    json_put_object(&json);
    if (stats->topic.size)
        json_add_text(&json, "topic", stats->topic);
    json_add_time(&json, "from", stats->from_ms);
    json_add_time(&json, "to", stats->to_ms);
    json_add_seconds(&json, "step", stats->step_ms);
    if (verdict->page.is_partial)
        json_add_bool(&json, "partial", true);
    json_add_array(&json, "steps");
    for (size_t i = 0; i < verdict->outcome_count; i++) {
        json_put_object(&json);
        json_add_time(&json, "at", stats->from_ms + (int64_t)i * stats->step_ms);
        view_add_outcomes(&json, &verdict->outcomes[i]);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    if (body.failed)
        exchange_refuse(exchange, 503, "There is no memory for an answer of this size; ask for fewer steps.");
    else
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&body));
    buffer_fini(&body);
}

/* Sets the parameters that the client has left out. The defaults give the last hour in steps of a minute. */
static void complete_stats(struct query_reading *reading)
{
    struct outcome_steps *stats = &query_of(reading->exchange)->stats;
    if (!stats->step_ms)
        stats->step_ms = STEP_MS;
    if (!stats->to_ms)
        stats->to_ms = app_now_ms(app_of(reading->exchange));
    if (!stats->from_ms)
        stats->from_ms = stats->to_ms > SPAN_MS ? stats->to_ms - SPAN_MS : 1;
    if (reading->errors.count)
        return;
    if (stats->from_ms >= stats->to_ms)
        query_add_error(reading, SLICE("from"), "must be before to");
    else if ((stats->to_ms - stats->from_ms - 1) / stats->step_ms >= APP_STATS_STEPS_MAX)
        query_add_error(reading, SLICE("step"), "gives more than 10000 steps");
}

HANDLER(stats_handle)
{
    struct query_reading reading;
    read_parameters(&reading, exchange, STATS_PARAMETERS);
    complete_stats(&reading);
    const struct outcome_steps *stats = &query_of(exchange)->stats;
    if (query_end(&reading) && access_admit_topic(exchange, stats->topic))
        app_stats(app_of(exchange), stats, on_stats, exchange);
}

/* ---- DELETE /history ---- */

static void on_removed(void *arg, const struct app_verdict *verdict)
{
    static const struct problem_words words = {"history", "Repeating the request is safe."};
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &words);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_number(&json, "deleted", verdict->page.count);
    json_add_bool(&json, "hasMore", verdict->page.has_more);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(history_delete_handle)
{
    struct query_reading reading;
    read_parameters(&reading, exchange, BOUND_PARAMETERS | 1 << PARAMETER_STATE);
    const struct app_removal *removal = &query_of(exchange)->removal;
    if (!(reading.given & BOUND_PARAMETERS))
        query_add_error(&reading, SLICE("topic"), "is required, unless before is set");
    if (query_end(&reading) && access_admit_topic(exchange, removal->topic))
        app_remove_history(app_of(exchange), &exchange->caller, removal, on_removed, exchange);
}
