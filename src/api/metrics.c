/* metrics.c - GET /metrics */
#include "api/handlers.h"
#include "api/problem.h"
#include "api/tally.h"

static void write_seconds(struct buffer *body, const char *name, const char *help, int64_t ms)
{
    buffer_printf(body, "# HELP %s %s\n# TYPE %s gauge\n%s %lld.%03lld\n", name, help, name, name,
                  (long long)(ms / 1000), (long long)(ms % 1000));
}

static void write_lateness(struct buffer *body, const struct store_counts *counts)
{
    if (counts->due_age_ms < 0)
        return;
    write_seconds(body, "duepost_oldest_overdue_seconds",
                  "How long the job that has been due for longest has waited; 0 when none is due.",
                  counts->late_ms);
    write_seconds(
        body, "duepost_survey_age_seconds",
        "Age of the numbers of delayed, ready and overdue jobs; 0 unless thousands of topics are due.",
        counts->due_age_ms);
}

static void write_jobs(struct buffer *body, const struct store_counts *counts)
{
    buffer_append(body, SLICE("# HELP duepost_jobs Jobs of all processes, by state.\n"
                              "# TYPE duepost_jobs gauge\n"));
    if (counts->due_age_ms >= 0) {
        int64_t waiting = counts->waiting - counts->held;
        int64_t ready = counts->ready < waiting ? counts->ready : waiting;
        buffer_printf(body, "duepost_jobs{state=\"delayed\"} %lld\n", (long long)(waiting - ready));
        buffer_printf(body, "duepost_jobs{state=\"ready\"} %lld\n", (long long)ready);
    }
    buffer_printf(body, "duepost_jobs{state=\"held\"} %lld\n", (long long)counts->held);
    buffer_printf(body, "duepost_jobs{state=\"leased\"} %lld\n", (long long)counts->leased);
    buffer_printf(body, "duepost_jobs{state=\"dead\"} %lld\n", (long long)counts->dead);
    buffer_printf(body,
                  "# HELP duepost_kept_jobs Delivered and cancelled jobs that can still be read.\n"
                  "# TYPE duepost_kept_jobs gauge\nduepost_kept_jobs %lld\n",
                  (long long)(counts->kept - counts->dead));
    write_lateness(body, counts);
}

static void write_build(struct buffer *body)
{
    buffer_append(body, SLICE("# HELP duepost_build_info Which version this process is.\n"
                              "# TYPE duepost_build_info gauge\n"
                              "duepost_build_info{version=\"" DUEPOST_VERSION "\"} 1\n"));
}

static void write_up(struct buffer *body, bool is_up)
{
    buffer_printf(
        body,
        "# HELP duepost_redis_up Whether Redis answered when it was asked last, at most about a second ago.\n"
        "# TYPE duepost_redis_up gauge\nduepost_redis_up %d\n",
        is_up);
}

static void write_connections(struct buffer *body, struct http_limits *limits)
{
    struct http_limits_counts counts = http_limits_count(limits);
    buffer_printf(body,
                  "# HELP duepost_connections Connections of clients, without those for health alone.\n"
                  "# TYPE duepost_connections gauge\nduepost_connections %zu\n"
                  "# HELP duepost_connections_refused_total Connections that there was no room for.\n"
                  "# TYPE duepost_connections_refused_total counter\n"
                  "duepost_connections_refused_total %llu\n",
                  counts.connections, (unsigned long long)counts.refused);
}

static void write_durability(struct buffer *body, const struct store *store)
{
    char configured[DURABILITY_TEXT_MAX], in_force[DURABILITY_TEXT_MAX];
    store_durability_configured(store, configured);
    store_facts_durability(store_facts(store), in_force);
    buffer_printf(body,
                  "# HELP duepost_durability_info What confirmed changes are to have reached.\n"
                  "# TYPE duepost_durability_info gauge\n"
                  "duepost_durability_info{configured=\"%s\",in_force=\"%s\"} 1\n",
                  configured, in_force);
}

static void on_audited(void *arg, enum status status, const struct store_counts *counts)
{
    struct exchange *exchange = arg;
    struct buffer *body = exchange_scratch(exchange);
    metrics_write(api_of(exchange)->options.board, body);
    write_connections(body, api_of(exchange)->options.limits);
    write_build(body);
    write_up(body, status == STATUS_OK);
    write_durability(body, api_of(exchange)->options.store);
    if (status == STATUS_OK)
        write_jobs(body, counts);
    exchange_answer_text(exchange, SLICE("text/plain; version=0.0.4; charset=utf-8"), buffer_slice(body));
}

void metrics_handle(struct exchange *exchange)
{
    tally_ask(api_of(exchange)->tally, api_of(exchange)->options.store, on_audited, exchange);
}
