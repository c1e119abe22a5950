/* routes.c - the table of the API: paths, methods, handlers, and the scopes that a token needs. */
#include "api/api.h"
#include "api/api_private.h"
#include "base/memory.h"
#include "http/route.h"
#include "job/token.h"

#define MERGE_PATCH "application/merge-patch+json" /* RFC 7396 */
#define LINES       "application/x-ndjson"

exchange_fn submit_handle, list_handle, cancel_many_handle, count_handle, redrive_handle, run_many_handle,
    reschedule_handle, read_handle, replace_handle, patch_handle, cancel_handle, run_handle, why_handle,
    attempts_handle, topics_handle, topic_read_handle, topic_put_handle, topic_patch_handle,
    topic_delete_handle, receivers_handle, receiver_close_handle, groups_handle, group_read_handle,
    group_put_handle, group_patch_handle, group_delete_handle, health_handle, ready_handle, metrics_handle,
    path_handle;
exchange_fn jwks_handle, access_handle, tokens_handle, audit_handle, cron_handle;
exchange_fn overview_handle, forecast_handle, stats_handle, history_delete_handle;
exchange_fn lease_handle, complete_handle, retry_handle, bury_handle, extend_handle, release_handle;
exchange_fn lanes_handle, lane_read_handle;
exchange_fn limits_handle, limit_read_handle, limit_put_handle, limit_patch_handle, limit_delete_handle;
exchange_fn schedules_handle, topic_schedules_handle, schedule_read_handle, schedule_put_handle,
    schedule_patch_handle, schedule_delete_handle, schedule_run_handle, schedule_preview_handle;
exchange_fn workflows_handle, workflow_read_handle, workflow_cancel_handle;
exchange_fn stream_handle;
exchange_fn alerts_handle, alerts_test_handle;
exchange_fn clock_handle, clock_turn_handle;
exchange_fn export_handle, import_handle, rekey_handle;

