/* exposition.c - writes all metrics of GET /metrics. */
#include <sys/resource.h>

#include "app/app_private.h"
#include "app/job_counts.h"
#include "app/overview.h"
#include "base/memory.h"
#include "io/http/limits.h"
#include "tracing/tracer.h"

static void write_seconds(struct buffer *text, const char *name, const char *help, int64_t ms)
{
    buffer_printf(text, "# HELP %s %s\n# TYPE %s gauge\n%s %lld.%03lld\n", name, help, name, name,
                  (long long)(ms / 1000), (long long)(ms % 1000));
}

static void write_outbox(struct buffer *text, enum metrics_format format, const struct store_counts *counts)
{
    buffer_printf(text,
                  "# HELP duepost_outbox_jobs Ended jobs that are not in the history yet.\n"
                  "# TYPE duepost_outbox_jobs gauge\nduepost_outbox_jobs %lld\n",
                  (long long)counts->outbox);
    buffer_printf(
        text,
        "# HELP duepost_outbox_bytes Size in Redis of the ended jobs that are not in the history yet.\n"
        "# TYPE duepost_outbox_bytes gauge\nduepost_outbox_bytes %lld\n",
        (long long)counts->outbox_bytes);
    metrics_write_head(text, format, "duepost_outbox_dropped_total", "counter",
                       "Ended jobs that the history does not get, because the outbox was full.");
    buffer_printf(text, "duepost_outbox_dropped_total %lld\n", (long long)counts->outbox_dropped);
    write_seconds(text, "duepost_outbox_oldest_seconds",
                  "How long ago the first job of the outbox ended; 0 if the outbox is empty.",
                  counts->outbox_age_ms);
}

static void write_jobs(struct buffer *text, enum metrics_format format, const struct store_counts *counts)
{
    buffer_append(text, SLICE("# HELP duepost_jobs Jobs of all processes, by state.\n"
                              "# TYPE duepost_jobs gauge\n"));
    if (counts->due_age_ms >= 0) {
        int64_t waiting = counts->waiting - counts->held;
        int64_t ready = counts->ready < waiting ? counts->ready : waiting;
        buffer_printf(text, "duepost_jobs{state=\"delayed\"} %lld\n", (long long)(waiting - ready));
        buffer_printf(text, "duepost_jobs{state=\"ready\"} %lld\n", (long long)ready);
    }
    buffer_printf(text, "duepost_jobs{state=\"held\"} %lld\n", (long long)counts->held);
    buffer_printf(text, "duepost_jobs{state=\"leased\"} %lld\n", (long long)counts->leased);
    buffer_printf(text, "duepost_jobs{state=\"dead\"} %lld\n", (long long)counts->dead);
    buffer_printf(text,
                  "# HELP duepost_kept_jobs Delivered and cancelled jobs that can still be read.\n"
                  "# TYPE duepost_kept_jobs gauge\nduepost_kept_jobs %lld\n",
                  (long long)(counts->kept - counts->dead));
    write_outbox(text, format, counts);
    if (counts->due_age_ms < 0)
        return;
    write_seconds(text, "duepost_oldest_overdue_seconds",
                  "Time since the due time of the most overdue job; 0 when no job is due.", counts->late_ms);
    write_seconds(text, "duepost_survey_age_seconds",
                  "Time since the delayed, ready and overdue jobs were counted; 0 unless thousands of topics "
                  "have due jobs.",
                  counts->due_age_ms);
}

/* Writes the numbers of jobs by topic as separate metrics. If they had the name duepost_jobs, too, a sum over
 * duepost_jobs would count jobs twice. */
