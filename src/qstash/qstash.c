/* qstash.c - the table of routes, and the answers that all handlers share (qstash_private.h). A handler is
 * declared here, and defined in the file of its capability. */
#include "qstash/qstash.h"

#include <stdio.h>

#include "base/memory.h"
#include "job/text/job_errors.h"
#include "job/token.h"
#include "qstash/qstash_private.h"
#include "qstash/topics/topics.h"

exchange_fn publish_handle, trigger_handle, batch_handle;
exchange_fn dead_letter_handle, dead_letter_delete_handle, dead_letter_retry_handle;
exchange_fn dead_letters_handle, dead_letters_delete_handle, dead_letters_retry_handle;
exchange_fn keys_handle, keys_rotate_handle;
exchange_fn enqueue_handle, queue_handle, queues_handle, queue_put_handle, queue_delete_handle,
    queue_pause_handle, queue_resume_handle;
exchange_fn flow_handle, flows_handle, flow_pause_handle, flow_resume_handle, flow_pin_handle,
    flow_unpin_handle, flow_reset_rate_handle, global_parallelism_handle;
exchange_fn url_group_handle, url_groups_handle, url_group_patch_handle, url_group_delete_handle,
    endpoints_put_handle, endpoints_delete_handle;
exchange_fn wait_handle, notify_handle, notify_run_handle, waiters_handle, hook_handle, hook_admit;
exchange_fn run_dead_letters_handle, run_dead_letters_delete_handle, run_dead_letters_resume_handle,
    run_dead_letters_restart_handle;
exchange_fn run_dead_letter_handle, run_dead_letter_delete_handle, run_dead_letter_resume_handle,
    run_dead_letter_restart_handle, run_dead_letter_callback_handle;
exchange_fn run_logs_handle, run_events_handle;
exchange_fn workflow_run_handle, workflow_run_end_handle, workflow_runs_cancel_handle;
exchange_fn message_handle, message_cancel_handle, messages_cancel_handle;
exchange_fn events_handle, logs_handle;
exchange_fn message_schedule_put_handle, message_schedule_handle, message_schedules_handle,
    message_schedule_delete_handle, message_schedule_pause_handle, message_schedule_resume_handle;

/* Takes the name from the path without a check. */
static bool names_one(struct buffer *text, struct route_names *names)
{
    names->key = buffer_slice(text);
    return true;
}

/* One method of the webhook of a run. It needs no token, because the address is secret. */
#define HOOK_METHOD(name)                                                                                    \
    {                                                                                                        \
        name, "/v2/workflows/hooks", hook_handle, REACH_FREE, .body = BODY_ANY, .admit_guest = hook_admit,   \
                                                              .takes_query = true                            \
    }

/* The path names a destination for POST, and a schedule for the other methods. */
#define SCHEDULE_METHODS                                                                                     \
    .methods = {{"POST", "POST /v2/schedules", message_schedule_put_handle, REACH_TOPIC, SCOPE_SCHEDULE,     \
                 .body = BODY_ANY, .takes_query = true},                                                     \
                {"GET", "GET /v2/schedules/{id}", message_schedule_handle, REACH_TOPIC, SCOPE_READ,          \
                 .body = BODY_NONE, .takes_query = true},                                                    \
                {"DELETE", "DELETE /v2/schedules/{id}", message_schedule_delete_handle, REACH_TOPIC,         \
                 SCOPE_SCHEDULE, .body = BODY_ANY, .takes_query = true}}