static const struct route routes[] = {
    {
        .path = "/jobs",
        .methods = {{"POST", "POST /jobs", submit_handle, REACH_ASKED, SCOPE_SCHEDULE, .body = BODY_JSON,
                     .or_media = LINES, .takes_query = true, .is_large = job_batch_is_meant,
                     .large_bytes = JOB_BATCH_BYTES_MAX},
                    {"GET", "GET /jobs", list_handle, REACH_ASKED, SCOPE_READ, .takes_query = true},
                    {"DELETE", "DELETE /jobs", cancel_many_handle, REACH_ASKED, SCOPE_CANCEL,
                     .takes_query = true}},
    },
    {
        .path = "/jobs/count",
        .methods = {{"GET", "GET /jobs/count", count_handle, REACH_ASKED, SCOPE_READ, .takes_query = true}},
    },
    {
        .path = "/jobs/redrive",
        .methods = {{"POST", "POST /jobs/redrive", redrive_handle, REACH_ASKED, SCOPE_ADMIN,
                     .takes_query = true}},
    },
    {
        .path = "/jobs/run",
        .methods = {{"POST", "POST /jobs/run", run_many_handle, REACH_ASKED, SCOPE_ADMIN,
                     .takes_query = true}},
    },
    {
        .path = "/jobs/reschedule",
        .methods = {{"POST", "POST /jobs/reschedule", reschedule_handle, REACH_ASKED, SCOPE_ADMIN,
                     .takes_query = true}},
    },
    {
        .path = "/jobs/:/:",
        .names = route_names_job,
        .methods = {{"GET", "GET /jobs/{topic}/{jobId}", read_handle, REACH_JOB, SCOPE_READ,
                     .body = BODY_NONE, .takes_query = true},
                    {"PUT", "PUT /jobs/{topic}/{jobId}", replace_handle, REACH_TOPIC, SCOPE_SCHEDULE,
                     .body = BODY_JSON},
                    /* PATCH needs SCOPE_READ, too, because the answer shows the whole job. */
                    {"PATCH", "PATCH /jobs/{topic}/{jobId}", patch_handle, REACH_JOB,
                     SCOPE_SCHEDULE | SCOPE_READ, .body = BODY_JSON, .or_media = MERGE_PATCH},
                    {"DELETE", "DELETE /jobs/{topic}/{jobId}", cancel_handle, REACH_JOB, SCOPE_CANCEL,
                     .body = BODY_NONE, .takes_query = true}},
    },
    {
        .path = "/jobs/:/:/run",
        .names = route_names_job,
        .methods = {{"POST", "POST /jobs/{topic}/{jobId}/run", run_handle, REACH_JOB, SCOPE_SCHEDULE,
                     .body = BODY_NONE, .takes_query = true}},
    },
    {
        .path = "/jobs/:/:/why",
        .names = route_names_job,
        .methods = {{"GET", "GET /jobs/{topic}/{jobId}/why", why_handle, REACH_JOB, SCOPE_READ,
                     .body = BODY_NONE}},
    },
    {
        .path = "/jobs/:/:/attempts",
        .names = route_names_job,
        .methods = {{"GET", "GET /jobs/{topic}/{jobId}/attempts", attempts_handle, REACH_JOB, SCOPE_READ,
                     .body = BODY_NONE}},
    },
    {
        .path = "/jobs/:/:/sent",
        .names = route_names_job,
        .methods = {{"GET", "GET /jobs/{topic}/{jobId}/sent", sends_read, REACH_JOB, SCOPE_READ,
                     .body = BODY_NONE, .takes_query = true}},
    },
    {
        .path = "/events",
        .methods = {{"GET", "GET /events", stream_handle, REACH_ASKED, SCOPE_READ, .takes_query = true}},
    },
    {
        .path = "/access",
        .methods = {{"GET", "GET /access", access_handle, REACH_CALLER, .body = BODY_NONE}},
    },
    {
        .path = "/tokens",
        .methods = {{"GET", "GET /tokens", tokens_handle, REACH_ALL, SCOPE_ADMIN, .body = BODY_NONE}},
    },
    {
        .path = "/audit",
        .methods = {{"GET", "GET /audit", audit_handle, REACH_ALL, SCOPE_ADMIN, .takes_query = true}},
    },
    {
        .path = "/cron",
        .methods = {{"GET", "GET /cron", cron_handle, REACH_CALLER, .takes_query = true}},
    },
    {
        .path = "/export",
        .methods = {{"GET", "GET /export", export_handle, REACH_ALL, SCOPE_ADMIN, .takes_query = true}},
    },
    {
        .path = "/import",
        .methods = {{"POST", "POST /import", import_handle, REACH_ALL, SCOPE_ADMIN, .body = BODY_JSON,
                     .or_media = LINES, .takes_query = true, .is_large = import_is_large,
                     .large_bytes = IMPORT_BYTES_MAX}},
    },
    {
        .path = "/rekey",
        .methods = {{"POST", "POST /rekey", rekey_handle, REACH_ALL, SCOPE_ADMIN, .body = BODY_NONE,
                     .takes_query = true}},
    },
    {
        .path = "/clock",
        .methods = {{"GET", "GET /clock", clock_handle, REACH_ALL, SCOPE_READ, .body = BODY_NONE},
                    {"POST", "POST /clock", clock_turn_handle, REACH_ALL, SCOPE_ADMIN, .body = BODY_JSON}},
    },
    {
        .path = "/overview",
        .methods = {{"GET", "GET /overview", overview_handle, REACH_ASKED, SCOPE_READ, .takes_query = true}},
    },
    {
        .path = "/forecast",
        .methods = {{"GET", "GET /forecast", forecast_handle, REACH_ASKED, SCOPE_READ, .takes_query = true}},
    },
    {
        .path = "/stats",
        .methods = {{"GET", "GET /stats", stats_handle, REACH_ASKED, SCOPE_READ, .takes_query = true}},
    },
    {
        .path = "/history",
        .methods = {{"DELETE", "DELETE /history", history_delete_handle, REACH_ASKED, SCOPE_ADMIN,
                     .takes_query = true}},
    },
    {
        .path = "/topics",
        .methods = {{"GET", "GET /topics", topics_handle, REACH_ASKED, SCOPE_READ, .takes_query = true}},
    },
    {
        .path = "/topics/:",
        .names = route_names_topics,
        .methods = {{"GET", "GET /topics/{topic}", topic_read_handle, REACH_TOPIC, SCOPE_READ,
                     .body = BODY_NONE},
                    {"PUT", "CHANGE /topics/{topic}", topic_put_handle, REACH_TOPIC, SCOPE_ADMIN,
                     .body = BODY_JSON},
                    {"PATCH", "CHANGE /topics/{topic}", topic_patch_handle, REACH_TOPIC, SCOPE_ADMIN,
                     .body = BODY_JSON, .or_media = MERGE_PATCH},
                    {"DELETE", "CHANGE /topics/{topic}", topic_delete_handle, REACH_TOPIC, SCOPE_ADMIN,
                     .body = BODY_NONE}},
    },
    {
        .path = "/topics/:/lease",
        .names = route_names_topic,
        .methods = {{"POST", "POST /topics/{topic}/lease", lease_handle, REACH_TOPIC, SCOPE_LEASE,
                     .body = BODY_JSON_OR_NONE}},
    },
    {
        .path = "/topics/:/complete",
        .names = route_names_topic,
        .methods = {{"POST", "POST /topics/{topic}/complete", complete_handle, REACH_TOPIC, SCOPE_LEASE,
                     .body = BODY_JSON, .takes_lease_token = true}},
    },
    {
        .path = "/topics/:/retry",
        .names = route_names_topic,
        .methods = {{"POST", "POST /topics/{topic}/retry", retry_handle, REACH_TOPIC, SCOPE_LEASE,
                     .body = BODY_JSON, .takes_lease_token = true}},
    },
    {
        .path = "/topics/:/bury",
        .names = route_names_topic,
        .methods = {{"POST", "POST /topics/{topic}/bury", bury_handle, REACH_TOPIC, SCOPE_LEASE,
                     .body = BODY_JSON, .takes_lease_token = true}},
    },
    {
        .path = "/topics/:/extend",
        .names = route_names_topic,
        .methods = {{"POST", "POST /topics/{topic}/extend", extend_handle, REACH_TOPIC, SCOPE_LEASE,
                     .body = BODY_JSON, .takes_lease_token = true}},
    },
    {
        .path = "/topics/:/release",
        .names = route_names_topic,
        .methods = {{"POST", "POST /topics/{topic}/release", release_handle, REACH_TOPIC, SCOPE_LEASE,
                     .body = BODY_JSON}},
    },
    {
        .path = "/topics/:/keys",
        .names = route_names_topic,
        .methods = {{"GET", "GET /topics/{topic}/keys", lanes_handle, REACH_TOPIC, SCOPE_READ,
                     .takes_query = true}},
    },
    {
        .path = "/topics/:/keys/:",
        .names = route_names_lane,
        .methods = {{"GET", "GET /topics/{topic}/keys/{key}", lane_read_handle, REACH_TOPIC, SCOPE_READ,
                     .body = BODY_NONE},
                    {"PUT", "CHANGE /topics/{topic}/keys/{key}", limit_put_handle, REACH_TOPIC, SCOPE_ADMIN,
                     .body = BODY_JSON},
                    {"PATCH", "CHANGE /topics/{topic}/keys/{key}", limit_patch_handle, REACH_TOPIC,
                     SCOPE_ADMIN, .body = BODY_JSON, .or_media = MERGE_PATCH},
                    {"DELETE", "CHANGE /topics/{topic}/keys/{key}", limit_delete_handle, REACH_TOPIC,
                     SCOPE_ADMIN, .body = BODY_NONE}},
    },
    {
        .path = "/topics/:/alerts/test",
        .names = route_names_topics,
        .methods = {{"POST", "POST /topics/{topic}/alerts/test", alerts_test_handle, REACH_TOPIC, SCOPE_ADMIN,
                     .body = BODY_NONE}},
    },
    {
        .path = "/alerts",
        .methods = {{"GET", "GET /alerts", alerts_handle, REACH_ASKED, SCOPE_READ, .body = BODY_NONE}},
    },
    {
        .path = "/limits",
        .methods = {{"GET", "GET /limits", limits_handle, REACH_ALL, SCOPE_READ, .takes_query = true}},
    },
    {
        .path = "/limits/:",
        .names = route_names_limit,
        .methods = {{"GET", "GET /limits/{limit}", limit_read_handle, REACH_ALL, SCOPE_READ,
                     .body = BODY_NONE},
                    {"PUT", "CHANGE /limits/{limit}", limit_put_handle, REACH_ALL, SCOPE_ADMIN,
                     .body = BODY_JSON},
                    {"PATCH", "CHANGE /limits/{limit}", limit_patch_handle, REACH_ALL, SCOPE_ADMIN,
                     .body = BODY_JSON, .or_media = MERGE_PATCH},
                    {"DELETE", "CHANGE /limits/{limit}", limit_delete_handle, REACH_ALL, SCOPE_ADMIN,
                     .body = BODY_NONE}},
    },
    {
        .path = "/groups",
        .methods = {{"GET", "GET /groups", groups_handle, REACH_ASKED, SCOPE_READ, .takes_query = true}},
    },
    {
        .path = "/groups/:",
        .names = route_names_group,
        .methods = {{"GET", "GET /groups/{group}", group_read_handle, REACH_GROUP, SCOPE_READ,
                     .body = BODY_NONE},
                    {"PUT", "CHANGE /groups/{group}", group_put_handle, REACH_GROUP, SCOPE_ADMIN,
                     .body = BODY_JSON},
                    {"PATCH", "CHANGE /groups/{group}", group_patch_handle, REACH_GROUP, SCOPE_ADMIN,
                     .body = BODY_JSON, .or_media = MERGE_PATCH},
                    {"DELETE", "CHANGE /groups/{group}", group_delete_handle, REACH_GROUP, SCOPE_ADMIN,
                     .body = BODY_NONE}},
    },
    {
        .path = "/schedules",
        .methods = {{"GET", "GET /schedules", schedules_handle, REACH_ALL, SCOPE_READ, .takes_query = true}},
    },
    {
        .path = "/schedules/:",
        .names = route_names_topic,
        .methods = {{"GET", "GET /schedules/{topic}", topic_schedules_handle, REACH_TOPIC, SCOPE_READ,
                     .takes_query = true}},
    },
    {
        .path = "/schedules/:/:",
        .names = route_names_schedule,
        /* PATCH needs SCOPE_READ, too, because the answer shows the whole job of the schedule. */
        .methods = {{"GET", "GET /schedules/{topic}/{scheduleId}", schedule_read_handle, REACH_TOPIC,
                     SCOPE_READ, .body = BODY_NONE},
                    {"PUT", "PUT /schedules/{topic}/{scheduleId}", schedule_put_handle, REACH_TOPIC,
                     SCOPE_SCHEDULE, .body = BODY_JSON},
                    {"PATCH", "PATCH /schedules/{topic}/{scheduleId}", schedule_patch_handle, REACH_TOPIC,
                     SCOPE_SCHEDULE | SCOPE_READ, .body = BODY_JSON, .or_media = MERGE_PATCH},
                    {"DELETE", "DELETE /schedules/{topic}/{scheduleId}", schedule_delete_handle, REACH_TOPIC,
                     SCOPE_CANCEL, .body = BODY_NONE}},
    },
    {
        .path = "/schedules/:/:/run",
        .names = route_names_schedule,
        .methods = {{"POST", "POST /schedules/{topic}/{scheduleId}/run", schedule_run_handle, REACH_TOPIC,
                     SCOPE_SCHEDULE, .body = BODY_NONE}},
    },
    {
        .path = "/schedules/:/:/preview",
        .names = route_names_schedule,
        .methods = {{"POST", "POST /schedules/{topic}/{scheduleId}/preview", schedule_preview_handle,
                     REACH_TOPIC, SCOPE_SCHEDULE, .body = BODY_JSON, .takes_query = true}},
    },
    {
        .path = "/workflows",
        .methods = {{"GET", "GET /workflows", workflows_handle, REACH_ASKED, SCOPE_READ,
                     .takes_query = true}},
    },
    {
        .path = "/workflows/:/:",
        .names = route_names_workflow,
        .methods = {{"GET", "GET /workflows/{topic}/{workflowId}", workflow_read_handle, REACH_TOPIC,
                     SCOPE_READ, .takes_query = true},
                    {"DELETE", "DELETE /workflows/{topic}/{workflowId}", workflow_cancel_handle, REACH_TOPIC,
                     SCOPE_CANCEL, .body = BODY_NONE}},
    },
    {
        .path = "/receivers",
        .methods = {{"GET", "GET /receivers", receivers_handle, REACH_ALL, SCOPE_READ, .takes_query = true}},
    },
    {
        .path = "/receivers/:/close",
        .names = route_names_receiver,
        .methods = {{"POST", "POST /receivers/{receiver}/close", receiver_close_handle, REACH_ALL,
                     SCOPE_ADMIN, .body = BODY_NONE}},
    },
    {
        .path = "/healthz",
        .is_probe = true,
        .methods = {{"GET", "GET /healthz", health_handle, REACH_FREE, 0, .body = BODY_NONE}},
    },
    {
        .path = "/readyz",
        .is_probe = true,
        .methods = {{"GET", "GET /readyz", ready_handle, REACH_FREE, 0, .body = BODY_NONE}},
    },
    {
        .path = "/metrics",
        .is_probe = true,
        .methods = {{"GET", "GET /metrics", metrics_handle, REACH_ALL, SCOPE_READ, .body = BODY_NONE}},
    },
    {
        .path = "/.well-known/jwks.json",
        .methods = {{"GET", "GET /.well-known/jwks.json", jwks_handle, REACH_FREE, 0, .body = BODY_NONE}},
    },
    {
        .path = "/path-check/*",
        .methods = {{"GET", "GET /path-check/{path}", path_handle, REACH_FREE, 0, .body = BODY_NONE}},
    },
};

static void refuse_job(struct exchange *exchange)
{
    problem_answer_verdict(exchange, &(struct app_verdict){.end = STATUS_NOT_FOUND}, &problem_of_read);
}

const struct dialect api_dialect = {
    .routes = routes,
    .route_count = sizeof routes / sizeof *routes,
    .error_type = SLICE_INIT("application/problem+json"),
    .write_error = problem_write_error,
    .refuse_job = refuse_job,
};

struct api *api_new(const struct api_options *options)
{
    struct api *api = NEW(struct api);
    api->app = options->app;
    api->loop = options->loop;
    api->awaited = options->awaited;
    api->batches = job_batches_new(options->loop);
    return api;
}

void api_drain(struct api *api)
{
    api->is_draining = true;
}

void api_free(struct api *api)
{
    if (!api)
        return;
    job_batches_free(api->batches);
    free(api);
}