static void write_topics(struct buffer *text, const struct job_counts_result *count)
{
    buffer_append(text,
                  SLICE("# HELP duepost_topic_jobs Jobs by topic and state, for the 100 most urgent topics.\n"
                        "# TYPE duepost_topic_jobs gauge\n"));
    for (size_t i = 0; i < count->topic_count; i++) {
        const struct urgent_topic *topic = &count->topics[i];
        const struct {
            const char *name;
            int64_t jobs;
        } states[] = {{"delayed", topic->delayed},
                      {"ready", topic->ready},
                      {"held", topic->held},
                      {"leased", topic->leased},
                      {"dead", topic->dead}};
        for (size_t k = 0; k < sizeof states / sizeof *states; k++)
            buffer_printf(text, "duepost_topic_jobs{topic=\"%s\",state=\"%s\"} %lld\n", topic->name,
                          states[k].name, (long long)states[k].jobs);
    }
    buffer_append(
        text,
        SLICE("# HELP duepost_topic_oldest_overdue_seconds How long the first job of a topic has been due, "
              "for the 100 most urgent topics.\n"
              "# TYPE duepost_topic_oldest_overdue_seconds gauge\n"));
    for (size_t i = 0; i < count->topic_count; i++)
        buffer_printf(text, "duepost_topic_oldest_overdue_seconds{topic=\"%s\"} %lld.%03lld\n",
                      count->topics[i].name, (long long)(count->topics[i].late_ms / 1000),
                      (long long)(count->topics[i].late_ms % 1000));
}

static void write_limits(struct buffer *text, const struct job_counts_result *count)
{
    buffer_append(text, SLICE("# HELP duepost_limit_in_flight Attempts in flight of the topics that share a "
                              "limit, for the first 100 limits by name.\n"
                              "# TYPE duepost_limit_in_flight gauge\n"));
    for (size_t i = 0; i < count->limit_count; i++)
        buffer_printf(text, "duepost_limit_in_flight{limit=\"%s\"} %lld\n", count->limits[i].name,
                      (long long)count->limits[i].in_flight);
    buffer_append(text, SLICE("# HELP duepost_limit_waiting_topics Topics with due jobs that wait for the "
                              "limit that they share, for the first 100 limits by name.\n"
                              "# TYPE duepost_limit_waiting_topics gauge\n"));
    for (size_t i = 0; i < count->limit_count; i++)
        buffer_printf(text, "duepost_limit_waiting_topics{limit=\"%s\"} %lld\n", count->limits[i].name,
                      (long long)count->limits[i].waiting);
}

static void write_quotas(struct buffer *text, const struct job_counts_result *count)
{
    buffer_append(
        text,
        SLICE("# HELP duepost_topic_quota_jobs The quota of a topic (maxPending), for the 100 topics with "
              "a quota that have the most jobs.\n"
              "# TYPE duepost_topic_quota_jobs gauge\n"));
    for (size_t i = 0; i < count->quota_count; i++)
        buffer_printf(text, "duepost_topic_quota_jobs{topic=\"%s\"} %lld\n", count->quotas[i].name,
                      (long long)count->quotas[i].quota);
    buffer_append(
        text,
        SLICE("# HELP duepost_topic_pending_jobs Jobs of a topic that wait or are in flight, for the 100 "
              "topics with a quota that have the most of them.\n"
              "# TYPE duepost_topic_pending_jobs gauge\n"));
    for (size_t i = 0; i < count->quota_count; i++)
        buffer_printf(text, "duepost_topic_pending_jobs{topic=\"%s\"} %lld\n", count->quotas[i].name,
                      (long long)count->quotas[i].pending);
}

static void write_build(struct buffer *text)
{
    buffer_append(text, SLICE("# HELP duepost_build_info Version of this process.\n"
                              "# TYPE duepost_build_info gauge\n"
                              "duepost_build_info{version=\"" DUEPOST_VERSION "\"} 1\n"));
}

/* Writes the metrics of the process under the names that Prometheus's client libraries use. */
static void write_process(struct buffer *text, enum metrics_format format)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    int64_t user_us = usage.ru_utime.tv_sec * INT64_C(1000000) + usage.ru_utime.tv_usec;
    int64_t us = user_us + usage.ru_stime.tv_sec * INT64_C(1000000) + usage.ru_stime.tv_usec;
    metrics_write_head(text, format, "process_cpu_seconds_total", "counter",
                       "Processor time of this process.");
    buffer_printf(text, "process_cpu_seconds_total %lld.%06lld\n", (long long)(us / 1000000),
                  (long long)(us % 1000000));
}