static const struct route routes[] = {
    {.path = "/v2/publish/*",
     .methods = {{"POST", "POST /v2/publish", publish_handle, REACH_TOPIC, SCOPE_SCHEDULE, .body = BODY_ANY,
                  .takes_query = true}}},
    {.path = "/v2/trigger/*",
     .methods = {{"POST", "POST /v2/trigger", trigger_handle, REACH_TOPIC, SCOPE_SCHEDULE, .body = BODY_ANY,
                  .takes_query = true}}},
    {.path = "/v2/batch",
     .methods = {{"POST", "POST /v2/batch", batch_handle, REACH_TOPIC, SCOPE_SCHEDULE, .body = BODY_ANY,
                  .takes_query = true}}},
    {.path = "/v2/keys",
     .methods = {{"GET", "GET /v2/keys", keys_handle, REACH_TOPIC, SCOPE_ADMIN, .body = BODY_NONE,
                  .takes_query = true}}},
    {.path = "/v2/keys/rotate",
     .methods = {{"POST", "POST /v2/keys/rotate", keys_rotate_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/rotate", /* the path that the Go client uses */
     .methods = {{"POST", "POST /v2/keys/rotate", keys_rotate_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/enqueue/:/*",
     .names = names_one,
     .methods = {{"POST", "POST /v2/enqueue", enqueue_handle, REACH_TOPIC, SCOPE_SCHEDULE, .body = BODY_ANY,
                  .takes_query = true}}},
    {.path = "/v2/queues",
     .methods = {{"GET", "GET /v2/queues", queues_handle, REACH_TOPIC, SCOPE_READ, .body = BODY_NONE,
                  .takes_query = true},
                 {"POST", "POST /v2/queues", queue_put_handle, REACH_TOPIC, SCOPE_ADMIN, .body = BODY_ANY,
                  .takes_query = true}}},
    {.path = "/v2/queues/:",
     .names = names_one,
     .methods = {{"GET", "GET /v2/queues/{queue}", queue_handle, REACH_TOPIC, SCOPE_READ, .body = BODY_NONE,
                  .takes_query = true},
                 {"DELETE", "DELETE /v2/queues/{queue}", queue_delete_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/queues/:/pause",
     .names = names_one,
     .methods = {{"POST", "POST /v2/queues/{queue}/pause", queue_pause_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/queues/:/resume",
     .names = names_one,
     .methods = {{"POST", "POST /v2/queues/{queue}/resume", queue_resume_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/flowControl",
     .methods = {{"GET", "GET /v2/flowControl", flows_handle, REACH_TOPIC, SCOPE_READ, .body = BODY_NONE,
                  .takes_query = true}}},
    {.path = "/v2/flowControl/:",
     .names = names_one,
     .methods = {{"GET", "GET /v2/flowControl/{key}", flow_handle, REACH_TOPIC, SCOPE_READ, .body = BODY_NONE,
                  .takes_query = true}}},
    {.path = "/v2/flowControl/:/pause",
     .names = names_one,
     .methods = {{"POST", "POST /v2/flowControl/{key}/pause", flow_pause_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/flowControl/:/resume",
     .names = names_one,
     .methods = {{"POST", "POST /v2/flowControl/{key}/resume", flow_resume_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/flowControl/:/pin",
     .names = names_one,
     .methods = {{"POST", "POST /v2/flowControl/{key}/pin", flow_pin_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/flowControl/:/unpin",
     .names = names_one,
     .methods = {{"POST", "POST /v2/flowControl/{key}/unpin", flow_unpin_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/flowControl/:/resetRate",
     .names = names_one,
     .methods = {{"POST", "POST /v2/flowControl/{key}/resetRate", flow_reset_rate_handle, REACH_TOPIC,
                  SCOPE_ADMIN, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/globalParallelism",
     .methods = {{"GET", "GET /v2/globalParallelism", global_parallelism_handle, REACH_TOPIC, SCOPE_READ,
                  .body = BODY_NONE, .takes_query = true}}},
    {.path = "/v2/topics",
     .methods = {{"GET", "GET /v2/topics", url_groups_handle, REACH_TOPIC, SCOPE_READ, .body = BODY_NONE,
                  .takes_query = true}}},
    {.path = "/v2/topics/:",
     .names = names_one,
     .methods = {{"GET", "GET /v2/topics/{name}", url_group_handle, REACH_TOPIC, SCOPE_READ,
                  .body = BODY_NONE, .takes_query = true},
                 {"PATCH", "PATCH /v2/topics/{name}", url_group_patch_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true},
                 {"DELETE", "DELETE /v2/topics/{name}", url_group_delete_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/topics/:/endpoints",
     .names = names_one,
     .methods = {{"POST", "POST /v2/topics/{name}/endpoints", endpoints_put_handle, REACH_TOPIC, SCOPE_ADMIN,
                  .body = BODY_ANY, .takes_query = true},
                 {"DELETE", "DELETE /v2/topics/{name}/endpoints", endpoints_delete_handle, REACH_TOPIC,
                  SCOPE_ADMIN, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/messages",
     .methods = {{"DELETE", "DELETE /v2/messages", messages_cancel_handle, REACH_TOPIC, SCOPE_CANCEL,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/messages/:",
     .names = names_one,
     .methods = {{"GET", "GET /v2/messages/{id}", message_handle, REACH_TOPIC, SCOPE_READ, .body = BODY_NONE,
                  .takes_query = true},
                 {"DELETE", "DELETE /v2/messages/{id}", message_cancel_handle, REACH_TOPIC, SCOPE_CANCEL,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/events",
     .methods = {{"GET", "GET /v2/events", events_handle, REACH_TOPIC, SCOPE_READ, .body = BODY_NONE,
                  .takes_query = true}}},
    {.path = "/v2/logs",
     .methods = {{"GET", "GET /v2/logs", logs_handle, REACH_TOPIC, SCOPE_READ, .body = BODY_NONE,
                  .takes_query = true}}},
    {.path = "/v2/wait/:",
     .names = names_one,
     .methods = {{"POST", "POST /v2/wait/{eventId}", wait_handle, REACH_TOPIC, SCOPE_SCHEDULE,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/notify/:",
     .names = names_one,
     .methods = {{"POST", "POST /v2/notify/{eventId}", notify_handle, REACH_TOPIC, SCOPE_SCHEDULE,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/notify/:/:",
     .names = names_one,
     .methods = {{"POST", "POST /v2/notify/{runId}/{eventId}", notify_run_handle, REACH_TOPIC, SCOPE_SCHEDULE,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/workflows/hooks/:/:/:",
     .names = names_one,
     .methods = {HOOK_METHOD("GET"), HOOK_METHOD("POST"), HOOK_METHOD("PUT"), HOOK_METHOD("PATCH"),
                 HOOK_METHOD("DELETE")}},
    {.path = "/v2/waiters/:",
     .names = names_one,
     .methods = {{"GET", "GET /v2/waiters/{eventId}", waiters_handle, REACH_TOPIC, SCOPE_READ,
                  .body = BODY_NONE, .takes_query = true}}},
    {.path = "/v2/workflows/logs",
     .methods = {{"GET", "GET /v2/workflows/logs", run_logs_handle, REACH_TOPIC, SCOPE_READ,
                  .body = BODY_NONE, .takes_query = true}}},
    {.path = "/v2/workflows/events", /* the path that the client uses */
     .methods = {{"GET", "GET /v2/workflows/logs", run_events_handle, REACH_TOPIC, SCOPE_READ,
                  .body = BODY_NONE, .takes_query = true}}},
    {.path = "/v2/workflows/runs",
     .methods = {{"DELETE", "DELETE /v2/workflows/runs", workflow_runs_cancel_handle, REACH_TOPIC,
                  SCOPE_CANCEL, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/workflows/runs/:",
     .names = names_one,
     .methods = {{"GET", "GET /v2/workflows/runs/{id}", workflow_run_handle, REACH_TOPIC, SCOPE_READ,
                  .body = BODY_NONE, .takes_query = true},
                 {"DELETE", "DELETE /v2/workflows/runs/{id}", workflow_run_end_handle, REACH_TOPIC,
                  SCOPE_SCHEDULE, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/workflows/dlq",
     .methods = {{"GET", "GET /v2/workflows/dlq", run_dead_letters_handle, REACH_TOPIC, SCOPE_READ,
                  .body = BODY_NONE, .takes_query = true},
                 {"DELETE", "DELETE /v2/workflows/dlq", run_dead_letters_delete_handle, REACH_TOPIC,
                  SCOPE_CANCEL, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/workflows/dlq/resume",
     .methods = {{"POST", "POST /v2/workflows/dlq/resume", run_dead_letters_resume_handle, REACH_TOPIC,
                  SCOPE_SCHEDULE, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/workflows/dlq/restart",
     .methods = {{"POST", "POST /v2/workflows/dlq/restart", run_dead_letters_restart_handle, REACH_TOPIC,
                  SCOPE_SCHEDULE, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/workflows/dlq/resume/:",
     .names = names_one,
     .methods = {{"POST", "POST /v2/workflows/dlq/resume/{id}", run_dead_letter_resume_handle, REACH_TOPIC,
                  SCOPE_SCHEDULE, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/workflows/dlq/restart/:",
     .names = names_one,
     .methods = {{"POST", "POST /v2/workflows/dlq/restart/{id}", run_dead_letter_restart_handle, REACH_TOPIC,
                  SCOPE_SCHEDULE, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/workflows/dlq/callback/:",
     .names = names_one,
     .methods = {{"POST", "POST /v2/workflows/dlq/callback/{id}", run_dead_letter_callback_handle,
                  REACH_TOPIC, SCOPE_SCHEDULE, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/workflows/dlq/:",
     .names = names_one,
     .methods = {{"GET", "GET /v2/workflows/dlq/{id}", run_dead_letter_handle, REACH_TOPIC, SCOPE_READ,
                  .body = BODY_NONE, .takes_query = true},
                 {"DELETE", "DELETE /v2/workflows/dlq/{id}", run_dead_letter_delete_handle, REACH_TOPIC,
                  SCOPE_CANCEL, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/schedules",
     .methods = {{"GET", "GET /v2/schedules", message_schedules_handle, REACH_TOPIC, SCOPE_READ,
                  .body = BODY_NONE, .takes_query = true},
                 {"POST", "POST /v2/schedules", message_schedule_put_handle, REACH_TOPIC, SCOPE_SCHEDULE,
                  .body = BODY_ANY,
                  .takes_query =
                      true}}}, /* always answered with an error, because the destination is missing */
    {.path = "/v2/schedules/:/pause",
     .names = names_one,
     .methods = {{"PATCH", "PATCH /v2/schedules/{id}/pause", message_schedule_pause_handle, REACH_TOPIC,
                  SCOPE_SCHEDULE, .body = BODY_ANY, .takes_query = true},
                 {"POST", "POST /v2/schedules/{id}/pause", message_schedule_pause_handle, REACH_TOPIC,
                  SCOPE_SCHEDULE, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/schedules/:/resume",
     .names = names_one,
     .methods = {{"PATCH", "PATCH /v2/schedules/{id}/resume", message_schedule_resume_handle, REACH_TOPIC,
                  SCOPE_SCHEDULE, .body = BODY_ANY, .takes_query = true},
                 {"POST", "POST /v2/schedules/{id}/resume", message_schedule_resume_handle, REACH_TOPIC,
                  SCOPE_SCHEDULE, .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/schedules/*", SCHEDULE_METHODS},
    {.path = "/v2/Schedules/*", SCHEDULE_METHODS}, /* the path that the Go client uses */
    {.path = "/v2/dlq",
     .methods = {{"GET", "GET /v2/dlq", dead_letters_handle, REACH_TOPIC, SCOPE_READ, .body = BODY_NONE,
                  .takes_query = true},
                 {"DELETE", "DELETE /v2/dlq", dead_letters_delete_handle, REACH_TOPIC, SCOPE_CANCEL,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/dlq/retry",
     .methods = {{"POST", "POST /v2/dlq/retry", dead_letters_retry_handle, REACH_TOPIC, SCOPE_SCHEDULE,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/dlq/retry/:",
     .names = names_one,
     .methods = {{"POST", "POST /v2/dlq/retry/{id}", dead_letter_retry_handle, REACH_TOPIC, SCOPE_SCHEDULE,
                  .body = BODY_ANY, .takes_query = true}}},
    {.path = "/v2/dlq/:",
     .names = names_one,
     .methods = {{"GET", "GET /v2/dlq/{id}", dead_letter_handle, REACH_TOPIC, SCOPE_READ, .body = BODY_NONE,
                  .takes_query = true},
                 {"DELETE", "DELETE /v2/dlq/{id}", dead_letter_delete_handle, REACH_TOPIC, SCOPE_CANCEL,
                  .body = BODY_ANY, .takes_query = true}}},
};

/* ---- answers, and the errors of use cases ---- */

static unsigned tell(char text[ANSWER_TEXT_SIZE], unsigned status, const char *sentence)
{
    snprintf(text, ANSWER_TEXT_SIZE, "%s", sentence);
    return status;
}

unsigned answer_of_verdict(const struct app_verdict *verdict, char text[ANSWER_TEXT_SIZE])
{
    struct job_error error;
    size_t at = 0;
    switch (verdict->end) {
    case STATUS_INVALID:
        if (job_errors_take(verdict->errors, &at, &error))
            snprintf(text, ANSWER_TEXT_SIZE, "%s: %s", error.field, error.detail);
        return 400;
    case STATUS_NOT_REACHED:
        return tell(text, 403, "the token has no access to the topic qstash");
    case STATUS_NOT_FOUND:
        return tell(text, 404, "not found");
    case STATUS_LEASED:
        return tell(text, 409, "the message is being delivered");
    case STATUS_FULL:
        return tell(text, 507, "there are too many messages already, or Redis has no memory left");
    case STATUS_QUOTA:
        snprintf(text, ANSWER_TEXT_SIZE,
                 "%.*s has %lld messages already, and the quota maxPending of the topic qstash is %lld",
                 SLICE_ARG(verdict->quota.topic), (long long)verdict->quota.pending,
                 (long long)verdict->quota.max);
        return 429;
    case STATUS_NO_MEMORY:
        return tell(text, 503, "there is not enough memory for this request; nothing changed");
    case STATUS_UNKNOWN:
        return tell(text, 503, "the outcome is unknown: Redis did not answer");
    case STATUS_UNDURABLE:
        return tell(
            text, 503,
            "the request is carried out, but not durable yet: too few replicas of Redis have confirmed it");
    case STATUS_NO_HISTORY:
        return tell(text, 404, "this server keeps no history");
    case STATUS_LACKING:
        return tell(text, 409,
                    "the data in Redis needs a later version of duepost, or an encryption key that this "
                    "process lacks");
    case STATUS_UNREADABLE:
        return tell(text, 409, "the record of the message cannot be read");
    case STATUS_TOO_LARGE:
        return tell(text, 413, "the messages to all endpoints together are over 4 MiB");
    default:
        snprintf(text, ANSWER_TEXT_SIZE, "%.*s; nothing changed", SLICE_ARG(verdict->why));
        return 503;
    }
}

void answer_refuse_verdict(struct exchange *exchange, const struct app_verdict *verdict)
{
    char text[ANSWER_TEXT_SIZE];
    unsigned status = answer_of_verdict(verdict, text);
    exchange_refuse(exchange, status, "%s", text);
}

void answer_done(struct exchange *exchange, const struct app_verdict *verdict)
{
    if (verdict->end == STATUS_OK)
        exchange_answer(exchange, 200, NULL, 0, SLICE(""));
    else
        answer_refuse_verdict(exchange, verdict);
}

void answer_write_error(struct buffer *body, struct slice error)
{
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "error", error);
    json_end_object(&json);
}

/* ---- the dialect ---- */

static void write_error(struct buffer *body, const struct exchange_error *error)
{
    struct job_error first;
    size_t at = 0;
    if (error->errors && job_errors_take(error->errors, &at, &first)) {
        char text[ANSWER_TEXT_SIZE];
        struct buffer sentence = buffer_of(text, sizeof text);
        buffer_printf(&sentence, "%s: %s", first.field, first.detail);
        answer_write_error(body, buffer_slice(&sentence));
    } else {
        answer_write_error(body, error->detail);
    }
}

const struct dialect qstash_dialect = {
    .routes = routes,
    .route_count = sizeof routes / sizeof *routes,
    .error_type = SLICE_INIT("application/json"),
    .write_error = write_error,
    .root = SLICE_INIT("/v2/"),
    .topic = SLICE_INIT(QSTASH_TOPIC),
    .token_parameter = "qstash_token",
};

struct qstash *qstash_new(struct app *app, bool is_development)
{
    struct qstash *qstash = NEW(struct qstash);
    qstash->app = app;
    qstash->is_development = is_development;
    return qstash;
}

void qstash_free(struct qstash *qstash)
{
    free(qstash);
}
