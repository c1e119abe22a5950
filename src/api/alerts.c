/* alerts.c - GET /alerts: the alerts that have begun. POST /topics/<topic>/alerts/test: tries out the alerts
 * of a topic. */
#include "app/alerts.h"

#include <stdlib.h>

#include "api/api_private.h"
#include "job/target/url.h"

/* ---- GET /alerts ---- */

static void on_alert(void *arg, const struct app_alert *alert)
{
    struct page *page = arg;
    struct json_writer *json = &page->json;
    enum alert_about about = alert_about(alert->kind, alert->subject);
    struct slice topic, schedule_id;
    json_put_object(json);
    json_add_text(json, "alert", slice_of(alert_kind_word(alert->kind)));
    if (about == ALERT_OF_SCHEDULE) {
        slice_cut(alert->subject, '/', &topic, &schedule_id);
        json_add_text(json, "topic", topic);
        json_add_text(json, "scheduleId", schedule_id);
    } else {
        json_add_text(json,
                      about == ALERT_OF_TOPIC      ? "topic"
                      : about == ALERT_OF_RECEIVER ? "receiver"
                                                   : "shard",
                      alert->subject);
    }
    json_add_time(json, "since", alert->since_ms);
    if (alert->kind == ALERT_DIED)
        json_add_number(json, "count", alert->count);
    json_end_object(json);
}

HANDLER(alerts_handle)
{
    app_alerts(app_of(exchange), &exchange->caller, on_alert, page_end, page_new(exchange, "alerts"));
}

/* ---- POST /topics/<topic>/alerts/test ---- */

static void on_test(void *arg, const struct app_alert_test *test)
{
    struct page *page = arg;
    struct json_writer *json = &page->json;
    json_put_object(json);
    json_add_text(json, "on", slice_of(alert_kind_word(test->rule->kind)));
    json_put_name(json, "url");
    url_show(test->rule->url, json_put(json));
    json_add_text(json, "topic", test->topic);
    json_add_text(json, "jobId", test->job_id);
    json_end_object(json);
}

static void on_tested(void *arg, const struct app_verdict *verdict)
{
    struct page *page = arg;
    struct exchange *exchange = page->exchange;
    if (verdict->end != STATUS_NOT_FOUND && verdict->end != STATUS_FULL) {
        page_end(page, verdict);
        return;
    }
    if (verdict->end == STATUS_FULL)
        exchange_refuse(exchange, 409,
                        "Not all tests are scheduled, because 1000 jobs of alerts wait. GET "
                        "/jobs?topic=duepost~alerts shows them.");
    else
        exchange_refuse(exchange, 404, "%.*s has no alerts. PATCH /topics/%.*s sets them.",
                        SLICE_ARG(exchange->topic), SLICE_ARG(exchange->topic));
    buffer_fini(&page->body);
    free(page);
}

HANDLER(alerts_test_handle)
{
    app_alerts_test(app_of(exchange), &exchange->caller, exchange->topic, on_test, on_tested,
                    page_new(exchange, "jobs"));
}