static void write_spans(struct buffer *text, enum metrics_format format, const struct tracer *tracer)
{
    struct tracer_counts counts = {.exported = 0};
    if (tracer)
        counts = tracer_count(tracer);
    metrics_write_head(text, format, "duepost_spans_exported_total", "counter",
                       "Spans that the collector has taken.");
    buffer_printf(text, "duepost_spans_exported_total %llu\n", (unsigned long long)counts.exported);
    metrics_write_head(
        text, format, "duepost_spans_dropped_total", "counter",
        "Spans that were dropped, because the queue was full or the collector did not take them.");
    buffer_printf(text, "duepost_spans_dropped_total %llu\n", (unsigned long long)counts.dropped);
}

static void write_up(struct buffer *text, bool is_up)
{
    buffer_printf(
        text,
        "# HELP duepost_redis_up Whether Redis answers and accepts changes; /readyz has the reason if not.\n"
        "# TYPE duepost_redis_up gauge\nduepost_redis_up %d\n",
        is_up);
}

static void write_connections(struct buffer *text, enum metrics_format format, struct http_limits *limits)
{
    struct http_limits_counts counts = http_limits_count(limits);
    buffer_printf(text,
                  "# HELP duepost_connections Connections of clients, without those for health alone.\n"
                  "# TYPE duepost_connections gauge\nduepost_connections %zu\n",
                  counts.connections);
    metrics_write_head(text, format, "duepost_connections_refused_total", "counter",
                       "Connections that were refused because of a limit.");
    buffer_printf(text, "duepost_connections_refused_total %llu\n", (unsigned long long)counts.refused);
    buffer_printf(text,
                  "# HELP duepost_waiting_leases Workers that wait for jobs of pull topics.\n"
                  "# TYPE duepost_waiting_leases gauge\nduepost_waiting_leases %zu\n",
                  counts.lingering);
}

static void write_durability(struct buffer *text, const struct store *store)
{
    char configured[DURABILITY_TEXT_MAX], in_force[DURABILITY_TEXT_MAX];
    store_durability_configured(store, configured);
    redis_info_durability(store_redis_info(store), in_force);
    buffer_printf(text,
                  "# HELP duepost_durability_info Durability of confirmed changes.\n"
                  "# TYPE duepost_durability_info gauge\n"
                  "duepost_durability_info{configured=\"%s\",in_force=\"%s\"} 1\n",
                  configured, in_force);
}

struct exposition {
    struct app *app;
    struct buffer *text;
    enum metrics_format format;
    app_exposed_fn *fn;
    void *arg;
};

static void on_counted(void *arg, enum status status, const struct job_counts_result *count)
{
    struct exposition *exposition = arg;
    struct app *app = exposition->app;
    struct buffer *text = exposition->text;
    enum metrics_format format = exposition->format;
    struct problem why;
    buffer_clear(text);
    metrics_write(app->board, text, format);
    write_connections(text, format, app->limits);
    write_build(text);
    write_process(text, format);
    write_spans(text, format, app->tracer);
    write_up(text, status == STATUS_OK && store_is_ready(app->store, &why));
    write_durability(text, app->store);
    if (status == STATUS_OK) {
        write_jobs(text, format, &count->all);
        write_topics(text, count);
        write_limits(text, count);
        write_quotas(text, count);
    }
    if (format == METRICS_FORMAT_OPENMETRICS)
        buffer_append(text, SLICE(METRICS_END));
    exposition->fn(exposition->arg, buffer_slice(text));
    free(exposition);
}

void app_expose(struct app *app, struct buffer *text, enum metrics_format format, app_exposed_fn *fn,
                void *arg)
{
    struct exposition *exposition = NEW(struct exposition);
    *exposition = (struct exposition){app, text, format, fn, arg};
    store_refresh_redis_info(app->store);
    job_counts_ask(app->counts, app->store, on_counted, exposition);
}
